"""A server ends after a signal, whatever keeps it busy: its event loop, a task, a thread."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import select
import signal
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import comptroller
import pytest
from busy_process import busy, require_sound

pytest.importorskip("httptools")

from comptroller.http.background import Background
from comptroller.http.server import workers
from comptroller.http.server.signals import END_AT_LATEST_S, END_NOW_WITHIN_S

#: What a busy machine adds to a limit; `make torture` asserts the limits themselves.
LATE_S = 8.0


def test_the_limits_are_those_of_the_guarantee() -> None:
    """A server and its workers end within 10 s of SIGTERM or Ctrl-C and within 2 s of a second
    signal (with workers 3 s): docs/reliability.md.
    """
    limits = (END_AT_LATEST_S, END_NOW_WITHIN_S, workers._END_NOW_WITHIN_S)
    assert limits == (10, 2, 3)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("path", ["/_spin", "/_hold", "/_linger", "/_block"])
def test_a_second_signal_ends_a_busy_server(
    store_path: Path, path: str, number: signal.Signals
) -> None:
    with busy(store_path, "single") as server:
        server.write()
        with server.occupy(path):
            server.insist(number)
            code, seconds, log = server.ended()
    assert seconds < END_NOW_WITHIN_S + LATE_S
    assert code == 1
    assert json.loads(log)["event"].startswith("the process did not end in time")
    require_sound(store_path)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_busy_workers(store_path: Path, number: signal.Signals) -> None:
    with busy(store_path, "workers") as server:
        server.write()
        with server.occupy("/_hold"):
            server.insist(number)
            code, seconds, _log = server.ended()
    assert seconds < workers._END_NOW_WITHIN_S + LATE_S
    assert code == 1
    require_sound(store_path)


@pytest.mark.slow
def test_one_signal_ends_a_busy_server_in_10_seconds(tmp_path: Path, store_path: Path) -> None:
    """All at the same time, because each takes the whole limit."""
    template = store_path.read_bytes()
    with ExitStack() as closing:
        servers = []
        for number, (role, path) in enumerate(
            [
                *(("single", path) for path in ("/_spin", "/_hold", "/_linger", "/_block")),
                *(("workers", path) for path in ("/_hold", "/_linger")),
                ("supervisor", "/_hold"),
            ]
        ):
            store = tmp_path / f"{number}.db"
            store.write_bytes(template)
            server = closing.enter_context(busy(store, role))
            server.write()
            closing.enter_context(server.occupy(path))
            servers.append((server, store))
        for server, _ in servers:
            server.send_signal(signal.SIGTERM)
        for server, store in servers:
            code, seconds, _log = server.ended()
            assert seconds < END_AT_LATEST_S + LATE_S
            assert code == 1
            require_sound(store)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="waits on a process that is no child")
def test_busy_workers_end_after_their_supervisor_was_killed(store_path: Path) -> None:
    with busy(store_path, "workers") as server:
        server.write()
        with server.occupy("/_spin"):
            group = f"/proc/{server.process.pid}/task/{server.process.pid}/children"
            ended = [os.pidfd_open(int(pid)) for pid in Path(group).read_text().split()]
            server.send_signal(signal.SIGKILL)
            for each in ended:
                left_s = server.signalled_at + END_AT_LATEST_S + LATE_S - time.monotonic()
                assert select.select([each], [], [], left_s)[0]
                os.close(each)
    require_sound(store_path)


def test_a_cancellation_that_arrives_with_the_result_is_not_lost() -> None:
    begin = threading.Event()

    async def is_cancelled() -> bool:
        """Cancels a task after the work ended, and before the loop could see that it did."""
        background = Background(lambda: bool(begin.wait()) and None, 60)
        others = set(threading.enumerate())
        background.start()
        (thread,) = set(threading.enumerate()) - others
        task = asyncio.ensure_future(background.wait())
        await asyncio.sleep(0)  # the task waits now
        begin.set()
        thread.join()
        task.cancel()
        await asyncio.wait([task])
        return task.cancelled()

    assert asyncio.run(is_cancelled())


def test_no_module_awaits_through_wait_for() -> None:
    """On Python 3.11 `asyncio.wait_for` may lose a cancellation."""
    package = Path(comptroller.__file__).parent
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
            assert name != "wait_for", f"{path}:{node.lineno}: use asyncio.timeout"
