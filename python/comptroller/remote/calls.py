"""The operations of a remote service: builds their requests and decodes the responses."""

from __future__ import annotations

import re
from functools import partial
from urllib.parse import quote, urlencode
from uuid import uuid4

import msgspec

from comptroller.decoding import NOT_JSON
from comptroller.description import operations
from comptroller.errors import Error, error_for, invalid, unusable
from comptroller.journal.records import Checkpoint
from comptroller.remote.normalization import normalize_response
from comptroller.remote.sending import Request, read
from comptroller.remote.session import Session
from comptroller.routes import CHECKPOINT_PATH, ROWS, Row

Parameters = list[tuple[str, str]]

JSON = {"accept": "application/json"}

# If an operation has several paths, the first is the one documented for clients.
_ROWS = {row.operation: row for row in reversed(ROWS)}
# The pattern of the core, without spaces at the ends, which HTTP headers lose.
_KEY = re.compile(r"[!-~]([ -~]{0,253}[!-~])?")


class Calls:
    """Sends operations to a remote service, for one caller."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def call(
        self,
        operation: str,
        parameters: Parameters,
        body: bytes | None,
        idempotency_key: str | None,
    ) -> bytes:
        """Executes an operation; returns its JSON result, which may be a replay."""
        row = _ROWS[operation]
        is_read = row.method == "GET"

        async def may_repeat() -> bool:
            return is_read or await self._session.takes_idempotency_key(row)

        url = _url(row, parameters)
        if is_read:
            request = read(url, JSON)
        else:
            headers = {**JSON, "idempotency-key": _key(idempotency_key)}
            if body is not None:
                headers["content-type"] = "application/json"
            content = None if body is None else partial(_content, operation, body)
            request = Request(row.method, url, headers, content)
        try:
            answer = await self._session.ask(request, may_repeat)
        except Error as error:
            if (envelope := operations()[operation].body_envelope) and error.errors:
                raise _unwrap_errors(error, envelope) from error
            raise
        named = dict(parameters)
        place = named.get("page_cursor") or named.get("after", "")
        return normalize_response(row, answer, _identity_id(parameters, body), place)

    async def checkpoint(self) -> Checkpoint:
        """Returns a checkpoint of the journal, signed, and the key that verifies it."""
        answer = await self._session.ask(read(CHECKPOINT_PATH, JSON), _always)
        try:
            return msgspec.json.decode(answer, type=Checkpoint)
        except NOT_JSON as error:
            raise unusable(f"the response is not a checkpoint: {error}") from error

    async def close(self) -> None:
        """Closes the connections; closing again does nothing."""
        await self._session.close()


async def _always() -> bool:
    return True


def _url(row: Row, parameters: Parameters) -> str:
    """Returns the path and query of an operation; an id in the path is one segment.

    Raises NotFound for an empty id, as the core does.
    """
    path, query = row.path, parameters
    if "{id}" in path:
        id = dict(parameters)["id"]
        if not id:  # the path without it names another resource, or nothing
            raise error_for("not-found", 404, "there is no record of this id")
        query = [each for each in parameters if each[0] != "id"]
        # URL libraries resolve the segments "." and "..".
        segment = id.replace(".", "%2E") if id in (".", "..") else quote(id, safe="")
        path = path.replace("{id}", segment)
    return f"{path}?{urlencode(query)}" if query else path


def _key(given: str | None) -> str:
    if given is None:
        return str(uuid4())
    if not _KEY.fullmatch(given):
        raise invalid(
            "Idempotency-Key",
            "must be 1 to 255 printable ASCII characters without a space at either end",
        )
    return given


def _content(operation: str, body: bytes) -> bytes:
    envelope = operations()[operation].body_envelope
    return b'{"%s":%s}' % (envelope.encode(), body) if envelope else body


def _unwrap_errors(error: Error, envelope: str) -> Error:
    """Removes the envelope from the field names of an error."""
    fields = [(field.removeprefix(envelope + "."), why) for field, why in error.errors]
    detail = error.detail
    for (field, why), (bare, _) in zip(error.errors, fields, strict=True):
        detail = detail.replace(f"{field}: {why}", f"{bare}: {why}")
    return error_for(
        error.code,
        error.status,
        detail,
        fields,
        error.existing,
        error.retry_after,
        error.request_id,
    )


def _identity_id(parameters: Parameters, body: bytes | None) -> str:
    if body is None:
        return dict(parameters).get("identity_id", "")
    named = msgspec.json.decode(body).get("identity_id", "")
    return named if isinstance(named, str) else ""
