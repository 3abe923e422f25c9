"""The requests of webhooks."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import IPv6Address
from typing import NamedTuple
from urllib.parse import urlsplit

import httpcore2

import comptroller
from comptroller.retry_after import retry_after_s
from comptroller.webhooks.addresses import AddressRefused, PublicNetwork
from comptroller.webhooks.network import OWNER, Network
from comptroller.webhooks.resolving import Resolve, Resolver, resolve
from comptroller.webhooks.shares import Shares

#: The time of an attempt, from the resolution of the name to the end of the response.
TIMEOUT_S = 20.0
#: The connections to each kind of receivers that stay open for the next request.
_KEPT_CONNECTIONS = 100
#: The names that are resolved at once: of all customers, or the operator; of one customer.
_LOOKUPS = 64
_LOOKUPS_OF_A_CUSTOMER = 4
_MAX_ANSWER = 64 << 10  # bytes; the rest is not read
_MAX_RETRY_AFTER_S = 86_400.0
_GONE = 410
_log = logging.getLogger(__name__)


class Answer(NamedTuple):
    """The outcome of a request.

    Attributes:
        error: why the event was not delivered; None if it was.
        is_gone: whether the receiver wants no further requests.
        retry_after_s: how long the receiver asks to wait.
    """

    error: str | None
    is_gone: bool = False
    retry_after_s: float = 0.0


class Sender:
    """Sends requests to receivers, and follows no redirect.

    Args:
        resolve: resolves the hosts of webhooks.
        timeout_s: the time limit of a request.
    """

    def __init__(self, resolve: Resolve = resolve, timeout_s: float = TIMEOUT_S) -> None:
        # The certificates of the system, or of the file SSL_CERT_FILE.
        context = ssl.create_default_context()
        self._timeout_s = timeout_s
        customers = Resolver(resolve, _LOOKUPS, share=_LOOKUPS_OF_A_CUSTOMER)
        operator = Resolver(resolve, _LOOKUPS, share=_LOOKUPS)
        self._resolvers = customers, operator
        self._pools = {
            is_of_client: httpcore2.AsyncConnectionPool(
                ssl_context=context,
                max_connections=None,
                max_keepalive_connections=_KEPT_CONNECTIONS,
                keepalive_expiry=30.0,
                network_backend=network,
            )
            for is_of_client, network in (
                (True, PublicNetwork(customers)),
                (False, Network(operator)),
            )
        }
        self._shares = Shares()
        self._agent = f"comptroller/{comptroller.__version__}".encode()

    @asynccontextmanager
    async def turn(self, customer_id: str | None) -> AsyncIterator[None]:
        """Waits while a customer, or the operator, has its share of the requests in flight."""
        await self._shares.take(customer_id)
        try:
            yield
        finally:
            self._shares.give_back(customer_id)

    async def post(
        self, url: str, headers: dict[str, str], body: bytes, *, customer_id: str | None
    ) -> Answer:
        """Sends one request of a customer's or the operator's webhook; returns its outcome."""
        OWNER.set(customer_id)
        try:
            parsed = _parse(url)
        except ValueError as error:
            return Answer(f"the URL of the webhook is not valid: {error}")
        fields = [
            (b"host", _authority(url).encode()),
            (b"user-agent", self._agent),
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            *((name.encode(), value.encode()) for name, value in headers.items()),
        ]
        try:
            async with (
                asyncio.timeout(self._timeout_s),
                self._pools[customer_id is not None].stream(
                    b"POST", parsed, headers=fields, content=body
                ) as response,
            ):
                await _read(response)
                return _answer(response)
        except TimeoutError:
            return Answer(f"the receiver did not answer within {self._timeout_s:g} seconds")
        except AddressRefused as error:
            return Answer(str(error))
        except (
            httpcore2.NetworkError,
            httpcore2.ProtocolError,
            httpcore2.TimeoutException,
            OSError,
        ) as error:
            return Answer(f"the connection failed: {str(error) or type(error).__name__}")
        except Exception:  # it must not end the delivery of other events
            _log.exception("a request of a webhook to %s failed", _authority(url))
            return Answer("the request failed")

    def stop(self) -> None:
        """Fails the requests that wait for the resolution of a name, and all that need one.

        Those that wait for a turn get it, so that they end, too.
        """
        self._shares.end()
        for resolver in self._resolvers:
            resolver.stop()

    async def close(self) -> None:
        """Closes all connections."""
        for pool in self._pools.values():
            await pool.aclose()


def _parse(url: str) -> httpcore2.URL:
    """Returns the parts of a URL, whose target is what follows the authority, unchanged.

    httpcore2 itself would drop an empty query, and parameters such as ";v=1" of the last segment.

    Raises ValueError for an invalid port, or a host in brackets that is not an IPv6 address.
    """
    scheme, _, rest = url.partition("://")
    authority = _authority(url)
    place = urlsplit(f"//{authority}")
    host = place.hostname or ""
    if authority.startswith("["):
        IPv6Address(host)
    target = rest.removeprefix(authority)
    return httpcore2.URL(
        scheme=scheme,
        host=host,
        port=place.port,
        target=target if target.startswith("/") else f"/{target}",
    )


def _authority(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].partition("?")[0]


async def _read(response: httpcore2.Response) -> None:
    """Reads a short response, so that its connection can be used again."""
    size = 0
    async for piece in response.aiter_stream():
        size += len(piece)
        if size > _MAX_ANSWER:
            return


def _answer(response: httpcore2.Response) -> Answer:
    status = response.status
    if 200 <= status < 300:
        return Answer(None)
    wait_s = 0.0
    for name, value in response.headers:
        if name.lower() == b"retry-after":
            asked_s = retry_after_s(value.decode("latin-1")) or 0.0
            wait_s = min(max(asked_s, 0.0), _MAX_RETRY_AFTER_S)
    error = f"the receiver answered {status}"
    if 300 <= status < 400:
        error += "; redirects are not followed, so change the URL of the webhook"
    return Answer(error, is_gone=status == _GONE, retry_after_s=wait_s)
