"""Requests to a remote service, with safe retries, and the errors of its responses."""

from __future__ import annotations

import random
import re
import ssl
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple, TypeGuard, TypeVar

import httpx2
import msgspec

from comptroller.bulk.loading import LoadResult
from comptroller.decoding import NOT_JSON
from comptroller.errors import (
    Error,
    OutcomeUnknown,
    closed,
    error_for,
    shorten,
    unavailable,
    unusable,
)
from comptroller.remote.channel import Channel, Content
from comptroller.retry_after import retry_after_s
from comptroller.routes import FORM, LARGEST_BODY, METHOD_OVERRIDE

R = TypeVar("R")

_LONGEST_URL = 4000  # characters
_FIRST_PAUSE_S = 0.25
_LONGEST_PAUSE_S = 30.0
_LONGEST_DETAIL = 1000
# In bytes, of a response that is read into memory. A full page of the largest records is smaller.
_LONGEST_BODY = 256 << 20
_TEMPORARY = frozenset({429, 502, 503, 504})
# A gateway got no response from the service, or the service does not know the outcome of a write.
_UNANSWERED = frozenset({502, 504})
# The request did not reach the service: no connection (also for DNS and TLS errors), a proxy error,
# no free connection, an invalid request.
_UNSENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.ProxyError,
    httpx2.PoolTimeout,
    httpx2.UnsupportedProtocol,
    httpx2.LocalProtocolError,
)
# OpenSSL's reasons if the other side sends something else than TLS.
_NO_TLS = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST"})
_CODES = {
    401: "unauthenticated",
    403: "insufficient-scope",
    404: "not-found",
    405: "method-not-allowed",
    409: "already-exists",
    413: "content-too-large",
    415: "unsupported-media-type",
    429: "rate-limited",
    500: "internal",
    501: "unsupported",
}
_CODE = re.compile(r"[a-z]+(-[a-z]+)*")


class Upload(NamedTuple):
    """A long body, which the server may refuse before its end.

    Attributes:
        is_sent: whether the last attempt passed all pieces to the connection. If not, it did not
            send the end of the body, so the server cannot have executed the request.
        check_url: a URL at which the same request without a body changes nothing, and is refused
            for the same reasons.
    """

    is_sent: Callable[[], bool]
    check_url: str


class Request(NamedTuple):
    """A request; `content` is called for each attempt. If it is single-use, there is only one."""

    method: str
    url: str
    headers: Mapping[str, str]
    content: Content | None = None
    is_single_use: bool = False
    upload: Upload | None = None

    @property
    def is_write(self) -> bool:
        """Whether the request may change records."""
        return self.method != "GET" and METHOD_OVERRIDE not in self.headers


def read(url: str, headers: Mapping[str, str]) -> Request:
    """Returns a GET request; or, if the URL is too long for servers, a POST of its query."""
    path, _, query = url.partition("?")
    if not query or len(url) <= _LONGEST_URL:
        return Request("GET", url, headers)
    form = {**headers, "content-type": FORM, METHOD_OVERRIDE: "GET"}
    return Request("POST", path, form, query.encode)


