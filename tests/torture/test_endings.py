"""A server ends in time and answers what it has begun, even on a busy machine."""

from __future__ import annotations

import http.client
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import comptroller
import pytest
from serving import Serving, serving

pytestmark = pytest.mark.promise(23, minutes=12)

ENDINGS = 200
AT_ONCE = 4
CALLERS = 4
END_WITHIN_S = 10
REQUESTS = (
    ("GET", "/rewards/claims?limit=1000", None),
    ("GET", "/operator/export/claims", None),
    ("PUT", "/operator/identity/identities", b'{"id":"alice"}'),
    ("GET", "/rewards/claims?limit=5", None),
)


class Ending(NamedTuple):
    """How a server ended."""

    seconds: float
    code: int
    whole: int
    unanswered: int
    log: str


class Callers:
    """Clients that send requests until the server closes their connections."""

    def __init__(self, server: Serving, seed: int) -> None:
        place = urlsplit(server.address)
        self._place = (place.hostname or "", place.port)
        self._chance = random.Random(seed)
        self.whole = self.unanswered = 0
        self.failures: list[BaseException] = []
        self._are_busy = threading.Semaphore(0)
        self._threads = [threading.Thread(target=self._send) for _ in range(CALLERS)]
        for thread in self._threads:
            thread.start()
        for _ in self._threads:  # each has an answer, and sends its next request
            self._are_busy.acquire()

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    def _send(self) -> None:
        connection = http.client.HTTPConnection(*self._place, timeout=30)
        try:
            while self._has_answer(connection):
                self.whole += 1
                self._are_busy.release()
        except BaseException as error:
            self.failures.append(error)
        finally:
            self._are_busy.release()
            connection.close()

    def _has_answer(self, connection: http.client.HTTPConnection) -> bool:
        """Sends a request; returns whether it was answered. Raises if the answer is not whole."""
        method, path, body = self._chance.choice(REQUESTS)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
        except (ConnectionError, http.client.RemoteDisconnected):
            self.unanswered += 1
            return False
        answer.read()
        assert answer.status == 200, answer.status
        return True


def end_one(store: Path, seed: int) -> Ending:
    """Starts a server, and ends it while it answers."""
    with serving("--db", str(store), "--auth", "off", cwd=store.parent) as server:
        callers = Callers(server, seed)
        began = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        callers.join()
        code = server.process.wait(30)
        seconds = time.monotonic() - began
        assert not callers.failures, callers.failures
        return Ending(seconds, code, callers.whole, callers.unanswered, server.log.read_text())


@contextmanager
def busy_cores() -> Iterator[None]:
    """Keeps each core busy with a process of the same priority."""
    spin = [sys.executable, "-c", "while True: pass"]
    spinning = [subprocess.Popen(spin) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def test_a_server_ends_when_it_is_told_to(tmp_path: Path, figures: dict[str, Any]) -> None:
    """200 servers with requests in flight end within 10 s of SIGTERM, with a busy loop per core"""
    stores = [tmp_path / f"{number}.db" for number in range(AT_ONCE)]
    lines = comptroller.sample("claims", 5_000, out=tmp_path / "claims.ndjson")
    for store in stores:
        with comptroller.open(store) as service:
            service.load("claims", lines)
    endings: list[Ending] = []
    with busy_cores(), ThreadPoolExecutor(AT_ONCE) as threads:

        def end_some(part: int) -> None:
            for number in range(part, ENDINGS, AT_ONCE):
                endings.append(end_one(stores[part], number))
                figures["endings"] = len(endings)

        list(threads.map(end_some, range(AT_ONCE)))
    figures["longest, s"] = max(each.seconds for each in endings)
    figures["whole answers"] = sum(each.whole for each in endings)
    figures["requests without an answer"] = sum(each.unanswered for each in endings)
    assert [each.code for each in endings] == [0] * ENDINGS
    assert max(each.seconds for each in endings) < END_WITHIN_S
    for each in endings:
        assert "Traceback" not in each.log
    for store in stores:
        with comptroller.open(store) as service:
            assert service.check()["ok"]
