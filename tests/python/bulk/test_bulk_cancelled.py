"""Loads and exports that are cancelled while a thread uses their descriptors."""

from __future__ import annotations

import asyncio
import os
import threading
import time
import types
from collections.abc import Coroutine, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import comptroller
import pytest
from lines import claim, load

pytest.importorskip("prometheus_client")

from comptroller.http import EveryoneIsOperator, app, backlog

LINE = (
    b'{"id":"%s","payout_group_id":"01900000-0000-7000-8000-0000000000aa","claim_type":'
    b'"CLAIM_ALL","amount":"1.5","onchain_status":"PENDING","created_at":"2026-01-01T00:00:00Z"}\n'
)
FOREIGN = LINE % b"foreign"
NDJSON = (b"content-type", b"application/x-ndjson")
TYPES = {"load": ("POST", [NDJSON]), "export": ("GET", [])}
SOON_S = 30


class SlowDisk:
    """Blocks writes to spooled files until it is released."""

    def __init__(self) -> None:
        self._may = threading.Event()
        self._changed = threading.Condition()
        self._under_way = 0
        self._write = os.pwrite

    def write(self, file: int, data: bytes, at: int) -> int:
        with self._changed:
            self._under_way += 1
            self._changed.notify_all()
        assert self._may.wait(SOON_S)
        try:
            return self._write(file, data, at)
        finally:
            with self._changed:
                self._under_way -= 1
                self._changed.notify_all()

    def hold(self) -> None:
        self._may.clear()

    def let_go(self) -> None:
        self._may.set()

    def expect_write(self) -> None:
        """Waits briefly for a thread to begin a write."""
        with self._changed:
            self._changed.wait_for(lambda: self._under_way, 0.05)

    def finish(self) -> None:
        self.let_go()
        with self._changed:
            assert self._changed.wait_for(lambda: not self._under_way, SOON_S)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowDisk]:
    disk = SlowDisk()
    monkeypatch.setattr(os, "pwrite", disk.write)
    monkeypatch.setattr(backlog, "_IN_MEMORY", 0)  # so that exports are spooled, too
    yield disk
    disk.finish()


@types.coroutine
def cut(work: Coroutine[Any, Any, None], at: int, disk: SlowDisk) -> Generator[Any, None, bool]:
    """Cancels a coroutine at its n-th await; returns whether it has that many."""
    number = 0
    try:
        awaited = work.send(None)
        while True:
            if number == at:
                disk.expect_write()
                task = asyncio.current_task()
                assert task
                task.cancel()
            elif number < at:
                disk.let_go()
            number += 1
            try:
                yield awaited
            except BaseException as error:
                awaited = work.throw(error)
            else:
                disk.hold()
                awaited = work.send(None)
    except StopIteration:
        return number > at


def request(application: Any, what: str, sent: list[bytes]) -> Coroutine[Any, Any, None]:
    method, headers = TYPES[what]
    pieces = list(sent)

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(0)
        if pieces:
            return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}
        await asyncio.Event().wait()
        raise AssertionError

    async def send(_message: dict[str, Any]) -> None:
        await asyncio.sleep(0)

    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "path": f"/operator/{what}/claims",
        "query_string": b"keep_going=true" if what == "load" else b"",
        "headers": [(b"host", b"localhost"), *headers],
    }
    running: Coroutine[Any, Any, None] = application(scope, receive, send)
    return running


def descriptors() -> int:
    """Returns how many are open, without those of the store, which keeps some for later reads."""
    return sum("store.db" not in os.path.realpath(each) for each in Path("/dev/fd").iterdir())


def foreign_files(folder: Path, closing: ExitStack) -> list[IO[bytes]]:
    """Opens files, which get all free lower descriptors."""
    files = []
    for number in range(40):
        path = folder / str(number)
        path.write_bytes(FOREIGN)
        files.append(closing.enter_context(path.open("r+b")))
    return files


@pytest.mark.parametrize("what", ["load", "export"])
def test_a_thread_never_writes_to_another_descriptor(
    operator: comptroller.Service, tmp_path: Path, disk: SlowDisk, what: str
) -> None:
    load(operator, "claims", *(claim(id=f"c-{number}") for number in range(4000)))
    application = app(operator, authenticator=EveryoneIsOperator())
    body = [LINE % b"mine", LINE % b"mine-too", b""]

    async def cut_at(at: int) -> bool:
        task = asyncio.ensure_future(cut(request(application, what, body), at, disk))
        try:
            return await task
        except asyncio.CancelledError:
            return True

    with asyncio.Runner() as runner:
        runner.get_loop()
        before = descriptors()
        assert not runner.run(cut_at(10_000))
        at = 0
        while runner.run(cut_at(at)):
            at += 1
            with ExitStack() as closing:
                files = foreign_files(tmp_path, closing)
                disk.finish()
                ends = time.monotonic() + SOON_S
                while descriptors() > before + len(files):
                    assert time.monotonic() < ends, "a descriptor was left open"
                assert [file.read() for file in files] == [FOREIGN] * len(files), at
    assert at > 5
    assert "foreign" not in {each.id for each in operator.claims.iter()}
