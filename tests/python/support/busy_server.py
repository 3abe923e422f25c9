"""A server with requests that never end: `python -m busy_server STORE single|workers|supervisor`.

It prints its port when it accepts requests, and writes "busy" to standard error in such a request.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import comptroller
from comptroller.http import EveryoneIsOperator, app
from comptroller.http.server import serving, workers
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector


def _report_busy() -> None:
    os.write(2, b"busy\n")


async def _spin(_exchange: Any) -> None:
    _report_busy()
    ends = time.monotonic() + 600  # a failed test must not leave it running
    while time.monotonic() < ends:
        pass


async def _hold(_exchange: Any) -> None:
    """Holds the GIL, and handles no signal."""
    _report_busy()
    sum(range(10**10))


async def _linger(_exchange: Any) -> None:
    """Leaves the loop free, but ignores its cancellation."""
    _report_busy()
    while True:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)


async def _block(_exchange: Any) -> None:
    """Leaves a thread of the event loop that the end of the process waits for."""
    await asyncio.to_thread(lambda: [_report_busy(), threading.Event().wait()])


class _Blocked(Collector):
    """Leaves a thread of `/metrics` that waits."""

    def collect(self) -> Iterator[Metric]:
        _report_busy()
        threading.Event().wait()
        yield from ()


_BUSY: Any = {f"/{each.__name__}": {"GET": each} for each in (_spin, _hold, _linger, _block)}


def _serve(
    store: str, bound: socket.socket, started: Callable[[], None], *, is_worker: bool
) -> None:
    with comptroller.open(store) as svc:
        served = app(
            svc,
            authenticator=EveryoneIsOperator(on_loopback=False),
            resources={**_BUSY},
            collectors=[_Blocked()],
        )
        serving.serve(served, bound, started=started, is_worker=is_worker)


def main(store: str, role: str, descriptor: str = "") -> int:
    """Runs one process."""
    if role == "worker":
        workers.end_with_supervisor()
        with socket.socket(fileno=int(descriptor)) as bound:
            _serve(store, bound, workers.report_ready, is_worker=True)
        return 0
    if role == "single":
        with serving.listen("127.0.0.1", 0) as bound:
            port = bound.getsockname()[1]
            _serve(store, bound, lambda: print(port, flush=True), is_worker=False)
        return 0
    sockets = workers.listen_for_workers("127.0.0.1", 0, 2)
    port = sockets[0].getsockname()[1]

    def started() -> None:
        print(port, flush=True)
        if role == "supervisor":  # its own loop is busy
            sum(range(10**10))

    commands = [("busy_server", store, "worker", str(each.fileno())) for each in sockets]
    return workers.supervise(commands, sockets, started)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
