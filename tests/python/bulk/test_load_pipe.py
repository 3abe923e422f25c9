"""A load from a slow source, and concurrent writers."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import comptroller
from examples import short_line


def test_a_load_that_waits_for_input_blocks_nobody(store_path: Path) -> None:
    reading, writing = os.pipe()
    with (
        comptroller.open(store_path) as loading,
        comptroller.open(store_path) as other,
        ThreadPoolExecutor(1) as pool,
        os.fdopen(writing, "wb") as sender,
    ):
        load = pool.submit(loading.load, "identities", f"/dev/fd/{reading}", keep_going=True)
        line = json.dumps(short_line("identities", id="?")).encode() + b"\n"
        rows = 3_000_000 // len(line)  # more than a batch of lines
        for number in range(rows):
            sender.write(line.replace(b"?", b"%d" % number))
        sender.flush()
        while not other.identities.list(limit=1).items:  # until a batch is committed
            assert not load.done()
        for number in range(20):
            assert other.identities.put(id=f"other-{number}").id == f"other-{number}"
        assert not load.done()
        sender.close()
        assert load.result().inserted == rows
    os.close(reading)
