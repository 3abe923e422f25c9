"""`Service.query`: the tables of the store and of the caller in one read-only statement."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import comptroller
import pytest
from command_line import Run, claim, lines
from comptroller import InvalidRequest

pl = pytest.importorskip("polars")
pytest.importorskip("duckdb")
fastexcel = pytest.importorskip("fastexcel")
xlsxwriter = pytest.importorskip("xlsxwriter")

LARGE = Decimal("99999999999999999999.999999999999999999")
SMALL = Decimal("0.000000000000000001")
NOON = datetime(2026, 1, 31, 12, 0, 0, 1, tzinfo=UTC)
OWNERS = pl.DataFrame(
    {"id": ["c-1"], "share": pl.Series([SMALL], dtype=pl.Decimal(38, 18)), "at": [NOON]}
)


@pytest.fixture(scope="module")
def store() -> Iterator[comptroller.Service]:
    with comptroller.open(":memory:") as service:
        rows = [claim("c-1", amount=str(LARGE)), claim("c-2", amount="2.50")]
        assert service.load("claims", rows).committed
        yield service


def test_tables_of_the_store_and_the_caller_are_joined_exactly(
    store: comptroller.Service,
) -> None:
    found = store.query(
        'SELECT id, amount, share, "at" FROM claims JOIN owners USING (id)', owners=OWNERS
    )
    assert found.to_dicts() == [{"id": "c-1", "amount": LARGE, "share": SMALL, "at": NOON}]
    schema = found.to_polars().schema
    assert schema["share"] == schema["amount"] == pl.Decimal(38, 18)
    assert schema["at"] == pl.Datetime("us", "UTC")
    assert (len(found), found.columns) == (1, ["id", "amount", "share", "at"])
    assert repr(found) == "<Table: 1 row of id, amount, share, at>"
    assert "c-1" in found._repr_html_()


def test_tables_may_be_of_any_library(store: comptroller.Service) -> None:
    arrow, pandas = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    for rows in (
        arrow.table({"x": [1, 2]}),
        pandas.DataFrame({"x": [1, 2]}),
        [{"x": 1}, {"x": 2}],
        store.query("SELECT unnest([1, 2]) AS x"),
    ):
        assert store.query("SELECT sum(x)::INT AS s FROM t", t=rows).to_dicts() == [{"s": 3}]


def test_columns_of_a_csv_file_have_the_type_of_all_their_texts(
    store: comptroller.Service, tmp_path: Path
) -> None:
    file = tmp_path / "owners.csv"
    file.write_text(
        "account,n,share,day,at,mixed\n"
        "007,1,0.1,2026-01-31,2026-01-31T12:00:00.000001Z,1\n"
        "008,,99999999999999999999.999999999999999999,2026-02-01,2026-01-31T13:00:00+01:00,x\n"
    )
    first, second = store.query("FROM owners ORDER BY account", owners=file).to_dicts()
    assert first == {
        "account": "007",
        "n": 1,
        "share": Decimal("0.1"),
        "day": date(2026, 1, 31),
        "at": NOON,
        "mixed": "1",
    }
    assert (second["n"], second["share"], second["at"]) == (
        None,
        LARGE,
        NOON.replace(microsecond=0),
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [(2**70, Decimal(2**70)), (-(2**120), Decimal(-(2**120))), (10**38, None)],
)
def test_integers_beyond_64_bits_are_exact(
    store: comptroller.Service, value: int, expected: Decimal | None
) -> None:
    (row,) = store.query("SELECT max(n) AS n FROM t", t=[{"n": value}, {"n": None}]).to_dicts()
    assert row["n"] == (str(value) if expected is None else expected)


ZURICH = ZoneInfo("Europe/Zurich")
DIGITS_18 = Decimal("0.123456789012345678")
DIGITS_30 = 123456789012345678901234567890
# the values of a column of rows, and what a query returns
COLUMNS: list[tuple[list[Any], list[Any]]] = [
    ([NOON, NOON.astimezone(ZURICH)], [NOON, NOON]),
    ([NOON.astimezone(ZURICH), NOON], [NOON, NOON]),
    *(
        (values, [each.isoformat() for each in values])
        for values in (
            [NOON, NOON.replace(tzinfo=None)],
            [NOON.replace(tzinfo=None), NOON],
            [NOON.replace(tzinfo=None), NOON.astimezone(ZURICH)],
            [NOON, NOON.date()],
        )
    ),
    ([1.5, None, 2], [1.5, None, 2.0]),
    ([2, 1.5], [2.0, 1.5]),
    ([1.5, 2**53 + 1], ["1.5", str(2**53 + 1)]),
    ([1.5, 10**400], ["1.5", str(10**400)]),
    ([Decimal("1.5"), 2], [Decimal("1.5"), Decimal(2)]),
    ([2, Decimal("1.5")], [Decimal(2), Decimal("1.5")]),
    ([1.5, DIGITS_18], ["1.5", str(DIGITS_18)]),
    ([1e-7, DIGITS_18], ["0.0000001", str(DIGITS_18)]),
    ([Decimal(DIGITS_30), DIGITS_18], [str(DIGITS_30), str(DIGITS_18)]),
    ([Decimal("1" * 39)], ["1" * 39]),
    ([Decimal("1e400"), Decimal("-1e400000000")], ["1E+400", "-1E+400000000"]),
    ([Decimal("Infinity"), Decimal(1)], ["Infinity", "1"]),
    ([Decimal("NaN"), Decimal(1)], [None, Decimal(1)]),
    ([float("inf"), float("nan")], [float("inf"), None]),
    ([True, 1], ["true", "1"]),
    ([1, True], ["1", "true"]),
    ([{"x": 1}, {"x": None}], [{"x": 1}, {"x": None}]),
    ([{"x": 1}, {"y": 2}], ['{"x": 1}', '{"y": 2}']),
    ([{"x": {"y": 1}}, {"x": {"z": 2}}], ['{"x": {"y": 1}}', '{"x": {"z": 2}}']),
    ([{"x": Decimal("Infinity")}], ['{"x": "Infinity"}']),
    ([[{"x": 1}], [{"y": 2}]], ['[{"x": 1}]', '[{"y": 2}]']),
    ([["a"], ("b", None)], ['["a"]', '["b", null]']),
    ([("a",), ("b",)], [["a"], ["b"]]),
    ([["a"], [1]], ['["a"]', "[1]"]),
    ([[True], [1]], ["[true]", "[1]"]),
    (["\ud800"], ["\\ud800"]),
]


@pytest.mark.parametrize(("values", "expected"), COLUMNS)
def test_no_value_of_rows_changes(
    store: comptroller.Service, values: list[Any], expected: list[Any]
) -> None:
    rows = [{"n": n, "x": value} for n, value in enumerate(values)]
    found = [row["x"] for row in store.query("SELECT x FROM t ORDER BY n", t=rows).to_dicts()]
    assert (found, [*map(type, found)]) == (expected, [*map(type, expected)])


def test_no_number_of_json_changes(store: comptroller.Service, tmp_path: Path) -> None:
    (tmp_path / "t.ndjson").write_text(f'{{"x":{DIGITS_30}}}\n{{"x":{DIGITS_18}}}\n')
    found = store.query("SELECT x FROM t", t=tmp_path / "t.ndjson").to_dicts()
    assert found == [{"x": str(DIGITS_30)}, {"x": str(DIGITS_18)}]


SPAN = timedelta(days=2, hours=4, microseconds=7)


def test_a_difference_of_times_is_a_duration(store: comptroller.Service, tmp_path: Path) -> None:
    sql = "SELECT b - a AS d, NULL::INTERVAL AS n, [b - a] AS l, {'x': b - a} AS s FROM t"
    noon = datetime(2026, 1, 31, 12, tzinfo=UTC)
    found = store.query(sql, t=[{"a": noon, "b": noon + SPAN}])
    text = "2 days 04:00:00.000007"
    expected = {"d": SPAN, "n": None, "l": f'["{text}"]', "s": f'{{"x":"{text}"}}'}
    assert found.to_dicts() == [expected]
    for name in ("x.csv", "x.xlsx", "x.parquet", "x.html"):
        assert found.save(tmp_path / name) == 1
    assert (tmp_path / "x.csv").read_text().splitlines()[1].startswith("52:00:00.000007,")
    assert f"<td>{SPAN}</td>" in (tmp_path / "x.html").read_text()
    for name, shown in (("x.xlsx", str(SPAN)), ("x.parquet", "52:00:00.000007")):
        assert store.query("SELECT d FROM t", t=tmp_path / name).to_dicts() == [{"d": shown}]
    assert store.query("SELECT union_value(n := 1) AS u").to_dicts() == [{"u": "1"}]
    with pytest.raises(InvalidRequest, match="d has months, which differ in length"):
        store.query("SELECT INTERVAL 1 MONTH AS d")


@pytest.mark.parametrize("suffix", ["xlsx", "html", "parquet", "csv", "json"])
def test_the_command_writes_a_difference_of_times(run: Run, tmp_path: Path, suffix: str) -> None:
    sql = "SELECT updated_at - created_at AS d, TIME '12:00' AS t FROM claims"
    comptroller.open(tmp_path / "comptroller.db").load("claims", [claim("c-1")])
    assert run("query", sql, "--out", f"x.{suffix}").code == 0
    assert (tmp_path / f"x.{suffix}").stat().st_size > 0


FORBIDDEN = (
    *("FROM read_csv('{file}')", "FROM '{file}'", "FROM read_text('{file}')", "FROM glob('*')"),
    *("FROM sniff_csv('{file}')", "FROM read_parquet('https://localhost/x.parquet')"),
    *("ATTACH '{file}'", "COPY claims TO '{file}'", "COPY owners FROM '{file}'"),
    *("INSTALL httpfs", "LOAD httpfs", "EXPORT DATABASE '{file}'", "CALL pragma_version()"),
    *("SET enable_external_access = true", "PRAGMA enable_progress_bar", "RESET memory_limit"),
    *("CREATE TABLE x AS SELECT 1", "INSERT INTO owners VALUES (1)", "DROP TABLE owners"),
    *("DELETE FROM owners", "UPDATE owners SET id = ''", "SELECT 1; SELECT 2", "FROM OWNERS_FRAME"),
    *(
        "FROM query('DROP TABLE owners')",
        "SELECT getenv('HOME')",
        "FROM sqlite_scan('{file}', 't')",
    ),
)


@pytest.mark.parametrize("sql", FORBIDDEN)
def test_a_query_only_reads_its_tables(
    store: comptroller.Service, tmp_path: Path, sql: str
) -> None:
    OWNERS_FRAME = OWNERS  # noqa: F841, N806  (DuckDB could read the variables of its caller)
    file = tmp_path / "x.csv"
    file.write_text("secret\n1\n")
    with pytest.raises(InvalidRequest, match="sql: "):
        store.query(sql.format(file=file), owners=OWNERS)
    assert file.read_text() == "secret\n1\n"
    assert [each.name for each in tmp_path.iterdir()] == ["x.csv"]


@pytest.mark.parametrize("name", ["claims", "Claims", "payout_groups"])
def test_a_table_of_the_store_is_not_shadowed(store: comptroller.Service, name: str) -> None:
    with pytest.raises(InvalidRequest, match=f"{name}: the service has a table of this name"):
        store.query("FROM claims", **{name: OWNERS})


def test_any_other_name_is_accepted(store: comptroller.Service) -> None:
    tables: dict[str, Any] = {'my "table"; DROP': OWNERS, "sql": OWNERS, "select": OWNERS}
    sql = 'SELECT count(*) AS n FROM "my ""table""; DROP", sql, "select"'
    assert store.query(sql, **tables).to_dicts() == [{"n": 1}]


@pytest.mark.parametrize(
    ("sql", "word"),
    [
        ("SELECT at FROM balances", "at"),
        ("SELECT address_id, at FROM balances GROUP BY ALL", "at"),
        ("SELECT group FROM claims", "group"),
    ],
)
def test_reserved_words_have_a_hint(store: comptroller.Service, sql: str, word: str) -> None:
    with pytest.raises(InvalidRequest, match=f'{word} is a reserved word; write the column as "'):
        store.query(sql)


def test_other_errors_have_no_hint(store: comptroller.Service) -> None:
    for sql in ("SELECT FROM claims GROUP BY x,", 'SELECT "at", FROM balances WHERE ('):
        with pytest.raises(InvalidRequest) as refused:
            store.query(sql)
        assert "reserved word" not in str(refused.value)


def test_the_rows_become_files(store: comptroller.Service, tmp_path: Path) -> None:
    found = store.query("SELECT id, amount FROM claims ORDER BY id")
    assert found.to_csv(tmp_path / "x.csv") == 2
    assert (tmp_path / "x.csv").read_text().splitlines() == [
        *("id,amount", f"c-1,{LARGE}", "c-2,2.5")
    ]
    assert found.to_excel(tmp_path / "x.xlsx") == found.to_parquet(tmp_path / "x.parquet") == 2
    for name in ("x.csv", "x.xlsx", "x.parquet"):
        again = store.query("SELECT id, amount FROM t ORDER BY id", t=tmp_path / name)
        assert again.to_dicts() == found.to_dicts()


def test_the_command_reads_files_as_tables(run: Run, tmp_path: Path) -> None:
    assert run("load", "claims", "-", given=lines(claim("c-1", amount="1.50"))).code == 0
    (tmp_path / "o.csv").write_text("id,owner\nc-1,Ada\n")
    sql = "SELECT owner, amount FROM claims JOIN owners USING (id)"
    assert run("query", sql, "--with", "owners=o.csv", "--format", "json").json == [
        {"owner": "Ada", "amount": "1.5"}
    ]
    ended = run("query", sql, "--with", "owners=none.csv")
    assert (ended.code, "owners: none.csv cannot be read" in ended.err) == (1, True)
    assert run("query", sql, "--with", "owners").code == 2
    assert run("query", sql, "--with", "o=o.csv", "--with", "o=o.csv").code == 2
    assert run("query", sql, "--with", "claims=o.csv").code == 1


def test_the_numbers_of_a_sheet_are_exact(store: comptroller.Service, tmp_path: Path) -> None:
    with xlsxwriter.Workbook(tmp_path / "x.xlsx") as book:
        book.add_worksheet("notes").write_column(0, 0, ["Note", "x"])
        sheet = book.add_worksheet("Mai")
        sheet.write_row(0, 0, ["n", "amount", "small", "text", "account"])
        sheet.write_row(1, 0, [1, 0.1, 1e-7, "1.655,39", "007"])
        sheet.write_row(2, 0, [2, 0.2, None, "-0,5", "008"])
    sql = "SELECT sum(n) AS n, sum(amount) AS a, sum(small) AS s, sum(text) AS t FROM owners"
    for given in ({"sheet": "Mai", "decimal": ","}, {"sheet": "Mai"}):
        if "decimal" not in given:
            sql = sql.replace("sum(text)", "max(text)")
        (row,) = store.query(sql, given, owners=tmp_path / "x.xlsx").to_dicts()
        text = Decimal("1654.89") if "decimal" in given else "1.655,39"
        assert row == {"n": 3, "a": Decimal("0.3"), "s": Decimal("0.0000001"), "t": text}
    with pytest.raises(InvalidRequest, match=r"owners: .* has 2 sheets with rows"):
        store.query("FROM owners", owners=tmp_path / "x.xlsx")
    with pytest.raises(InvalidRequest, match="tz"):
        store.query("FROM owners", {"tz": "UTC"}, owners=tmp_path / "x.xlsx")  # type: ignore[typeddict-unknown-key]


def test_the_command_takes_the_options_of_files(run: Run, tmp_path: Path) -> None:
    assert run("load", "claims", "-", given=lines(claim("c-1", amount="1.50"))).code == 0
    (tmp_path / "o.csv").write_text("id|share\nc-1|0,25\n")
    words = ["query", "SELECT share * 2 AS s FROM o", "--with", "o=o.csv", "--format", "json"]
    assert run(*words, "--separator", "|", "--decimal", ",").json == [{"s": "0.5"}]


# texts of a column, and its values with a decimal comma
WITH_COMMA = [
    (["1.655", "2.300"], [1655, 2300]),
    (["1.655", "2.300", "1,0"], [1655, 2300, 1]),
    (["1 234", "1'234'567", ""], [1234, 1234567, None]),
    (["-1.655,5", "0"], [Decimal("-1655.5"), 0]),
    (["12", "-3"], [12, -3]),
    (["1.655", "1.5"], ["1.655", "1.5"]),
    (["0.123"], ["0.123"]),
    (["1'234.567", "1,5"], ["1'234.567", "1,5"]),
    (["007", "008"], ["007", "008"]),
    (["true", "false"], [True, False]),
]


@pytest.mark.parametrize(("texts", "expected"), WITH_COMMA)
def test_a_decimal_comma_holds_for_each_column(
    store: comptroller.Service, tmp_path: Path, texts: list[str], expected: list[object]
) -> None:
    rows = [f"{n};{text}" for n, text in enumerate(texts)]
    (tmp_path / "t.csv").write_text("\n".join(["n;amount", *rows, ""]))
    sql = "SELECT amount FROM t ORDER BY n"
    found = store.query(sql, {"decimal": ","}, t=tmp_path / "t.csv")
    assert [row["amount"] for row in found.to_dicts()] == expected


@pytest.mark.parametrize("text", ["7", "7,50"])
def test_a_number_among_texts_of_a_sheet_has_a_decimal_comma(
    store: comptroller.Service, tmp_path: Path, text: str
) -> None:
    with xlsxwriter.Workbook(tmp_path / "t.xlsx") as book:
        sheet = book.add_worksheet()
        sheet.write_column(0, 0, ["amount", 12.345])
        sheet.write_string(2, 0, text)
    found = store.query("SELECT amount FROM t", {"decimal": ","}, t=tmp_path / "t.xlsx")
    expected = Decimal(text.replace(",", "."))
    assert [row["amount"] for row in found.to_dicts()] == [Decimal("12.345"), expected]


ALL_TYPES = """
    SELECT id, amount, addresses, created_at, DATE '2026-01-31' AS day, 123456789012345678 AS large,
      true AS yes, NULL AS nothing, '=1+1' AS formula, 1 AS "=2+2", 0.5::DOUBLE AS half
    FROM claims ORDER BY id
