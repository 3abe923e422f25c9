"""The parameters of reports: their types, and the validation and conversion of arguments."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from operator import index
from typing import Any, NamedTuple, SupportsFloat, SupportsIndex, TypeAlias, get_args
from zoneinfo import ZoneInfo

from comptroller import arguments
from comptroller._core import microseconds
from comptroller.bulk.zones import zone_of
from comptroller.errors import Error, error_for, invalid, shorten
from comptroller.values import ClaimStatus

#: A time: RFC 3339 text, an aware datetime; or a date, also as text, whose start in `tz` it means.
Since: TypeAlias = str | datetime | date | None

_EPOCH = datetime(1970, 1, 1)
_MONTH = re.compile(r"(?!0000)([0-9]{4})-(0[1-9]|1[0-2])")
_UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_DECIMALS = 6
_LISTED = 5
CLAIM_STATUSES: tuple[str, ...] = get_args(ClaimStatus)


class Parameter(NamedTuple):
    """A parameter of a report.

    `kind` is a key of PARAMETER_TYPES; ``choice``, ``engine``, ``keys`` and ``statuses`` have
    `choices`.
    """

    kind: str
    meaning: str
    default: Any = None
    choices: tuple[str, ...] = ()
    is_required: bool = False

    @property
    def annotation(self) -> str:
        """The Python type of the argument."""
        return "str" if self.is_required else PARAMETER_TYPES[self.kind].annotation

    @property
    def description(self) -> str:
        """The meaning, and the values of a choice."""
        choices = f": {' or '.join(self.choices)}" if self.kind in ("choice", "statuses") else ""
        return self.meaning + choices


class ParameterType(NamedTuple):
    """A type of parameters: the Python type of the argument, the SQL type, and the conversion.

    The conversion takes the name, the argument, and the choices if there are any, or for a time the
    zone.
    """

    annotation: str
    sql: str = "VARCHAR"
    read: Callable[..., Any] = arguments.text


def values(
    parameters: Mapping[str, Parameter],
    given: Mapping[str, Any],
    groups_named: Callable[[str], Sequence[str]],
) -> dict[str, Any]:
    """Returns the values to bind, None for an omitted one.

    Args:
        parameters: the parameters of the report by name.
        given: the argument of each parameter.
        groups_named: returns the ids of the payout groups of a name.

    Raises:
        InvalidRequest: an argument is invalid.
        NotFound: no payout group has a given name.
    """
    zone = _zone("tz", given["tz"])
    bound: dict[str, Any] = {}
    for name, each in parameters.items():
        if each.kind == "engine":
            continue
        read = PARAMETER_TYPES[each.kind].read
        choices: list[Any] = [each.choices] if each.choices else []
        if each.kind == "group":
            choices = [groups_named]
        elif each.kind == "time":
            choices = [ZoneInfo(zone)]
        is_omitted = given[name] is None and each.default is None and not each.is_required
        argument = given[name]
        if each.is_required and each.kind == "group":
            argument = arguments.text(name, argument)  # exactly one
        bound[name] = None if is_omitted else read(name, argument, *choices)
    bound["tz"] = None if zone == "UTC" else zone
    since, until = bound["since"], bound["until"]
    if since is not None and until is not None and until < since:
        raise invalid("until", f"must not be before since, which is {given['since']}")
    return bound


def unknown_subject(subject: str, named: str) -> Error:
    """Returns NotFound for a subject of a report that does not exist."""
    what = {"group": "payout group", "id": "claim, identity, payout group or address"}[subject]
    return error_for("not-found", 404, f"there is no {what} {shorten(named)}")


def _time(name: str, given: Since, zone: ZoneInfo) -> datetime:
    text = given.isoformat() if type(given) is date else arguments.text(name, given)
    is_date = len(text) == len("2026-01-31")
    since_epoch = microseconds(f"{text}T00:00:00Z" if is_date else text)
    if since_epoch is not None and is_date and zone.key != "UTC":
        start = datetime.fromisoformat(text)
        if start == datetime.min:  # the first day has all times before it, see `assemble`
            return start
        return start.replace(tzinfo=zone).astimezone(UTC).replace(tzinfo=None)
    if since_epoch is None:
        form = "2026-01-31, or a time with its offset from UTC, such as 2026-01-31T12:00:00Z"
        raise invalid(name, f"must be a date such as {form}")
    return _EPOCH + timedelta(microseconds=since_epoch)


def _zone(name: str, given: object) -> str:
    named = arguments.text(name, given)
    if zone_of(named) is None:
        why = f"unknown time zone {shorten(repr(named))}; give one such as Europe/Zurich"
        raise invalid(name, why)
    return named


def _month(name: str, given: object) -> datetime:
    named = _MONTH.fullmatch(given) if isinstance(given, str) else None
    if named is None:
        raise invalid(name, "must be a month such as 2026-05")
    return datetime(int(named[1]), int(named[2]), 1)


def _number(name: str, given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, SupportsFloat):
        raise invalid(name, "must be a number")
    try:
        number = float(given)
    except (OverflowError, ValueError):
        number = math.inf
    if not 0 <= number < math.inf:
        raise invalid(name, "must be a finite number, 0 or more")
    return number


def _share(name: str, given: object) -> Decimal:
    """Returns the decimal value of a share: the float 0.99 becomes exactly 99/100."""
    try:
        share = Decimal(str(given))
        is_exact = share == round(share, _DECIMALS)
    except (InvalidOperation, ValueError):
        share, is_exact = Decimal(0), False
    if not (is_exact and 0 < share <= 1):
        raise invalid(name, "must be above 0 and at most 1, with at most six decimals")
    return share


def _count(name: str, given: object) -> int:
    if isinstance(given, bool) or not isinstance(given, SupportsIndex):
        raise invalid(name, "must be a whole number, 1 or more")
    number = index(given)
    if not 1 <= number < 2**31:
        raise invalid(name, "must be a whole number, 1 or more")
    return number


def _texts(name: str, given: object) -> list[str]:
    return arguments.texts(name, given)


def _statuses(name: str, given: Any, allowed: Sequence[str]) -> list[str]:
    return list(arguments.choices(name, arguments.texts(name, given), allowed))


def _groups(name: str, given: object, named: Callable[[str], Sequence[str]]) -> list[str]:
    return [_group(name, each, named) for each in arguments.texts(name, given)]


def _group(name: str, given: str, named: Callable[[str], Sequence[str]]) -> str:
    if _UUID.fullmatch(given.lower()):
        return given.lower()  # group ids are stored in lower case
    found = named_group(name, given, named)
    if found is None:
        raise unknown_subject(name, given)
    return found


def named_group(name: str, given: str, named: Callable[[str], Sequence[str]]) -> str | None:
    """Returns the id of the payout group of a name; None for none. Refuses several."""
    ids = named(given)
    if len(ids) > 1:
        listed = ", ".join(ids[:_LISTED]) + (", ..." if len(ids) > _LISTED else "")
        count = f"{len(ids):,} payout groups have the name {shorten(repr(given))}"
        raise invalid(name, f"{count}: {listed}; give the id")
    return ids[0] if ids else None


def _id(name: str, given: object) -> str:
    named = arguments.text(name, given)
    return named.lower() if _UUID.fullmatch(named.lower()) else named  # UUIDs are stored lower case


PARAMETER_TYPES = {
    "time": ParameterType("Since", "TIMESTAMP", _time),
    "month": ParameterType("str | None", "TIMESTAMP", _month),
    "number": ParameterType("float", "DOUBLE", _number),
    "share": ParameterType("float", "DECIMAL(7, 6)", _share),
    "count": ParameterType("int", "BIGINT", _count),
    "texts": ParameterType("Texts | None", "VARCHAR[]", _texts),
    "statuses": ParameterType("Texts | None", "VARCHAR[]", _statuses),
    "group": ParameterType("Texts | None", "VARCHAR[]", _groups),
    "id": ParameterType("str", read=_id),
    "zone": ParameterType("str", read=_zone),
    "choice": ParameterType("str", read=arguments.choice),
    "keys": ParameterType("Sequence[str]", read=arguments.choices),
    "engine": ParameterType("str | Engine | None"),
}
ENGINES = ("duckdb", "postgresql", "spark")
#: The parameters of every report that select records by their values.
FILTERS = {
    "status": Parameter("statuses", "only claims of these statuses", choices=CLAIM_STATUSES),
    "chain": Parameter("texts", "only records of these chains"),
    "asset": Parameter("texts", "only records of these assets"),
    "jurisdiction": Parameter("texts", "only records of payout groups of these jurisdictions"),
    "group": Parameter("group", "only records of these payout groups, by id or unique name"),
    "customer": Parameter("texts", "only records of these customers"),
}
#: The parameters whose omission selects all records.
UNBOUNDED = (*FILTERS, "since", "until")
#: The parameters of every report.
COMMON_PARAMETERS = {
    **FILTERS,
    "since": Parameter("time", "only records created at this time or later; a day is its start"),
    "until": Parameter(
        "time", "only records created before this time; a day is its start, so it is left out"
    ),
    "tz": Parameter("zone", "the time zone of days and longer periods, and of bounds", "UTC"),
    "engine": Parameter(
        "engine",
        "the engine that runs the SQL: duckdb (the default), postgresql (in the database of the "
        "service), spark, or an Engine",
        choices=ENGINES,
    ),
}
