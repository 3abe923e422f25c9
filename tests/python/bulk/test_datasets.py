"""Hive-partitioned datasets of Parquet files, which every engine reads."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import comptroller
import pytest
from command_line import Run
from examples import KINDS, LINES, loaded, short_line
from lines import claim, load
from report_stores import fill

pytest.importorskip("sqlglot")
pytest.importorskip("duckdb")
pytest.importorskip("polars")

import polars
from comptroller.analysis import open_exports


@pytest.fixture(scope="module")
def sampled(
    shared_operator: comptroller.Service, tmp_path_factory: pytest.TempPathFactory
) -> comptroller.Service:
    fill(shared_operator, tmp_path_factory.mktemp("made"), claims=1_000, seed=6)
    return shared_operator


def folders(path: Path) -> set[str]:
    """Returns the paths of the files of a dataset."""
    return {file.parent.relative_to(path).as_posix() for file in path.rglob("*.parquet")}


def test_rows_are_partitioned_by_month_and_chain(
    sampled: comptroller.Service, tmp_path: Path
) -> None:
    path = tmp_path / "claims"
    rows = sampled.export("claims", path, "parquet", partition=["month", "chain"])
    kept = sampled.claims.stream().to_polars()
    assert rows == len(kept) == 1_000
    assert folders(path) == {
        f"month={moment:%Y-%m}-01/chain={chain}"
        for moment, chain in kept.select("created_at", "blockchain").iter_rows()
    }
    for folder in folders(path):
        month, chain = (part.partition("=")[2] for part in folder.split("/"))
        there = polars.read_parquet(path / folder, hive_partitioning=False)
        assert set(there["blockchain"]) == {chain}
        assert set(there["created_at"].dt.strftime("%Y-%m-01")) == {month}
    again = polars.read_parquet(path, hive_partitioning=False).sort("id")
    assert again.columns == kept.columns
    words = polars.col(polars.Categorical).cast(polars.String)
    assert again.equals(kept.with_columns(words).sort("id"))


def test_reports_of_a_dataset_equal_those_of_the_store(
    sampled: comptroller.Service, tmp_path: Path
) -> None:
    sampled.export("claims", tmp_path / "claims", "parquet", partition=["month", "chain"])
    sampled.export("payout-groups", tmp_path / "payout-groups.parquet", "parquet")
    for other in ("notes.txt", "claims.csv", "payout_groups.ndjson"):
        (tmp_path / other).touch()
    by = ("jurisdiction", "month")
    exported = open_exports(tmp_path)
    summary = exported.claims_summary(by).to_polars()
    assert summary.equals(sampled.reports.claims_summary(by).to_polars())
    with pytest.raises(comptroller.InvalidRequest, match="there is no controls; there are claims"):
        exported.restrictions()
    exported.close()


@pytest.mark.parametrize("type", [polars.Binary(), polars.Null()], ids=["bytes", "null"])
def test_keys_of_other_types_are_texts(
    sampled: comptroller.Service, tmp_path: Path, type: polars.DataType
) -> None:
    # Some programs write texts as bytes, and columns without a value without a type.
    words = ["blockchain", "asset_type"]
    path = tmp_path / "claims.parquet"
    sampled.export("claims", path, "parquet")
    written = polars.read_parquet(path)
    columns = {word: written[word].cast(type, strict=False) for word in words}
    if type == polars.Null:
        columns = dict.fromkeys(words, polars.lit(None))
    written.with_columns(**columns).write_parquet(path)
    told = open_exports(tmp_path).claims_summary(("chain", "status")).to_polars()
    expected = sampled.reports.claims_summary(("chain", "status")).to_polars()
    assert told.schema == expected.schema
    if type == polars.Binary:
        assert told.equals(expected)
    else:
        assert told["chain"].null_count() == told["asset"].null_count() == len(told)


def test_a_folder_without_tables_is_refused(tmp_path: Path) -> None:
    (tmp_path / "claims.csv").touch()
    with pytest.raises(comptroller.InvalidRequest, match=r"no export such as claims\.parquet"):
        open_exports(tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_partitioned_by_day(
    operator: comptroller.Service, tmp_path: Path, kind: str
) -> None:
    for each in KINDS:
        loaded(operator, each, LINES[each])
    path = tmp_path / kind
    assert operator.export(kind, path, "parquet", partition="day") == 1
    assert folders(path) == {"day=2026-01-31"}


@pytest.mark.parametrize(
    "key", ["status", "asset", "group", "customer", "schedule", "claim_type", "week"]
)
def test_every_key_names_folders(sampled: comptroller.Service, tmp_path: Path, key: str) -> None:
    assert sampled.export("claims", tmp_path / "claims", "parquet", partition=key) == 1_000
    named = {folder.partition("=")[2] for folder in folders(tmp_path / "claims")}
    column = sampled.reports.claims_summary(by=key).to_polars()[key]
    assert named == {
        f"{value:%Y-%m-%d}" if key == "week" else WORDS.get(value, value) for value in column
    }


WORDS = {"A/B=C D": "A%2FB%3DC%20D", "ÉTÉ": None, None: "__HIVE_DEFAULT_PARTITION__"}


def test_any_value_and_null_has_a_folder(operator: comptroller.Service, tmp_path: Path) -> None:
    load(operator, "claims", *(claim(blockchain=word) for word in WORDS))
    path = tmp_path / "claims"
    operator.export("claims", path, "parquet", partition=["chain"])
    assert {f"chain={name}" for name in WORDS.values() if name} < folders(path)
    frame = polars.read_parquet(path, hive_partitioning=False)
    assert set(frame["blockchain"]) == set(WORDS)


@pytest.mark.parametrize(
    ("kind", "how", "expected"),
    [
        ("claims", {"partition": ["color"]}, "; give some of status, chain, asset, group"),
        ("claims", {"partition": ["hour"]}, "; give some of"),
        ("claims", {"partition": ["month", "month"]}, "duplicate value month"),
        ("claims", {"partition": []}, "empty"),
        ("claims", {"partition": "month", "format": "csv"}, "cannot be partitioned"),
        ("claims", {"partition": "month", "path": "-"}, "cannot go to standard output"),
        ("identities", {"partition": "chain"}, "; give some of customer, day, week, month"),
    ],
)
def test_invalid_arguments_are_refused_and_write_nothing(
    operator: comptroller.Service, tmp_path: Path, kind: str, how: dict[str, Any], expected: str
) -> None:
    folder = tmp_path / "exports"
    folder.mkdir()
    given = {"path": folder / "rows", "format": "parquet", **how}
    with pytest.raises(comptroller.InvalidRequest, match=expected):
        operator.export(kind, **given)
    assert not list(folder.iterdir())


def test_an_empty_dataset_has_columns(operator: comptroller.Service, tmp_path: Path) -> None:
    path = tmp_path / "claims"
    path.mkdir()  # An existing empty folder is accepted.
    assert operator.export("claims", path, "parquet", partition=["month"]) == 0
    frame = polars.read_parquet(path)
    assert not len(frame)
    assert frame.schema["amount"] == polars.Decimal(38, 18)


@pytest.mark.parametrize("there", ["file", "dataset", "file/claims"])
def test_an_existing_folder_is_not_replaced(
    operator: comptroller.Service, tmp_path: Path, there: str
) -> None:
    (tmp_path / "file").write_text("mine")
    loaded(operator, "claims", LINES["claims"])
    operator.export("claims", tmp_path / "dataset", "parquet", partition="day")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(comptroller.Unusable, match="cannot be written"):
        operator.export("claims", tmp_path / there, "parquet", partition="day")
    assert sorted(tmp_path.rglob("*")) == before


def _without_room() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))


def test_a_full_disk_leaves_nothing(
    operator: comptroller.Service, store_path: Path, tmp_path: Path
) -> None:
    rows = [short_line("claims", tx_hash=f"{n * n}", id=str(uuid4())) for n in range(2_000)]
    loaded(operator, "claims", *rows)
    folder = tmp_path / "exports"
    folder.mkdir()
    ended = subprocess.run(
        [
            *(sys.executable, "-m", "comptroller", "export", "claims", str(folder / "rows")),
            *("--db", str(store_path), "--partition", "month"),
        ],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=_without_room,
    )
    assert ended.returncode == 1
    assert "cannot be written" in ended.stderr
    assert not list(folder.iterdir())


def without_annotations(path: Path, chain: bytes) -> None:
    """Writes a claim as Parquet whose texts are not annotated as UTF-8."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    with comptroller.open(":memory:") as service:
        load(service, "claims", claim(addresses=["\u00e4\\1"], blockchain="INK"))
        table = service.claims.stream().to_arrow()
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if arrow.types.is_dictionary(column.type):
            column = column.cast(arrow.string())
        if arrow.types.is_string(column.type):
            column = column.cast(arrow.binary())
        if arrow.types.is_list(column.type):
            column = column.cast(arrow.list_(arrow.binary()))
        columns[name] = column
    columns["blockchain"] = arrow.array([chain])
    parquet.write_table(arrow.table(columns), path, store_schema=False)


