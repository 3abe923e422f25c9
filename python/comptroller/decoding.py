"""Records from JSON: the types that their members have, and how a document is decoded."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from threading import Lock
from typing import Annotated, Any, TypeVar, cast

import msgspec
import msgspec.inspect

from comptroller import arguments

Amount = Decimal
Time = Annotated[datetime, msgspec.Meta(tz=True)]

R = TypeVar("R")


class Record(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, repr_omit_defaults=True
):
    """What all records share: frozen, built by keyword, and short when printed."""

    def to_dict(self) -> dict[str, Any]:
        """The members that are set as plain values, which :mod:`json` writes and `load` takes.

        Amounts and times are text, exact and as the service writes them.
        """
        members: dict[str, Any] = msgspec.json.decode(arguments.record(self))
        return members


# msgspec takes more for a Decimal: NaN, 1_0, numbers that are not text.
_Amount = Annotated[str, msgspec.Meta(pattern=r"\A-?[0-9]{1,20}(\.[0-9]{1,18})?\Z")]


def _amounts(wanted: msgspec.inspect.Type) -> Any:
    """A type that has the amounts of another alone, as text; None if there are none."""
    if isinstance(wanted, msgspec.inspect.DecimalType):
        return _Amount
    if isinstance(wanted, (msgspec.inspect.ListType, msgspec.inspect.VarTupleType)):
        item = _amounts(wanted.item_type)
        return item and list[item]  # type: ignore[valid-type]
    if isinstance(wanted, msgspec.inspect.UnionType):
        found = next(filter(None, map(_amounts, wanted.types)), None)
        return found and (found | None if wanted.includes_none else found)
    if isinstance(wanted, msgspec.inspect.StructType):
        members = [(field.encode_name, _amounts(field.type)) for field in wanted.fields]
        shown = [(name, kind | msgspec.UnsetType, msgspec.UNSET) for name, kind in members if kind]
        return msgspec.defstruct(f"{wanted.cls.__name__}Amounts", shown) if shown else None
    return None


class _Decoder:
    """Reads documents of one type; amounts are plain decimals within their limits."""

    def __init__(self, wanted: Any) -> None:
        amounts = _amounts(msgspec.inspect.type_info(wanted))
        self._amounts = amounts and msgspec.json.Decoder(amounts)
        self._decoder = msgspec.json.Decoder(wanted)

    def decode(self, data: bytes) -> Any:
        if self._amounts:
            self._amounts.decode(data)
        return self._decoder.decode(data)


_decoders: dict[Any, _Decoder] = {}
_one_at_a_time = Lock()


def _decoder(wanted: Any) -> _Decoder:
    decoder = _decoders.get(wanted)
    if decoder is None:
        # msgspec crashes where two threads are the first to decode into a class at the same time.
        with _one_at_a_time:
            decoder = _decoders.setdefault(wanted, _Decoder(wanted))
    return decoder


def read(data: bytes, wanted: type[R]) -> R:
    """`data`, a JSON document, as a `wanted`; members it does not know are left out.

    Raises:
        msgspec.MsgspecError: it is not JSON, or not the JSON of such a record.
        UnicodeDecodeError: a text in it is not UTF-8.
    """
    answer: R = _decoder(cast(Any, wanted)).decode(data)
    return answer
