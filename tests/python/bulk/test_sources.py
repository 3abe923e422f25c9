"""The sources of a load, and the bytes that the core reads from them."""

from __future__ import annotations

import gzip
import io
import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from comptroller import Service, records
from comptroller.bulk import loading, readers, sources
from comptroller.errors import InvalidRequest

NDJSON = b'{"id":"1"}\n{"id":"2"}\n'


def content(source: Any, chunk: int = 7) -> tuple[bytes, int | None]:
    """Returns the bytes of a source, and its size."""
    with sources.open_source(source, "claims", None) as given:
        if isinstance(given.source, str):
            return Path(given.source).read_bytes(), given.total_bytes
        read = bytearray()
        buffer = bytearray(chunk)
        while count := given.source.readinto(memoryview(buffer)):
            read += buffer[:count]
        return bytes(read), given.total_bytes


def test_a_plain_file_is_read_by_the_core(tmp_path: Path) -> None:
    path = tmp_path / "rows.ndjson"
    path.write_bytes(NDJSON)
    with sources.open_source(path, "claims", None) as given:
        assert given.source == str(path)
        assert given.total_bytes == len(NDJSON)


@pytest.mark.parametrize("name", ["rows.ndjson.gz", "rows"])
def test_a_gzip_file_is_known_by_its_content(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(NDJSON))
    assert content(str(path)) == (NDJSON, None)


def test_a_plain_file_may_be_named_gz(tmp_path: Path) -> None:
    path = tmp_path / "rows.gz"
    path.write_bytes(NDJSON)
    assert content(path) == (NDJSON, len(NDJSON))


@pytest.mark.parametrize("packed", [False, True])
def test_a_binary_file_is_read_from_its_position(packed: bool) -> None:
    data = gzip.compress(NDJSON) if packed else NDJSON
    file = io.BytesIO(b"skip" + data)
    file.seek(4)
    assert content(file) == (NDJSON, None if packed else len(NDJSON))
    assert not file.closed


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("buffering", [0, -1])
def test_a_pipe_is_read_to_its_end(packed: bool, buffering: int) -> None:
    reading, writing = os.pipe()
    data = gzip.compress(NDJSON) if packed else NDJSON

    def write() -> None:
        with os.fdopen(writing, "wb") as sink:
            sink.write(data)

    writer = threading.Thread(target=write)
    writer.start()
    with os.fdopen(reading, "rb", buffering=buffering) as source:
        assert content(source) == (NDJSON, None)
        assert not source.closed
    writer.join()


def test_a_file_with_only_read_is_accepted() -> None:
    class Body:
        def __init__(self) -> None:
            self.read = io.BytesIO(NDJSON).read

    assert content(Body()) == (NDJSON, None)


def test_a_gzip_file_object_is_not_unpacked_twice() -> None:
    with gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(NDJSON))) as file:
        assert content(file) == (NDJSON, None)


@pytest.mark.parametrize(
    "broken",
    [gzip.compress(NDJSON, mtime=0)[:-9], gzip.compress(NDJSON)[:4], b"\x1f\x8bnot gzip at all"],
)
def test_a_broken_gzip_file_is_refused(tmp_path: Path, broken: bytes) -> None:
    path = tmp_path / "rows.gz"
    path.write_bytes(broken)
    for source in (path, io.BytesIO(broken)):
        with pytest.raises(InvalidRequest, match=r"source: .*cannot be read"):
            content(source)


def test_a_path_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent"):
        with pytest.raises(InvalidRequest, match=r"source: .*cannot be read"):
            content(path)


@pytest.mark.parametrize("source", [b"{}", bytearray(), {"id": "1"}, 7, None])
def test_an_invalid_source_is_refused(source: object) -> None:
    with pytest.raises(InvalidRequest, match=r"source: .*is not allowed; give a path"):
        content(source)


def test_a_text_file_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="binary mode"):
        content(io.StringIO("{}"))


def test_rows_are_encoded_on_demand() -> None:
    taken = []

    def rows() -> Iterator[dict[str, object]]:
        for number in range(1000):
            taken.append(number)
            yield {"id": str(number)}

    with sources.open_source(rows(), "claims", None) as given:
        assert not isinstance(given.source, str)
        given.source.readinto(memoryview(bytearray(100)))
        assert len(taken) < 20


@pytest.mark.parametrize("chunk", [1, 10, 1000])
def test_rows_become_lines(chunk: int) -> None:
    noon = datetime(2026, 1, 31, 12, tzinfo=UTC)
    rows = [
        {"id": UUID(int=1), "amount": Decimal("1E-18"), "at": noon, "name": None},
        records.Balance(address_id="a", balance=Decimal("1.50"), at=noon),
    ]
    read, total = content(rows, chunk)
    assert total is None
    assert [json.loads(line) for line in read.splitlines()] == [
        {
            "id": "00000000-0000-0000-0000-000000000001",
            "amount": "0.000000000000000001",
            "at": "2026-01-31T12:00:00.000000Z",
        },
        {"address_id": "a", "balance": "1.50", "at": "2026-01-31T12:00:00.000000Z"},
    ]


