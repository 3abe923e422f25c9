"""An export to a slow client keeps no old state of the store, whose log could then not shrink."""

from __future__ import annotations

import asyncio
import errno
import os
import sqlite3
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import comptroller
import pytest
from lines import claim, load

pytest.importorskip("httptools")

from comptroller.http import EveryoneIsOperator, app, backlog
from comptroller.http.backlog import Backlog
from comptroller.http.exchange import Disconnected
from comptroller.http.loads_and_exports import MAX_EXPORTS
from slow_exports import CLAIMS, exporting

#: Less than the time that the server waits for a client that does not read.
SOON_S = 8


def is_log_free(path: Path) -> bool:
    """Returns whether no reader needs an old state; the log is then empty."""
    with closing(sqlite3.connect(path)) as connection:
        (is_busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not is_busy


def body_of(chunks: bytes) -> bytes:
    """Returns the body that chunks have, which the last chunk must end (RFC 9112, 7.1)."""
    pieces, at = [], 0
    while size := int(chunks[at : chunks.index(b"\r\n", at)], 16):
        begin = chunks.index(b"\r\n", at) + 2
        pieces.append(chunks[begin : begin + size])
        at = begin + size + 2
    assert chunks[at:] == b"0\r\n\r\n"
    return b"".join(pieces)


def test_the_log_is_free_while_a_client_has_not_read_an_export(store_path: Path) -> None:
    with exporting(store_path) as (_, connected):
        with comptroller.open(store_path) as svc:
            svc.identities.put(id="later")
        ends, pause = time.monotonic() + SOON_S, threading.Event()
        while not is_log_free(store_path):
            assert time.monotonic() < ends, "the export keeps its state of the store"
            pause.wait(0.05)
        received = bytearray()
        while piece := connected.recv(1 << 20):
            received += piece
    _, _, chunks = bytes(received).partition(b"\r\n\r\n")
    assert body_of(chunks).count(b"\n") == CLAIMS


class Disk:
    """Writes half of what it is given, has space for some bytes, and takes no hints."""

    def __init__(self, space: int) -> None:
        self._space = space
        self._write = os.pwrite

    def write(self, descriptor: int, data: bytes, at: int) -> int:
        written = min((len(data) + 1) // 2, self._space - at)
        if written <= 0:
            raise OSError(errno.ENOSPC, "full")
        return self._write(descriptor, data[:written], at)

    def advise(self, *_: int) -> None:
        raise OSError(errno.ENOSYS, "unknown")


PRODUCED = Random(1).randbytes(5 << 20)


def produce(backlog: Backlog) -> None:
    """Writes PRODUCED, in pieces of many sizes, one of which is larger than the memory."""
    sizes = Random(2)
    at = 0
    while at < len(PRODUCED):
        size = sizes.choice([1, 1000, 64 << 10, 100_000, 1_500_000])
        backlog.write(PRODUCED[at : at + size])
        at += size
    backlog.end()


def descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


async def rest_of(backlog: Backlog) -> bytes:
    taken = bytearray()
    while piece := await backlog.take():
        taken += piece
    return bytes(taken)


@pytest.mark.parametrize(
    ("folder", "space", "waits"),
    [
        (".", 8 << 20, False),
        (".", 1_000_001, True),  # full in the middle of a piece
        (".", 0, True),
        ("missing", 8 << 20, True),
        (None, 8 << 20, True),
    ],
)
def test_a_backlog_keeps_all_bytes_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str | None, space: int, waits: bool
) -> None:
    """Without space it waits for the client."""
    monkeypatch.setattr(os, "pwrite", Disk(space).write)
    monkeypatch.setattr(os, "posix_fadvise", Disk(space).advise, raising=False)

    async def move() -> bytes:
        place = None if folder is None else tmp_path / folder
        with ThreadPoolExecutor(2) as pool, closing(Backlog(place, pool)) as backlog:
            writing = pool.submit(produce, backlog)
            taken = await backlog.take()
            done, _ = wait([writing], timeout=0.2 if waits else None)
            assert bool(done) != waits
            taken += await rest_of(backlog)
            writing.result()
        return taken

    before = descriptors()
    assert asyncio.run(move()) == PRODUCED
    assert descriptors() == before


@pytest.mark.parametrize("folder", [".", None])
def test_a_producer_is_as_fast_as_its_disk(tmp_path: Path, folder: str | None) -> None:
    """It waits for no turn of the event loop; without a file, it fails when the client goes."""

    async def run() -> None:
        place = None if folder is None else tmp_path / folder
        with ThreadPoolExecutor(1) as pool, closing(Backlog(place, pool)) as backlog:
            writing = pool.submit(produce, backlog)
            if folder:
                writing.result()  # during which the loop has no turn
            backlog.close()
            if not folder:
                with pytest.raises(Disconnected):
                    writing.result()
            with pytest.raises(Disconnected):
                backlog.write(b"more")

    before = descriptors()
    asyncio.run(run())
    assert descriptors() == before


@pytest.mark.parametrize("space", [8 << 20, 1_000_001, 300_000, 0])
def test_a_client_may_read_while_a_backlog_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, space: int
) -> None:
    monkeypatch.setattr(os, "pwrite", Disk(space).write)
    monkeypatch.setattr(backlog, "_IN_MEMORY", 100_000)

    async def move() -> bytes:
        with ThreadPoolExecutor(2) as pool, closing(Backlog(tmp_path, pool)) as backlog:
            writing = pool.submit(produce, backlog)
            taken = await rest_of(backlog)
            writing.result()
        return taken

    for _ in range(5):
        assert asyncio.run(move()) == PRODUCED


