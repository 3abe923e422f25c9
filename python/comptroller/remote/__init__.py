"""Clients of remote services: :func:`connect`, and :func:`connect_async` for asyncio.

Needs the extra ``comptroller[client]``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from comptroller import arguments
from comptroller.errors import invalid, require, unusable
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
_LONGEST_LABEL = 63  # of a host name (RFC 1035 section 2.3.4)
_MOST_TIMEOUT_S = (2**31 - 1) // 1000  # poll() takes an int of milliseconds


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
    """Returns a Service for the server at a URL. The first method call sends the first request.

    Temporary failures (no connection, 429, 502, 503, 504) are retried after a pause. Reads are
    always retried; writes only if the server's OpenAPI document declares an Idempotency-Key for
    them. A write without a response may have been executed; it raises OutcomeUnknown. If the server
    asks to wait more than 30 s (`Retry-After`), there is no retry, and the error has the seconds as
    `retry_after`. Redirects are not followed.

    Loads, and the operator's streams and exports, use the operator's endpoints. A client's streams
    and exports are read page by page, in order of `created_at`. A stream is a copy on the local
    disk, which exists as long as the stream; each read starts from the first row and sees the same
    rows. `backup` and `check` raise Unsupported: run them on the machine of the store.

    Args:
        base_url: the address of the server, such as ``https://host``; with the path of a mounted
            application, such as ``https://host/api``.
        client_id: fetches access tokens, together with `client_secret`. A token is used until
            shortly before it expires.
        client_secret: see `client_id`.
        token: an access token to use instead of a client id. Without either, requests are sent
            without a token.
        token_url: the token endpoint; default ``/oauth2/token`` after `base_url`.
        scopes: the scopes to request for tokens; by default all scopes of the client.
        timeout_s: seconds to wait for a connection, for each piece of a response, and for each
            sign of progress of a load; at most 2,147,483. The total time has no limit.
        attempts: the maximum number of times a request is sent, 1 to 100.
        allow_http: sends credentials over plain HTTP also to other machines.
        transport: an httpx2 transport to use instead of that of the environment, for example
            ``httpx2.HTTPTransport(verify=ssl_context, proxy="http://proxy:3128")``.
        clock: a clock to use instead of the system's.

    Returns:
        A service with the same methods as that of :func:`comptroller.open`.

    Raises:
        InvalidRequest: a URL, a credential or a number is invalid; or credentials would be sent
            over plain HTTP without `allow_http`.
        MissingExtra: httpx2 is not installed.
        Unusable: a proxy or the certificates that the environment names cannot be used.
    """
    require("httpx2", "connect()", "client")
    import httpx2

    from comptroller.remote.channel import BlockingChannel, SystemClock
    from comptroller.remote.host import RemoteHost

    endpoints = _endpoints(base_url, token_url, allow_http)
    with _refusing_environment():
        client = httpx2.Client(
            transport=transport,
            timeout=arguments.seconds("timeout_s", timeout_s, _MOST_TIMEOUT_S),
            headers=_user_agent(),
            mounts=dict.fromkeys(endpoints.direct()),
        )
    channel = BlockingChannel(client, clock or SystemClock())
    given = {"client_id": client_id, "client_secret": client_secret, "token": token}
    session = _session(channel, endpoints, given, scopes, attempts)
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
    """Returns an AsyncService for the server at a URL: :func:`connect` for asyncio.

    ::

        async with comptroller.connect_async("https://host", token=token) as svc:
            page = await svc.claims.list(statuses="PENDING")
            async for claim in svc.claims.iter(statuses="PENDING"):
                print(claim.id)

    Retries, access tokens, idempotency keys and errors are those of `connect`. Cancelling a task
    cancels its request; a write or a load may then have been executed.

    Args:
        base_url: as for :func:`connect`.
        client_id: as for `connect`.
        client_secret: as for `connect`.
        token: as for `connect`.
        token_url: as for `connect`.
        scopes: as for `connect`.
        timeout_s: as for `connect`.
        attempts: as for `connect`.
        allow_http: as for `connect`.
        transport: an asynchronous httpx2 transport to use instead of that of the environment.
        clock: a clock to use instead of the system's; its `sleep` is awaited.

    Raises:
        InvalidRequest: a URL, a credential or a number is invalid; or credentials would be sent
            over plain HTTP without `allow_http`.
        MissingExtra: httpx2 is not installed.
        Unusable: a proxy or the certificates that the environment names cannot be used.
    """
    require("httpx2", "connect_async()", "client")
    import httpx2

    from comptroller.remote.async_channel import AsyncChannel, AsyncSystemClock
    from comptroller.remote.async_service import AsyncService

    endpoints = _endpoints(base_url, token_url, allow_http)
    with _refusing_environment():
        client = httpx2.AsyncClient(
            transport=transport,
            timeout=arguments.seconds("timeout_s", timeout_s, _MOST_TIMEOUT_S),
            headers=_user_agent(),
            mounts=dict.fromkeys(endpoints.direct()),
        )
    channel = AsyncChannel(client, clock or AsyncSystemClock())
    given = {"client_id": client_id, "client_secret": client_secret, "token": token}
    session = _session(channel, endpoints, given, scopes, attempts)
    return AsyncService(session, channel)


@contextmanager
def _refusing_environment() -> Iterator[None]:
    """Raises Unusable if httpx2 cannot use a variable of the environment."""
    import httpx2

    try:
        yield
    except (ValueError, OSError, httpx2.InvalidURL) as error:
        raise unusable(
            f"the settings of the environment for connections cannot be used: {error}; correct or "
            "unset HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR"
        ) from error


class _Endpoints(NamedTuple):
    """The URLs of the service and of its tokens, and whether plain HTTP is allowed."""

    base: str
    token: str
    allow_http: bool

    def direct(self) -> list[str]:
        """Returns the httpx2 patterns of the URLs on this machine, which bypass any proxy."""
        hosts = {host_of(urlsplit(url).netloc) for url in (self.base, self.token)}
        names = (f"[{host}]" if ":" in host else host for host in hosts if is_loopback(host))
        return [f"all://{name}" for name in names]


def _endpoints(base_url: str, token_url: str | None, allow_http: bool) -> _Endpoints:
    from comptroller.routes import TOKEN_PATH

    base = _url("base_url", base_url)
    token = base + TOKEN_PATH if token_url is None else _url("token_url", token_url)
    return _Endpoints(base, token, arguments.flag("allow_http", allow_http))


def _session(
    channel: Channel,
    endpoints: _Endpoints,
    given: dict[str, str | None],
    scopes: Iterable[str] | None,
    attempts: int,
) -> Session:
    from comptroller.remote.sending import Sender
    from comptroller.remote.session import Session

    sender = Sender(channel, arguments.whole("attempts", attempts, _MOST_ATTEMPTS, least=1))
    credentials = _credentials(sender, endpoints.token, given, scopes)
    if not endpoints.allow_http:
        _refuse_plain_http("base_url", endpoints.base, given["client_id"] or given["token"])
        _refuse_plain_http("token_url", endpoints.token, given["client_id"])
    return Session(sender, credentials, endpoints.base)


def _user_agent() -> dict[str, str]:
    import comptroller

    return {"user-agent": f"comptroller/{comptroller.__version__}"}


def _credentials(
    sender: Sender, url: str, given: dict[str, str | None], scopes: Iterable[str] | None
) -> Credentials:
    from comptroller.remote.session import BEARER, ClientCredentials, FixedToken

    credentials = {
        name: arguments.text(name, text) for name, text in given.items() if text is not None
    }
    if not credentials.keys() <= {"token"} and credentials.keys() != {"client_id", "client_secret"}:
        raise invalid(
            "client_id", "incomplete credentials; give client_id and client_secret, or token"
        )
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
        raise invalid("token", "not a bearer token")
    return FixedToken(token)


def _refuse_plain_http(name: str, url: str, credential: str | None) -> None:
    if credential is not None and not is_private(url):
        raise invalid(
            name,
            "credentials would be sent unencrypted; give an https URL, or allow_http on a "
            "trusted network",
        )


def _url(name: str, given: object) -> str:
    """Returns a URL without trailing slashes.

    Raises InvalidRequest, which does not quote the URL, because it may contain a password.
    """
    try:
        parts = urlsplit(arguments.text(name, given))
        is_valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid or "@" in parts.netloc or parts.query or parts.fragment:
        raise invalid(
            name,
            "not the URL of a service; give http:// or https://, a host, and no user, query or "
            "fragment",
        )
    labels = (parts.hostname or "").removesuffix(".").split(".")
    if not all(0 < len(label) <= _LONGEST_LABEL for label in labels):
        raise invalid(
            name,
            f"the host has a label of an invalid length; give 1 to {_LONGEST_LABEL} characters "
            "between dots",
        )
    return parts.geturl().rstrip("/")
