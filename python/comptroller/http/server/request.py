"""A request as a connection receives it, and what its head must be like."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache

import httptools

from comptroller import _core
from comptroller.routes import METHOD_OVERRIDE

LARGEST_HEAD = 16 << 10  # bytes of the request line and all headers, or of trailers
MAX_HEADERS = 64
#: The detail of a rejection by these limits.
TOO_LONG = (
    f"the head of the request is too long; at most {LARGEST_HEAD:,} bytes and {MAX_HEADERS} fields;"
    f" send long filters as a form, by POST with {METHOD_OVERRIDE}: GET"
)
_VERSIONS = ("1.0", "1.1")
_FRAGMENT = ord("#")  # begins one in a URL
_HOST = re.compile(rb"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~!$&'()*+,;=%-]*)(:[0-9]*)?")


class Request:
    """A request as it was received.

    Attributes:
        began: when its head began, by `time.perf_counter`.
        target: percent-encoded.
        fields: its headers for the core, which are complete when the head is.
        has_body: whether its headers describe a body.
        body: what has arrived of the body, and was not passed on.
        is_complete: whether all of it has arrived.
        keep_alive: whether the connection may have further requests.
        is_announced: whether the response says if the connection stays open.
    """

    began: float
    method = b""
    target = b""
    version = ""
    fields: _core.Fields
    has_body = False
    body = b""
    is_complete = False
    keep_alive = False
    is_announced = False

    @cached_property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """The names in lower case, and the values."""
        return self.fields.headers()

    def fault(self, count: int, field_bytes: int, hosts: list[bytes]) -> tuple[int, str] | None:
        """Returns the status and the detail for a head that must be rejected (RFC 9112).

        Args:
            count: how many headers it has.
            field_bytes: the size of its headers as received.
            hosts: the values of its Host headers.
        """
        size = len(self.target) + field_bytes
        if count > MAX_HEADERS or size > LARGEST_HEAD:
            return long_head(len(self.target), field_bytes), TOO_LONG
        if self.version not in _VERSIONS:
            return 505, "send HTTP/1.1"
        if len(hosts) != 1 and (hosts or self.version != "1.0"):
            return 400, "Host is missing or repeated; send it exactly once"
        if hosts and not _is_host(hosts[0]):
            return 400, "Host is invalid; send the host and the port of the URL"
        if self.has_body and not self._is_coding_known():
            return 501, "Transfer-Encoding must be chunked; send other codings not at all"
        if self.method == b"CONNECT":
            return 400, "this is not a proxy; CONNECT is not accepted"
        return None

    def _is_coding_known(self) -> bool:
        """Whether the body has no coding but chunked (RFC 9112 section 6.1)."""
        codings = [value.lower() for name, value in self.headers if name == b"transfer-encoding"]
        # llhttp refuses a body whose last coding is another one.
        return codings in ([], [b"chunked"]) or not codings[-1].endswith(b"chunked")

    def require_url(self) -> None:
        """Raises ValueError if the target is not a URL."""
        if not self.target.isascii() or _FRAGMENT in self.target:
            raise ValueError("the target is not a URL without a fragment")
        if self.target[:1] != b"/":
            httptools.parse_url(self.target)

    def split_target(self) -> tuple[bytes, bytes]:
        """Returns the path and the query."""
        if self.target.startswith(b"/"):
            path, _, query = self.target.partition(b"?")
            return path, query
        url = httptools.parse_url(self.target)
        return url.path or b"/", url.query or b""


@lru_cache(maxsize=64)  # clients repeat it
def _is_host(value: bytes) -> bool:
    return _HOST.fullmatch(value) is not None


def long_head(target_bytes: int, field_bytes: int) -> int:
    """Returns the status for a head that is too long: by its target, or by its headers."""
    return 414 if target_bytes > field_bytes else 431