def test_a_producer_ends_with_a_loop_that_does_not_end_its_tasks() -> None:
    loop = asyncio.new_event_loop()

    async def begin(pool: ThreadPoolExecutor) -> tuple[Future[None], Backlog]:
        backlog = Backlog(None, pool)
        writing = pool.submit(produce, backlog)
        await backlog.take()
        return writing, backlog

    with ThreadPoolExecutor(1) as pool:
        writing, backlog = loop.run_until_complete(begin(pool))
        loop.close()
        assert isinstance(writing.exception(SOON_S), Disconnected)
        backlog.close()


def test_a_backlog_leaves_free_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = os.statvfs(tmp_path)

    def little(_descriptor: int) -> os.statvfs_result:
        return os.statvfs_result((*free[:4], (1 << 30) // free.f_frsize - 1, *free[5:]))

    monkeypatch.setattr(os, "fstatvfs", little)

    async def is_waiting() -> bool:
        with ThreadPoolExecutor(2) as pool:
            with closing(Backlog(tmp_path, pool)) as backlog:
                writing = pool.submit(produce, backlog)
                done, _ = wait([writing], timeout=0.2)
            assert isinstance(writing.exception(), Disconnected)
            return not done

    assert asyncio.run(is_waiting())


def test_a_file_that_was_read_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has what the client has not received, not all that did not fit into memory."""
    places = []
    write = os.pwrite

    def noted(descriptor: int, data: bytes, at: int) -> int:
        places.append(at)
        return write(descriptor, data, at)

    monkeypatch.setattr(os, "pwrite", noted)

    async def move() -> bytes:
        taken = bytearray()
        with ThreadPoolExecutor(2) as pool, closing(Backlog(tmp_path, pool)) as backlog:
            for at in range(0, len(PRODUCED), 1_500_000):
                piece = PRODUCED[at : at + 1_500_000]
                pool.submit(backlog.write, piece).result()
                while len(taken) < at + len(piece):
                    taken += await backlog.take()
        return bytes(taken)

    assert asyncio.run(move()) == PRODUCED
    assert places == [0, 0, 0]


def test_a_file_that_cannot_be_read_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not the end of the bytes, nor a client that has gone."""

    def fail(_descriptor: int, _size: int, _at: int) -> bytes:
        return b""

    async def move() -> None:
        with ThreadPoolExecutor(2) as pool, closing(Backlog(tmp_path, pool)) as backlog:
            pool.submit(produce, backlog).result()
            await rest_of(backlog)

    monkeypatch.setattr(os, "pread", fail)
    with pytest.raises(RuntimeError, match="a spooled file cannot be read"):
        asyncio.run(move())


class Client:
    """An ASGI client of an export, which reads when it may."""

    def __init__(self) -> None:
        self.may_read, self.has_begun, self.has_gone = (asyncio.Event() for _ in range(3))
        self.last: dict[str, Any] = {}

    async def receive(self) -> dict[str, Any]:
        await self.has_gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        self.has_begun.set()
        await self.may_read.wait()
        self.last = message

    def ask(self, application: Any) -> asyncio.Future[None]:
        """Requests the export."""
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": "GET",
            "path": "/operator/export/claims",
            "query_string": b"",
            "headers": [(b"host", b"localhost")],
        }
        return asyncio.ensure_future(application(scope, self.receive, self.send))


def test_an_export_waits_for_its_turn_unless_its_client_goes(operator: comptroller.Service) -> None:
    load(operator, "claims", *(claim(id=f"c-{number}") for number in range(5)))
    application = app(operator, authenticator=EveryoneIsOperator())

    async def run() -> None:
        clients = [Client() for _ in range(MAX_EXPORTS + 2)]
        running = [client.ask(application) for client in clients[:MAX_EXPORTS]]
        for client in clients[:MAX_EXPORTS]:
            await client.has_begun.wait()
        *_, gone, late = clients
        running.append(gone.ask(application))
        running.append(late.ask(application))
        gone.has_gone.set()
        await running[-2]
        assert not gone.has_begun.is_set()
        assert not late.has_begun.is_set()
        for client in clients:
            client.may_read.set()
        await asyncio.gather(*running)
        assert late.last == {"type": "http.response.body", "body": b""}

    for _ in range(2):  # event loops
        asyncio.run(run())


def test_an_export_that_waits_for_its_turn_ends_when_the_server_stops(
    operator: comptroller.Service,
) -> None:
    load(operator, "claims", claim(id="c-1"))
    application = app(operator, authenticator=EveryoneIsOperator())

    async def run() -> None:
        clients = [Client() for _ in range(MAX_EXPORTS)]
        running = [client.ask(application) for client in clients]
        for client in clients:
            await client.has_begun.wait()
        late = Client()
        late.may_read.set()
        waiting = late.ask(application)
        await asyncio.sleep(0)
        application.stop()
        await waiting
        assert b"the server is stopping" in late.last["body"]
        for client in clients:
            client.may_read.set()
        await asyncio.gather(*running)

    asyncio.run(run())


def test_an_export_whose_file_cannot_be_read_does_not_end_as_if_complete(
    operator: comptroller.Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(operator, "claims", *(claim(id=f"c-{number}") for number in range(1000)))
    application = app(operator, authenticator=EveryoneIsOperator())
    monkeypatch.setattr(backlog, "_IN_MEMORY", 0)
    read, client = os.pread, Client()

    def read_once(descriptor: int, size: int, at: int) -> bytes:
        return read(descriptor, size, at) if at == 0 else b""

    monkeypatch.setattr(os, "pread", read_once)
    client.may_read.set()

    async def run() -> None:
        await client.ask(application)

    with pytest.raises(RuntimeError, match="a spooled file cannot be read"):
        asyncio.run(run())
    assert client.last["more_body"]
