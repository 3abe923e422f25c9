"""Addresses to which the requests of clients' webhooks may go."""

from __future__ import annotations

import logging
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import httpcore2

from comptroller.webhooks.network import Network
from comptroller.webhooks.resolving import Resolver

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
_LOGGED_HOSTS = 1024
_log = logging.getLogger(__name__)


class AddressRefused(Exception):
    """A host has no address, or one that is not public."""


def is_public(address: str) -> bool:
    """Whether an IP address is one of the public internet."""
    parsed: IPv4Address | IPv6Address = ip_address(address)
    if isinstance(parsed, IPv4Address):
        return not any(parsed in network for network in _REFUSED_IPV4)
    return parsed in _GLOBAL_IPV6 and not any(parsed in network for network in _REFUSED_IPV6)


class PublicNetwork(Network):
    """Connects to public addresses only.

    The connection goes to an address that was checked, so that a second answer of the name server
    cannot redirect it. TLS still verifies the name of the URL. A name without an address and one
    that leads into the network of the server fail with one message: customers see it, and must not
    learn which names the network has. The log has the reason, once for each host.
    """

    def __init__(self, resolver: Resolver) -> None:
        super().__init__(resolver)
        self._logged: dict[str, str] = {}

    async def addresses(self, host: str, port: int) -> list[str]:
        """Returns the public addresses of a host. Raises AddressRefused if any is not public."""
        try:
            found = await super().addresses(host, port)
        except httpcore2.ConnectError as error:
            reason = str(error)
        else:
            refused = [address for address in found if not is_public(address)]
            if found and not refused:
                self._logged.pop(host, None)
                return found
            reason = f"it leads to {', '.join(refused) or 'no address'}"
        self._log_once(host, reason)
        raise AddressRefused("the name leads to no public address")

    def _log_once(self, host: str, reason: str) -> None:
        """Logs a refusal, unless the host's previous request had the same."""
        if self._logged.pop(host, None) != reason:
            _log.warning("the host %s of a webhook is refused: %s", host, reason)
        self._logged[host] = reason
        if len(self._logged) > _LOGGED_HOSTS:
            del self._logged[next(iter(self._logged))]
