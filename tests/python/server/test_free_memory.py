"""A server returns freed memory to the system, also that between pieces in use."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

#: Frees all but each hundredth of many small pieces, the last of which keeps the heap from ending.
_FRAGMENTS = """
import ctypes
from comptroller import _core

_core.limit_free_memory()
heap = ctypes.CDLL(None)
heap.malloc.restype = ctypes.c_void_p
heap.free.argtypes = [ctypes.c_void_p]


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4


pieces = [heap.malloc(4000) for _ in range(20_000)]
for piece in pieces:
    ctypes.memset(piece, 1, 4000)
for place, piece in enumerate(pieces):
    if place % 100 != 99:
        heap.free(piece)
before = resident()
_core.return_free_memory()
print(before - resident())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc is asked to")
def test_free_memory_between_pieces_in_use_is_returned() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", _FRAGMENTS], capture_output=True, text=True, check=True
    )
    assert int(ran.stdout) > 40_000  # KiB, of 80,000
