"""Addresses to which the requests of clients' webhooks may go."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

import httpcore2

from comptroller.webhooks.network import Network

#: Returns the addresses of a host and port, as getaddrinfo orders them.
Resolve = Callable[[str, int], Awaitable[list[str]]]

# The ranges of the IANA special-purpose address registries that are not global unicast, and the
# address at which machines of Azure reach the host.
_REFUSED_IPV4 = tuple(
    map(
        ip_network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",
            "127.0.0.0/8",
            "168.63.129.16/32",
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",
            "192.168.0.0/16",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",
            "240.0.0.0/4",
        ),
    )
)
# All other IPv6 addresses are refused: loopback, link-local, unique local, multicast, IPv4-mapped
# and those of NAT64.
_GLOBAL_IPV6 = ip_network("2000::/3")
# Protocol assignments with Teredo, documentation, 6to4, documentation.
_REFUSED_IPV6 = tuple(map(ip_network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")))


class AddressRefused(Exception):
    """A host leads to an address that is not public."""


def is_public(address: str) -> bool:
    """Whether an IP address is one of the public internet."""
    parsed: IPv4Address | IPv6Address = ip_address(address)
    if isinstance(parsed, IPv4Address):
        return not any(parsed in network for network in _REFUSED_IPV4)
    return parsed in _GLOBAL_IPV6 and not any(parsed in network for network in _REFUSED_IPV6)


async def resolve(host: str, port: int) -> list[str]:
    """Returns the addresses of a host. Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class PublicNetwork(Network):
    """Connects to public addresses only.

    A name is resolved once for each connection, and the connection goes to an address that was
    checked, so that a second answer of the name server cannot redirect it. TLS still verifies the
    name of the URL.
    """

    def __init__(self, resolve: Resolve = resolve) -> None:
        self._resolve = resolve

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connects to a host. Raises AddressRefused if any of its addresses is not public."""
        try:
            addresses = await self._resolve(host, port)
        except OSError as error:
            raise httpcore2.ConnectError(f"the name cannot be resolved: {error}") from error
        for address in addresses:
            if not is_public(address):
                raise AddressRefused(f"the name leads to {address}, which is not a public address")
        failure = httpcore2.ConnectError("the name has no address")
        for address in addresses:
            try:
                return await super().connect_tcp(address, port)
            except httpcore2.ConnectError as error:
                failure = httpcore2.ConnectError(f"{address}: {error}")
        raise failure
