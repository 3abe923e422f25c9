"""Remote services: :func:`connect` gives the same Service that opening a store does.

:func:`connect_async` gives its twin for asyncio.

Needs the extra ``comptroller[client]``.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from comptroller import arguments
from comptroller.errors import invalid, require
from comptroller.loopback import host_of, is_loopback, is_private
from comptroller.service import Service

if TYPE_CHECKING:
    import httpx2

    from comptroller.remote.async_service import AsyncService
    from comptroller.remote.channel import AsyncClock, Channel, Clock
    from comptroller.remote.sending import Sender
    from comptroller.remote.session import Credentials, Session

__all__ = ["connect", "connect_async"]

_MOST_ATTEMPTS = 100


def connect(
    base_url: str,
    *,
    client_id: str | None = None,
    client_secret: str | None = None,
    token: str | None = None,
    token_url: str | None = None,
    scopes: Iterable[str] | None = None,
    timeout_s: float = 30.0,
    attempts: int = 4,
    allow_http: bool = False,
    transport: httpx2.BaseTransport | None = None,
    clock: Clock | None = None,
) -> Service:
    """The service at a URL. Nothing is asked of it before the first method is called.

    What fails in a way that may pass (no connection, 429, 502, 503, 504) is tried again after a
    pause: reads, and writes to a server whose OpenAPI document says that it takes an
    Idempotency-Key for them. A write that got no answer may have been executed: it raises
    OutcomeUnknown. After a `Retry-After` of more than 30 s there is no further attempt; the error
    has it as `retry_after`. Redirects are not followed.

    Loads, and the operator's streams and exports, go through the operator's endpoints; a client's
    are asked for page by page. A stream is a copy, made whole when it is asked for, on this
    machine's disk for as long as it is held: each reading begins anew and shows the same. Backup
    and check are refused: they are done where the store is.

    Args:
        base_url: what the paths of the interface follow, such as ``https://host/api``.
        client_id: with `client_secret` fetches access tokens, each used until shortly before it
            ends.
        client_secret: see `client_id`.
        token: an access token to use instead. With neither, requests carry none.
        token_url: where tokens are fetched; ``/oauth2/token`` behind `base_url` when left out.
        scopes: what tokens are asked for; all that the client has when left out.
        timeout_s: seconds to wait for a connection, and for progress: for each next piece of an
            answer, and of a load for a sign that it is at work. Nothing limits the time in all.
        attempts: how often a request is sent at most.
        allow_http: sends named in clear also beyond this machine, to whoever is in between.
        transport: of httpx2, instead of one to the network.
        clock: where time comes from, instead of the machine.

    Raises:
        InvalidRequest: a URL, named or a number that cannot be; named in clear.
        MissingExtra: httpx2 is not installed.
    """
    require("httpx2", "connect()", "client")
    import httpx2

    from comptroller.remote.channel import BlockingChannel, SystemClock
    from comptroller.remote.host import RemoteHost

    places = _places(base_url, token_url, allow_http)
    client = httpx2.Client(
        transport=transport, timeout=_seconds(timeout_s), mounts=dict.fromkeys(places.direct())
    )
    channel = BlockingChannel(client, clock or SystemClock())
    given = {"client_id": client_id, "client_secret": client_secret, "token": token}
    session = _session(channel, places, given, scopes, attempts)
    return Service(RemoteHost(session), session.base_url)


def connect_async(
    base_url: str,
    *,
    client_id: str | None = None,
    client_secret: str | None = None,
    token: str | None = None,
    token_url: str | None = None,
    scopes: Iterable[str] | None = None,
    timeout_s: float = 30.0,
    attempts: int = 4,
    allow_http: bool = False,
    transport: httpx2.AsyncBaseTransport | None = None,
    clock: AsyncClock | None = None,
) -> AsyncService:
    """The service at a URL, for asyncio: :func:`connect` with methods that are awaited.

    ::

        async with comptroller.connect_async("https://host", token=token) as svc:
            page = await svc.claims.list(statuses="PENDING")
            async for claim in svc.claims.iter(statuses="PENDING"):
                print(claim.id)

    Attempts, access tokens, idempotency keys and errors are those of `connect`. A task that is
    cancelled ends its request; a write may then have been executed.

    Args:
        base_url: see :func:`connect`, as for all that follow.
        client_id: see there.
        client_secret: see there.
        token: see there.
        token_url: see there.
        scopes: see there.
        timeout_s: see there.
        attempts: see there.
        allow_http: see there.
        transport: of httpx2, instead of one to the network; asynchronous.
        clock: where time comes from, instead of the machine; its `sleep` is awaited.

    Raises:
        InvalidRequest: a URL, named or a number that is not valid; named in clear.
        MissingExtra: httpx2 is not installed.
    """
    require("httpx2", "connect_async()", "client")
    import httpx2

    from comptroller.remote.async_channel import AsyncChannel, AsyncSystemClock
    from comptroller.remote.async_service import AsyncService
    from comptroller.remote.calls import Calls

    places = _places(base_url, token_url, allow_http)
    client = httpx2.AsyncClient(
        transport=transport, timeout=_seconds(timeout_s), mounts=dict.fromkeys(places.direct())
    )
    channel = AsyncChannel(client, clock or AsyncSystemClock())
    given = {"client_id": client_id, "client_secret": client_secret, "token": token}
    session = _session(channel, places, given, scopes, attempts)
    return AsyncService(Calls(session), session.base_url)


class _Places(NamedTuple):
    """Where the service and its tokens are, and whether named may travel in clear."""

    base: str
    tokens_at: str
    allow_http: bool

    def direct(self) -> list[str]:
        """What httpx2 calls the places on this machine, which are reached without a proxy."""
        hosts = {host_of(urlsplit(url).netloc) for url in (self.base, self.tokens_at)}
        names = (f"[{host}]" if ":" in host else host for host in hosts if is_loopback(host))
        return [f"all://{name}" for name in names]


def _places(base_url: str, token_url: str | None, allow_http: bool) -> _Places:
    from comptroller.routes import TOKEN_PATH

    base = _url("base_url", base_url)
    tokens_at = base + TOKEN_PATH if token_url is None else _url("token_url", token_url)
    return _Places(base, tokens_at, arguments.flag("allow_http", allow_http))


def _session(
    channel: Channel,
    places: _Places,
    given: dict[str, str | None],
    scopes: Iterable[str] | None,
    attempts: int,
) -> Session:
    from comptroller.remote.sending import Sender
    from comptroller.remote.session import Session

    sender = Sender(channel, arguments.whole("attempts", attempts, _MOST_ATTEMPTS))
    named = _named(sender, places.tokens_at, given, scopes)
    if not places.allow_http:
        _refuse_in_clear("base_url", places.base, given["client_id"] or given["token"])
        _refuse_in_clear("token_url", places.tokens_at, given["client_id"])
    return Session(sender, named, places.base)


def _seconds(timeout_s: float) -> float:
    if not isinstance(timeout_s, (int, float)) or not (isfinite(timeout_s) and timeout_s > 0):
        raise invalid("timeout_s", "must be a number of seconds above 0")
    return timeout_s


def _named(
    sender: Sender, url: str, given: dict[str, str | None], scopes: Iterable[str] | None
) -> Credentials:
    from comptroller.remote.session import BEARER, ClientCredentials, Given

    credentials = {
        name: arguments.text(name, text) for name, text in given.items() if text is not None
    }
    if not credentials.keys() <= {"token"} and credentials.keys() != {"client_id", "client_secret"}:
        raise invalid("client_id", "give it together with client_secret, or a token alone")
    if "client_id" in credentials:
        return ClientCredentials(
            sender,
            url,
            credentials["client_id"],
            credentials["client_secret"],
            () if scopes is None else arguments.texts("scopes", scopes),
        )
    token = credentials.get("token")
    if token is not None and not BEARER.fullmatch(token):
        raise invalid("token", "is no bearer token")
    return Given(token)


def _refuse_in_clear(name: str, url: str, credential: str | None) -> None:
    if credential is not None and not is_private(url):
        raise invalid(
            name,
            "credentials would travel in clear; give an https URL, or allow_http where "
            "nobody reads along",
        )


def _url(name: str, given: object) -> str:
    """A URL without what follows its path. Raises InvalidRequest, which repeats no part of it."""
    try:
        parts = urlsplit(arguments.text(name, given))
        is_good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        is_good = False
    if not is_good or "@" in parts.netloc or parts.query or parts.fragment:
        raise invalid(name, "must be an http or https URL without user, query and fragment")
    return parts.geturl().rstrip("/")
