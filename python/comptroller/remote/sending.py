"""Requests to a service elsewhere, sent again where that is safe."""

from __future__ import annotations

import random
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple, TypeGuard, TypeVar

import httpx2
import msgspec

from comptroller.bulk.loading import LoadResult
from comptroller.errors import (
    Error,
    OutcomeUnknown,
    closed,
    make,
    shorten,
    unavailable,
    unusable,
)
from comptroller.remote.channel import Channel
from comptroller.routes import FORM, METHOD_OVERRIDE

R = TypeVar("R")

_LONGEST_URL = 4000  # characters
_FIRST_PAUSE_S = 0.25
_LONGEST_PAUSE_S = 30.0
_LONGEST_DETAIL = 1000
_PASSING = frozenset({429, 502, 503, 504})
# A gateway's word that who should have answered did not.
_UNANSWERED = frozenset({502, 504})
# The request did not reach the service: no connection (which includes names that do not resolve
# and TLS that fails), a proxy that refused, no free connection, a request that cannot be written.
_UNSENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.ProxyError,
    httpx2.PoolTimeout,
    httpx2.UnsupportedProtocol,
    httpx2.LocalProtocolError,
)
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


class Asked(NamedTuple):
    """A request; `content` is called each time it is sent, or can be called only once."""

    method: str
    url: str
    headers: Mapping[str, str]
    content: Callable[[], bytes | Iterable[bytes]] | None = None
    is_once: bool = False

    @property
    def is_write(self) -> bool:
        """Whether it may change something."""
        return self.method != "GET" and METHOD_OVERRIDE not in self.headers


def read(url: str, headers: Mapping[str, str]) -> Asked:
    """A GET, or a POST of a form in its place, where the URL is longer than servers take."""
    path, _, query = url.partition("?")
    if not query or len(url) <= _LONGEST_URL:
        return Asked("GET", url, headers)
    form = {**headers, "content-type": FORM, METHOD_OVERRIDE: "GET"}
    return Asked("POST", path, form, query.encode)


