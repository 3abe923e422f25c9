"""The public keys of another issuer: a JWK set (RFC 7517) at one configured place."""

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

from comptroller.errors import invalid, unavailable, unusable
from comptroller.http.background import Background
from comptroller.http.tokens import Key
from comptroller.loopback import host_of, is_loopback, is_private

_RENEW_AFTER_S = 600
_TOO_OLD_AFTER_S = 1200
_TRY_AGAIN_AFTER_S = 30
_ANSWER_WITHIN_S = 5
_LARGEST_SET = 1 << 20  # bytes
_SHORTEST_MODULUS = 342  # digits of base64url: 2048 bits
_KINDS: dict[str, type[Key]] = {"OKP": OKPKey, "EC": ECKey, "RSA": RSAKey}
_log = logging.getLogger(__name__)


class _Held(NamedTuple):
    keys: Mapping[str, Key]
    generation: int
    since: float


class PublishedKeys:
    """The keys at a URL or in a file, read beside the event loop, and once for all who wait.

    They are renewed when they are 10 minutes old, and for a key that is not among them, but not
    before 30 seconds have passed. Where that fails, or takes longer than anybody waits, those at
    hand stay.

    Args:
        source: an https URL (http for this machine itself) or the path of a file.
        clock: seconds.
        within_s: how long anybody waits for them.

    Raises:
        InvalidRequest: a URL that is none of these.
        Unusable: the file cannot be used; a URL is asked when the first token comes.
    """

    def __init__(
        self, source: str, clock: Callable[[], float], within_s: float = _ANSWER_WITHIN_S
    ) -> None:
        self._source = source
        self._is_url = "://" in source
        if self._is_url and not is_private(source):
            raise invalid(
                "jwks",
                "must be an https URL without credentials (http for this machine alone), or a path",
            )
        self._clock = clock
        self._within_s = within_s
        self._held = _Held({}, 0, float("-inf"))
        self._tried_at = float("-inf")
        self._is_failing = False
        self._fetching = Background(self._fetch, within_s)
        if not self._is_url:
            self._read_at_start()

    async def mark(self) -> object:
        """How often the keys have changed. Raises Unavailable where there never were any."""
        keys, _, since = self._held
        age_s = self._clock() - since
        if age_s >= _RENEW_AFTER_S:
            # Those at hand serve meanwhile, unless nobody came for so long that they may be wrong.
            serves = keys and (self._is_failing or age_s < _TOO_OLD_AFTER_S)
            await self._renew(waits=not serves)
        if not self._held.keys:
            raise unavailable("the keys of the issuer of tokens cannot be had now")
        return self._held.generation

    async def key(self, kid: str) -> Key | None:
        """The key of this id."""
        if kid not in self._held.keys:
            await self._renew(waits=True)
        return self._held.keys.get(kid)

    def reload(self) -> None:
        """Begins to read the keys again."""
        self._tried_at = self._clock()
        self._fetching.start()

    async def admits(self, client_id: str, customer: str | None) -> bool:
        """True: the issuer decides."""
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
            self._hold(self._read())
        except (OSError, HTTPException, ValueError) as error:
            self._is_failing = True
            _log.warning("the keys of the issuer of tokens were not renewed: %s", error)

    def _read_at_start(self) -> None:
        try:
            self._hold(self._read())
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise unusable(
                f"{self._source}, which should hold the keys of the issuer of tokens, cannot be "
                f"used: {why}; it must be a JWK set (RFC 7517)"
            ) from error

    def _hold(self, keys: Mapping[str, Key]) -> None:
        self._is_failing = False
        # In one step: other threads look at it.
        before = self._held
        self._held = _Held(keys, before.generation + (keys != before.keys), self._clock())

    def _read(self) -> dict[str, Key]:
        ends_at = time.monotonic() + self._within_s
        if not self._is_url:
            with Path(self._source).open("rb") as file:
                return _usable(_bounded(file, ends_at))
        asked = Request(
            self._source, headers={"Accept": "application/jwk-set+json, application/json"}
        )
        handlers: list[type[BaseHandler] | BaseHandler] = [_Stay]
        if is_loopback(host_of(urlsplit(self._source).netloc)):
            handlers.append(ProxyHandler({}))  # none of the environment either
        with build_opener(*handlers).open(asked, timeout=self._within_s) as answer:
            return _usable(_bounded(answer, ends_at))


class _Stay(HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **named: Any) -> None:
        """Follows none: it could lead anywhere."""


def _bounded(file: BufferedIOBase, ends_at: float) -> bytes:
    """All of it, unless it is too large, or comes too slowly: a timeout is of each piece alone."""
    data = b""
    while piece := file.read1(_LARGEST_SET + 1 - len(data)):
        data += piece
        if len(data) > _LARGEST_SET:
            raise ValueError(f"the set is larger than {_LARGEST_SET:,} bytes")
        if time.monotonic() > ends_at:
            raise TimeoutError("the set did not come whole in time")
    return data


def _usable(data: bytes) -> dict[str, Key]:
    """The keys by id that can verify a signature. Raises ValueError where there are none."""
    try:
        document = msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        raise ValueError("it is no JSON object") from None
    entries = document.get("keys")
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
