"""Error responses as ``application/problem+json`` (RFC 9457)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from comptroller.description import problems
from comptroller.errors import Error, error_for

CONTENT_TYPE = b"application/problem+json"

_RETRY_AFTER_S = b"1"


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
    """Returns the headers of an error response: Retry-After for a temporary error."""
    is_temporary = error.status == 503 or error.code == "idempotency-in-flight"
    return [(b"retry-after", _RETRY_AFTER_S)] if is_temporary else []


def document(error: Error, request_id: str) -> bytes:
    """Returns the problem document of an error."""
    document: dict[str, Any] = {
        "type": f"/problems/{error.code}",
        "title": problems()[error.code]["title"],
        "status": error.status,
        "detail": error.detail,
        "code": error.code,
        "request_id": request_id,
    }
    if error.errors:
        document["errors"] = [{"field": field, "message": why} for field, why in error.errors]
    if error.existing is not None:
        document["meta"] = {"existing": error.existing}
    return msgspec.json.encode(document)
