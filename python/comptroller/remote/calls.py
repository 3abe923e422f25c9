"""The operations of a remote service: requests from their parameters, records from the answers."""

from __future__ import annotations

import re
from functools import partial
from urllib.parse import quote, urlencode
from uuid import uuid4

import msgspec

from comptroller.description import operations
from comptroller.errors import Error, invalid, make
from comptroller.remote.answers import plain
from comptroller.remote.sending import Asked, read
from comptroller.remote.session import Session
from comptroller.routes import ROWS, Row

Parameters = list[tuple[str, str]]

JSON = {"accept": "application/json"}

# Of several paths the first is the one that is documented for clients.
_ROWS = {row.operation: row for row in reversed(ROWS)}
# As the core has it, but for spaces at the ends, which a header does not keep.
_KEY = re.compile(r"[!-~]([ -~]{0,253}[!-~])?")


class Calls:
    """Carries operations to a remote service, for one caller."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def call(
        self,
        operation: str,
        parameters: Parameters,
        body: bytes | None,
        idempotency_key: str | None,
    ) -> bytes:
        """The JSON answer of an operation, a first or a replayed one."""
        row = _ROWS[operation]
        is_read = row.method == "GET"

        async def may_repeat() -> bool:
            return is_read or await self._session.takes_idempotency_key(row)

        url = _url(row, parameters)
        if is_read:
            asked = read(url, JSON)
        else:
            headers = {**JSON, "idempotency-key": _key(idempotency_key)}
            if body is not None:
                headers["content-type"] = "application/json"
            content = None if body is None else partial(_content, operation, body)
            asked = Asked(row.method, url, headers, content)
        try:
            answer = await self._session.ask(asked, may_repeat)
        except Error as error:
            if (envelope := operations()[operation].body_envelope) and error.errors:
                raise _unwrapped(error, envelope) from error
            raise
        cursor = dict(parameters).get("page_cursor", "")
        return plain(row, answer, _identity_asked_about(parameters, body), cursor)

    async def close(self) -> None:
        """Ends the connections; again does nothing."""
        await self._session.close()


def _url(row: Row, parameters: Parameters) -> str:
    """Path and query of an operation; the id that the path names is one segment of it."""
    path, query = row.path, parameters
    if "{id}" in path:
        id = dict(parameters)["id"]
        query = [each for each in parameters if each[0] != "id"]
        # A segment of dots alone would be taken for a step up.
        segment = id.replace(".", "%2E") if id in (".", "..") else quote(id, safe="")
        path = path.replace("{id}", segment)
    return f"{path}?{urlencode(query)}" if query else path


def _key(given: str | None) -> str:
    if given is None:
        return str(uuid4())
    if not _KEY.fullmatch(given):
        raise invalid(
            "Idempotency-Key",
            "must be 1 to 255 printable ASCII characters, and no space at its ends",
        )
    return given


def _content(operation: str, body: bytes) -> bytes:
    envelope = operations()[operation].body_envelope
    return b'{"%s":%s}' % (envelope.encode(), body) if envelope else body


def _unwrapped(error: Error, envelope: str) -> Error:
    """The refusal of a body that was in an envelope, as one that was not is refused."""
    fields = [(field.removeprefix(envelope + "."), why) for field, why in error.errors]
    detail = error.detail
    for (field, why), (bare, _) in zip(error.errors, fields, strict=True):
        detail = detail.replace(f"{field}: {why}", f"{bare}: {why}")
    return make(
        error.code,
        error.status,
        detail,
        fields,
        error.existing,
        error.retry_after,
        error.request_id,
    )


def _identity_asked_about(parameters: Parameters, body: bytes | None) -> str:
    if body is None:
        return dict(parameters).get("identity_id", "")
    named = msgspec.json.decode(body).get("identity_id", "")
    return named if isinstance(named, str) else ""
