"""Worker processes that share a port: the supervisor, and the worker's side of it."""

from __future__ import annotations

import asyncio
import logging
import os
import select
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from comptroller import _core
from comptroller.http.server.serving import cannot_listen, listen
from comptroller.http.server.signals import END_AT_LATEST_S, END_NOW_WITHIN_S, on_signals

_READY = b"ready\n"
#: If a worker ran for less than this, the next pause is longer.
_SETTLED_S = 10.0
_LONGEST_PAUSE_S = 30.0
#: The time limits for the end of the workers after the first and after a second signal. They leave
#: the supervisor time to end, and are longer than those of a worker after a second signal.
_KILL_AFTER_S = END_AT_LATEST_S - 0.5
_KILL_NOW_AFTER_S = END_NOW_WITHIN_S + 0.5
_END_NOW_WITHIN_S = END_NOW_WITHIN_S + 1
#: Linux distributes the connections among the sockets of a port. On other systems all workers share
#: one socket, from which one idle worker may accept most connections.
_IS_SPREADING = sys.platform == "linux"
_log = logging.getLogger(__name__)


def listen_for_workers(host: str, port: int, count: int) -> list[socket.socket]:
    """Returns a socket for each worker, all on one port. Raises Unusable as `listen` does.

    Another server cannot bind the port. The sockets stay open when a worker ends, so connections
    that it has not accepted wait for its replacement.
    """
    first = listen(host, port)
    if not _IS_SPREADING:
        return [first, *(first.dup() for _ in range(count - 1))]
    bound: list[socket.socket] = []
    with first:
        try:
            # Bound without SO_REUSEPORT, so that it fails if another server has the port.
            first.listen()
            first.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            for _ in range(count):
                bound.append(socket.socket(first.family, first.type, first.proto))
                bound[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                bound[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                bound[-1].bind(first.getsockname())
                bound[-1].listen()
        except OSError as error:
            for each in bound:
                each.close()
            raise cannot_listen(host, port, error) from error
    return bound


def supervise(
    commands: Sequence[Sequence[str]],
    bound: Sequence[socket.socket],
    started: Callable[[], None],
    stopping: Callable[[str], None] = lambda _signal: None,
) -> int:
    """Runs a worker process for each command until SIGTERM or SIGINT. On the main thread.

    A worker is a Python process that inherits its socket under the same descriptor and calls
    `end_with_supervisor` and `report_ready`. The first worker starts alone, because it may create
    the store and its keys. A worker that ends is replaced, after a pause if it ended soon.

    SIGTERM and SIGINT stop all workers; a second signal stops them without waiting for requests in
    flight. Workers that do not end in time are killed. SIGHUP reloads all workers.

    Args:
        commands: the arguments of `python -m`, for each worker.
        bound: the sockets of the workers; closed when the workers are stopped.
        started: called when all workers accept requests.
        stopping: called with the name of each signal that stops the workers.

    Returns:
        0; or 1 if a worker could not start before `started` was called, and has logged the reason,
        or if a worker was killed or failed while it stopped.
    """
    return asyncio.run(_Supervisor(commands, bound, started, stopping).run())


def end_with_supervisor() -> None:
    """Stops this worker when its supervisor ends, even by SIGKILL."""
    _core.end_with_input(within_s=END_AT_LATEST_S)


def has_supervisor_ended() -> bool:
    """Whether the supervisor of this worker has ended, whose pipe is the standard input."""
    return bool(select.select([sys.stdin], [], [], 0)[0])


def report_ready() -> None:
    """Notifies the supervisor that this worker accepts requests."""
    os.write(sys.stdout.fileno(), _READY)


class _Supervisor:
    def __init__(
        self,
        commands: Sequence[Sequence[str]],
        bound: Sequence[socket.socket],
        started: Callable[[], None],
        stopping: Callable[[str], None],
    ) -> None:
        self._commands = commands
        self._bound = bound
        self._started = started
        self._notify = stopping
        self._stopping = asyncio.Event()
        self._running: dict[int, Process] = {}
        self._ready: set[int] = set()
        self._has_failed = False

    async def run(self) -> int:
        on_signals(self._stop, self._reload, self._notify, _END_NOW_WITHIN_S)
        first, *others = range(len(self._commands))
        try:
            await self._start(first)
            if self._ready:
                await asyncio.gather(*map(self._start, others))
            if self._stopping.is_set():
                return 0
            if len(self._ready) < len(self._commands):
                return 1
            self._started()
            await asyncio.gather(*map(self._keep, (first, *others)))
            return int(self._has_failed)
        finally:
            await self._end()

    async def _start(self, number: int) -> None:
        """Starts a worker; returns when it accepts requests or has ended. Not after `_stop`."""
        if self._stopping.is_set():
            return
        process = await asyncio.create_subprocess_exec(
            # -P: a file in the working directory must not shadow a module.
            *(sys.executable, "-P", "-m", *self._commands[number]),
            stdin=PIPE,
            stdout=PIPE,
            pass_fds=[self._bound[number].fileno()],
            env={**os.environ, "PYTHONPATH": _search_path()},
            # A new session, so that Ctrl-C in a terminal reaches only the supervisor.
            start_new_session=True,
        )
        self._running[number] = process
        if self._stopping.is_set():  # it was set while the process started
            _send(process, signal.SIGTERM)
        assert process.stdout
        if await process.stdout.readline() == _READY:
            self._ready.add(number)
        else:
            await process.wait()

    async def _keep(self, number: int) -> None:
        """Replaces a worker whenever it ends, until all are stopped."""
        loop = asyncio.get_running_loop()
        began, failures = loop.time(), 0
        while True:
            process = self._running[number]
            code = await process.wait()
            self._ready.discard(number)
            if self._stopping.is_set():
                self._has_failed |= code != 0
                return
            failures = 0 if loop.time() - began >= _SETTLED_S else failures + 1
            pause_s = _pause_s(failures)
            _log.error(
                "worker %d (process %d) ended %s and is replaced %s",
                number,
                process.pid,
                f"by signal {-code}" if code < 0 else f"with exit code {code}",
                f"in {pause_s:g} s" if pause_s else "now",
            )
            if pause_s and _IS_SPREADING:
                with suppress(OSError):  # lets the other workers get its connections
                    self._bound[number].shutdown(socket.SHUT_RD)
            with suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await self._stopping.wait()
            if self._stopping.is_set():
                return
            began = loop.time()
            try:
                await self._start(number)
            except OSError as error:  # the next iteration tries again, after a longer pause
                _log.error("worker %d cannot be started: %s", number, error.strerror)

    def _stop(self) -> None:
        loop = asyncio.get_running_loop()
        if self._stopping.is_set():
            loop.call_later(_KILL_NOW_AFTER_S, self._kill)
            for number, process in self._running.items():
                _send(process, signal.SIGQUIT if number in self._ready else signal.SIGKILL)
            return
        self._stopping.set()
        loop.call_later(_KILL_AFTER_S, self._kill)
        for bound in self._bound:
            bound.close()
        # Only once: a second SIGTERM would kill a worker that is closing its store.
        for process in self._running.values():
            _send(process, signal.SIGTERM)

    def _kill(self) -> None:
        late = [each for each in self._running.values() if each.returncode is None]
        if late:
            _log.error("%d workers did not end in time and are killed", len(late))
        for process in late:
            _send(process, signal.SIGKILL)

    def _reload(self) -> None:
        for number in self._ready:
            _send(self._running[number], signal.SIGHUP)

    async def _end(self) -> None:
        if not self._stopping.is_set():
            self._stop()
        for process in self._running.values():
            await process.wait()


def _pause_s(failures: int) -> float:
    """Returns the pause before a worker is replaced; none after the first failure."""
    return 0.0 if failures <= 1 else min(_LONGEST_PAUSE_S, 0.5 * 2.0 ** min(failures - 2, 10))


def _send(process: Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        process.send_signal(number)


def _search_path() -> str:
    """Returns the module search path of this process as a PYTHONPATH."""
    return os.pathsep.join(str(Path(each).absolute()) for each in sys.path)