def test_texts_without_an_annotation_are_utf_8(tmp_path: Path) -> None:
    without_annotations(tmp_path / "claims.parquet", "Z\u00fcrich\\x'".encode())
    (row,) = open_exports(tmp_path).claims_summary(("chain", "address")).to_dicts()
    assert (row["chain"], row["address"]) == ("Z\u00fcrich\\x'", "\u00e4\\1")
    without_annotations(tmp_path / "claims.parquet", b"Z\xfcrich")
    with pytest.raises(comptroller.InvalidRequest, match=r"tables: .*UTF-?8"):
        open_exports(tmp_path).claims_summary(("chain",))


@pytest.mark.parametrize("content", ["no Parquet", "no column", "no file"])
def test_unreadable_files_are_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "claims.parquet"
    polars.DataFrame({"id": ["a claim"]}).write_parquet(path)
    if content == "no Parquet":
        path.write_bytes(b"x" * 100)
    reports = open_exports(tmp_path)
    if content == "no file":
        path.unlink()
    with pytest.raises(comptroller.InvalidRequest, match="tables: "):
        reports.failures()


def test_the_command_line_writes_a_dataset(run: Run, tmp_path: Path) -> None:
    assert run("sample", "claims", "--rows", "50", "--out", "claims.ndjson").code == 0
    assert run("load", "claims", "claims.ndjson").code == 0
    ended = run("export", "claims", "a/b", "--format", "parquet", "--partition", "month,chain")
    assert ended.out.startswith("50 claims written to a/b\njournal: ")
    assert len(polars.read_parquet(tmp_path / "a" / "b")) == 50
    again = run("export", "claims", "a/b", "--partition", "month,chain")
    assert again.code == 1
    assert "it exists already" in again.err


@pytest.mark.parametrize("kind", KINDS)
def test_a_dataset_is_loaded_as_a_frame(
    operator: comptroller.Service, tmp_path: Path, kind: str
) -> None:
    if kind == "balances":
        loaded(operator, "reward-addresses", LINES["reward-addresses"])
    loaded(operator, kind, short_line(kind))
    path = tmp_path / kind
    operator.export(kind, path, "parquet", partition="day")
    result = operator.load(kind, polars.read_parquet(path))
    assert (result.unchanged, result.rejected) == (1, 0)
    with pytest.raises(comptroller.InvalidRequest, match=r"folder.*polars\.read_parquet\(folder\)"):
        operator.load(kind, path)
    with pytest.raises(comptroller.InvalidRequest, match=r"polars\.read_parquet\(folder\)"):
        operator.load_all(path)
