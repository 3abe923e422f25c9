"""Values of every type of DuckDB in the frames and files of a query."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import comptroller
import pytest
from command_line import claim
from comptroller import InvalidRequest

pl = pytest.importorskip("polars")
pytest.importorskip("duckdb")
fastexcel = pytest.importorskip("fastexcel")
pytest.importorskip("xlsxwriter")

if TYPE_CHECKING:
    from comptroller.analysis.table import Table


@pytest.fixture(scope="module")
def store() -> Iterator[comptroller.Service]:
    with comptroller.open(":memory:") as service:
        row = claim("c-1", addresses=["a", "b"], onchain_status="FAILED")
        assert service.load("claims", [row]).committed
        yield service


LISTS = {
    "FROM claims": 1,
    "FROM claims WHERE id = 'none'": 0,
    "SELECT addresses FROM claims": 1,
    "SELECT {'names': addresses} AS s FROM claims": 1,
    "SELECT metadata FROM identities": 0,
    "SELECT list(id) AS ids FROM claims WHERE id = 'none' GROUP BY customer_id": 0,
}


@pytest.mark.parametrize("sql", LISTS)
def test_lists_of_text_become_columns_of_pandas(store: comptroller.Service, sql: str) -> None:
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    found = store.query(sql)
    for frame in (
        found.to_pandas(),
        pandas.DataFrame.from_arrow(found),
        arrow.table(found).to_pandas(),
    ):
        assert (len(frame), list(frame.columns)) == (LISTS[sql], found.columns)
    assert pl.DataFrame(found).to_dicts() == found.to_polars().to_dicts()


def test_a_reconciliation_becomes_a_frame_of_pandas(store: comptroller.Service) -> None:
    pytest.importorskip("pandas")
    rows = [{"id": "c-1", "addresses": ["a"]}, {"id": "c-2", "addresses": []}]
    found = store.reconcile("claims", rows, on="id")
    frame = found.to_pandas()
    assert [list(each) for each in frame["differs"].dropna()] == [["addresses"]]
    assert [list(each) for each in frame["addresses_here"].dropna()] == [["a", "b"]]
    assert found.different.to_arrow().column("differs").to_pylist() == [["addresses"]]


# A value without a type, and its text in CSV.
NULLS = {
    "NULL": "",
    "{'a': NULL}": '{"a":null}',
    "[NULL]": "[null]",
    "[{'a': [NULL]}]": '[{"a":[null]}]',
    "MAP {'a': NULL}": '{"a":null}',
}


@pytest.mark.parametrize("value", NULLS)
def test_a_null_without_a_type_is_a_missing_text(
    store: comptroller.Service, tmp_path: Path, value: str
) -> None:
    found = store.query(f"SELECT 'x' AS id, {value} AS x")
    assert found.to_csv(tmp_path / "x.csv") == found.to_excel(tmp_path / "x.xlsx") == 1
    with (tmp_path / "x.csv").open(newline="") as file:
        assert [*csv.reader(file)] == [["id", "x"], ["x", NULLS[value]]]
    assert found.to_parquet(tmp_path / "x.parquet") == 1
    read = pl.read_parquet(tmp_path / "x.parquet")
    assert str(read.schema["x"]).replace("Null", "") == str(read.schema["x"])
    assert store.query("FROM t", t=found).to_dicts() == found.to_dicts()


def test_a_row_with_a_nested_null_can_be_queried(store: comptroller.Service) -> None:
    rows: list[dict[str, Any]] = [{"x": {"a": None}, "y": [None], "z": None}]
    assert store.query("FROM t", t=rows).to_dicts() == rows


NOON = datetime(2026, 1, 1, 12)

# What a query returns, and how CSV and Excel show it.
OTHERS = {
    "'a\\xff'::BLOB": (b"a\xff", "61ff"),
    "'101'::BIT": ("101", "101"),
    "'123'::BIGNUM": ("123", "123"),
    "['a'::BLOB]": ([b"a"], '["61"]'),
    "{'b': '101'::BIT}": ('{"b":"101"}', '{"b":"101"}'),
    "{'d': 1.50}": ({"d": Decimal("1.50")}, '{"d":"1.5"}'),
    "['\u00e4', NULL]": (["\u00e4", None], '["\u00e4",null]'),
    "-99999999999999999999999999999999999999::HUGEINT": (Decimal("-9" + "9" * 37), "-9" + "9" * 37),
    "[-1::HUGEINT, NULL]": ([Decimal(-1), None], '["-1",null]'),
    "MAP {DATE '2026-01-01': 1}": ({date(2026, 1, 1): 1}, '{"2026-01-01":1}'),
    "MAP {1.5: 'a'}": ({Decimal("1.5"): "a"}, '{"1.5":"a"}'),
    "MAP {'a'::BLOB: 1}": ({b"a": 1}, '{"61":1}'),
    "MAP {[1, 2]: 'a'}": ('{"[1, 2]":"a"}', '{"[1, 2]":"a"}'),
    f"[TIMESTAMP '{NOON}.5']": ([NOON.replace(microsecond=500_000)], '["2026-01-01T12:00:00.5"]'),
    "[TIME '12:00:00.5']": ([time(12, 0, 0, 500_000)], '["12:00:00.5"]'),
    "TIME '12:00:00.5'": (time(12, 0, 0, 500_000), "12:00:00.5"),
    "['inf'::DOUBLE, 1.5]": ([float("inf"), 1.5], "[null,1.5]"),
    f"'{NOON}.123456789'::TIMESTAMP_NS": (
        NOON.replace(microsecond=123_456),
        "2026-01-01T12:00:00.123456789",
    ),
    f"['{NOON}.000000001'::TIMESTAMP_NS]": ([NOON], '["2026-01-01T12:00:00.000000001"]'),
}


@pytest.mark.parametrize("value", OTHERS)
def test_every_file_has_the_same_text(
    store: comptroller.Service, tmp_path: Path, value: str
) -> None:
    expected, text = OTHERS[value]
    found = store.query(f"SELECT 'x' AS id, {value} AS x")
    assert found.to_dicts() == [{"id": "x", "x": expected}]
    assert_files_have(text, found, tmp_path)


# Values that Python cannot hold, and how CSV and Excel show them.
FAR = {
    "'infinity'::TIMESTAMPTZ": "infinity",
    "'infinity'::TIMESTAMP_S": "infinity",
    "DATE '20000-01-02'": "20000-01-02",
    "[DATE '0044-03-15 (BC)']": '["0044-03-15 (BC)"]',
    "TIMESTAMP_S '20000-01-02 00:00:00'": "20000-01-02T00:00:00",
    "'infinity'::TIMESTAMP_NS": "infinity",
    "['infinity'::TIMESTAMP_S]": '["infinity"]',
    "{'a': [-1::HUGEINT], 'b': 'infinity'::TIMESTAMP_S}": '{"a":["-1"],"b":"infinity"}',
    "MAP {'a': 'infinity'::TIMESTAMP_S}": '{"a":"infinity"}',
    "[DATE 'infinity', NULL]": '["infinity",null]',
    "{'a': NULL, 'b': [TIMESTAMP '20000-01-02']}": '{"a":null,"b":["20000-01-02T00:00:00"]}',
    "MAP {DATE 'infinity': 1}": '{"infinity":1}',
}


@pytest.mark.parametrize("value", FAR)
def test_a_far_time_is_text_in_every_file_and_refused_as_a_value(
    store: comptroller.Service, tmp_path: Path, value: str
) -> None:
    found = store.query(f"SELECT 'x' AS id, {value} AS x")
    with pytest.raises(InvalidRequest, match="x: has days or times that are not"):
        found.to_dicts()
    assert_files_have(FAR[value], found, tmp_path)
    assert FAR[value].replace('"', "&#34;") in found._repr_html_()


def assert_files_have(text: str, found: Table, tmp_path: Path) -> None:
    """Asserts that each file of a row with the column x has it as a text."""
    found.to_csv(tmp_path / "x.csv")
    with (tmp_path / "x.csv").open(newline="", encoding="utf-8") as file:
        assert [*csv.reader(file)][1] == ["x", text]
    found.to_excel(tmp_path / "x.xlsx")
    (row,) = fastexcel.read_excel(tmp_path / "x.xlsx").load_sheet(0).to_polars().to_dicts()
    assert row["x"] == text
    assert found.to_html(tmp_path / "x.html") == 1
    with (tmp_path / "page.csv").open("w", encoding="utf-8", newline="") as file:
        file.write(found.section(1)["listed"][0]["csv"])
    assert (tmp_path / "page.csv").read_bytes() == (tmp_path / "x.csv").read_bytes()


def test_names_that_differ_in_case_stay(store: comptroller.Service, tmp_path: Path) -> None:
    found = store.query('SELECT 1 AS a, 2 AS "A", [3] AS "á"')
    found.to_csv(tmp_path / "x.csv")
    for text in ((tmp_path / "x.csv").read_text("utf-8"), found.section(1)["listed"][0]["csv"]):
        assert text.splitlines() == ["a,A,á", "1,2,[3]"]


WIDEST = "'170141183460469231731687303715884105727'"


@pytest.mark.parametrize("type", ["HUGEINT", "UHUGEINT"])
@pytest.mark.parametrize("form", ["{}", "[1, {}]", "{{'a': [{}]}}", "MAP {{{}: 1}}", "row({})"])
def test_an_integer_of_39_digits_is_not_rounded(
    store: comptroller.Service, type: str, form: str
) -> None:
    value = form.format(f"{WIDEST}::{type}")
    with pytest.raises(comptroller.InvalidRequest, match=r"x: .* 38 digits.*VARCHAR") as refusal:
        store.query(f"SELECT {value} AS x")
    assert "DECIMAL" not in str(refusal.value)  # which is not in the query


@pytest.mark.parametrize("part", ["\U0001f600", "a"])
def test_a_cell_has_at_most_32767_utf_16_code_units(
    store: comptroller.Service, tmp_path: Path, part: str
) -> None:
    fitting = 32_767 // (len(part.encode("utf-16-le")) // 2)
    rows = [{"text": part * fitting}]
    store.query("FROM t", t=rows).to_excel(tmp_path / "x.xlsx")
    (row,) = fastexcel.read_excel(tmp_path / "x.xlsx").load_sheet(0).to_polars().to_dicts()
    assert row == rows[0]
    for longer in ({"text": part * (fitting + 1)}, {part * (fitting + 1): 1}):
        with pytest.raises(comptroller.InvalidRequest, match=r"at most 32,767 UTF-16 code units"):
            store.query("FROM t", t=[longer]).to_excel(tmp_path / "x.xlsx")
