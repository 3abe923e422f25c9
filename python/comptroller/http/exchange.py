"""One request and its answer."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, MutableMapping
from secrets import token_hex
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes

from comptroller.errors import invalid
from comptroller.http.problems import problem
from comptroller.routes import FORM, METHOD_OVERRIDE

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = Iterable[tuple[bytes, bytes]]

#: Bytes of a body, and fields of a query string.
LARGEST_BODY = 1 << 20
MOST_FIELDS = 2000

#: A key of a scope that an answer sets: the deadline of the body is of each piece, not the whole.
PIECEWISE = "comptroller.piecewise"

#: A key of a scope with the outcome of a request that was called before it came here, in its
#: envelope.
OUTCOME = "comptroller.outcome"
#: The detail of a refusal when the server ends.
STOPPING = "the server is stopping; whether a write was done is not known: look before trying again"
#: A key of a scope with the time at which the request was received, if that was earlier.
BEGAN = "comptroller.began"

#: A % that two hexadecimal digits do not follow.
BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")

_LONGEST_LENGTH = 18  # digits
_LARGEST_PIECE = 256 << 10  # bytes
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._:/+=@-]{1,128}")
_OVERRIDE = METHOD_OVERRIDE.encode()
_SINGLE = frozenset({b"content-type", b"content-length", b"idempotency-key", _OVERRIDE})


class Disconnected(Exception):
    """The client has disconnected."""


class Exchange:
    """A request, and what is found out about it until it is answered.

    Raises :class:`comptroller.Error` for what is no request of this interface.
    """

    __slots__ = (
        "client_id",
        "customer",
        "headers",
        "is_form",
        "is_head",
        "method",
        "operation",
        "path_values",
        "receive",
        "refusal",
        "request_id",
        "route",
        "scope",
        "send",
        "status",
    )

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope = scope
        self.receive = receive
        self.send = send
        self.is_head = scope["method"] == "HEAD"
        self.method: str = "GET" if self.is_head else scope["method"]
        self.headers: dict[bytes, bytes] = dict(reversed(scope["headers"]))
        self.is_form = self.method == "POST" and self.headers.get(_OVERRIDE) == b"GET"
        if self.is_form:
            self.method = "GET"
        given = self.headers.get(b"x-request-id", b"")
        self.request_id = given.decode() if _REQUEST_ID.fullmatch(given) else token_hex(16)
        self.route = ""
        self.path_values: Mapping[str, str] = {}
        self.operation = ""
        self.client_id: str | None = None
        self.customer: str | None = None
        self.status = 0
        self.refusal = ""

    @property
    def peer(self) -> str | None:
        """The address of the client, as the server knows it."""
        client = self.scope.get("client")
        return client[0] if client else None

    def check(self) -> None:
        """Refuses duplicates of headers that may be given once."""
        headers = self.scope["headers"]
        if len(self.headers) == len(headers):
            return
        names = [name for name, _ in headers if name in _SINGLE]
        for name in names:
            if names.count(name) > 1:
                raise invalid(name.decode(), "appears more than once")

    def is_repeated(self, name: bytes) -> bool:
        """Whether a header is there more than once."""
        headers = self.scope["headers"]
        return len(headers) > len(self.headers) and [each for each, _ in headers].count(name) > 1

    async def parameters(self) -> list[tuple[str, str]]:
        """The fields of the query string, or of the form in its place, in their order."""
        query: bytes = self.scope["query_string"]
        if self.is_form:
            if query:
                raise invalid("query", "must be empty; the parameters are in the form")
            self.check_type(FORM.encode())
            query = await self._whole_body()
        if not query:
            return []
        try:
            text = query.decode("ascii")
            fields = parse_qsl(
                text, keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS
            )
        except UnicodeDecodeError:
            raise invalid("query", "must be UTF-8, percent-encoded") from None
        except ValueError:
            raise invalid("query", f"may have at most {MOST_FIELDS} fields") from None
        if BAD_ESCAPE.search(text):
            raise invalid("query", "has a % that two hexadecimal digits do not follow; write %25")
        return fields

    def path_parameter(self, name: str) -> str:
        """The value of a segment in braces, which the router saw percent-encoded."""
        segment = self.path_values[name]
        try:
            if not BAD_ESCAPE.search(segment):
                return unquote_to_bytes(segment).decode()
        except UnicodeDecodeError:
            pass
        raise problem("not-found", "there is no record of this id")

    def idempotency_key(self) -> str | None:
        """What the header of that name says, for the core to judge."""
        key = self.headers.get(b"idempotency-key")
        return None if key is None else key.decode("latin-1")

    async def body(self) -> bytes:
        """The JSON body; empty when there is none.

        Refuses 413 before it is read whole, and 415: a write also without a body, if it has another
        media type, as the form of a web page has.
        """
        if self.is_form:
            return b""
        data = await self._whole_body() if self._has_body() else b""
        if data or (self.method != "GET" and b"content-type" in self.headers):
            self.check_type(b"application/json")
        return data

    async def _whole_body(self) -> bytes:
        self.check_length(LARGEST_BODY)
        return b"".join([chunk async for chunk in self.chunks(LARGEST_BODY)])

    def _has_body(self) -> bool:
        # In HTTP/1 a body is announced; asking for one that is not would cost as much as a filter.
        is_announced = b"content-length" in self.headers or b"transfer-encoding" in self.headers
        return is_announced or not self.scope["http_version"].startswith("1")

    def check_length(self, largest: int) -> None:
        """Refuses a body that says it is larger than this many bytes."""
        length = self.headers.get(b"content-length")
        if length is None:
            return
        if not length.isdigit():
            raise invalid("Content-Length", "must be a number of bytes")
        if len(length) > _LONGEST_LENGTH or int(length) > largest:
            raise _too_large(largest)

    def check_type(self, *allowed: bytes) -> None:
        """Refuses a body of another media type or charset, and one that is packed."""
        parts = self.headers.get(b"content-type", b"").lower().split(b";")
        media_type, *parameters = (part.strip() for part in parts)
        charsets = {each[8:].strip(b'"') for each in parameters if each.startswith(b"charset=")}
        if media_type not in allowed or not charsets <= {b"utf-8"}:
            raise problem(
                "unsupported-media-type",
                f"the body must be {b' or '.join(allowed).decode()}, as Content-Type says",
            )
        if self.headers.get(b"content-encoding", b"identity").lower() != b"identity":
            raise problem("unsupported-media-type", "the body must come without Content-Encoding")

    async def chunks(self, largest: int | None = None) -> AsyncIterator[bytes]:
        """The bytes of the body, as they come."""
        size = 0
        more = True
        while more:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise Disconnected
            chunk = message.get("body", b"")
            size += len(chunk)
            if largest is not None and size > largest:
                raise _too_large(largest)
            if chunk:
                yield chunk
            more = message.get("more_body", False)

    async def answer(
        self, status: int, content_type: bytes, body: bytes, headers: Headers = ()
    ) -> None:
        """Sends the whole answer; of a HEAD request its headers."""
        await self.start(status, content_type, [(b"content-length", b"%d" % len(body)), *headers])
        sent = 0
        if self.is_head:
            body = b""
        # A large body is handed on only as fast as its reader takes it.
        while len(body) - sent > _LARGEST_PIECE:
            piece = body[sent : sent + _LARGEST_PIECE]
            await self.send({"type": "http.response.body", "body": piece, "more_body": True})
            sent += _LARGEST_PIECE
        await self.send({"type": "http.response.body", "body": body[sent:]})

    async def start(self, status: int, content_type: bytes, headers: Headers = ()) -> None:
        """Sends the head of an answer whose body follows in pieces."""
        self.status = status
        named = head_of(content_type, self.request_id.encode(), headers)
        await self.send({"type": "http.response.start", "status": status, "headers": named})


def head_of(content_type: bytes, request_id: bytes, headers: Headers) -> list[tuple[bytes, bytes]]:
    """The headers of an answer: those of every answer, and more or others."""
    named = {
        b"content-type": content_type,
        b"x-content-type-options": b"nosniff",
        b"x-request-id": request_id,
        b"cache-control": b"no-store",
    }
    named.update(headers)
    return list(named.items())


def _too_large(largest: int) -> Exception:
    return problem("content-too-large", f"the body may have at most {largest:,} bytes")


#: Answers an exchange, or raises what refuses it.
Answer = Callable[[Exchange], Awaitable[None]]
