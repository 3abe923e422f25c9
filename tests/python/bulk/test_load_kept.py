"""A load of a stream that is stored whole reads it to its end before it takes the writer."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import comptroller
import msgspec
import pytest
from comptroller import LoadResult, Service, errors
from examples import KINDS, LATER, LINES, group_id, line, ndjson, padded, short_line
from held_writer import while_writing
from test_load_beside_writes import has_begun_again, in_thread
from test_load_ways import BY_STATEMENTS, claim, everything, file_of, furnished, of, orchestration

ROWS = 600  # padded, more than 8 MiB


def lines_of(kind: str) -> list[dict[str, Any]]:
    """Complete, short and changed lines, and equal ones."""
    lines = []
    for number in range(ROWS):
        own: dict[str, Any] = {"id": f"{kind}-{number % 500}"}
        if kind in ("payout-groups", "reward-addresses"):
            own = {"id": group_id(1000 + number % 500)}
        if kind == "reward-addresses":
            own["address"] = f"0x{number % 500:040x}"
        if kind == "controls":
            own["identity_id"] = f"identity-{number % 500}"
        if kind == "balances":
            own = {"at": f"2026-02-01T00:{number % 500 // 60:02}:{number % 60:02}Z"}
        if number >= 500 and "updated_at" in LINES[kind]:
            own["updated_at"] = LATER
        lines.append((short_line if number % 10 == 9 else line)(kind, **own))
    return lines


def with_errors(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Adds lines that are refused by the parser, and by the rules, and an unknown member."""
    first = next(iter(lines[0]))
    bad = [{"nothing": True}, {**lines[1], "customer_id": "no spaces"}, {**lines[2], first: None}]
    return [lines[0] | {"unknown": 1}, *bad, *lines[1:], *bad * 2]


def store(path: Path) -> Service:
    svc = comptroller.open(path)
    for kind in KINDS:  # no table is empty
        assert svc.load(kind, [LINES[kind]]).committed
    return svc


def uncommitted(result: LoadResult) -> LoadResult:
    return msgspec.structs.replace(result, committed=False)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_stream", [False, True])
def test_a_whole_load_has_the_result_of_a_load_in_parts(
    tmp_path: Path, kind: str, is_stream: bool
) -> None:
    path = tmp_path / "lines.ndjson"

    def source(lines: list[dict[str, Any]]) -> Path | io.BytesIO:
        path.write_bytes(padded(lines))
        return io.BytesIO(path.read_bytes()) if is_stream else path

    lines = lines_of(kind)
    with store(tmp_path / "whole.db") as whole, store(tmp_path / "parts.db") as parts:
        refused = whole.load(kind, source(with_errors(lines)))
        assert not refused.committed
        assert refused.rejected >= 3
        assert refused.unknown_members
        whole_result = whole.load(kind, source(lines))
        assert whole_result.committed
        assert whole_result == parts.load(kind, source(lines), keep_going=True)
        again = parts.load(kind, source(with_errors(lines)), keep_going=True)
        assert uncommitted(again) == whole.load(kind, source(with_errors(lines)))
        for each in KINDS:
            exports = [tmp_path / "whole.ndjson", tmp_path / "parts.ndjson"]
            whole.export(each, exports[0])
            parts.export(each, exports[1])
            assert exports[0].read_bytes() == exports[1].read_bytes()


class Disturbed:
    """A stream; while its last MiB is read, another thread calls `write` once."""

    def __init__(self, data: bytes, write: Callable[[], object]) -> None:
        self._file = io.BytesIO(data)
        self._end = len(data) - (1 << 20)
        self._write: Callable[[], object] | None = write

    def read(self, size: int) -> bytes:
        if self._file.tell() > self._end and (write := self._write):
            self._write = None
            in_thread(write)
        return self._file.read(size)


def test_others_write_while_a_stream_is_read(operator: Service) -> None:
    operator.claims.put(short_line("claims", id="before"))
    data = padded(short_line("claims", id=f"claim-{number}") for number in range(ROWS))
    beside = short_line("claims", id="claim-7", error_message="first")
    result = operator.load("claims", Disturbed(data, lambda: operator.claims.put(beside)))
    assert (result.rejected, result.inserted) == (1, ROWS - 1)  # of the same age, not equal
    assert not result.committed
    assert operator.check()["rows"]["claims"] == 2