class Failure(Exception):
    """A failed attempt.

    Attributes:
        error: the error of the attempt.
        is_temporary: whether a retry may succeed.
        may_be_executed: whether the service may have executed the request.
        has_response: whether the error is that of a response.
        retry_after_s: the seconds to wait, if the server named them.
    """

    def __init__(
        self,
        error: Error,
        *,
        is_temporary: bool,
        may_be_executed: bool,
        has_response: bool,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(error)
        self.error = error
        self.is_temporary = is_temporary
        self.may_be_executed = may_be_executed
        self.has_response = has_response
        self.retry_after_s = retry_after_s


async def always() -> bool:
    """Returns True, for requests that may always be repeated."""
    return True


class Sender:
    """Sends requests through a channel. Threads, or tasks, may share an instance."""

    def __init__(self, channel: Channel, attempts: int) -> None:
        self.channel = channel
        self._attempts = attempts

    async def send(
        self,
        attempt: Callable[[], Awaitable[R]],
        may_repeat: Callable[[], Awaitable[bool]] = always,
        *,
        is_write: bool = False,
    ) -> R:
        """Returns the result of an attempt; retries after a pause if the failure is temporary.

        Raises the Error of the last attempt; but OutcomeUnknown for a write, if an attempt may have
        been executed.
        """
        tried = 1
        may_be_executed = False
        while True:
            try:
                return await attempt()
            except Failure as failure:
                may_be_executed = may_be_executed or (is_write and failure.may_be_executed)
                # In a retry, this code means that the server still executes an earlier attempt.
                is_temporary = failure.is_temporary or (
                    tried > 1 and failure.error.code == "idempotency-in-flight"
                )
                if tried >= self._attempts or not is_temporary or not await may_repeat():
                    error = _outcome_unknown(failure.error) if may_be_executed else failure.error
                    raise error from failure.__cause__
                pause_s = _pause_s(tried, failure.retry_after_s)
            except Error as error:  # such as a failure to fetch a new token
                if may_be_executed:
                    raise _outcome_unknown(error) from error
                raise
            await self.channel.sleep(pause_s)
            tried += 1

    async def body(self, response: httpx2.Response) -> bytes:
        """Reads the body of a response and closes it. Raises Unusable if it is too long."""
        pieces: list[bytes] = []
        size = 0
        async for piece in self.channel.pieces(response):
            size += len(piece)
            if size > _LONGEST_BODY:
                raise unusable(f"a response is too long; at most {_LONGEST_BODY:,} bytes")
            pieces.append(piece)
        await self.channel.end(response)
        return b"".join(pieces)

    async def send_once(
        self, request: Request, take: Callable[[httpx2.Response], Awaitable[R]]
    ) -> R:
        """Sends a request once; returns the result of `take` on the response. Raises Failure."""
        place = f"{request.method} {request.url.partition('?')[0]}"
        client = self.channel.client
        if client.is_closed:
            raise closed()
        content = request.content and request.content()
        if isinstance(content, bytes) and len(content) > LARGEST_BODY:
            # The response to a body that is much larger may be lost, see `Session._send_once`.
            detail = f"the body is too large; at most {LARGEST_BODY:,} bytes"
            raise error_for("content-too-large", 413, detail)
        try:
            http_request = client.build_request(
                request.method,
                request.url,
                headers=request.headers,
                content=content,
            )
            response = await self.channel.send(http_request)
            try:
                if not response.is_success:
                    raise _failure(response, await self.body(response), place)
                return await take(response)
            except BaseException:
                await self.channel.end(response)
                raise
        except httpx2.InvalidURL as error:
            raise error_for(
                "invalid-request", 400, f"{place} is not a valid URL: {error}"
            ) from error
        except UnicodeError as error:
            if getattr(error, "is_of_content", False):
                raise
            # Python's resolver raises it for a label of an invalid length; base_url has none.
            raise unusable(
                f"{place} got no response: the host name of a proxy is not valid: {error}"
            ) from error
        except httpx2.RequestError as error:
            cause = _lasting_cause(error)
            if cause:
                raise unusable(f"{place} got no response: {cause}") from error
            raise Failure(
                self.unanswered(place, error),
                is_temporary=not client.is_closed,
                may_be_executed=not isinstance(error, _UNSENT),
                has_response=False,
            ) from error

    def unanswered(self, place: str, error: httpx2.RequestError) -> Error:
        """Returns the error of a request without a complete response."""
        if self.channel.client.is_closed:  # by another thread or task
            return closed()
        why = "timed out" if isinstance(error, httpx2.TimeoutException) else str(error)
        return unavailable(f"{place} got no response: {why or type(error).__name__}")


def _lasting_cause(error: BaseException) -> str:
    """Returns why no attempt can open a TLS connection, and what to do; empty if one may."""
    causes: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in causes:  # errors may be the context of each other
        causes.append(cause)
        cause = cause.__cause__ or cause.__context__
    for each in causes:
        if isinstance(each, ssl.SSLCertVerificationError):
            return (
                f"its certificate is not trusted ({each.verify_message}); if an authority of your"
                " organisation signed it, give the authority's certificate in PEM with the"
                " environment variable SSL_CERT_FILE"
            )
        if isinstance(each, ssl.SSLError) and each.reason in _NO_TLS:
            return "the port does not speak TLS; give a URL with http:// or the port of HTTPS"
    return ""


def _outcome_unknown(error: Error) -> Error:
    """Returns the error of a write that may have been executed before this error."""
    unknown = OutcomeUnknown(
        "outcome-unknown",
        504,
        f"{error.detail}; the write may have been executed, because an attempt got no response",
        error.errors,
        retry_after=error.retry_after,
        request_id=error.request_id,
    )
    if "load_result" in vars(error):
        vars(unknown)["load_result"] = vars(error)["load_result"]
    return unknown


def _failure(response: httpx2.Response, content: bytes, place: str) -> Failure:
    status = response.status_code
    pause_s = retry_after_s(response.headers.get("retry-after"))
    is_soon = (pause_s or 0) <= _LONGEST_PAUSE_S
    later = "" if is_soon else f"; try again in {pause_s:,.0f} s"
    given_id = response.headers.get("x-request-id")
    answer = decode_object(content)
    error = _refusal(status, answer, place, later, pause_s, given_id)
    if response.is_redirect:
        target = shorten(response.headers.get("location", "").partition("?")[0])
        to = f"to {target}; connect to that URL if you trust it" if target else "without a target"
        error = unusable(f"{place} redirects {to}")
    return Failure(
        error,
        is_temporary=status in _TEMPORARY and is_soon,
        may_be_executed=_may_be_executed(status, answer),
        has_response=True,
        retry_after_s=pause_s,
    )


def _may_be_executed(status: int, answer: Mapping[str, Any]) -> bool:
    return status in _UNANSWERED or answer.get("code") == "outcome-unknown"


def late_refusal(answer: Mapping[str, Any], place: str, *, may_be_stored: bool) -> Error:
    """Returns the Error of a load whose response has a problem document after a status of 200.

    `Sender.send` takes such a response for a success. This is OutcomeUnknown if the load may have
    been stored, as `send` raises for the document's own status.
    """
    status = answer["status"]
    error = _refusal(status, answer, place)
    is_unknown = may_be_stored and _may_be_executed(status, answer)
    return _outcome_unknown(error) if is_unknown else error


def incomplete(place: str, *, may_be_stored: bool) -> Error:
    """Returns the error of a load whose response ended before its result."""
    error = unavailable(f"{place} got no response: it ends before the result")
    return _outcome_unknown(error) if may_be_stored else error


def _refusal(
    status: int,
    answer: Mapping[str, Any],
    place: str,
    also: str = "",
    retry_after_s: float | None = None,
    request_id: str | None = None,
) -> Error:
    """Returns the Error of an error response: from its problem document, or its status.

    Args:
        status: the HTTP status.
        answer: the body: a problem document (RFC 9457), an OAuth error (RFC 6749 section 5.2), or
            any other object.
        place: the method and URL, for the message.
        also: text to append to the detail.
        retry_after_s: the seconds of the Retry-After header.
        request_id: the id of the response header, used if the body has none.
    """
    code = answer.get("code")
    if status in _TEMPORARY and status != 429:
        # The server's own code, such as "closed", would describe a local store to the caller.
        code = "unavailable"
    elif not isinstance(code, str) or not _CODE.fullmatch(code):
        code = _CODES.get(status, "unavailable" if status > 500 else "invalid-request")
    of_oauth = (answer.get("error"), answer.get("error_description"))
    sentences = (answer.get("detail"), ": ".join(filter(_is_text, of_oauth)), answer.get("message"))
    detail = next(filter(_is_text, sentences), f"{place} returned status {status}")
    meta = members_of(answer.get("meta"))
    existing = meta.get("existing")
    named_id = answer.get("request_id")
    error = error_for(
        code,
        503 if status in _UNANSWERED else status,
        detail[:_LONGEST_DETAIL] + also,
        _field_errors(answer.get("errors")),
        existing if isinstance(existing, str) else None,
        None if retry_after_s is None else max(retry_after_s, 0.0),
        named_id if _is_text(named_id) else request_id,
    )
    if "load_result" in meta:
        with suppress(msgspec.ValidationError):  # of another implementation
            vars(error)["load_result"] = msgspec.convert(meta["load_result"], LoadResult)
    return error


def _field_errors(answer: object) -> list[tuple[str, str]]:
    listed = map(members_of, answer) if isinstance(answer, list) else ()
    pairs = [(each.get("field"), each.get("message")) for each in listed]
    return [(field, why) for field, why in pairs if _is_text(field) and _is_text(why)]


def decode_object(content: bytes) -> dict[str, Any]:
    """Returns a JSON object; an empty one if the content is none."""
    try:
        return members_of(msgspec.json.decode(content))
    except NOT_JSON:
        return {}


def members_of(value: object) -> dict[str, Any]:
    """Returns an object of decoded JSON; an empty one for another value."""
    return value if isinstance(value, dict) else {}


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and value != ""


def _pause_s(tried: int, retry_after_s: float | None) -> float:
    if retry_after_s is not None:
        return min(max(retry_after_s, 0.0), _LONGEST_PAUSE_S)
    # Jitter, so that clients that failed at the same time do not retry at the same time.
    longest_s: float = min(_FIRST_PAUSE_S * 2**tried, _LONGEST_PAUSE_S)
    return longest_s * random.uniform(0.5, 1.0)