class Failure(Exception):
    """An attempt that failed: why, and what that means for another.

    Attributes:
        is_passing: whether it may pass.
        is_lost: whether the request may have been done all the same.
        retry_after_s: how long to wait, where that was told.
    """

    def __init__(
        self,
        error: Error,
        *,
        is_passing: bool,
        is_lost: bool,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(error)
        self.error = error
        self.is_passing = is_passing
        self.is_lost = is_lost
        self.retry_after_s = retry_after_s


async def always() -> bool:
    """True: of a request that may be sent again."""
    return True


class Sender:
    """Sends requests through a channel. May be used from many threads, or tasks."""

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
        """What an attempt gives; another after a pause where one fails in a way that may pass.

        Raises the Error of the last one; but OutcomeUnknown for a write, once an attempt at it got
        no answer.
        """
        tried = 1
        is_lost = False
        while True:
            try:
                return await attempt()
            except Failure as failure:
                is_lost = is_lost or (is_write and failure.is_lost)
                # Then an earlier attempt, whose answer was lost, is still at work.
                is_passing = failure.is_passing or (
                    tried > 1 and failure.error.code == "idempotency-in-flight"
                )
                if tried >= self._attempts or not is_passing or not await may_repeat():
                    error = _not_known(failure.error) if is_lost else failure.error
                    raise error from failure.__cause__
                pause_s = _pause_s(tried, failure.retry_after_s)
            except Error as error:  # such as that there is no token any more
                if is_lost:
                    raise _not_known(error) from error
                raise
            await self.channel.sleep(pause_s)
            tried += 1

    async def once(self, asked: Asked, take: Callable[[httpx2.Response], Awaitable[R]]) -> R:
        """What `take` makes of the answer, whose head has been read. Raises Failure."""
        place = f"{asked.method} {asked.url.partition('?')[0]}"
        client = self.channel.client
        if client.is_closed:
            raise closed()
        try:
            request = client.build_request(
                asked.method,
                asked.url,
                headers=asked.headers,
                content=asked.content and asked.content(),
            )
            response = await self.channel.send(request)
            try:
                if not response.is_success:
                    raise _failure(response, await self.channel.read(response), place)
                return await take(response)
            except BaseException:
                await self.channel.end(response)
                raise
        except httpx2.InvalidURL as error:
            raise make("invalid-request", 400, f"{place} cannot be asked: {error}") from error
        except httpx2.RequestError as error:
            may_be_done = not isinstance(error, _UNSENT)
            failure = Failure(unanswered(place, error), is_passing=True, is_lost=may_be_done)
            raise failure from error


def unanswered(place: str, error: httpx2.RequestError) -> Error:
    """The refusal of a service that was not reached, or was gone before it had answered."""
    why = "it took too long" if isinstance(error, httpx2.TimeoutException) else str(error)
    return unavailable(f"{place} got no answer: {why or type(error).__name__}")


def _not_known(error: Error) -> Error:
    """The refusal of a write that may have been executed before this error."""
    return OutcomeUnknown(
        "outcome-unknown",
        504,
        f"{error.detail}; whether it was done is not known, because an attempt got no answer",
        retry_after=error.retry_after,
        request_id=error.request_id,
    )


def _failure(response: httpx2.Response, content: bytes, place: str) -> Failure:
    status = response.status_code
    retry_after_s = _retry_after_s(response.headers.get("retry-after"))
    is_soon = (retry_after_s or 0) <= _LONGEST_PAUSE_S
    later = "" if is_soon else f"; ask again in {retry_after_s:,.0f} s"
    given_id = response.headers.get("x-request-id")
    error = refusal(status, _members(content), place, later, retry_after_s, given_id)
    if response.is_redirect:
        there = shorten(response.headers["location"].partition("?")[0])
        error = unusable(f"{place} is elsewhere, at {there}: connect to that, if you trust it")
    return Failure(
        error,
        is_passing=status in _PASSING and is_soon,
        is_lost=status in _UNANSWERED,
        retry_after_s=retry_after_s,
    )


def refusal(
    status: int,
    answer: Mapping[str, Any],
    place: str,
    also: str = "",
    retry_after_s: float | None = None,
    request_id: str | None = None,
) -> Error:
    """The Error of an answer that is none: by its problem document (RFC 9457), or its status.

    `answer` may also be an error of RFC 6749 section 5.2, or something else. The detail ends with
    `also`. `request_id` is that of the header, used if the document has none.
    """
    code = answer.get("code")
    if status in _PASSING and status != 429:
        code = "unavailable"  # whatever ended it there, such as a store that was closed
    elif not isinstance(code, str) or not _CODE.fullmatch(code):
        code = _CODES.get(status, "unavailable" if status > 500 else "invalid-request")
    of_oauth = (answer.get("error"), answer.get("error_description"))
    sentences = (answer.get("detail"), ": ".join(filter(_is_text, of_oauth)), answer.get("message"))
    detail = next(filter(_is_text, sentences), f"{place} was answered {status}")
    meta = _dict(answer.get("meta"))
    existing = meta.get("existing")
    named_id = answer.get("request_id")
    error = make(
        code,
        503 if status in _UNANSWERED else status,
        detail[:_LONGEST_DETAIL] + also,
        _field_errors(answer.get("errors")),
        existing if isinstance(existing, str) else None,
        None if retry_after_s is None else max(retry_after_s, 0.0),
        named_id if _is_text(named_id) else request_id,
    )
    if "load_result" in meta:
        vars(error)["load_result"] = msgspec.convert(meta["load_result"], LoadResult)
    return error


def _field_errors(answer: object) -> list[tuple[str, str]]:
    listed = map(_dict, answer) if isinstance(answer, list) else ()
    pairs = [(each.get("field"), each.get("message")) for each in listed]
    return [(field, why) for field, why in pairs if _is_text(field) and _is_text(why)]


def _members(content: bytes) -> dict[str, Any]:
    try:
        return _dict(msgspec.json.decode(content))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return {}


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and value != ""


def _retry_after_s(given: str | None) -> float | None:
    """Seconds that a Retry-After header asks for (RFC 9110 section 10.2.3)."""
    if given is None:
        return None
    if re.fullmatch("[0-9]{1,9}", given):
        return float(given)
    try:
        return (parsedate_to_datetime(given) - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError):  # no date, or one of no zone
        return None


def _pause_s(tried: int, retry_after_s: float | None) -> float:
    if retry_after_s is not None:
        return min(max(retry_after_s, 0.0), _LONGEST_PAUSE_S)
    # Scattered, so that many who failed at once do not come back at once.
    longest_s: float = min(_FIRST_PAUSE_S * 2**tried, _LONGEST_PAUSE_S)
    return longest_s * random.uniform(0.5, 1.0)
