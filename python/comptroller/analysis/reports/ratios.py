"""Quotients, of which a report shows no more than floats hold, and what they are compared with."""

from __future__ import annotations

import math
from decimal import Decimal

import narwhals.stable.v2 as nw

from comptroller.errors import invalid

#: What a quotient may be beyond a limit for the rounding of floats alone.
ROUNDING = 1e-12


def ratio(part: nw.Expr, whole: nw.Expr) -> nw.Expr:
    """A quotient, null where there is no whole."""
    return nw.when(whole != 0).then(part.cast(nw.Float64) / whole.cast(nw.Float64))


def limit(name: str, given: object) -> float:
    """What quotients are compared with. Raises InvalidRequest for no finite number from 0 on."""
    if isinstance(given, bool) or not isinstance(given, int | float | Decimal):
        raise invalid(name, "must be a number")
    try:
        compared = float(given)
    except (OverflowError, ValueError):
        compared = math.inf
    if not 0 <= compared < math.inf:
        raise invalid(name, "must be a finite number, 0 or more")
    return compared
