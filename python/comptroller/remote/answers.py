"""What a service elsewhere answers, as the core would have written it.

Another deployment of the interface may wrap records where this one does not, leave out an empty
list or cursor, and write times in its own way. What no record could hold is left for the reader of
the record to refuse.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

import msgspec

from comptroller.description import described, operations
from comptroller.errors import unusable
from comptroller.routes import Row

_NULL = msgspec.Raw(b"null")
_EMPTY_LIST = msgspec.Raw(b"[]")
_NO_CURSOR = msgspec.Raw(b'""')

# A time that a record would not show as it promises to: of another zone than UTC, with more digits
# than a microsecond has, which msgspec rounds, or in a leap second.
_UNUSUAL_TIME = re.compile(rb":\d\d:(?:60|\d\d\.\d{7}|\d\d(?:\.\d+)?[+-]\d)")
_TIME = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d):(\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)", re.ASCII | re.IGNORECASE
)


def plain(row: Row, content: bytes, identity_id: str, cursor: str) -> bytes:
    """The bare record, or the page, that an answer holds.

    `identity_id` is the identity that was asked about, if any: a control of specification 2.1 does
    not say whose it is. `cursor` is that of the page that was asked for, if any. Raises Unusable
    for what is no JSON object, and for a page that is followed by itself.
    """
    try:
        members = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
        is_page = operations()[row.operation].is_list
        record = _page(members, cursor) if is_page else _bare(row, members, content)
        # A control without its identity, or an unusual time; both are rare, and cost a walk.
        is_incomplete = record.count(b'"set_by":') > record.count(b'"identity_id":')
        if is_incomplete or _UNUSUAL_TIME.search(record):
            return msgspec.json.encode(_usual(msgspec.json.decode(record), identity_id))
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise unusable(
            f"the answer to {row.operation} is not what the interface promises: {error}"
        ) from error
    return record


def _page(members: Mapping[str, msgspec.Raw], asked_with: str) -> bytes:
    listed = (members.get(name, _NULL) for name in ("items", "orchestrations"))
    items = next((each for each in listed if each != _NULL), _EMPTY_LIST)
    cursor = members.get("next_page_cursor", _NULL)
    if asked_with and msgspec.json.decode(cursor) == asked_with:  # else a walk would have no end
        raise msgspec.ValidationError("next_page_cursor is that of the page itself")
    page = {"items": items, "next_page_cursor": _NO_CURSOR if cursor == _NULL else cursor}
    return msgspec.json.encode(page)


def _bare(row: Row, members: Mapping[str, msgspec.Raw], content: bytes) -> bytes:
    """The record that an answer is, or wraps."""
    name = next(iter(members)) if len(members) == 1 else row.envelope
    wrapped = bytes(members.get(name or "", _NULL))
    # An address is also a member of the record that is called one.
    return wrapped if wrapped.startswith(b"{") else content


def _usual(value: Any, identity_id: str) -> Any:
    """`value` with every time in UTC and with six digits, and every control complete."""
    if isinstance(value, list):
        return [_usual(item, identity_id) for item in value]
    if not isinstance(value, dict):
        return value
    if "set_by" in value:
        value.setdefault("identity_id", identity_id)
    whose = value.get("id", "") if "status_details" in value else identity_id
    return {name: _usual_member(name, member, whose) for name, member in value.items()}


def _usual_member(name: str, value: Any, identity_id: str) -> Any:
    if name == "metadata":  # any name may be in it
        return value
    if name in _time_members() and isinstance(value, str):
        return _usual_time(name, value)
    return _usual(value, identity_id)


def _usual_time(name: str, text: str) -> str:
    """A time of RFC 3339 as the service writes it: digits beyond the sixth are cut, not rounded."""
    found = _TIME.fullmatch(text)
    if found is None:
        return text  # the reader of the record says what is wrong with it
    minute, second, fraction, zone = found.groups()
    micros = f"{fraction or '':0<6.6}"
    if second == "60":
        second, micros = "59", "999999"
    try:
        moment = datetime.fromisoformat(f"{minute}:{second}.{micros}{zone}".upper())
        return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
    except (ValueError, OverflowError):
        raise msgspec.ValidationError(f"{text} is no time of the years 1 to 9999: {name}") from None


@cache
def _time_members() -> frozenset[str]:
    return frozenset(
        name
        for record in described()["records"].values()
        for name, said in record["members"].items()
        if said["type"].rstrip("?") == "timestamp"
    )
