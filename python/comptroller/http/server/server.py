"""What the connections of a server share."""

from __future__ import annotations

import asyncio
import logging
from email.utils import formatdate
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from comptroller.http.app import App
from comptroller.http.exchange import BEGAN
from comptroller.http.server.asgi import AsgiCall
from comptroller.http.server.connection import Connection
from comptroller.http.server.forwarding import Forwarding

if TYPE_CHECKING:
    from comptroller.http.server.request import Request
    from comptroller.http.server.short_operations import ShortOperations

_log = logging.getLogger(__name__)

#: The time limit for receiving a request (of a load, for each piece), for the client to read part
#: of a response, and for the TLS handshake and shutdown.
RECEIVE_WITHIN_S = 10.0
#: The time limit for requests in flight after a signal. The rest of END_AT_LATEST_S is left for the
#: tasks that are then cancelled, and for the store, whose log may be long and the disk slow.
END_WITHIN_S = 7


class Server:
    """The connections of a server, and what they share. For the thread of the event loop.

    Attributes:
        connections: all open ones.
        answer: answers a complete request of a connection, now or later.
        date: the header line of all responses.
        receive_within_s: see RECEIVE_WITHIN_S.
    """

    def __init__(
        self,
        app: App,
        operations: ShortOperations | None,
        forwarding: Forwarding | None,
        receive_within_s: float,
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self.connections: set[Connection] = set()
        self.receive_within_s = receive_within_s
        self.is_stopping = False
        self.answer = Connection.pass_on if operations is None else operations.answer
        self._app = app
        self._operations = operations
        self._forwarding = forwarding
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_ended = asyncio.Event()
        self._set_date()

    def waits_for_body(self, request: Request) -> bool:
        """Whether the whole body must arrive before the request is answered."""
        return self._operations is not None and self._operations.waits_for_body(request)

    def count_refusal(self, status: int) -> None:
        """Counts a request that a connection rejected."""
        self._app.metrics.count_refused(status)

    def run(self, call: AsgiCall) -> None:
        """Runs the application for a request."""
        task = self.loop.create_task(call.run(self._app))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def scope(self, connection: Connection, request: Request) -> dict[str, Any]:
        """Returns the ASGI scope of a request."""
        path, query = request.split_target()
        client = connection.peer
        if self._forwarding is not None:
            client = self._forwarding.client(client, request.headers)
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": request.version,
            "client": client,
            "scheme": "https" if connection.is_secure else "http",
            "method": request.method.decode("ascii"),
            "root_path": "",
            "path": unquote(path.decode("ascii")),
            "raw_path": path,
            "query_string": query,
            "headers": request.headers,
            BEGAN: request.began,
        }

    def _set_date(self) -> None:
        self.date = b"date: " + formatdate(usegmt=True).encode() + b"\r\n"
        if self._operations is not None:
            self._operations.set_date(self.date)

    async def sweep(self) -> None:
        """Enforces the deadlines of all connections. Runs until it is cancelled.

        After the process itself has paused, it first reads what has arrived meanwhile.
        """
        interval_s = min(1.0, self.receive_within_s / 8)
        was_late = False
        while True:
            began = self.loop.time()
            await asyncio.sleep(interval_s)
            self._set_date()
            now = self.loop.time()
            was_late = not was_late and now - began > 2 * interval_s
            if was_late:
                continue
            for connection in list(self.connections):
                try:
                    connection.sweep(now)
                except Exception:  # continue with the other connections
                    _log.exception("the deadline of a connection could not be enforced")

    def stop(self, *, is_waiting: bool) -> None:
        """Begins the end; without waiting for requests in flight unless `is_waiting`."""
        self.is_stopping = True
        if not is_waiting:
            self._is_ended.set()
        for connection in list(self.connections):
            connection.stop()

    def _is_open(self) -> bool:
        return bool(self._tasks) or not all(each.has_ended for each in self.connections)

    async def wait(self) -> None:
        """Waits until all requests are answered, or END_WITHIN_S has passed; ends all others."""
        ends = self.loop.time() + END_WITHIN_S
        while self._is_open() and self.loop.time() < ends:
            if self._is_ended.is_set():
                break
            await asyncio.sleep(0.02)
        for connection in list(self.connections):
            connection.give_up()
        for task in self._tasks:
            task.cancel()
        if self._tasks:  # they refuse their requests
            await asyncio.wait(self._tasks, timeout=1)
