"""Detection of hosts and URLs to which secrets may be sent."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """Whether a host name, or an address without brackets, is a loopback one."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def host_of(authority: str) -> str:
    """Returns the host of ``host:port`` in lower case, without brackets; empty if it has none."""
    try:
        return urlsplit(f"//{authority}").hostname or ""
    except ValueError:
        return ""


def is_private(url: str) -> bool:
    """Whether a URL is https, or http on this machine, and contains no credentials."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    host = host_of(parts.netloc)
    is_secure = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))
    return is_secure and host != "" and "@" not in parts.netloc
