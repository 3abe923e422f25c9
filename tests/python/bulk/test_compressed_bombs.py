"""Small compressed files that become very large: what is read of them needs little memory."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import comptroller
import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")

MIB = 1 << 20
UNPACKED = 64  # MiB
#: A process that loads a small file has a peak of 45 MiB.
LARGEST = 90

PROGRAM = """
import json, sys, comptroller

with comptroller.open(sys.argv[1]) as svc:
    result = svc.load("identities", sys.argv[2])
found = {"inserted": result.inserted, "code": result.rejections[0].code}
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps(found | {"peak": int(peak.split()[1]) >> 10}))
"""


def load(folder: Path, path: Path) -> dict[str, object]:
    """Loads a file in a process of its own; returns the outcome, and the peak in MiB."""
    store = folder / "store.db"
    comptroller.open(store).close()
    command = [sys.executable, "-c", PROGRAM, str(store), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, object] = json.loads(done.stdout)
    return found


def pack(path: Path, packed: Any, begin: bytes, byte: bytes) -> None:
    """Writes a long text to a compressed file."""
    with packed:
        packed.write(begin)
        for _ in range(UNPACKED):
            packed.write(byte * MIB)
    assert path.stat().st_size < MIB


#: Opens a file for writing what is compressed.
OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


@pytest.mark.parametrize("packing", OPENERS)
def test_one_line_without_end(tmp_path: Path, packing: str) -> None:
    path = tmp_path / f"x.ndjson{packing}"
    pack(path, OPENERS[packing](path, "wb"), b'{"id":"', b"x")
    found = load(tmp_path, path)
    assert (found["inserted"], found["code"]) == (0, "content-too-large")
    assert int(str(found["peak"])) < LARGEST


def test_white_space_in_a_zip_archive(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        pack(path, archive.open("x.ndjson", "w"), b"", b" ")
    found = load(tmp_path, path)
    assert found["inserted"] == 0
    assert int(str(found["peak"])) < LARGEST


def test_layers_of_compression(tmp_path: Path) -> None:
    """Four layers become more than 100,000 times as large."""
    path = tmp_path / "x.ndjson.gz"
    pack(path, OPENERS[".gz"](path, "wb"), b'{"id":"', b"x")
    for _ in range(3):
        path.write_bytes(gzip.compress(path.read_bytes()))
    assert path.stat().st_size < UNPACKED * MIB // 100_000
    found = load(tmp_path, path)
    assert (found["inserted"], found["code"]) == (0, "content-too-large")
    assert int(str(found["peak"])) < LARGEST