"""


@pytest.mark.parametrize("amount", ["1.5", str(LARGE)])
def test_the_command_writes_sheets_and_pages(run: Run, tmp_path: Path, amount: str) -> None:
    given = lines(claim("c-1", amount=amount, addresses=["a", "b"]))
    assert run("load", "claims", "-", given=given).code == 0
    for suffix in ("xlsx", "html"):
        ended = run("query", ALL_TYPES, "--out", f"x.{suffix}")
        assert (ended.code, ended.out) == (0, f"1 row written to x.{suffix}\n")
    page = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert "Copy as CSV" in page
    assert amount in page
    assert r"\u0027=2+2" in page  # the header, in the CSV to copy
    sheet = fastexcel.read_excel(tmp_path / "x.xlsx").load_sheet(0).to_polars()
    (row,) = sheet.to_dicts()
    assert row["amount"] == (1.5 if amount == "1.5" else amount)
    assert (row["large"], row["yes"], row["formula"]) == ("123456789012345678", True, "=1+1")
    assert row["=2+2"] == 1  # the header is a text, too
    assert (row["addresses"], f"{row['day']:%Y-%m-%d}") == ('["a","b"]', "2026-01-31")
    assert row["created_at"].isoformat() == "2026-01-31T12:00:00"
    for suffix in ("xlsx", "html"):
        assert run("query", "FROM claims", "--format", suffix).code == 2


def test_a_sheet_refuses_what_it_cannot_hold(run: Run, tmp_path: Path) -> None:
    assert run("load", "claims", "-", given=lines(claim("c-1"))).code == 0
    ended = run("query", "FROM range(1048576)", "--out", "x.xlsx")
    assert ended.code == 1
    assert "1,048,576 rows are too many for Excel; a sheet has at most 1,048,575 rows" in ended.err
    assert not (tmp_path / "x.xlsx").exists()


def test_an_empty_column_of_a_sheet_prints_no_warning(run: Run) -> None:
    assert run("load", "claims", "-", given=lines(claim("c-1"))).code == 0
    assert run("query", "SELECT 1 AS a, NULL AS nothing", "--out", "x.xlsx").code == 0
    executable = Path(sys.executable).with_name("comptroller")
    words = ["query", "SELECT count(*) AS n FROM t", "--with", "t=x.xlsx", "--format", "csv"]
    ended = subprocess.run([executable, *words], capture_output=True, text=True, check=True)
    assert (ended.stdout, ended.stderr) == ("n\n1\n", "")
