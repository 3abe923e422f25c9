"""What stays on this machine, and so may travel in clear."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """Whether a name or an address, without brackets, is of this machine alone."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def host_of(authority: str) -> str:
    """The host of ``host:port``, in small letters and without brackets; empty where it has none."""
    try:
        return urlsplit(f"//{authority}").hostname or ""
    except ValueError:
        return ""


def is_private(url: str) -> bool:
    """Whether nobody reads along at a URL: https, or http on this machine; without credentials."""
    try:
        place = urlsplit(url)
    except ValueError:
        return False
    host = host_of(place.netloc)
    is_kept = place.scheme == "https" or (place.scheme == "http" and is_loopback(host))
    return is_kept and host != "" and "@" not in place.netloc
