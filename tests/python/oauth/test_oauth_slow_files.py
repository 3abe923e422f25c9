"""Keys and clients on a slow disk: the event loop never waits for it."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import comptroller
import pytest
from comptroller.http.oauth import clients, keys
from token_server import LIST, Served

SOON_S = 5


class Disk:
    """A file system that calls a function before each access to the files of keys and clients."""

    def __init__(self) -> None:
        self.before: Callable[[], object] = lambda: None
        self.under_way = self.most_at_once = 0
        self._lock = threading.Lock()
        self._stat = os.stat

    def stat(self, path: Any, **how: Any) -> os.stat_result:
        if not str(path).endswith((".keys", ".clients")):
            return self._stat(path, **how)
        with self._lock:
            self.under_way += 1
            self.most_at_once = max(self.most_at_once, self.under_way)
        try:
            self.before()
            return self._stat(path, **how)
        finally:
            with self._lock:
                self.under_way -= 1


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk = Disk()
    monkeypatch.setattr(os, "stat", disk.stat)
    return disk


@pytest.fixture
def may_answer() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def served(store_path: Path, operator: comptroller.Service) -> Served:
    return Served(store_path, operator)


def test_a_disk_slower_than_a_second_is_read_once(served: Served, disk: Disk) -> None:
    token = served.token(served.register())
    disk.before = lambda: served.clock.go(1.5)
    for _ in range(3):
        assert served.show(token).status_code == 200


def test_the_last_valid_state_is_used_while_a_disk_hangs(
    served: Served, disk: Disk, may_answer: threading.Event
) -> None:
    token = served.token(served.register())
    disk.before = lambda: may_answer.wait(SOON_S)
    served.clock.go(1)

    async def ask_many() -> list[int]:
        asking = [asyncio.ensure_future(served.send("GET", LIST, headers=bearer)) for _ in range(9)]
        while not disk.under_way:
            await asyncio.sleep(0)
        assert (await served.send("GET", "/healthz")).status_code == 200
        assert not any(each.done() for each in asking)
        return [answer.status_code for answer in await asyncio.gather(*asking)]

    bearer = {"Authorization": f"Bearer {token}"}
    assert asyncio.run(ask_many()) == [200] * 9
    served.clock.go(100)
    assert served.show(token).status_code == 200
    assert disk.most_at_once <= 2  # one for each file


def test_changes_are_known_when_the_disk_responds(
    served: Served, disk: Disk, may_answer: threading.Event
) -> None:
    known = served.register()
    token = served.token(known)
    assert served.show(token).status_code == 200
    clients.revoke(clients.file_of(str(served.store)), known.id)
    keys.rotate(keys.file_of(str(served.store)), served.clock())
    disk.before = lambda: may_answer.wait(SOON_S)
    served.clock.go(1)
    assert served.show(token).status_code == 200
    may_answer.set()
    disk.before = lambda: None
    ends = time.monotonic() + SOON_S
    while served.show(token).status_code == 200:  # the read that hung has not ended yet
        assert time.monotonic() < ends
        served.clock.go(1)
    assert served.show(token).status_code == 401
    assert served.show(served.token(served.register("other"))).status_code == 200
