"""Progress callbacks of a load, and interruptions."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from comptroller import InvalidRequest, Service
from examples import accounted, ndjson, short_line
from held_writer import WhileWriting

ROWS = 12_000


@pytest.fixture(name="data", scope="module")
def _data() -> bytes:
    """Claims of several megabytes, so that a load calls its callback more than once."""
    note = "x" * 600
    return ndjson(short_line("claims", id=f"claim-{n}", error_message=note) for n in range(ROWS))


class Slow(io.RawIOBase):
    """A slow source, so that a tenth of a second passes between calls."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        end = time.monotonic() + 0.03
        while time.monotonic() < end:
            time.sleep(0.01)
        return self._data.readinto(memoryview(buffer)[: 1 << 19])


def test_progress_is_reported_at_most_ten_times_a_second(operator: Service, data: bytes) -> None:
    reports: list[tuple[float, int, int | None, int]] = []
    started = time.monotonic()
    result = accounted(
        operator.load(
            "claims",
            Slow(data),
            dry_run=True,
            progress=lambda *figures: reports.append((time.monotonic(), *figures)),
        )
    )
    took = time.monotonic() - started
    assert result.read == ROWS
    assert 2 <= len(reports) <= took * 10 + 2
    for before, after in itertools.pairwise(reports):
        assert after[0] - before[0] > 0.09
        assert after[1] >= before[1]
        assert after[3] >= before[3]
    assert {total for _, _, total, _ in reports} == {None}


def test_progress_has_the_size_of_a_file(operator: Service, data: bytes) -> None:
    reports: list[tuple[int, int | None, int]] = []
    operator.load("claims", io.BytesIO(data), progress=lambda *figures: reports.append(figures))
    assert reports
    for done, total, rows in reports:
        assert total == len(data)
        assert 0 <= done <= len(data)
        assert 0 <= rows <= ROWS


@pytest.mark.parametrize("raised", [KeyboardInterrupt, LookupError, BrokenPipeError])
def test_an_exception_of_progress_ends_the_load_and_nothing_is_stored(
    operator: Service, raised: type[BaseException]
) -> None:
    def stop() -> None:
        raise raised("enough")

    rows = [short_line("claims", id=f"claim-{number}") for number in range(2000)]
    with pytest.raises(raised, match="enough"):
        operator.load("claims", rows, progress=WhileWriting(stop))
    assert len(operator.claims.list()) == 0
    # The store accepts the next load.
    operator.identities.put(id="next")
    assert operator.load("claims", rows).inserted == 2000


def test_an_interrupted_load_that_keeps_going_counts_the_committed_lines(
    operator: Service,
) -> None:
    row = ndjson([short_line("claims", id="?")])
    rows = b"".join(row.replace(b"?", b"%d" % number) for number in range(150_000))
    rows = b'{"id":"refused","new":1}\n' + rows
    seen = 0

    def stop(_done: int, _total: int | None, rows: int) -> None:
        nonlocal seen
        seen = rows
        if rows > 100_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as interrupted:
        operator.load("claims", io.BytesIO(rows), keep_going=True, progress=stop)
    kept = operator.check()["rows"]["claims"]
    assert 50_000 <= kept <= seen
    result = vars(interrupted.value)["load_result"]
    assert (result.committed, result.read, result.inserted) == (True, kept + 1, kept)
    assert (result.rejected, result.unknown_members) == (1, {"new": 1})
    assert [rejection.line for rejection in result.rejections] == [1]


def test_an_exception_of_progress_is_not_an_error_of_the_file(
    operator: Service, data: bytes, tmp_path: Path
) -> None:
    def stop(_done: int, _total: int | None, _rows: int) -> None:
        raise BrokenPipeError("nobody listens")

    (tmp_path / "claims.ndjson").write_bytes(data)
    (tmp_path / "claims.gz").write_bytes(gzip.compress(data, 1))
    for name in ("claims.ndjson", "claims.gz"):
        with pytest.raises(BrokenPipeError, match="nobody listens"):
            operator.load("claims", tmp_path / name, progress=stop)


class Failing(io.BytesIO):
    """A file whose read fails in an unusual way."""

    def readinto(self, buffer: Any, /) -> int:
        size = super().readinto(buffer)
        if size == 0:
            raise LookupError("no more")
        return size


