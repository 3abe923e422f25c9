"""The error responses of a connection, which the application does not send."""

from __future__ import annotations

from http import HTTPStatus

import httptools

from comptroller.errors import error_for
from comptroller.http import problems

_REASONS = {
    **{each.value: each.phrase for each in HTTPStatus},
    413: "Content Too Large",
    414: "URI Too Long",
    422: "Unprocessable Content",
}
#: By status.
STATUS_LINES = {
    status: f"HTTP/1.1 {status} {reason}\r\n".encode() for status, reason in _REASONS.items()
}


def refusal(status: int, detail: str, request_id: str, date: bytes) -> tuple[bytes, bytes]:
    """Returns the head and the body of a problem document; `date` is a header line."""
    code = "outcome-unknown" if status == HTTPStatus.GATEWAY_TIMEOUT else "invalid-request"
    body = problems.document(error_for(code, status, detail), request_id)
    fields = (
        f"content-type: {problems.CONTENT_TYPE.decode()}\r\ncontent-length: {len(body)}\r\n"
        f"x-request-id: {request_id}\r\nconnection: close\r\n\r\n"
    )
    return STATUS_LINES[status] + date + fields.encode(), body


def malformed(error: httptools.HttpParserError) -> str:
    """Returns the detail for a request that cannot be parsed."""
    is_ours = isinstance(error, httptools.HttpParserCallbackError)
    return f"malformed HTTP: {'the target is not a URL' if is_ours else error}"
