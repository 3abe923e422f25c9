"""Another program runs VACUUM and ANALYZE on a store in use."""

from __future__ import annotations

import sqlite3
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from threading import Event
from typing import Any

import comptroller
import pytest
from comptroller import Service
from examples import loaded, short_line

CLAIMS = 2_000
#: The other program runs its statement again until there were so many writes.
WRITES = 60


@pytest.mark.parametrize("statement", ["VACUUM", "ANALYZE"])
def test_reads_and_writes_go_on(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "store.db"
    is_over = Event()
    written: list[str] = []

    def write(svc: Service, writer: int) -> None:
        while not is_over.is_set():
            id = f"i{writer}-{len(written)}"
            svc.identities.put(id=id, ref_id=id)
            written.append(id)
            # Leaves empty pages for VACUUM.
            metadata = {str(key): "x" * 500 for key in range(len(written) % 9)}
            svc.identities.put(id="shared", metadata=metadata)

    def read(svc: Service) -> int:
        turns = 0
        while not is_over.is_set():
            assert svc.claims.get(f"c{turns % CLAIMS}").amount == Decimal("1.5")
            assert len(svc.claims.list(limit=100)) == 100
            assert sum(1 for _ in svc.claims.iter(limit=1000)) == CLAIMS
            turns += 1
        return turns

    with comptroller.open(path) as svc:
        loaded(
            svc, "claims", *(short_line("claims", id=f"c{n}", amount="1.5") for n in range(CLAIMS))
        )
        with ThreadPoolExecutor() as threads:
            running: list[Future[Any]] = [threads.submit(write, svc, number) for number in range(2)]
            reader = threads.submit(read, svc)
            running.append(reader)
            try:
                with closing(sqlite3.connect(path, timeout=30)) as other:
                    while len(written) < WRITES and not any(each.done() for each in running):
                        other.execute(statement)
                        is_over.wait(0.02)
            finally:
                is_over.set()
        for each in running:
            each.result()
        assert reader.result() > 0
        assert len(written) >= WRITES
        found = {each.id: each.ref_id for each in svc.identities.iter(limit=1000)}
        assert {id: found.get(id) for id in written} == {id: id for id in written}
        checked = svc.check()
        assert checked["ok"], checked["findings"]
    with comptroller.open(path) as again:
        assert again.check() == checked
