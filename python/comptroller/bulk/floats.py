"""Floats as the shortest decimals that round-trip them."""

from __future__ import annotations

import struct
from contextlib import suppress
from decimal import Decimal
from typing import TYPE_CHECKING

from comptroller.errors import require

if TYPE_CHECKING:
    import polars

_DIGITS_OF_HALF = 5  # that distinguish floats of 16 bits


def shortest(value: float) -> str:
    """Returns the shortest decimal that round-trips, without an exponent; 0 has no sign."""
    return format(Decimal(repr(value if value else 0.0)), "f")


def float_texts(column: polars.Series) -> polars.Series:
    """Returns a column of floats of any width as their shortest decimals, as repr writes them."""
    library = require("polars", "a mapping", "analysis")
    if column.dtype != library.Float16:  # whose texts polars writes with 32 bits
        return column.cast(library.String)
    floats = column.cast(library.Float64)
    values = floats.unique().drop_nulls()
    return floats.replace_strict(
        values, [_of_half(each) for each in values], return_dtype=library.String
    )


def _of_half(value: float) -> str:
    for digits in range(1, _DIGITS_OF_HALF + 1):
        text = f"{value:.{digits}g}"
        with suppress(OverflowError):  # rounded up beyond the largest
            if struct.unpack("e", struct.pack("e", float(text)))[0] == value:
                return repr(float(text))
    return repr(value)  # NaN
