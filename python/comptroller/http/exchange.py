"""A request and its response."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, MutableMapping
from secrets import token_hex
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes

from comptroller.errors import invalid
from comptroller.http.problems import Refusal, problem
from comptroller.routes import FORM, LARGEST_BODY, METHOD_OVERRIDE

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = Iterable[tuple[bytes, bytes]]

#: The maximum number of fields in a query string.
MAX_FIELDS = 2000

#: A scope key that a handler sets: the deadline applies to each piece of the body, not to all.
PIECEWISE = "comptroller.piecewise"

#: A scope key with the outcome, in its envelope, of an operation that was already executed.
OUTCOME = "comptroller.outcome"
#: A scope key with the Caller of that operation, or None if it is not known any more.
CALLER = "comptroller.caller"
#: A scope key: the rate limit of the caller has counted the request.
RATED = "comptroller.rated"
#: The detail of errors while the server stops.
STOPPING = "the server is stopping; repeat the request after its restart"
#: The same for a write that the core executes, whose outcome the server does not wait for.
STOPPING_DURING_WRITE = (
    "the server is stopping; the write may have been executed: repeat it with the same "
    "Idempotency-Key (a load needs none), or read the record first"
)
#: A scope key with the time at which the head of the request began, by `time.perf_counter`.
BEGAN = "comptroller.began"

#: A % without two hexadecimal digits after it.
BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")

_LONGEST_LENGTH = 18  # digits
_PIECE = 256 << 10  # bytes
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._:/+=@-]{1,128}")
_OVERRIDE = METHOD_OVERRIDE.encode()
_SINGLE = frozenset({b"content-type", b"content-length", b"idempotency-key", _OVERRIDE})


class Disconnected(Exception):
    """The client has disconnected."""


class Exchange:
    """A request, its response, and the attributes for the log.

    `may_be_executed` is whether the core may have executed the request, a write, although its
    outcome is not known.

    Methods raise :class:`comptroller.Error` or Refusal for an invalid request.
    """

    __slots__ = (
        "client_id",
        "customer",
        "headers",
        "is_form",
        "is_head",
        "may_be_executed",
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
        self.headers: dict[bytes, bytes] = dict(reversed(scope["headers"]))
        self.is_head = scope["method"] == "HEAD"
        self.is_form = scope["method"] == "POST" and self.headers.get(_OVERRIDE) == b"GET"
        self.method: str = "GET" if self.is_head or self.is_form else scope["method"]
        given = self.headers.get(b"x-request-id", b"")
        self.request_id = given.decode() if _REQUEST_ID.fullmatch(given) else token_hex(16)
        self.scope = scope
        self.receive = receive
        self.send = send
        self.route = ""
        self.path_values: Mapping[str, str] = {}
        self.operation = ""
        self.may_be_executed = False
        self.client_id: str | None = None
        self.customer: str | None = None
        self.status = 0
        self.refusal = ""

    @property
    def root(self) -> str:
        """The path of the mounted application, decoded; empty if it is not mounted."""
        root: str = self.scope.get("root_path", "")
        return root.rstrip("/")

    @property
    def peer(self) -> str | None:
        """The address of the client, if the server provides it."""
        client = self.scope.get("client")
        return client[0] if client else None

    def refuse_ambiguous_headers(self) -> None:
        """Raises InvalidRequest for an override that is not supported, or a repeated header."""
        headers = self.scope["headers"]
        if _OVERRIDE in self.headers and not self.is_form:
            raise invalid(METHOD_OVERRIDE, "only GET is supported, in a POST")
        if len(self.headers) == len(headers):
            return
        names = [name for name, _ in headers if name in _SINGLE]
        for name in names:
            if names.count(name) > 1:
                raise invalid(name.decode(), "appears more than once")

    def is_repeated(self, name: bytes) -> bool:
        """Whether a header appears more than once."""
        headers = self.scope["headers"]
        return len(headers) > len(self.headers) and [each for each, _ in headers].count(name) > 1

    async def parameters(self) -> list[tuple[str, str]]:
        """Returns the fields of the query string, or of the form that replaces it, in order."""
        query: bytes = self.scope["query_string"]
        if self.is_form:
            if query:
                raise invalid("query", "must be empty if the parameters are in a form")
            self.check_type(FORM.encode())
            query = await self._whole_body()
        if not query:
            return []
        try:
            text = query.decode("ascii")
            fields = parse_qsl(
                text, keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS
            )
        except UnicodeDecodeError:
            raise invalid("query", "must be UTF-8, percent-encoded") from None
        except ValueError:
            raise invalid("query", f"too many fields; at most {MAX_FIELDS}") from None
        if BAD_ESCAPE.search(text):
            raise invalid("query", "has a % without two hexadecimal digits after it; write %25")
        return fields

    def path_parameter(self, name: str) -> str:
        """Returns the decoded value of a path segment in braces."""
        segment = self.path_values[name]
        try:
            if not BAD_ESCAPE.search(segment):
                return unquote_to_bytes(segment).decode()
        except UnicodeDecodeError:
            pass
        raise problem("not-found", "there is no record of this id")

    def idempotency_key(self) -> str | None:
        """Returns the header Idempotency-Key, which the core validates."""
        key = self.headers.get(b"idempotency-key")
        return None if key is None else key.decode("latin-1")

    async def body(self) -> bytes:
        """Reads the JSON body; empty if there is none.

        Raises an Error for a body that is too large (413) or has another media type (415). A write
        without a body also must not have another media type, such as that of an HTML form.
        """
        if self.is_form:
            return b""
        data = await self._whole_body() if self._has_body() else b""
        if data or (self.method != "GET" and b"content-type" in self.headers):
            self.check_type(b"application/json")
        return data

    async def refuse_body(self) -> None:
        """Raises InvalidRequest for a request with a body, if it takes none."""
        if await self.body():
            raise problem("invalid-request", "this operation takes no body")

    def refuse_idempotency_key(self, why: str) -> None:
        """Raises InvalidRequest for a request with an Idempotency-Key, if it takes none."""
        if self.idempotency_key() is not None:
            raise invalid("Idempotency-Key", why)

    async def _whole_body(self) -> bytes:
        self.check_length(LARGEST_BODY)
        return b"".join([chunk async for chunk in self.chunks(LARGEST_BODY)])

    def _has_body(self) -> bool:
        # HTTP/1 announces a body with a header. Without one, receiving would only cost time.
        is_announced = b"content-length" in self.headers or b"transfer-encoding" in self.headers
        return is_announced or not self.scope["http_version"].startswith("1")

    async def wait_for_disconnect(self) -> None:
        """Returns when the client has disconnected; what it still sends is lost."""
        while (await self.receive())["type"] != "http.disconnect":
            pass

    def check_length(self, largest: int) -> None:
        """Raises an Error if Content-Length is invalid or larger than `largest` bytes."""
        length = self.headers.get(b"content-length")
        if length is None:
            return
        if not length.isdigit():
            raise invalid("Content-Length", "must be a number of bytes")
        if len(length) > _LONGEST_LENGTH or int(length) > largest:
            raise _too_large(largest)

    def check_type(self, *allowed: bytes) -> None:
        """Raises Refusal for another media type or charset, or a compressed body.

        Its headers name what is accepted (RFC 9110 section 15.5.16).
        """
        parts = self.headers.get(b"content-type", b"").lower().split(b";")
        media_type, *parameters = (part.strip() for part in parts)
        charsets = {each[8:].strip(b'"') for each in parameters if each.startswith(b"charset=")}
        if media_type not in allowed or not charsets <= {b"utf-8"}:
            error = problem(
                "unsupported-media-type",
                f"Content-Type must be {b' or '.join(allowed).decode()}",
            )
            raise Refusal(error, [(b"accept", b", ".join(allowed))])
        if self.headers.get(b"content-encoding", b"identity").lower() != b"identity":
            error = problem("unsupported-media-type", "Content-Encoding is not supported")
            raise Refusal(error, [(b"accept-encoding", b"identity")])

    async def chunks(self, largest: int | None = None) -> AsyncIterator[bytes]:
        """Yields the bytes of the body as they arrive."""
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
        """Sends a complete response; for HEAD only its headers."""
        await self.start(status, content_type, [(b"content-length", b"%d" % len(body)), *headers])
        sent = 0
        if self.is_head:
            body = b""
        # In pieces, so that the server can apply backpressure.
        while len(body) - sent > _PIECE:
            piece = body[sent : sent + _PIECE]
            await self.send({"type": "http.response.body", "body": piece, "more_body": True})
            sent += _PIECE
        await self.send({"type": "http.response.body", "body": body[sent:]})

    async def start(self, status: int, content_type: bytes, headers: Headers = ()) -> None:
        """Sends the head of a response whose body follows in pieces."""
        self.status = status
        named = head_of(content_type, self.request_id.encode(), headers)
        await self.send({"type": "http.response.start", "status": status, "headers": named})


def head_of(content_type: bytes, request_id: bytes, headers: Headers) -> list[tuple[bytes, bytes]]:
    """Returns the headers of a response: the default ones, updated with `headers`."""
    named = {
        b"content-type": content_type,
        b"x-content-type-options": b"nosniff",
        b"x-request-id": request_id,
        b"cache-control": b"no-store",
    }
    named.update(headers)
    return list(named.items())


def lines_of(headers: Headers) -> bytes:
    """Returns headers as they are sent."""
    return b"".join([b"%b: %b\r\n" % header for header in headers])


def _too_large(largest: int) -> Exception:
    return problem("content-too-large", f"the body is too large; at most {largest:,} bytes")


#: Answers an exchange, or raises an Error.
Answer = Callable[[Exchange], Awaitable[None]]
