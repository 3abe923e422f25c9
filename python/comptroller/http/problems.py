"""Error responses as ``application/problem+json`` (RFC 9457)."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import msgspec

from comptroller.description import problems
from comptroller.errors import Error, error_for

CONTENT_TYPE = b"application/problem+json"

_RETRY_AFTER_S = b"1"
# The parts of messages of the core that precede what libpq or the database says, which can name
# hosts, folders, users and databases. See connecting.cpp, session.cpp and failures.cpp in
# cpp/db/postgresql.
_UNREACHABLE = re.compile(
    "cannot connect to the database: |the connection to the database was lost: |"
    "the database accepts only reads, "
)
_REPORTS = re.compile("the database reports: (?!canceling statement due to statement timeout)")
# In a detail of `require_scope` here and in cpp/service/authorisation.cpp.
_SCOPE = re.compile(r"needs the scope ([a-z_]+:[a-z_]+)")
_FILE = re.compile(r"(?:^|[\s`(])/\S")
_SEE_LOG = "see the log of the server by the request id"
_log = logging.getLogger(__name__)


class Refusal(Exception):
    """An error with additional response headers."""

    def __init__(self, error: Error, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
        super().__init__(error)
        self.error = error
        self.headers = list(headers)


def problem(code: str, detail: str) -> Error:
    """Returns an Error with the status of its code."""
    return error_for(code, problems()[code]["status"], detail)


def headers(error: Error) -> list[tuple[bytes, bytes]]:
    """Returns the headers of an error response.

    Retry-After for a temporary error, and a challenge that names a missing scope (RFC 6750 section
    3.1), whether this package or the core found that it is missing.
    """
    if error.status == 503 or error.code == "idempotency-in-flight":
        return [(b"retry-after", _RETRY_AFTER_S)]
    if error.code == "insufficient-scope":
        scope = _SCOPE.search(error.detail)
        named = f', scope="{scope[1]}"' if scope else ""
        return [(b"www-authenticate", f'Bearer error="insufficient_scope"{named}'.encode())]
    return []


def document(error: Error, request_id: str, root: str = "") -> bytes:
    """Returns the problem document of an error; `root` is the path of a mounted application.

    The names of files, and what a database or the failure to reach it says about its place, are
    logged instead.
    """
    detail = _public_detail(error)
    if detail != error.detail:
        _log.error("request %s: %s", request_id, error.detail)
    document: dict[str, Any] = {
        "type": f"{quote(root)}/problems/{error.code}",
        "title": problems()[error.code]["title"],
        "status": error.status,
        "detail": detail,
        "code": error.code,
        "request_id": request_id,
    }
    if error.errors:
        document["errors"] = [{"field": field, "message": why} for field, why in error.errors]
    if error.existing is not None:
        document["meta"] = {"existing": error.existing}
    return msgspec.json.encode(document)


def _public_detail(error: Error) -> str:
    if error.status < HTTPStatus.INTERNAL_SERVER_ERROR:  # quotes the request, no database
        return error.detail
    is_unreachable = _UNREACHABLE.search(error.detail) is not None
    if not is_unreachable and not _REPORTS.search(error.detail):
        if not _FILE.search(error.detail):
            return error.detail
        return f"the server cannot use one of its files; {_remedy(error)}"
    if error.code == "outcome-unknown":
        return (
            "the connection to the database was lost; the write may have been executed: repeat it "
            "with the same Idempotency-Key, or read the record first"
        )
    what = "cannot be reached" if is_unreachable else "could not execute the request"
    return f"the database {what}; {_remedy(error)}"


def _remedy(error: Error) -> str:
    is_temporary = error.status == HTTPStatus.SERVICE_UNAVAILABLE
    return "try again later" if is_temporary else _SEE_LOG
