"""The address of a client behind proxies."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address, ip_network

from comptroller.errors import invalid

_LOOPBACK = "127.0.0.1,::1"

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
            self._networks = [] if self._is_open else [ip_network(name) for name in names]
        except ValueError as error:
            raise invalid("FORWARDED_ALLOW_IPS", str(error)) from None

    def client(self, peer: Peer | None, headers: Iterable[tuple[bytes, bytes]]) -> Peer | None:
        """Returns the last address that no trusted proxy has, or the peer itself."""
        if peer is None or not self._trusts(peer[0]):
            return peer
        lines = [value for name, value in headers if name == b"x-forwarded-for"]
        hosts = [each.strip() for each in b",".join(lines).decode("latin-1").split(",")]
        hosts = [each for each in hosts if each]
        for host in reversed(hosts):
            if not self._trusts(host):
                return host, 0
        return (hosts[0], 0) if hosts else peer

    def _trusts(self, host: str) -> bool:
        if self._is_open:
            return True
        try:
            address = ip_address(host)
        except ValueError:
            return False
        return any(address in network for network in self._networks)
