"""The address of a client behind proxies."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

from comptroller.errors import invalid

_LOOPBACK = "127.0.0.1,::1"
# Addresses of IPv4 in those of IPv6.
_MAPPED = IPv6Network("::ffff:0:0/96")
_ALL_IPV4 = IPv4Network("0.0.0.0/0")

#: An address and a port.
Peer = tuple[str, int]


class Forwarding:
    """Reads the address of a client from X-Forwarded-For, if trusted proxies sent it.

    Args:
        trusted: addresses and networks of proxies, separated by commas, or `*`; by default this
            machine. Raises InvalidRequest if one is neither.
    """

    def __init__(self, trusted: str | None) -> None:
        names = [each.strip() for each in (trusted or _LOOPBACK).split(",") if each.strip()]
        self._is_open = names == ["*"]
        try:
            self._networks = (
                [] if self._is_open else [each for name in names for each in _networks(name)]
            )
        except ValueError as error:
            raise invalid("FORWARDED_ALLOW_IPS", str(error)) from None

    def client(self, peer: Peer | None, headers: Iterable[tuple[bytes, bytes]]) -> Peer | None:
        """Returns the last address that no trusted proxy has, or else the first.

        An entry without an address, as `unknown` (RFC 7239 section 6), ends the search: the client
        is then the last address before it.
        """
        if peer is None or not self._trusts(peer[0]):
            return peer
        found = peer
        lines = [value for name, value in headers if name == b"x-forwarded-for"]
        for entry in reversed(b",".join(lines).decode("latin-1").split(",")):
            if not entry.strip():
                continue
            host = _address(entry.strip())
            if host is None:
                break
            found = host, 0
            if not self._trusts(host):
                break
        return found

    def _trusts(self, host: str) -> bool:
        if self._is_open:
            return True
        try:
            address = _parse(host)
        except ValueError:
            return False
        return any(address in network for network in self._networks)


def plain(peer: Peer | None) -> Peer | None:
    """Returns the peer of a socket; on one that listens on ::, the address of IPv4 that it maps."""
    if not peer or not peer[0].startswith("::ffff:"):  # a socket without addresses has none
        return peer
    return str(_parse(peer[0])), peer[1]


def _address(entry: str) -> str | None:
    """Returns the address of an entry, which may have a port; None if there is none."""
    host = entry[1:].partition("]")[0] if entry.startswith("[") else entry
    if host.count(":") == 1:  # IPv4 and a port
        host = host.partition(":")[0]
    try:
        return str(_parse(host))
    except ValueError:
        return None


def _networks(name: str) -> list[IPv4Network | IPv6Network]:
    """Returns a network, and that of the IPv4 addresses which it maps, if any. Raises ValueError.

    `_parse` makes IPv4 addresses of mapped ones, so the network ::ffff:192.0.2.0/120 is only that
    of IPv4, and ::/0 is both.
    """
    network = ip_network(name)
    if isinstance(network, IPv4Network):
        return [network]
    if network.subnet_of(_MAPPED):
        mapped = network.network_address.ipv4_mapped
        assert mapped is not None
        return [IPv4Network((mapped, network.prefixlen - _MAPPED.prefixlen))]
    return [network, _ALL_IPV4] if _MAPPED.subnet_of(network) else [network]


def _parse(host: str) -> IPv4Address | IPv6Address:
    """Returns an address; that of IPv4 for ::ffff:192.0.2.1. Raises ValueError."""
    address = ip_address(host)
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
