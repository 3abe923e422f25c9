"""The configuration and the drill of docs/how-to/replicate.md, if litestream is installed."""

from __future__ import annotations

import shutil
import signal
import subprocess
import threading
from pathlib import Path

import comptroller
import pytest
from examples import GROUP, KINDS, exported, loaded, short_line
from places import ROOT

CONFIGURATION = ROOT / "docs/how-to/litestream.yml"
ROWS = 20_000  # of each load; more than 1 MiB, so the first one builds b-trees
LOADS = 3

pytestmark = pytest.mark.skipif(shutil.which("litestream") is None, reason="needs litestream")


def test_a_restored_replica_equals_the_store(tmp_path: Path) -> None:
    path, replica = tmp_path / "store.db", tmp_path / "replica"
    text = CONFIGURATION.read_text().replace("/var/lib/comptroller/store.db", str(path))
    text = text.replace("/mnt/replica/comptroller", str(replica)).replace("127.0.0.1:9091", "")
    configuration = tmp_path / "litestream.yml"
    configuration.write_text(text)
    with comptroller.open(path) as service:
        loaded(service, "payout-groups", short_line("payout-groups"))
        command = ["litestream", "replicate", "-config", str(configuration)]
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as copying:
            written = write_and_load(service)
            copying.send_signal(signal.SIGTERM)  # it copies the last writes first
            assert copying.wait(60) == 0
        expected = {kind: exported(service, kind, tmp_path) for kind in KINDS}
    assert len(expected["claims"]) == written + LOADS * ROWS
    restored = tmp_path / "restored.db"
    restore = ["litestream", "restore", "-config", str(configuration), "-o", str(restored)]
    subprocess.run([*restore, str(path)], check=True, capture_output=True, timeout=120)
    with comptroller.open(restored) as service:
        assert service.check()["findings"] == []
        assert {kind: exported(service, kind, tmp_path) for kind in KINDS} == expected


def write_and_load(service: comptroller.Service) -> int:
    """Loads files while a thread writes; returns the number of acknowledged writes."""
    written = 0
    is_loaded = threading.Event()

    def write() -> None:
        nonlocal written
        while not is_loaded.is_set():
            service.claims.put(short_line("claims", id=f"written-{written}"))
            written += 1

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for part in range(LOADS):
            lines = [
                short_line("claims", id=f"loaded-{part}-{number}", payout_group_id=GROUP)
                for number in range(ROWS)
            ]
            loaded(service, "claims", *lines)
    finally:
        is_loaded.set()
        thread.join()
    return written
