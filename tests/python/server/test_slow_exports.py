"""An export to a slow client keeps no old state of the store, whose log could then not shrink."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from random import Random

import comptroller
import pytest

pytest.importorskip("httptools")

from comptroller.http.backlog import Backlog
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


@pytest.mark.parametrize("has_file", [True, False], ids=["a file", "no space for a file"])
def test_a_backlog_keeps_all_bytes_in_order(tmp_path: Path, has_file: bool) -> None:
    produced = Random(1).randbytes(5 << 20)
    pieces = [produced[at : at + (64 << 10)] for at in range(0, len(produced), 64 << 10)]
    left = iter(pieces)
    folder = tmp_path if has_file else tmp_path / "missing"

    async def read(_size: int) -> bytes:
        return next(left, b"")

    async def move() -> bytes:
        with ThreadPoolExecutor(2) as pool, closing(Backlog(folder, pool)) as backlog:
            filling = asyncio.ensure_future(backlog.fill(read))
            taken = await backlog.take()
            done, _ = await asyncio.wait([filling], timeout=None if has_file else 0.2)
            assert bool(done) == has_file  # without a file it waits for the client
            while piece := await backlog.take():
                taken += piece
            await filling
        return taken

    assert asyncio.run(move()) == produced
    assert list(tmp_path.iterdir()) == []


def test_a_failure_of_the_producer_follows_its_bytes(tmp_path: Path) -> None:
    async def read(_size: int, given: list[bytes] = [b"first"]) -> bytes:  # noqa: B006
        return given.pop()

    async def move() -> None:
        with ThreadPoolExecutor(1) as pool, closing(Backlog(tmp_path, pool)) as backlog:
            await backlog.fill(read)
            assert await backlog.take() == b"first"
            with pytest.raises(IndexError):
                await backlog.take()

    asyncio.run(move())
