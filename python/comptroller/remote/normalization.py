"""Normalization of the responses of a remote service to the form of the core.

Another implementation of the interface may wrap records in an envelope, omit an empty list or
cursor, and format times differently. Invalid values stay as they are; decoding the record raises
the error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

import msgspec

from comptroller.decoding import NOT_JSON
from comptroller.description import core_description, operations
from comptroller.errors import unusable
from comptroller.routes import Row

_NULL = msgspec.Raw(b"null")
_EMPTY_LIST = msgspec.Raw(b"[]")
_NO_CURSOR = msgspec.Raw(b'""')
# The member of a page of a feed that the next request has as `after`.
_NEXT_PLACES: Mapping[str, tuple[str, type[str | int]]] = {
    "changes.list": ("next_cursor", str),
    "journal.list": ("last", int),
}

# A time that msgspec would not decode as documented: in another zone than UTC, with more than six
# fraction digits (which msgspec rounds), or in a leap second.
_UNUSUAL_TIME = re.compile(rb":\d\d:(?:60|\d\d\.\d{7}|\d\d(?:\.\d+)?[+-]\d)")
_TIME = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d):(\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)", re.ASCII | re.IGNORECASE
)


def normalize_response(row: Row, content: bytes, identity_id: str, place: str) -> bytes:
    """Returns the record without its envelope, or the page, of a response.

    Args:
        row: the route of the request.
        content: the body of the response.
        identity_id: the identity in the request, if any. A server of specification 2.1 omits it
            from controls.
        place: the cursor of the requested page, or the `after` of a feed, if any.

    Raises:
        Unusable: the body is not a JSON object, or the page is its own successor.
    """
    try:
        members = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
        is_page = operations()[row.operation].is_list
        _require_progress(row.operation, members, place)
        record = _page(members, place) if is_page else _bare(row, members, content)
        # Decode and normalize the record only for these rare cases.
        is_incomplete = record.count(b'"set_by":') > record.count(b'"identity_id":')
        if is_incomplete or _UNUSUAL_TIME.search(record):
            return msgspec.json.encode(_normalize(msgspec.json.decode(record), identity_id))
    except NOT_JSON as error:
        raise unusable(
            f"the response to {row.operation} does not match the interface: {error}"
        ) from error
    return record


def _page(members: Mapping[str, msgspec.Raw], requested: str) -> bytes:
    listed = (members.get(name, _NULL) for name in ("items", "orchestrations"))
    items = next((each for each in listed if each != _NULL), _EMPTY_LIST)
    cursor = members.get("next_page_cursor", _NULL)
    if requested and msgspec.json.decode(cursor) == requested:  # an iteration would not end
        raise msgspec.ValidationError("next_page_cursor repeats the cursor of this page")
    page = {"items": items, "next_page_cursor": _NO_CURSOR if cursor == _NULL else cursor}
    return msgspec.json.encode(page)


def _require_progress(operation: str, members: Mapping[str, msgspec.Raw], requested: str) -> None:
    """Raises ValidationError if a page of a feed is its own successor, as `_page` for a list."""
    if operation not in _NEXT_PLACES:
        return
    name, type = _NEXT_PLACES[operation]
    place = msgspec.json.decode(members.get(name, _NULL), type=type)
    has_more = msgspec.json.decode(members.get("has_more", _NULL), type=bool)
    if has_more and str(place) == requested:
        raise msgspec.ValidationError(f"{name} repeats the place before this page")


def _bare(row: Row, members: Mapping[str, msgspec.Raw], content: bytes) -> bytes:
    """Returns the record of a response, without its envelope if it has one."""
    name = next(iter(members)) if len(members) == 1 else row.envelope
    wrapped = bytes(members.get(name or "", _NULL))
    # The envelope "address" is also the name of a text member of a bare reward address.
    return wrapped if wrapped.startswith(b"{") else content


def _normalize(value: Any, identity_id: str) -> Any:
    """Returns `value` with times in UTC and with six digits, and controls with an identity."""
    if isinstance(value, list):
        return [_normalize(item, identity_id) for item in value]
    if not isinstance(value, dict):
        return value
    if "set_by" in value:
        value.setdefault("identity_id", identity_id)
    owner_id = value.get("id", "") if "status_details" in value else identity_id
    return {name: _normalize_member(name, member, owner_id) for name, member in value.items()}


def _normalize_member(name: str, value: Any, identity_id: str) -> Any:
    if name == "metadata":  # its names are the caller's, so a "created_at" there is any text
        return value
    if name in _time_members() and isinstance(value, str):
        return _normalize_time(name, value)
    return _normalize(value, identity_id)


def _normalize_time(name: str, text: str) -> str:
    """Formats an RFC 3339 time as the service does; more than six digits are cut, not rounded."""
    found = _TIME.fullmatch(text)
    if found is None:
        return text  # decoding the record raises the error
    minute, second, fraction, zone = found.groups()
    micros = f"{fraction or '':0<6.6}"
    if second == "60":
        second, micros = "59", "999999"
    try:
        time = datetime.fromisoformat(f"{minute}:{second}.{micros}{zone}".upper())
        return time.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
    except (ValueError, OverflowError):
        raise msgspec.ValidationError(
            f"{name}: {text} is not a time; give one of the years 1 to 9999"
        ) from None


@cache
def _time_members() -> frozenset[str]:
    return frozenset(
        name
        for record in core_description()["records"].values()
        for name, member in record["members"].items()
        if member["type"].rstrip("?") == "timestamp"
    )
