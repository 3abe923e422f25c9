"""Records from JSON: the types that their members have, and how a document is decoded."""

from __future__ import annotations

import re
from abc import ABC
from datetime import datetime
from decimal import Decimal
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast

import msgspec

if TYPE_CHECKING:
    Amount = Decimal
else:

    class Amount(ABC):  # noqa: B024
        """A Decimal to its holder; a type of its own to msgspec, whose Decimal takes NaN, 1_0."""

    Amount.register(Decimal)

Time = Annotated[datetime, msgspec.Meta(tz=True)]

R = TypeVar("R")


class Record(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, repr_omit_defaults=True
):
    """What all records share: frozen, built by keyword, and short when printed."""


_PLAIN_DECIMAL = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,18})?", re.ASCII)


def _amount(wanted: type[Any], value: object) -> Decimal:
    if wanted is not Amount:
        raise NotImplementedError(f"a member of type {wanted!r} cannot be read")
    if not isinstance(value, str) or not _PLAIN_DECIMAL.fullmatch(value):
        raise ValueError(f"an amount is a string such as '1.50', not {value!r}")
    return Decimal(value)


_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}
_one_at_a_time = Lock()


def _decoder(wanted: Any) -> msgspec.json.Decoder[Any]:
    decoder = _decoders.get(wanted)
    if decoder is None:
        # msgspec crashes where two threads are the first to decode into a class at the same time.
        with _one_at_a_time:
            decoder = _decoders.setdefault(wanted, msgspec.json.Decoder(wanted, dec_hook=_amount))
    return decoder


def read(data: bytes, wanted: type[R]) -> R:
    """`data`, a JSON document, as a `wanted`; members it does not know are left out.

    Raises:
        msgspec.MsgspecError: it is not JSON, or not the JSON of such a record.
        UnicodeDecodeError: a text in it is not UTF-8.
    """
    answer: R = _decoder(cast(Any, wanted)).decode(data)
    return answer
