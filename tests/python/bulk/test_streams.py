"""Streams of records in each supported library."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from comptroller.bulk.parquet import write_parquet
from comptroller.bulk.streams import Stream
from comptroller.errors import InvalidRequest, MissingExtra, Unusable

pa = pytest.importorskip("pyarrow")

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
# More digits than the default decimal context and a float have.
BIG = Decimal("12345678901234567890.123456789012345678")
TOTAL = Decimal("37037036703703703670.370370367037037034")


@pytest.fixture(name="stream")
def _stream() -> Stream:
    rows = pa.table(
        {
            "id": ["a", "b", "c", "d"],
            "amount": pa.array([BIG, BIG, BIG, None], pa.decimal128(38, 18)),
            "created_at": pa.array([NOON] * 4, pa.timestamp("us", "UTC")),
            "onchain_status": pa.array(["FAILED", "PENDING"] * 2).dictionary_encode(),
            "addresses": pa.array([["x", "y"], [], None, ["z"]]),
        }
    )

    class Rows:
        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
            return rows.__arrow_c_stream__(requested_schema)

        def __arrow_c_schema__(self) -> object:
            return rows.schema.__arrow_c_schema__()

        def with_string_views(self) -> Rows:
            return self

        def compact(self, names: list[str]) -> Any:
            return self

    return Stream("claims", Rows())


def by_polars(stream: Stream) -> Any:
    frame = stream.to_polars()
    assert str(frame.schema["created_at"]) == "Datetime(time_unit='us', time_zone='UTC')"
    return frame["amount"].sum()


def by_pandas(stream: Stream) -> Any:
    frame = stream.to_pandas()
    assert frame["created_at"][0] == NOON
    return frame["amount"].sum()


def by_arrow(stream: Stream) -> Any:
    import pyarrow.compute

    table = stream.to_arrow()
    assert table.schema.field("created_at").type == pa.timestamp("us", "UTC")
    return pyarrow.compute.sum(table["amount"]).as_py()


def by_duckdb(stream: Stream) -> Any:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        connection.register("claims", stream)
        return connection.execute("SELECT sum(amount) FROM claims").fetchone()[0]


def by_narwhals(stream: Stream) -> Any:
    narwhals = pytest.importorskip("narwhals.stable.v2")
    return narwhals.from_arrow(stream, backend="pyarrow")["amount"].sum()


@pytest.mark.parametrize("total", [by_polars, by_pandas, by_arrow, by_duckdb, by_narwhals])
def test_every_library_gives_the_same_exact_sum_repeatedly(stream: Stream, total: Any) -> None:
    pytest.importorskip("polars")
    pytest.importorskip("pandas")
    assert [total(stream), total(stream)] == [TOTAL, TOTAL]


def test_pandas_groups_sum_exactly(stream: Stream) -> None:
    frame = pytest.importorskip("pandas") and stream.to_pandas()
    sums = frame.groupby("onchain_status", observed=True)["amount"].sum()
    assert sums["FAILED"] == Decimal("24691357802469135780.246913578024691356")
    assert sums["PENDING"] == BIG


def test_the_schema_is_available_without_reading(stream: Stream) -> None:
    assert pa.schema(stream).names[:2] == ["id", "amount"]


def test_a_missing_library_is_named(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("polars", "pandas", "pyarrow", "duckdb"):
        monkeypatch.setitem(sys.modules, name, None)
    for wanted, act in {
        "polars.*its extra .analysis.": stream.to_polars,
        "pandas.*install it": stream.to_pandas,
        "pyarrow.*install it": stream.to_arrow,
        "duckdb.*its extra .analysis.": lambda: write_parquet(stream, "x"),
    }.items():
        with pytest.raises(MissingExtra, match=wanted):
            act()


def test_a_parquet_file_keeps_amounts_and_times(stream: Stream, tmp_path: Any) -> None:
    pytest.importorskip("duckdb")
    import pyarrow.parquet

    path = tmp_path / "it's.parquet"
    assert write_parquet(stream, str(path)) == 4
    table = pyarrow.parquet.read_table(path)
    assert table.schema.field("amount").type == pa.decimal128(38, 18)
    assert table.schema.field("created_at").type == pa.timestamp("us", "UTC")
    assert table["amount"].to_pylist() == [BIG, BIG, BIG, None]
    assert [file.name for file in tmp_path.iterdir()] == ["it's.parquet"]


def test_an_unwritable_parquet_file_is_unusable(stream: Stream, tmp_path: Any) -> None:
    pytest.importorskip("duckdb")
    with pytest.raises(Unusable, match="cannot be written"):
        write_parquet(stream, str(tmp_path / "absent" / "claims.parquet"))


@pytest.mark.parametrize("names", [None, ["\ud800"], object(), [None]])
def test_names_of_coded_columns_must_be_texts(operator: Any, names: Any) -> None:
    with pytest.raises(InvalidRequest, match="names"):
        operator.claims.stream().compact(names)
