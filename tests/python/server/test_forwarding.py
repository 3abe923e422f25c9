"""The address of a client behind proxies."""

from __future__ import annotations

import pytest
from comptroller import InvalidRequest
from comptroller.http.server.forwarding import Forwarding

PROXY = ("127.0.0.1", 4000)


@pytest.mark.parametrize(
    ("trusted", "peer", "lines", "client"),
    [
        (None, PROXY, [], PROXY),
        (None, PROXY, [b"203.0.113.9"], ("203.0.113.9", 0)),
        (None, ("::1", 4000), [b"2001:db8::7"], ("2001:db8::7", 0)),
        # A client may send the header, too: only what the proxy appended is believed.
        (None, PROXY, [b"10.0.0.1, 203.0.113.9"], ("203.0.113.9", 0)),
        (None, PROXY, [b"10.0.0.1", b"203.0.113.9"], ("203.0.113.9", 0)),
        (None, ("203.0.113.5", 4000), [b"10.0.0.1"], ("203.0.113.5", 4000)),
        (None, PROXY, [b" , "], PROXY),
        (None, PROXY, [b"127.0.0.1"], ("127.0.0.1", 0)),
        (None, PROXY, [b"203.0.113.9:4711"], ("203.0.113.9", 0)),
        (None, PROXY, [b"[2001:db8::7]:443"], ("2001:db8::7", 0)),
        # Text without an address reaches no log.
        (None, PROXY, [b"unknown"], PROXY),
        (None, PROXY, [b"203.0.113.9, <b>"], PROXY),
        (None, PROXY, [b"unknown, 203.0.113.9"], ("203.0.113.9", 0)),
        (None, None, [b"203.0.113.9"], None),
        # A socket that listens on :: maps the addresses of IPv4.
        (None, ("::ffff:127.0.0.1", 4000), [b"203.0.113.9"], ("203.0.113.9", 0)),
        (None, ("::ffff:203.0.113.5", 4000), [b"10.0.0.1"], ("::ffff:203.0.113.5", 4000)),
        (None, PROXY, [b"::ffff:203.0.113.9"], ("203.0.113.9", 0)),
        (None, PROXY, [b"203.0.113.9, ::ffff:127.0.0.1"], ("203.0.113.9", 0)),
        ("::ffff:10.0.0.1", ("10.0.0.1", 1), [b"203.0.113.9"], ("203.0.113.9", 0)),
        ("::ffff:10.0.0.0/104", ("10.9.9.9", 1), [b"203.0.113.9"], ("203.0.113.9", 0)),
        # Networks of IPv6 that have all mapped addresses, and one that has none.
        ("::/0", ("::ffff:10.0.0.1", 1), [b"203.0.113.9"], ("203.0.113.9", 0)),
        ("::/64", ("10.0.0.1", 1), [b"2001:db8::7"], ("2001:db8::7", 0)),
        ("::ffff:0:0/96", ("10.0.0.1", 1), [b"2001:db8::7"], ("2001:db8::7", 0)),
        ("2001:db8::/32", ("10.0.0.1", 1), [b"203.0.113.9"], ("10.0.0.1", 1)),
        ("10.0.0.0/8", ("10.1.2.3", 1), [b"203.0.113.9, 10.4.5.6"], ("203.0.113.9", 0)),
        ("10.0.0.0/8", PROXY, [b"203.0.113.9"], PROXY),
        ("10.0.0.1, 10.0.0.2", ("10.0.0.2", 1), [b"10.0.0.3"], ("10.0.0.3", 0)),
        ("*", ("203.0.113.5", 1), [b"10.0.0.1, 10.0.0.2"], ("10.0.0.1", 0)),
    ],
)
def test_the_client_is_the_last_address_that_no_trusted_proxy_has(
    trusted: str | None,
    peer: tuple[str, int] | None,
    lines: list[bytes],
    client: tuple[str, int] | None,
) -> None:
    headers = [(b"host", b"here"), *((b"x-forwarded-for", line) for line in lines)]
    assert Forwarding(trusted).client(peer, headers) == client


def test_what_is_no_address_cannot_be_trusted() -> None:
    with pytest.raises(InvalidRequest, match="FORWARDED_ALLOW_IPS"):
        Forwarding("proxy.example")