def test_others_write_while_rows_are_read(operator: Service) -> None:
    operator.identities.put(id="before")

    def rows() -> Iterator[dict[str, Any]]:
        note = {f"key-{number}": "x" * 500 for number in range(50)}
        for number in range(ROWS):
            if number == ROWS - 1:
                in_thread(lambda: operator.identities.put(id="beside"))
            yield short_line("identities", id=f"identity-{number}", metadata=note)

    assert operator.load("identities", rows()).inserted == ROWS
    assert operator.check()["rows"]["identities"] == ROWS + 2


@pytest.mark.parametrize(
    ("is_in_the_way", "is_store_larger"), [(False, False), (True, False), (False, True)]
)
def test_a_stream_fills_a_table_beside_other_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_in_the_way: bool, is_store_larger: bool
) -> None:
    """If the other write changes the result, the kept bytes are parsed from the first again."""
    # Threads parse some MiB ahead, so the first lines are taken before the other write.
    source = file_of(of(claim, 40_000), tmp_path / "lines.ndjson")
    path, after = tmp_path / "store.db", tmp_path / "after.db"

    def write(svc: Service) -> object:
        if is_in_the_way:
            return svc.claims.put(claim(7, error_message="first"))
        return svc.identities.put(id="beside")

    with monkeypatch.context() as patch:
        patch.setenv(BY_STATEMENTS, "1")  # leaves no gap
        with furnished(path) as svc:
            if is_store_larger:
                assert svc.load("orchestrations", of(orchestration, 60_000)).committed
    with comptroller.open(path) as svc:
        result = svc.load("claims", Disturbed(source.read_bytes(), lambda: write(svc)))
    assert has_begun_again(path) == is_in_the_way
    with furnished(after) as svc:
        write(svc)
        assert svc.load("claims", source) == result
    assert everything(path)["claims"] == everything(after)["claims"]


@pytest.mark.parametrize("is_loading", [False, True])
@pytest.mark.parametrize("keep_going", [False, True])
def test_no_row_is_read_for_a_load_that_cannot_write(
    store_path: Path, is_loading: bool, keep_going: bool
) -> None:
    def rows() -> Iterator[dict[str, Any]]:
        pytest.fail("a row is read")
        yield {}

    comptroller.open(store_path).close()
    with comptroller.open(store_path, read_only=not is_loading) as svc:

        def load() -> None:
            with pytest.raises(errors.Unsupported if is_loading else errors.ReadOnly):
                svc.load("claims", rows(), keep_going=keep_going)

        while_writing(svc, load) if is_loading else load()


@pytest.mark.parametrize("is_stream", [False, True])
def test_progress_includes_the_storing(operator: Service, tmp_path: Path, is_stream: bool) -> None:
    operator.claims.put(short_line("claims"))
    path = tmp_path / "lines.ndjson"
    path.write_bytes(ndjson(short_line("claims", id=f"c-{number}") for number in range(80_000)))
    size = path.stat().st_size
    reports: list[tuple[int, int]] = []

    def progress(done: int, _total: int | None, rows: int) -> None:
        reports.append((done, rows))

    source = io.BytesIO(path.read_bytes()) if is_stream else path
    assert operator.load("claims", source, progress=progress).committed
    assert reports == sorted(reports)
    assert all(done <= size // 2 for done, rows in reports if rows == 0)
    assert any(size // 2 < done < size for done, rows in reports if rows)


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")
def test_short_lines_take_little_memory(tmp_path: Path) -> None:
    """A parsed line takes some hundred bytes, whatever its text has."""
    program = """
import io, sys, comptroller
with comptroller.open(sys.argv[1]) as svc:
    svc.load("claims", io.BytesIO(b"{}\\n" * 1_000_000), dry_run=True)
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
"""
    with store(tmp_path / "store.db"):
        pass
    command = [sys.executable, "-c", program, str(tmp_path / "store.db")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 250_000  # KiB


def test_rows_beyond_those_in_memory_are_stored_once(tmp_path: Path) -> None:
    count = 25_000  # more lines than stay in memory
    rows = (line("identities", id=f"identity-{number}") for number in range(count))
    with store(tmp_path / "rows.db") as svc:
        result = svc.load("identities", rows)
    assert (result.read, result.inserted) == (count, count)