@pytest.mark.parametrize(
    ("row", "line"),
    [
        ({"amount": float("nan")}, b""),
        ({"amount": Decimal("NaN")}, b""),
        ({"amount": 2}, b'{"amount":"2"}'),
        ({"at": datetime(2026, 1, 1)}, b'{"at":"2026-01-01T00:00:00"}'),
        ({"n": "\ud800", "tx_hash": "a"}, b'{"tx_hash":"a","n":0}'),
        ({"tx_hash": "\ud800"}, b"NaN"),
        ({"tx_hash": float("inf")}, b"NaN"),
        ({"n": 10**30}, b'{"n":1000000000000000000000000000000}'),
        (None, b"null"),
        ([], b"NaN"),
        ("id", b"NaN"),
    ],
)
def test_a_row_that_the_core_rejects_has_its_line(row: object, line: bytes) -> None:
    assert content([row])[0] == line + b"\n"


def test_an_unrepresentable_row_has_an_invalid_line() -> None:
    rows = [{"name": "a"}, {"name": object()}, {1: "a"}, {"n": 10**5000}]
    reader = readers.RowReader([*rows, {"amount": 1.5}, {"amount": Decimal("1E+999999999")}])
    assert reader.read() == b'{"name":"a"}\nNaN\nNaN\nNaN\nNaN\nNaN\n'
    shown = {line: f"{each.member}: {each.message}" for line, each in reader.faults.items()}
    assert shown == {
        2: "name: an object cannot be written as JSON; give a str, bool, int, Decimal, UUID, "
        "date or aware datetime, list or dict",
        3: "record: 1 is not a member name; member names are str",
        4: "n: the number is too long",
        5: "amount: 1.5 is a float, which is not exact; give a Decimal, an int or a str",
        6: "amount: 1E+999999999 has too many digits; at most 20 and 18 fraction digits",
    }


def test_an_exception_of_the_rows_is_raised() -> None:
    def rows() -> Iterator[dict[str, str]]:
        yield {"id": "1"}
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        content(rows())


def test_progress_of_gzip_counts_compressed_bytes(tmp_path: Path) -> None:
    path = tmp_path / "rows.gz"
    path.write_bytes(gzip.compress(NDJSON * 1000))
    reports: list[tuple[int, int | None, int]] = []
    with sources.open_source(path, "claims", lambda *figures: reports.append(figures)) as given:
        assert not isinstance(given.source, str)
        assert given.progress is not None
        given.progress(0, None, 0)
        while given.source.readinto(memoryview(bytearray(4096))):
            pass
        given.progress(22000, None, 2000)
    size = path.stat().st_size
    assert reports[0] == (size, size, 0)  # the first bytes are read to recognise the content
    assert reports[1] == (size, size, 2000)


def test_a_result_prints_its_counts() -> None:
    result = loading.LoadResult(
        committed=False, read=1003, inserted=1000, updated=0, unchanged=1, rejected=2, blank=0
    )
    assert repr(result) == (
        "<LoadResult not committed: 1,003 read = "
        "1,000 inserted, 0 updated, 1 unchanged, 2 rejected, 0 blank>"
    )


class Impatient(io.RawIOBase):
    """A non-blocking file without data."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> None:
        return None


def test_a_file_without_data_is_not_taken_for_its_end(operator: Service) -> None:
    with pytest.raises(InvalidRequest, match="has no data yet"):
        operator.load("claims", Impatient())
    # A non-blocking pipe is waited for.
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    with os.fdopen(reading, "rb", 0) as file:
        writer = threading.Timer(0.3, lambda: (os.write(writing, NDJSON), os.close(writing)))
        writer.start()
        assert operator.load("claims", file).read == 2
        writer.join()


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("buffering", [0, 4096])
def test_a_load_that_waits_for_a_pipe_can_be_interrupted(
    operator: Service, packed: bool, buffering: int
) -> None:
    def stop(_done: int, _total: int | None, _rows: int) -> None:
        if time.monotonic() - began > 0.3:
            raise KeyboardInterrupt

    reading, writing = os.pipe()
    os.write(writing, gzip.compress(NDJSON)[:20] if packed else NDJSON)
    began = time.monotonic()
    with os.fdopen(reading, "rb", buffering) as file:
        with pytest.raises(KeyboardInterrupt):
            operator.load("claims", file, progress=stop)
        assert time.monotonic() - began < 1
    os.close(writing)


def test_rows_are_iterated_on_the_calling_thread(operator: Service) -> None:
    # A database cursor may require its own thread.
    database = sqlite3.connect(":memory:")
    database.row_factory = sqlite3.Row
    query = """
        WITH RECURSIVE ids(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM ids WHERE id < 20000)
        SELECT 'c-' || id AS id, ? AS payout_group_id, 'CLAIM_ALL' AS claim_type,
               'PENDING' AS onchain_status, '1.50' AS amount, ? AS created_at FROM ids
    """
    rows = database.execute(query, ["11111111-1111-4111-8111-111111111111", "2026-01-31T12:00:00Z"])
    result = operator.load("claims", (dict(row) for row in rows))
    assert (result.read, result.inserted) == (20_000, 20_000)
    database.close()
