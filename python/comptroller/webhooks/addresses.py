"""Addresses to which the requests of clients' webhooks may go."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from comptroller.webhooks.network import Network

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


class PublicNetwork(Network):
    """Connects to public addresses only.

    The connection goes to an address that was checked, so that a second answer of the name server
    cannot redirect it. TLS still verifies the name of the URL.
    """

    def check(self, addresses: list[str]) -> None:
        """Raises AddressRefused if any of the addresses is not public."""
        for address in addresses:
            if not is_public(address):
                raise AddressRefused(f"the name leads to {address}, which is not a public address")
