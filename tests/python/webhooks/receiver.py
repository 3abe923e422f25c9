"""A receiver of webhooks on this machine, and a process that delivers."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import comptroller
from comptroller.webhooks.delivering import Deliverer
from comptroller.webhooks.endpoint import Counts
from comptroller.webhooks.sending import Sender


class Received(NamedTuple):
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def event(self) -> dict[str, Any]:
        event: dict[str, Any] = json.loads(self.body)
        return event

    @property
    def type(self) -> str:
        type: str = self.event["type"]
        return type


#: Returns the status of the answer, or the status and headers.
Answering = Callable[[Received], "int | tuple[int, dict[str, str]]"]


class Receiver:
    """Keeps all requests; `answering` decides the answers."""

    def __init__(self, answering: Answering = lambda _received: 204) -> None:
        self.answering = answering
        self.received: list[Received] = []
        self._arrived = threading.Condition()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                target = self.requestline.split()[1]  # self.path begins with one slash
                received = Received(target, headers, body)
                answer = receiver.answering(received)
                status, fields = answer if isinstance(answer, tuple) else (answer, {})
                with receiver._arrived:
                    receiver.received.append(received)
                    receiver._arrived.notify_all()
                self.send_response(status)
                for name, value in fields.items():
                    self.send_header(name, value)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_words: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/hooks"

    def __enter__(self) -> Receiver:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def wait(self, is_complete: Callable[[list[Received]], bool], within_s: float = 30) -> None:
        """Waits until the requests satisfy a condition."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: is_complete(self.received), within_s), [
                each.event for each in self.received
            ]

    def take(self, count: int) -> list[Received]:
        """Waits for a number of requests, and returns them."""
        self.wait(lambda received: len(received) >= count)
        return self.received[:count]


@contextmanager
def delivering(svc: comptroller.Service, **options: Any) -> Iterator[Counts]:
    """Delivers in a thread, with other delays than a server's."""
    counts = Counts()
    loop = asyncio.new_event_loop()
    stopping = asyncio.Event()
    names = options.keys() & {"timeout_s", "resolve"}
    sender = Sender(**{name: options.pop(name) for name in names})
    options.setdefault("retry_s", lambda _attempts: 0.05)
    deliverer = Deliverer(svc.host.store, sender, counts, **options)  # type: ignore[attr-defined]

    def deliver() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(deliverer.run(stopping))

    thread = threading.Thread(target=deliver)
    thread.start()
    try:
        yield counts
    finally:
        loop.call_soon_threadsafe(stopping.set)
        thread.join(30)


@contextmanager
def process(store: Path | str, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Runs `comptroller deliver` with these further words."""
    with subprocess.Popen(
        [sys.executable, "-m", "comptroller", "deliver", "--db", str(store), *words],
        stdout=subprocess.PIPE,
        text=True,
    ) as started:
        try:
            assert started.stdout
            assert "delivering" in started.stdout.readline()
            yield started
        finally:
            started.kill()
