"""The columns of tables that others made, as the members of a record."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite
from types import NoneType
from typing import Any, Literal, TypedDict
from uuid import UUID, uuid5
from zoneinfo import ZoneInfo

import msgspec

from comptroller._core import exact_number
from comptroller.arguments import CONTROL_CHARACTER, line, nearest
from comptroller.bulk.floats import shortest
from comptroller.bulk.formulas import unescape_formula
from comptroller.bulk.number_formats import FIRST_ROUNDED
from comptroller.bulk.row_values import (
    distinct,
    is_nested,
    is_plain,
    nested,
    plain,
    plain_classes,
    printable,
)
from comptroller.bulk.unread_cells import UnreadCell
from comptroller.bulk.zones import offset_of
from comptroller.description import members
from comptroller.errors import InvalidRequest, invalid, shorten

#: The namespace of the ids that ``ids="uuid5"`` makes of other ids: ``uuid5(ID_NAMESPACE, text)``.
ID_NAMESPACE = UUID("43e17d9e-5c3e-5127-90a8-825666487db7")

# One mark groups the thousands: a second one would be a decimal separator, as would one after a
# leading 0. A pattern without back-references, for polars.
_NUMBER = (
    r"[+-]?([1-9]\d{{0,2}}(({mark}\d{{3}})+|(\s\d{{3}})+|(['\u2019]\d{{3}})+)|\d+)({decimal}\d+)?"
)
#: A number with a decimal comma.
GROUPED = re.compile(_NUMBER.format(mark=r"\.", decimal=","))
#: A number with a decimal point.
GROUPED_WITH_POINT = re.compile(_NUMBER.format(mark=",", decimal=r"\."))
#: The marks between the thousands of a number with a decimal comma.
THOUSANDS = r"[.\s'\u2019]"
_DAY = r"(?P<a>\d{1,4})(?P<by>[-./])(?P<b>\d{1,2})(?P=by)(?P<c>\d{1,4})"
#: A time or a day, with or without an offset.
TIME = re.compile(
    _DAY
    + r"([T\s]\s*(?P<time>\d{1,2}:\d\d(:\d\d([.,]\d{1,9})?)?))?\s*(?P<zone>Z|[+-]\d\d(:?\d\d)?)?",
    re.IGNORECASE,
)
#: RFC 3339, which the core reads.
RFC_3339 = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.IGNORECASE | re.ASCII
)
#: An amount with an exponent, as pandas and polars write small floats in CSV.
WITH_EXPONENT = re.compile(r"[+-]?\d+(\.\d+)?[eE][+-]?\d{1,2}")
# A UUID, also without hyphens, and in braces. UUID() also reads texts such as 0x_12, of other ids.
_UUID = re.compile(r"(urn:uuid:)?\{?([0-9a-f]-?){32}\}?", re.IGNORECASE | re.ASCII)
_MOST_SEEN = 100  # names of columns
_NULL = msgspec.Raw(b"null")
_TEXT: frozenset[Any] = frozenset({str})
_TEXT_OR_NONE = _TEXT | {NoneType}
#: The types of members of which spaces around a cell may be a part.
FREE_TYPES = frozenset({"string", "metadata"})
#: The types of members whose values are any text.
TEXT_TYPES = frozenset({"id", "uuid", "string", "word"})


class Options(TypedDict, total=False):
    """The options of a load that say how the columns of a table become members."""

    rename: Mapping[str, str]
    constants: Mapping[str, object]
    decimal: Literal[".", ","]
    separator: str
    sheet: str
    tz: str
    dayfirst: bool
    ids: Literal["uuid5"]
    floats: Literal["shortest"]


class FileOptions(TypedDict, total=False):
    """The options of a query that say how files are read, as for a load."""

    decimal: Literal[".", ","]
    separator: str
    sheet: str


class ColumnMapping(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """How the columns of a table become members; a mapping file holds the same as TOML.

    Attributes:
        rename: the members by the names of their columns, ``{"Betrag": "amount"}``.
        constants: the values of members in rows that do not set them.
        decimal: the decimal separator of amounts.
        separator: between the cells of a CSV file; by default the one that its header has.
        sheet: of an Excel file; by default the only one that has rows.
        tz: the time zone of times without an offset, and of days, such as ``Europe/Zurich``.
        dayfirst: whether 03/04/2026 is the third of April.
        ids: ``uuid5`` makes UUIDs of other ids where one is required, see `ID_NAMESPACE`.
        floats: ``shortest`` accepts floats as the shortest decimals that round-trip.
    """

    rename: dict[str, str] = {}
    constants: dict[str, object] = {}
    decimal: Literal[".", ","] = "."
    separator: str | None = None
    sheet: str | None = None
    tz: str | None = None
    dayfirst: bool | None = None
    ids: Literal["uuid5"] | None = None
    floats: Literal["shortest"] | None = None

    def given(self) -> str | None:
        """Returns the options that differ from the defaults as sorted JSON; None if none does."""
        if self == ColumnMapping():
            return None
        try:
            return msgspec.json.encode(self, enc_hook=str, order="sorted").decode()
        except (TypeError, ValueError, RecursionError):  # JSON cannot represent a value
            return json.dumps(repr(self))

    def changes_rows(self) -> bool:
        """Whether rows must be converted, rather than only read."""
        return self != ColumnMapping(separator=self.separator, sheet=self.sheet)


class RowMapping:
    """Converts the rows of a table to records of a kind.

    Raises InvalidRequest for a name that is not a member, and two columns for one member.

    Args:
        kind: the kind of the records.
        mapping: how columns become members.
        unescapes: whether rows are the cells of a CSV file or a sheet: texts may have the
            apostrophe of an exported CSV, and a sheet may have an id as a number.
        is_json: whether rows are documents of JSON, of which only what the mapping names is
            converted: without options the outcome is that of the unconverted document.
    """

    def __init__(
        self, kind: str, mapping: ColumnMapping, *, unescapes: bool = False, is_json: bool = False
    ) -> None:
        self.types: dict[str, str] = {
            name: each["type"].removesuffix("?") for name, each in members(kind).items()
        }
        for option, names in (
            ("rename", mapping.rename.values()),
            ("constants", mapping.constants),
        ):
            for name in names:
                if name not in self.types:
                    known = ", ".join(self.types)
                    raise invalid(option, f"{name!r} is not a member of {kind}; they are {known}")
        self._plain_classes = {
            name: plain_classes(type) | {NoneType} for name, type in self.types.items()
        }
        self._without_texts = frozenset(
            name for name, classes in self._plain_classes.items() if str not in classes
        )
        self._mapping = mapping
        self._zone = ZoneInfo(mapping.tz) if mapping.tz else None
        self.columns = {member: name for name, member in mapping.rename.items()}
        self.floats = 0  # that became decimals
        self.is_json = self.unescapes = False  # constants are values of Python
        self._unseen = set(mapping.rename)
        self._seen: dict[str, None] = {}
        self.constants = {
            name: self._of_constant(name, value) for name, value in mapping.constants.items()
        }
        self.is_json = is_json
        self.unescapes = unescapes

    def has_only_texts(self, row: object) -> bool:
        """Whether a row is a dict of texts, of which none needs a conversion."""
        return (
            type(row) is dict
            and self._without_texts.isdisjoint(row)
            and _TEXT_OR_NONE.issuperset(map(type, row.values()))
            and _TEXT.issuperset(map(type, row))
        )

    def is_plain(self, row: object) -> bool:
        """Whether the load reads the members of a row as if they were converted."""
        if isinstance(row, msgspec.Struct):
            row = msgspec.structs.asdict(row)
        if not isinstance(row, (dict, Mapping)):
            return True
        for name, value in row.items():
            if name not in self._plain_classes or value.__class__ in self._plain_classes[name]:
                continue  # most values, without a call
            if not is_plain(self.types[name], value):
                return False
        return True

    def uses(self, column: str) -> bool:
        """Whether the values of a column become those of a member."""
        return self._mapping.rename.get(column, column) in self.types

    def is_text(self, column: str) -> bool:
        """Whether the values of a column become those of a member whose values are any text."""
        return self.types.get(self._mapping.rename.get(column, column)) in TEXT_TYPES

    def require_columns(self, columns: Iterable[str]) -> None:
        """Raises InvalidRequest if a renamed column is not among the columns, unless none are."""
        names = list(columns)
        missing = next((name for name in self._mapping.rename if name not in names), None)
        if missing is not None and names:
            why = f"{shorten(repr(missing))} is not a column; {nearest(missing, names)}"
            raise invalid("rename", why)

    def require_renamed(self) -> None:
        """Raises InvalidRequest if no row had a renamed column."""
        if self._unseen:
            self.require_columns(name for name in self._seen if name not in self._unseen)

    def __call__(self, row: object) -> object:
        """Returns a row as a record, without the values that are missing.

        Other columns than members are counted as 0. Raises InvalidRequest, which names the member.
        """
        if isinstance(row, msgspec.Struct):
            row = msgspec.structs.asdict(row)
        if not isinstance(row, Mapping):
            return row
        if self._unseen:
            self._unseen.difference_update(row)
            self._seen |= dict.fromkeys(map(str, row)) if len(self._seen) < _MOST_SEEN else {}
        record: dict[str, object] = {}
        others: dict[str, object] = {}
        name: Any
        for name, value in row.items():
            value = value if self.is_json else plain(value)
            member = self._mapping.rename.get(name, name)
            type = self.types.get(member)
            if type is None and (self.is_json or value is not None):
                other = member if self.is_json else printable(member)
                others[other] = (_NULL if value is None else value) if self.is_json else 0
            if type is None or value is None:
                continue
            if member in record:
                raise invalid(member, f"another column also sets it, beside {name!r}")
            record[member] = self._convert(member, type, value)
        # A line that begins with another member, such as `items`, could be taken for a list answer.
        return self.constants | record | others if record or others or self.is_json else record

    def constant(self, member: str) -> object:
        """Returns the constant of a member as JSON."""
        return self.constants[member]

    def convert(self, member: str, value: object) -> object:
        """Returns a value of a member as JSON; None if it is missing. Raises InvalidRequest."""
        value = plain(value)
        return None if value is None else self._convert(member, self.types[member], value)

    def _of_constant(self, name: str, value: object) -> object:
        type, value = self.types[name], plain(value)
        if value is None:
            raise invalid("constants", f"{name}: it has no value; give one, or leave it out")
        if isinstance(value, int) and type in TEXT_TYPES:
            what = "boolean" if isinstance(value, bool) else "number"
            raise invalid("constants", f"{name}: {value} is a {what}; give text")
        try:
            converted = self._convert(name, type, value)
            line({name: converted})  # which JSON must represent
            return converted
        except InvalidRequest as error:
            raise invalid("constants", f"{name}: {error.errors[0][1]}") from error

    def _convert(self, name: str, type: str, value: object) -> object:
        if self.is_json and not isinstance(value, str):
            if isinstance(value, msgspec.Raw) and type == "amount":
                return self._of_number(name, bytes(value).decode())
            return value
        if isinstance(value, str):
            return self._of_text(name, type, value)
        if isinstance(value, UnreadCell):
            raise invalid(name, f"{shorten(repr(value.text))} {value.why}")
        if isinstance(value, (time, timedelta)):
            raise invalid(name, f"{value} is a time without a day, not a value of this member")
        if isinstance(value, UUID):
            return str(value)
        if type == "timestamp" and isinstance(value, date):
            return self._instant(name, value)
        if isinstance(value, float):
            return self._of_float(name, type, value)
        is_number = isinstance(value, int) and not isinstance(value, bool)
        if is_number and type in TEXT_TYPES and self.unescapes:
            return self._of_text(name, type, str(value))
        if isinstance(value, bytes) and type == "uuid" and len(value) == 16:
            return str(UUID(bytes=value))
        return nested(name, type, value, is_of_cell=self.unescapes)

    def _of_text(self, name: str, type: str, text: str) -> object:
        if self.unescapes:
            text = unescape_formula(text)
            if type not in FREE_TYPES:
                text = text.strip(" ") or text
        if (
            type == "amount"
            and self._mapping.floats == "shortest"
            and WITH_EXPONENT.fullmatch(text)
        ):
            self.floats += 1
            return format(Decimal(text), "f")
        if type == "amount" and self._mapping.decimal == ",":
            return _with_point(name, text)
        if type == "timestamp":
            is_same = self.is_json and self._zone is None and self._mapping.dayfirst is None
            return text if is_same else self._of_time(name, text)
        if type == "uuid" and self._mapping.ids == "uuid5":
            return as_uuid(text)
        if self.is_json:
            return text
        if type == "boolean":
            return {"true": True, "false": False}.get(text.lower(), text)
        if is_nested(type) and text[:1] in ("{", "["):
            try:
                return json.loads(text, object_pairs_hook=distinct, parse_constant=_no_constant)
            except ValueError:
                return text  # which the load rejects
        return text

    def _of_number(self, name: str, text: str) -> object:
        """Returns a JSON number as an amount: itself, or the shortest decimal of a float."""
        if self._mapping.floats != "shortest" or exact_number(text) is not None:
            return msgspec.Raw(text.encode())
        return self._of_float(name, "amount", float(text))

    def _of_float(self, name: str, type: str, value: float) -> object:
        if type in TEXT_TYPES and isfinite(value) and self.unescapes:  # a sheet has only floats
            if abs(value) >= FIRST_ROUNDED:
                raise invalid(
                    name,
                    f"{value!r} is a float of more than 15 digits, which may be rounded; give text",
                )
            text = str(int(value)) if value.is_integer() else shortest(value)
            return self._of_text(name, type, text)
        if type == "amount" and not isfinite(value):
            raise invalid(name, f"{value!r} is not a finite number")
        if type == "amount" and self._mapping.floats == "shortest":
            self.floats += 1
            return shortest(value)
        if type != "amount":
            advice = {
                "timestamp": "; format the column as dates in the spreadsheet",
                **dict.fromkeys(TEXT_TYPES, "; give text"),
            }.get(type, "")
            raise invalid(name, f"{value!r} is a number, not a value of this member{advice}")
        raise invalid(
            name,
            f"{value!r} is a float, which is not exact; give text or decimals, or "
            'floats="shortest" for the shortest decimal of each float',
        )

    def _of_time(self, name: str, text: str) -> str:
        """Returns a text as RFC 3339 if it is a time; others unchanged, for the load to reject."""
        found = None if RFC_3339.fullmatch(text) else TIME.fullmatch(text.strip())
        if found is None or (found["zone"] and found["time"] is None):
            return text
        year, month, day = self._day(name, text, found)
        try:
            whole = date(int(year), int(month), int(day))
            if found["time"] is None:
                return self._instant(name, whole)
            digits = found["time"].replace(",", ".")
            if digits.startswith("24"):  # the end of the day, of which Python 3.14 makes its start
                return text
            clock = time.fromisoformat(digits if digits[2] == ":" else f"0{digits}")
        except ValueError:
            return text
        if found["zone"]:
            return f"{whole.isoformat()}T{clock.isoformat()}{_offset(found['zone'])}"
        return self._instant(name, datetime.combine(whole, clock))

    def _day(self, name: str, text: str, found: re.Match[str]) -> tuple[str, str, str]:
        if len(found["a"]) == 4:
            return found["a"], found["b"], found["c"]
        if len(found["c"]) < 4:
            why = f"{text!r} has no year of four digits; write the year in full, such as 2026"
            raise invalid(name, why)
        if found["by"] == "." or self._mapping.dayfirst:
            return found["c"], found["b"], found["a"]
        if self._mapping.dayfirst is None:
            raise invalid(name, f"{text!r} may begin with the day or the month; give dayfirst")
        return found["c"], found["a"], found["b"]

    def _instant(self, name: str, given: date) -> str:
        """Returns a time in UTC; a day is its start. Raises InvalidRequest for no or two times."""
        if not isinstance(given, datetime):
            return _utc(name, datetime.combine(given, time(), self._zone or UTC))
        if hasattr(given, "to_pydatetime"):  # of pandas, which leaves the years 1 to 9999
            return self._instant(name, given.to_pydatetime(warn=False))
        if given.utcoffset() is not None:
            return _utc(name, given)
        if self._zone is None:
            raise invalid(
                name,
                f"{given.isoformat()} has no time zone; give tz, such as "
                'tz="UTC" or tz="Europe/Zurich"',
            )
        local = given.replace(tzinfo=self._zone, fold=0)
        if offset_of(given, self._zone) is None:
            is_real = local.astimezone(UTC).astimezone(self._zone).replace(tzinfo=None) == given
            why = "exists twice" if is_real else "does not exist"
            raise invalid(name, f"{given.isoformat()} {why} in {self._mapping.tz}; give its offset")
        return _utc(name, local)


def _offset(zone: str) -> str:
    """Returns Z, or an offset with hours and minutes, of a zone such as +01 or +0100."""
    digits = zone[1:].replace(":", "")
    return f"{zone[0]}{digits[:2]}:{digits[2:] or '00'}" if digits else "Z"


def _with_point(name: str, text: str) -> str:
    if GROUPED.fullmatch(text) is None:
        raise invalid(name, f"{shorten(repr(text))} is not a number with a decimal comma")
    return re.sub(THOUSANDS, "", text).replace(",", ".")


def as_uuid(text: str) -> str:
    """Returns an id as a UUID, see ID_NAMESPACE; unchanged if it is no id, to be rejected."""
    if _UUID.fullmatch(text):
        return str(UUID(text))
    is_id = text and text == text.strip() and not CONTROL_CHARACTER.search(text)
    return str(uuid5(ID_NAMESPACE, text)) if is_id else text


def _utc(name: str, given: datetime) -> str:
    try:
        utc = given.astimezone(UTC).replace(tzinfo=None)
    except OverflowError:
        why = "is not in the years 1 to 9999 of UTC"
        raise invalid(name, f"{given.replace(tzinfo=None).isoformat()} {why}") from None
    return utc.isoformat(timespec="microseconds") + "Z"


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")
