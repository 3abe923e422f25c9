"""The extension module: misuse of buffers, objects and threads raises exceptions.

Cases that crashed or hung the interpreter before run in a separate process.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import comptroller
import pytest
from comptroller._core import Principal

IMPORTS = """
import array, collections, fcntl, sys, threading
from pathlib import Path
import comptroller
from comptroller import _core
from comptroller._core import Principal, Store
from comptroller.bulk import readers

def load(store, source, are_rows=False):
    store.load(Principal(), "claims", source, are_rows=are_rows, customer_id=None,
               keep_going=False, dry_run=False, total_bytes=None, progress=None,
               account=lambda result: None)
"""


def run(script: str, *arguments: object) -> str:
    """Runs a script with a timeout of 20 seconds; returns its output."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", IMPORTS + script, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def refusal(expression: str) -> str:
    return run(
        "try:\n"
        f"    {expression}\n"
        "except (TypeError, BufferError) as error:\n"
        "    print(type(error).__name__, error)\n"
    )


# ---- sample data ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "buffer",
    [
        "memoryview(bytearray(1_000_000))[::2]",
        "memoryview(bytearray(1_000_000))[::-1]",
        "memoryview(array.array('Q', bytes(8_000_000)))[::4]",
        "bytes(100)",
        "memoryview(b'read only')",
        "'text'",
        "7",
    ],
)
@pytest.mark.parametrize(
    "file",
    [
        "comptroller.sample('claims').raw",
        "readers.RowReader([{}])",
    ],
)
def test_a_file_is_read_only_into_writable_contiguous_bytes(buffer: str, file: str) -> None:
    assert refusal(f"{file}.readinto({buffer})").startswith("TypeError")


@pytest.mark.parametrize("size", ["-1", "1.5", "'many'", "2**64", "None"])
def test_the_size_of_a_piece_of_a_sample_is_a_whole_number(size: str) -> None:
    assert refusal(f"_core.sample('claims', 1000, 1, None).next({size})").startswith("TypeError")


def test_a_sample_fills_buffers_of_any_item_size() -> None:
    expected = comptroller.sample("claims", rows=10).read()
    script = """
read = b""
file = comptroller.sample("claims", rows=10).raw
buffer = array.array("Q", bytes(64))
while size := file.readinto(buffer):
    read += buffer.tobytes()[:size]
sys.stdout.write(read.decode())
"""
    assert run(script).encode() == expected


def test_a_sample_may_be_read_by_several_threads() -> None:
    script = """
file = comptroller.sample("claims", rows=15_000).raw
pieces = []
def read():
    buffer = bytearray(200_000)
    while size := file.readinto(buffer):
        pieces.append(bytes(buffer[:size]))
threads = [threading.Thread(target=read) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
whole = comptroller.sample("claims", rows=15_000).read()
assert len(whole) == sum(map(len, pieces))
assert collections.Counter(whole) == collections.Counter(b"".join(pieces))
"""
    run(script)


# ---- sources of a load ---------------------------------------------------------------------------


@pytest.mark.parametrize("are_rows", [False, True])
def test_a_source_may_keep_the_buffer_it_was_given(tmp_path: Path, are_rows: bool) -> None:
    script = """
class Keeping:
    def __init__(self):
        self.rows = comptroller.sample("claims", rows=5000)
        self.kept = []
    def readinto(self, buffer):
        self.kept.append(memoryview(buffer)[:])
        return self.rows.readinto(buffer)
    def abandon(self): pass

class Raising(Keeping):
    def readinto(self, buffer):
        self.kept.append(buffer)
        raise RuntimeError("no")

store = Store(sys.argv[1])
for source in (Keeping(), Raising()):
    try:
        load(store, source, sys.argv[2] == "True")
    except RuntimeError as error:
        print(error)
    for view in source.kept:
        try:
            view[:] = bytes(len(view))
        except ValueError as error:  # released
            print(error)
"""
    assert "no" in run(script, tmp_path / "store.db", are_rows)


