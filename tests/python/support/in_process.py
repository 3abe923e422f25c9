"""A connected service whose server is an application in this process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import comptroller
import pytest

pytest.importorskip("httpx2")
pytest.importorskip("prometheus_client")

import httpx2
from comptroller import connect
from comptroller._core import Principal
from comptroller.http import app
from comptroller.http.authentication import Caller
from comptroller.http.problems import Refusal, problem

URL = "https://service.test"
# The scopes of a client without the change feed.
FEEDLESS = ["identity:read_identity", "identity:read_identity_control"]


class InProcess(httpx2.BaseTransport):
    """Sends requests to an ASGI application, which runs on an event loop in another thread.

    Bodies are streamed in both directions. The calling thread produces the body of a request, as
    with a network transport, and a client may disconnect early.
    """

    def __init__(self, application: Any) -> None:
        self._application = application
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        return _Cycle(self._application, request, self._loop).response()

    def on_loop(self, action: Callable[[], object]) -> None:
        """Runs a function on the event loop, and waits for its result."""
        done: Future[object] = Future()
        self._loop.call_soon_threadsafe(lambda: done.set_result(action()))
        done.result()

    def close(self) -> None:
        if not self._loop.is_closed():
            asyncio.run_coroutine_threadsafe(_others_ended(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()


async def _others_ended() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for other in others:
        other.cancel()
    await asyncio.gather(*others, return_exceptions=True)


class _Cycle(httpx2.SyncByteStream):
    """A request and its response."""

    def __init__(
        self, application: Any, request: httpx2.Request, loop: asyncio.AbstractEventLoop
    ) -> None:
        is_whole = "transfer-encoding" not in request.headers
        self._pieces = filter(None, request.stream) if is_whole else iter(request.stream)
        self._loop = loop
        # Events of the application for the calling thread; the future resumes the application.
        self._done: SimpleQueue[tuple[str, Any, Future[Any]]] = SimpleQueue()
        self._gone = asyncio.Event()
        self._is_over = False
        self._is_sent = False
        url = request.url
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": request.method,
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
            "scheme": url.scheme,
            "path": url.path,
            "raw_path": url.raw_path.partition(b"?")[0],
            "query_string": url.query,
            "server": (url.host, url.port),
            "client": ("127.0.0.1", 1),
            "root_path": "",
        }
        # Stored, because an event loop keeps only weak references to tasks.
        self._running = asyncio.run_coroutine_threadsafe(self._run(application, scope), loop)

    def response(self) -> httpx2.Response:
        try:
            while True:
                name, message, go_on = self._done.get()
                if name == "receive":
                    self._give(go_on)
                elif name == "http.response.start":
                    go_on.set_result(None)
                    return httpx2.Response(
                        message["status"], headers=message["headers"], stream=self
                    )
                else:
                    raise httpx2.RemoteProtocolError("no answer came")
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Iterator[bytes]:
        while not self._is_over:
            name, message, go_on = self._done.get()
            if name == "receive":
                self._give(go_on)
            elif name == "http.response.body":
                go_on.set_result(None)
                self._is_over = not message.get("more_body", False)
                yield message.get("body", b"")
            else:
                raise httpx2.RemoteProtocolError("the answer was cut off")

    def _give(self, wanted: Future[Any]) -> None:
        """Passes the next piece of the body; an empty piece of a stream means no data yet."""
        piece = next(self._pieces, None)
        if piece != b"":
            wanted.set_result(piece)

    def close(self) -> None:
        """Disconnects: the application gets a disconnect event, and its messages are dropped."""
        self._is_over = True
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._gone.set)

    async def _run(self, application: Any, scope: dict[str, Any]) -> None:
        try:
            await application(scope, self._receive, self._send)
        except Exception as error:
            self._done.put(("failed", error, Future()))
        else:
            self._done.put(("ended", None, Future()))

    async def _receive(self) -> dict[str, Any]:
        if not self._is_sent and not self._gone.is_set():
            piece = await self._handed("receive", None)
            if not self._gone.is_set():
                self._is_sent = piece is None
                return {
                    "type": "http.request",
                    "body": piece or b"",
                    "more_body": piece is not None,
                }
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        if not self._gone.is_set():
            await self._handed(message["type"], message)

    async def _handed(self, name: str, message: Any) -> Any:
        """Returns the event for the calling thread; None after it has disconnected."""
        go_on: Future[Any] = Future()
        self._done.put((name, message, go_on))
        answered, gone = asyncio.wrap_future(go_on), asyncio.ensure_future(self._gone.wait())
        await asyncio.wait((answered, gone), return_when=asyncio.FIRST_COMPLETED)
        gone.cancel()
        return answered.result() if answered.done() else None


class Tokens:
    """An authenticator that accepts the name of a caller as an access token."""

    def __init__(self) -> None:
        self._callers: dict[bytes, Caller] = {}

    def admit(self, **how: Any) -> str:
        scopes = how.get("scopes")
        listed = [scopes] if isinstance(scopes, str) else scopes
        customer = how.get("customer")
        client_id = how.get("client_id") or customer or "desk"
        principal = Principal(customer, client_id, listed)
        token = f"token-{len(self._callers)}"
        self._callers[f"Bearer {token}".encode()] = Caller(principal, client_id)
        return token

    async def caller(self, exchange: Any) -> Caller:
        caller = self._callers.get(exchange.headers.get(b"authorization", b""))
        if caller is None:
            raise Refusal(problem("unauthenticated", "there is no such token"))
        return caller


def opener(path: Path, closing: ExitStack) -> Callable[..., comptroller.Service]:
    """Connects to the application of a store for a caller."""
    service = closing.enter_context(comptroller.open(path))
    tokens = Tokens()
    application = app(service, authenticator=tokens)

    def connected(**how: Any) -> comptroller.Service:
        transport = InProcess(application)
        return closing.enter_context(connect(URL, token=tokens.admit(**how), transport=transport))

    return connected


@pytest.fixture
def open_as(store_path: Path) -> Iterator[Callable[..., comptroller.Service]]:
    """Connects to the test's store instead of opening it."""
    with ExitStack() as closing:
        yield opener(store_path, closing)


@pytest.fixture(scope="module")
def shared_open_as(shared_path: Path) -> Iterator[Callable[..., comptroller.Service]]:
    """Connects to the module's shared store instead of opening it."""
    with ExitStack() as closing:
        yield opener(shared_path, closing)


@pytest.fixture
def operator_actor() -> str:
    """The created_by and deleted_by of the operator, whose client is `desk`."""
    return "operator:desk"
