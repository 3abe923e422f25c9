"""The public keys of an issuer elsewhere: a JWK set (RFC 7517) at one configured place."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import msgspec
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OKPKey, RSAKey

from comptroller.errors import invalid, unavailable
from comptroller.http.tokens import Key

_RENEW_AFTER_S = 600
_TRY_AGAIN_AFTER_S = 30
_ANSWER_WITHIN_S = 5
_LARGEST_SET = 1 << 20  # bytes
_SHORTEST_MODULUS = 342  # digits of base64url: 2048 bits
_KINDS: dict[str, type[Key]] = {"OKP": OKPKey, "EC": ECKey, "RSA": RSAKey}
_log = logging.getLogger(__name__)


class PublishedKeys:
    """The keys at a URL or in a file, read off the event loop, and by all who wait together.

    They are renewed after 10 minutes, and for a key that is not among them, but not before 30
    seconds have passed. Where that fails those at hand stay.

    Args:
        source: an https URL (http for this machine itself) or the path of a file.
        clock: seconds.
    """

    def __init__(self, source: str, clock: Callable[[], float]) -> None:
        self._source = source
        self._is_url = "://" in source
        if self._is_url:
            _require_safe(source)
        self._clock = clock
        self._keys: dict[str, Key] = {}
        self._generation = 0
        self._renewed_at = self._tried_at = float("-inf")
        self._is_failing = False
        self._under_way: asyncio.Task[None] | None = None

    async def mark(self) -> object:
        """How often the keys have changed. Raises Unavailable where there never were any."""
        if self._clock() - self._renewed_at >= _RENEW_AFTER_S:
            # While the issuer does not answer, those at hand serve without waiting for it.
            await self._renew(waits=not (self._keys and self._is_failing))
        if not self._keys:
            raise unavailable("the keys of the issuer of tokens cannot be had now")
        return self._generation

    async def key(self, kid: str) -> Key | None:
        """The key of this id."""
        if kid not in self._keys:
            await self._renew(waits=True)
        return self._keys.get(kid)

    def admits(self, client_id: str, customer: str | None) -> bool:
        """Whoever the issuer lets in."""
        return True

    async def _renew(self, *, waits: bool) -> None:
        now = self._clock()
        if self._under_way is None and now - self._tried_at >= _TRY_AGAIN_AFTER_S:
            self._tried_at = now
            self._under_way = asyncio.create_task(self._fetch())
        if self._under_way is not None and waits:
            # Others wait for it too, whatever becomes of this request.
            await asyncio.shield(self._under_way)

    async def _fetch(self) -> None:
        try:
            keys = await asyncio.to_thread(self._read)
        except (OSError, HTTPException, ValueError) as error:
            self._is_failing = True
            _log.warning("the keys of the issuer of tokens were not renewed: %s", error)
        else:
            self._is_failing = False
            self._renewed_at = self._clock()
            if keys != self._keys:
                self._keys = keys
                self._generation += 1
        finally:
            self._under_way = None

    def _read(self) -> dict[str, Key]:
        return _usable(_download(self._source) if self._is_url else _contents(self._source))


class _Stay(HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **named: Any) -> None:
        """Follows none: it could lead anywhere."""


def _download(url: str) -> bytes:
    asked = Request(url, headers={"Accept": "application/jwk-set+json, application/json"})
    with build_opener(_Stay).open(asked, timeout=_ANSWER_WITHIN_S) as answer:
        return _bounded(answer)


def _contents(path: str) -> bytes:
    with Path(path).open("rb") as file:
        return _bounded(file)


def _bounded(file: IO[bytes]) -> bytes:
    data = file.read(_LARGEST_SET + 1)
    if len(data) > _LARGEST_SET:
        raise ValueError(f"the set is larger than {_LARGEST_SET:,} bytes")
    return data


def _usable(data: bytes) -> dict[str, Key]:
    """The keys by id that can verify a signature. Raises ValueError where there are none."""
    try:
        told = msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        raise ValueError("it is no JSON object") from None
    entries = told.get("keys")
    usable: dict[str, Key] = {}
    for entry in entries if isinstance(entries, list) else []:
        try:
            if entry["kty"] == "RSA" and len(entry["n"]) < _SHORTEST_MODULUS:
                continue
            key = _KINDS[entry["kty"]].import_key(entry)
            key.check_use("sig")
            usable[entry["kid"]] = key
        except (JoseError, ValueError, TypeError, KeyError, AttributeError):
            continue  # one of a kind that is not known here
    if not usable:
        raise ValueError("no key with an id in it can verify a signature")
    return usable


def _require_safe(url: str) -> None:
    place = urlsplit(url)
    is_safe = place.scheme == "https" or (place.scheme == "http" and _is_here(place.hostname))
    if not is_safe or not place.hostname or "@" in place.netloc:
        raise invalid(
            "jwks",
            "must be an https URL without credentials (http for this machine alone), or a path",
        )


def _is_here(host: str | None) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False
