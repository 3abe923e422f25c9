"""Tables that are read again after another write, and the digest of files in the journal."""

from __future__ import annotations

import gzip
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from comptroller import Service
from test_load_beside_writes import Beside, has_begun_again
from test_load_ways import claim, everything, furnished

ROWS = 25_000  # more than a load keeps in memory before it begins
FRAME = pl.DataFrame([{**claim(number), "amount": number + 0.5} for number in range(ROWS)])


def write_csv(frame: pl.DataFrame, path: Path) -> None:
    of_lists = pl.col("addresses").list.join('","')
    frame.with_columns(pl.format('["{}"]', of_lists).alias("addresses")).write_csv(path)


def written(write: Callable[[pl.DataFrame, Path], object], path: Path) -> Path:
    write(FRAME, path)
    return path


SOURCES: dict[str, Callable[[Path], Any]] = {
    "a frame": lambda _folder: FRAME.with_columns(pl.col("amount").cast(pl.String)),
    "Parquet": lambda folder: written(pl.DataFrame.write_parquet, folder / "claims.parquet"),
    "CSV": lambda folder: written(write_csv, folder / "claims.csv"),
}


@pytest.mark.parametrize("name", SOURCES)
def test_the_result_is_that_of_a_load_after_the_other_write(tmp_path: Path, name: str) -> None:
    def write(svc: Service) -> object:
        return svc.claims.put(claim(ROWS + 1, error_message="written first"))

    source = SOURCES[name](tmp_path)
    options: dict[str, Any] = {"floats": "shortest"} if name == "Parquet" else {}
    with furnished(tmp_path / "beside.db") as svc:
        result = svc.load("claims", source, progress=Beside(svc, write), **options)
        assert (result.inserted, result.floats) == (ROWS, ROWS if options else 0)
        assert svc.check()["ok"]
    assert has_begun_again(tmp_path / "beside.db")
    with furnished(tmp_path / "after.db") as svc:
        write(svc)
        assert svc.load("claims", source, **options) == result
    beside, after = (everything(tmp_path / name) for name in ("beside.db", "after.db"))
    assert beside["claims"] == after["claims"]


def digest_of_load(svc: Service, source: Path, **options: Any) -> str | None:
    svc.load("claims", source, **options)
    batch = svc.journal.list(limit=1_000)[-1].batch
    assert batch is not None
    return batch.get("input_sha256")


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".ndjson", ".ndjson.gz", ".json"])
def test_the_journal_has_the_digest_of_the_file(
    tmp_path: Path, operator: Service, suffix: str
) -> None:
    frame = pl.DataFrame([claim(number) for number in range(10)])
    path = tmp_path / f"claims{suffix}"
    options: dict[str, Any] = {}
    if suffix == ".csv":
        write_csv(frame, path)
    elif suffix == ".parquet":
        frame.write_parquet(path)
    elif suffix == ".json":
        frame.rename({"amount": "other"}).write_json(path)
        options = {"rename": {"other": "amount"}}
    else:
        plain = frame.write_ndjson().encode()
        path.write_bytes(gzip.compress(plain) if suffix.endswith(".gz") else plain)
    expected = hashlib.sha256(path.read_bytes()).hexdigest()
    assert digest_of_load(operator, path, **options) == expected


def test_a_file_that_changes_during_its_load_has_no_digest(
    tmp_path: Path, operator: Service
) -> None:
    path = written(write_csv, tmp_path / "claims.csv")

    def touch(*_progress: object) -> None:
        os.utime(path, ns=(0, 0))

    assert digest_of_load(operator, path, progress=touch) is None
