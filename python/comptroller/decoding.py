"""Decoding of records from JSON, and the types of their members."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast

import msgspec
import msgspec.inspect

from comptroller import arguments

if TYPE_CHECKING:
    from pydantic_core.core_schema import CoreSchema

Amount = Decimal
Time = Annotated[datetime, msgspec.Meta(tz=True)]

#: What decoding raises for bytes that are not JSON of the wanted type.
NOT_JSON = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

R = TypeVar("R")


class Record(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, repr_omit_defaults=True
):
    """The base class of all records: frozen, built by keyword, printed without unset members."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the members that are set as plain values, which :mod:`json` and `load` accept.

        Amounts and times are exact text, formatted as by the service.
        """
        members: dict[str, Any] = msgspec.json.decode(arguments.record(self))
        return members

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, _handler: object) -> CoreSchema:
        from comptroller.pydantic_schema import core_schema

        return core_schema(cls, lambda data: read(data, cls))

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: object, _handler: object) -> dict[str, Any]:
        from comptroller.pydantic_schema import json_schema

        return json_schema(cls.__name__)


# msgspec would also decode NaN, "1_0" and JSON numbers as a Decimal.
_Amount = Annotated[str, msgspec.Meta(pattern=r"\A-?[0-9]{1,20}(\.[0-9]{1,18})?\Z")]


def _amounts(wanted: msgspec.inspect.Type) -> Any:
    """Returns a type with only the amounts of another type, as text; None if it has none."""
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
    """Decodes documents of one type; amounts must be plain decimals within their limits."""

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
        # msgspec crashes if two threads at once are the first to decode into a class.
        with _one_at_a_time:
            decoder = _decoders.setdefault(wanted, _Decoder(wanted))
    return decoder


def read(data: bytes, wanted: type[R]) -> R:
    """Decodes a JSON document as the type `wanted`; ignores unknown members.

    Raises:
        NOT_JSON: one of these, if `data` is not JSON, or does not match the type.
    """
    answer: R = _decoder(cast(Any, wanted)).decode(data)
    return answer