@pytest.mark.parametrize("answer", ["'many'", "1.5", "-1", "10**9", "2**80", "[]"])
def test_a_source_that_reports_an_impossible_size_is_refused(tmp_path: Path, answer: str) -> None:
    script = f"""
class Wrong:
    def readinto(self, buffer): return {answer}
    def abandon(self): pass

try:
    load(Store(sys.argv[1]), Wrong())
except (TypeError, comptroller.InvalidRequest) as error:
    print(error)
"""
    assert "readinto" in run(script, tmp_path / "store.db")


# ---- objects -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "expression",
    [
        "Store.__new__(Store).close()",
        "Principal.__new__(Principal, scopes=7)",
        "_core.Sample.__new__(_core.Sample).next(5)",
        "_core.ArrowSource.__new__(_core.ArrowSource).__arrow_c_schema__()",
        "Store(':memory:').call(_core.Sample.__new__(_core.Sample), 'claims.list', [])",
        "Principal().__class__ = _core.Sample",
        "Store.call = None",
        "type('Client', (Principal,), {})",
    ],
)
def test_objects_cannot_be_empty_or_change_their_class(expression: str) -> None:
    assert refusal(expression).startswith("TypeError")


def test_a_principal_never_changes() -> None:
    principal = Principal("acme", "app", ["rewards:read_claims"])
    principal.__init__("zenith")  # type: ignore[misc]
    principal.scopes.append("operator:write")
    for name in ("customer", "client_id", "scopes"):
        with pytest.raises(AttributeError):
            setattr(principal, name, None)
    assert (principal.customer, principal.actor) == ("acme", "app")
    assert principal.scopes == ["rewards:read_claims"]


def test_arguments_may_change_while_a_call_uses_them(operator: Any) -> None:
    """A call copies its arguments before it releases the GIL."""
    store, principal = operator._host.store, operator._host.principal
    parameters = [("limit", "7")]
    ended = threading.Event()

    def disturb() -> None:
        while not ended.is_set():
            parameters.append(("limit", "8"))
            parameters.pop()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(disturb)
        outcomes: Counter[str] = Counter()
        for _ in range(500):
            try:
                outcomes[store.call(principal, "claims.list", parameters)[0].decode()] += 1
            except comptroller.InvalidRequest:  # a repeated parameter
                outcomes["refused"] += 1
        ended.set()
    assert sum(outcomes.values()) == 500
    assert len(outcomes) <= 2


# ---- closing -------------------------------------------------------------------------------------


def locks_held(before: str, end: str) -> str:
    """Returns a script in which `end` closes a database whose lock files another program holds."""
    return f"""
path = Path(sys.argv[1])
store = Store(str(path))
{before}
files = [file.open("rb+") for file in path.parent.glob(path.name + "-*")
         if not file.name.endswith(("-wal", "-shm"))]
for file in files: fcntl.flock(file, fcntl.LOCK_EX)
is_closing = threading.Event()
def close():
    global store, source, reader
    is_closing.set()
    {end}
thread = threading.Thread(target=close)
thread.start()
is_closing.wait()
for file in files: fcntl.flock(file, fcntl.LOCK_UN)
thread.join()
print("closed")
"""


STREAM = 'source = store.stream(Principal(), "claims", None, [])'
READER = STREAM + "\nreader = source.__arrow_c_stream__()\nsource = None\nstore.close()"


@pytest.mark.parametrize(
    ("before", "end"),
    [
        ("", "store.close()"),
        ("", "store = None"),
        (STREAM + "\nstore.close()", "source = None"),
        (READER, "reader = None"),
    ],
)
def test_other_threads_run_while_the_last_user_closes_the_file(
    tmp_path: Path, before: str, end: str
) -> None:
    assert run(locks_held(before, end), tmp_path / "store.db") == "closed\n"