def endless_fault(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    yield from rows
    raise LookupError("no more")


@pytest.mark.parametrize("how", ["gzip", "rows", "file"])
@pytest.mark.parametrize("count", [150_000, 100])
def test_a_load_that_keeps_going_counts_its_lines_however_it_ends(
    operator: Service, how: str, count: int
) -> None:
    row = ndjson([short_line("claims", id="?")])
    lines = b"".join(row.replace(b"?", b"%d" % number) for number in range(count))
    sources = {
        "gzip": lambda: io.BytesIO(gzip.compress(lines, 1)[:-20]),
        "rows": lambda: endless_fault([json.loads(line) for line in lines.splitlines()]),
        "file": lambda: Failing(lines),
    }
    expected = InvalidRequest if how == "gzip" else LookupError
    with pytest.raises(expected) as ended:
        operator.load("claims", sources[how](), keep_going=True)
    kept = operator.check()["rows"]["claims"]
    if count == 100:
        assert kept == 0
        assert "load_result" not in vars(ended.value)
    else:
        assert 0 < kept <= count
        result = vars(ended.value)["load_result"]
        assert (result.committed, result.read, result.inserted) == (True, kept, kept)


def test_ctrl_c_before_or_after_the_commit_reports_the_truth(
    operator: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    # At the very end of the input, too soon for another check for signals.
    class LastMoment(io.BytesIO):
        def readinto(self, buffer: Any, /) -> int:
            size = super().readinto(buffer)
            if size == 0:
                signal.raise_signal(signal.SIGINT)
            return size

    line = ndjson([short_line("claims", id="1")])
    # A background job ignores SIGINT, and so does Python.
    earlier = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt) as before:
            operator.load("claims", LastMoment(line))
    finally:
        signal.signal(signal.SIGINT, earlier)
    assert "load_result" not in vars(before.value)
    assert len(operator.claims.list()) == 0

    # Python handles a later signal when the core has returned.
    def interrupted(*_arguments: Any) -> Any:
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr("comptroller.service.decoding.read", interrupted)
    with pytest.raises(KeyboardInterrupt) as after:
        operator.load("claims", io.BytesIO(line))
    assert vars(after.value)["load_result"].inserted == 1
    assert len(operator.claims.list()) == 1


def test_a_bar_may_be_requested(
    operator: Service, data: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("tqdm")
    assert operator.load("claims", io.BytesIO(data), progress=False).committed
    assert capsys.readouterr().err == ""
    assert not operator.load("claims", Slow(data), dry_run=True, progress=True).inserted
    assert "loading claims" in capsys.readouterr().err


NOTEBOOK = """
import time
import comptroller

def lines(seconds):
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        yield {}

with comptroller.open("rows.db") as svc:
    svc.load("claims", lines(SECONDS), keep_going=True)
"""


QUICK = """
import comptroller
import comptroller.display.progress

comptroller.display.progress._DELAY_S = 0.0  # what is over at once has one too
with comptroller.open("rows.db") as svc:
    svc.load("claims", comptroller.sample("claims", rows=20_000), progress=False)
    svc.export("claims", "claims.csv", format="csv")
    svc.reports.claims_summary()
"""


@pytest.mark.parametrize("seconds", [0.1, 2.5])
def test_a_long_load_in_a_notebook_has_a_bar(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    shown = printed(NOTEBOOK.replace("SECONDS", str(seconds)), tmp_path, monkeypatch)
    assert ("loading claims" in shown) == (seconds > 1)


def test_exports_and_reports_in_a_notebook_show_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sqlglot")
    shown = printed(QUICK, tmp_path, monkeypatch)
    assert "loading" not in shown
    assert "exporting claims: 00:00" in shown
    assert "running claims_summary: 00:00" in shown


def printed(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Returns what a notebook with this code shows."""
    for name in ("tqdm", "nbclient", "ipykernel"):
        pytest.importorskip(name)
    import nbformat
    from nbclient import NotebookClient

    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    cell = nbformat.v4.new_code_cell(code)
    run = nbformat.v4.new_notebook(cells=[cell])
    where = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(run, timeout=60, kernel_name="python3", resources=where).execute()
    return "".join(each.get("text", "") for each in run.cells[0].outputs)


@pytest.mark.parametrize("progress", ["yes", "", [], 2.5])
def test_an_invalid_progress_is_refused(operator: Service, data: bytes, progress: Any) -> None:
    with pytest.raises(InvalidRequest, match="progress: not a callback"):
        operator.load("claims", io.BytesIO(data), progress=progress)
