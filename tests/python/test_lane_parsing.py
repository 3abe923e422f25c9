"""The lane accepts no request that llhttp rejects, and parses every request equally."""

from __future__ import annotations

import random

import pytest

pytest.importorskip("httptools")

import httptools
from comptroller._core import Lane

GET = (
    b"GET /v2/rewards/claims?limit=20&order=ASC&ledger=ETHEREUM HTTP/1.1\r\n"
    b"Host: localhost:8080\r\nUser-Agent: test/1.0 (a; b)\r\nAccept: */*\r\n"
    b"Accept-Encoding: gzip, deflate\r\nConnection: keep-alive\r\n"
    b"Authorization: Bearer abc.DEF-123_~+/==\r\n\r\n"
)
POST = (
    b"POST /v2/identity/controls HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Type: application/json\r\nContent-Length: 18\r\nIdempotency-Key: a key\r\n"
    b'Authorization: Bearer abc.def\r\n\r\n{"type": "CLOSED"}'
)
PUT = (
    b"PUT /rewards/addresses/019f1345-cf41-750f-b069-71ea6c5780e2 HTTP/1.1\r\nHost: h\r\n"
    b"authorization: Bearer t\r\ncontent-length: 2\r\ncontent-type: application/json\r\n\r\n{}"
)
# Requests that parsers are known to treat differently.
PIECES = (
    b"\r", b"\n", b"\r\n", b"\r\n\r\n", b"\t", b" ", b"\0", b"\x7f", b"\x80", b":", b": ", b",",
    b"%20", b"+", b"#", b"?", b"&", b"=", b"//", b"/../", b"HTTP/1.0", b"HTTP/1.1", b"HTTP/2.0",
    b"Content-Length: 0\r\n", b"Content-Length: 5\r\n", b"Content-Length: +5\r\n",
    b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding:\tchunked\r\n", b"TE: trailers\r\n",
    b"Connection: close\r\n", b"Connection: upgrade\r\nUpgrade: websocket\r\n",
    b"Expect: 100-continue\r\n", b"Host: other\r\n", b"Authorization: Bearer other\r\n",
    b"X-HTTP-Method-Override: GET\r\n", b"X-Long: " + b"a" * 5000 + b"\r\n", b"0\r\n\r\n",
    b" folded\r\n", b"Proxy-Connection: keep-alive\r\n", b"Content-Encoding: gzip\r\n",
    b"GET", b"POST", b"get", b"PRI * HTTP/2.0", b"CONNECT", b"HEAD",
)  # fmt: skip


class Parsed:
    """Returns the request as llhttp parses it."""

    def __init__(self, data: bytes) -> None:
        self.url = b""
        self.headers: list[tuple[bytes, bytes]] = []
        self.body = b""
        self.messages = 0
        parser = httptools.HttpRequestParser(self)
        parser.feed_data(data)
        self.method = parser.get_method()
        self.version = parser.get_http_version()
        self.is_kept_alive = parser.should_keep_alive()
        self.is_upgrade = parser.should_upgrade()

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value))

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self.messages += 1

    def values(self, name: bytes) -> list[bytes]:
        return [value for each, value in self.headers if each == name]


def mutate(random: random.Random, data: bytes) -> bytes:
    """Generates requests with one to three changes; many of them stay valid."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        at = random.randrange(len(data) + 1)
        to = min(len(data), at + random.choice((0, 1, 1, 2, 8)))
        kind = random.random()
        if kind < 0.35:
            piece = bytes([random.randrange(256)])
        elif kind < 0.5:
            piece = data[(start := random.randrange(len(data) + 1)) : start + random.randrange(60)]
        elif kind < 0.6:
            piece = b""
        elif kind < 0.8:
            piece = random.choice(PIECES)
            at = to = data.find(b"\r\n", random.randrange(len(data) or 1)) + 2
        else:
            piece = random.choice(PIECES)
        data = data[:at] + piece + data[to:]
    return data


@pytest.mark.parametrize("seed", range(5))
def test_the_lane_parses_requests_as_llhttp_does(seed: int) -> None:
    chance = random.Random(seed)
    accepted = 0
    for _ in range(100_000):
        data = mutate(chance, chance.choice((GET, POST, PUT)))
        read = Lane.parse(data)
        if read is None:
            continue
        accepted += 1
        method, path, query, token, body, key, has_accept_encoding = read
        parsed = Parsed(data)
        target = path + b"?" * (b"?" in parsed.url) + query
        assert (parsed.method, parsed.url) == (method, target), data
        assert parsed.version == "1.1", data
        assert (parsed.messages, parsed.body) == (1, body), data
        assert parsed.is_kept_alive, data
        assert not parsed.is_upgrade, data
        assert parsed.values(b"authorization") == [b"Bearer " + token], data
        assert len(parsed.values(b"host")) == 1, data
        assert not parsed.values(b"transfer-encoding"), data
        assert parsed.values(b"idempotency-key") == ([] if key is None else [key]), data
        assert bool(parsed.values(b"accept-encoding")) == has_accept_encoding, data
        url = httptools.parse_url(parsed.url)
        assert (url.path, url.query or b"") == (path, query), data
    assert accepted > 1000


@pytest.mark.parametrize("request_", [GET, POST, PUT])
def test_common_requests_are_accepted(request_: bytes) -> None:
    assert Lane.parse(request_) is not None
