"""The public keys of another issuer: a JWK set (RFC 7517) at a configured URL or file."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from http.client import HTTPException
from io import BufferedIOBase
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from urllib.request import BaseHandler, HTTPRedirectHandler, ProxyHandler, Request, build_opener

import msgspec
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OKPKey, RSAKey

from comptroller.bulk.files import refuse_open_store
from comptroller.decoding import NOT_JSON
from comptroller.errors import Error, invalid, unavailable, unusable
from comptroller.http.background import Background
from comptroller.http.oauth.tokens import Key
from comptroller.loopback import host_of, is_loopback, is_private

_RENEW_AFTER_S = 600
_TOO_OLD_AFTER_S = 1200
_TRY_AGAIN_AFTER_S = 30
_ANSWER_WITHIN_S = 5
_LARGEST_SET = 1 << 20  # bytes
_SHORTEST_MODULUS = 342  # digits of base64url: 2048 bits
_KEY_TYPES: dict[str, type[Key]] = {"OKP": OKPKey, "EC": ECKey, "RSA": RSAKey}
_log = logging.getLogger(__name__)


class _KeySet(NamedTuple):
    keys: Mapping[str, Key]
    generation: int
    since: float


class PublishedKeys:
    """The keys of a URL or a file, read in a thread for all waiting requests together.

    The keys are refreshed after 10 minutes, and for an unknown key id, but at most every 30
    seconds. If a refresh fails or times out, the cached keys stay in use.

    Args:
        source: an https URL (http only on this machine) or the path of a file.
        clock: returns seconds that never go back.
        within_s: how long a request waits for a refresh, in seconds.

    Raises:
        InvalidRequest: the URL is not an accepted one.
        Unusable: the file cannot be used. A URL is fetched for the first token.
    """

    def __init__(
        self, source: str, clock: Callable[[], float], within_s: float = _ANSWER_WITHIN_S
    ) -> None:
        self._source = source
        self._is_url = "://" in source
        if self._is_url and not is_private(source):
            raise invalid(
                "jwks",
                "must be an https URL without credentials (http only on this machine), or a path",
            )
        self._clock = clock
        self._within_s = within_s
        self._cached = _KeySet({}, 0, float("-inf"))
        self._tried_at = float("-inf")
        self._is_failing = False
        self._fetching = Background(self._fetch, within_s)
        if not self._is_url:
            self._read_at_start()

    async def generation(self) -> object:
        """Returns how often the keys have changed. Raises Unavailable if there are none yet."""
        keys, _, since = self._cached
        age_s = self._clock() - since
        if age_s >= _RENEW_AFTER_S:
            # Use the cached keys during the refresh, unless they are too old.
            serves = keys and (self._is_failing or age_s < _TOO_OLD_AFTER_S)
            await self._renew(waits=not serves)
        if not self._cached.keys:
            raise unavailable("the keys of the token issuer are not available now")
        return self._cached.generation

    async def key(self, kid: str) -> Key | None:
        """Returns the key with this id."""
        if kid not in self._cached.keys:
            await self._renew(waits=True)
        return self._cached.keys.get(kid)

    def reload(self) -> None:
        """Starts a refresh of the keys."""
        self._tried_at = self._clock()
        self._fetching.start()

    async def admits(self, client_id: str, customer: str | None) -> bool:
        """Returns True, because the issuer manages its clients."""
        return True

    async def _renew(self, *, waits: bool) -> None:
        now = self._clock()
        if now - self._tried_at >= _TRY_AGAIN_AFTER_S:
            self._tried_at = now
            self._fetching.start()
        if waits:
            await self._fetching.wait()

    def _fetch(self) -> None:
        try:
            self._set(self._read())
        except (Error, OSError, HTTPException, ValueError) as error:
            self._is_failing = True
            _log.warning("the keys of the token issuer were not refreshed: %s", error)

    def _read_at_start(self) -> None:
        try:
            self._set(self._read())
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise unusable(
                f"{self._source} cannot be used for the keys of the token issuer: {why}; it must be"
                " a JWK set (RFC 7517)"
            ) from error

    def _set(self, keys: Mapping[str, Key]) -> None:
        self._is_failing = False
        # One assignment, because other threads read it without a lock.
        before = self._cached
        self._cached = _KeySet(keys, before.generation + (keys != before.keys), self._clock())

    def _read(self) -> dict[str, Key]:
        ends_at = time.monotonic() + self._within_s
        if not self._is_url:
            refuse_open_store("jwks", self._source)
            with Path(self._source).open("rb") as file:
                return _usable(_read_bounded(file, ends_at))
        request = Request(
            self._source, headers={"Accept": "application/jwk-set+json, application/json"}
        )
        handlers: list[type[BaseHandler] | BaseHandler] = [_NoRedirects]
        if is_loopback(host_of(urlsplit(self._source).netloc)):
            handlers.append(ProxyHandler({}))  # ignores the proxies of the environment
        with build_opener(*handlers).open(request, timeout=self._within_s) as response:
            return _usable(_read_bounded(response, ends_at))


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **named: Any) -> None:
        """Follows no redirect, because its target is not configured."""


def _read_bounded(file: BufferedIOBase, ends_at: float) -> bytes:
    """Reads a file up to a size and a time; the timeout of urllib applies only to each read."""
    data = b""
    while piece := file.read1(_LARGEST_SET + 1 - len(data)):
        data += piece
        if len(data) > _LARGEST_SET:
            raise ValueError(f"the set is larger than {_LARGEST_SET:,} bytes")
        if time.monotonic() > ends_at:
            raise TimeoutError("the set did not arrive in time")
    return data


def _usable(data: bytes) -> dict[str, Key]:
    """Returns the keys that can verify a signature, by id. Raises ValueError if there are none."""
    try:
        document = msgspec.json.decode(data, type=dict[str, Any])
    except NOT_JSON:
        raise ValueError("it is not a JSON object") from None
    entries = document.get("keys")
    usable: dict[str, Key] = {}
    for entry in entries if isinstance(entries, list) else []:
        try:
            if entry["kty"] == "RSA" and len(entry["n"]) < _SHORTEST_MODULUS:
                continue
            if entry["kty"] == "OKP":  # has one algorithm, with two names
                entry.pop("alg", None)
            key = _KEY_TYPES[entry["kty"]].import_key(entry)
            key.check_use("sig")
            usable[entry["kid"]] = key
        except (JoseError, ValueError, TypeError, KeyError, AttributeError):
            continue  # an unknown type of key
    if not usable:
        raise ValueError("it has no key with an id that can verify a signature")
    return usable
