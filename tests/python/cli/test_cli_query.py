"""SQL at the command line: exact in every format, and read-only."""

from __future__ import annotations

import csv
import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from command_line import Run, claim, lines

pytest.importorskip("click")
pytest.importorskip("rich")
pytest.importorskip("duckdb")

EXACT = "99999999999999999999.999999999999999999"
LEAST = "0.000000000000000001"
FORMULA = "=1+1"
CLAIMS = lines(
    claim("c-1", amount=EXACT),
    claim("c-2", amount=LEAST, onchain_status="FAILED", error_message=FORMULA),
    claim("c-3", amount="2.50", addresses=["a,b", 'c"d']),
)
ALL = "SELECT id, amount, onchain_status, error_message, addresses, created_at FROM claims ORDER BY"


@pytest.fixture(autouse=True)
def _claims(run: Run) -> None:
    assert run("load", "claims", "-", given=CLAIMS).code == 0


def in_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_amounts_are_exact_in_csv(run: Run, tmp_path: Path) -> None:
    rows = in_csv(run("query", f"{ALL} id", "--format", "csv").out)
    assert [row["amount"] for row in rows] == [EXACT, LEAST, "2.5"]
    assert [row["created_at"] for row in rows] == ["2026-01-31T12:00:00Z"] * 3
    assert [row["error_message"] for row in rows] == ["", f"'{FORMULA}", ""]
    assert json.loads(rows[2]["addresses"]) == ["a,b", 'c"d']
    assert run("query", f"{ALL} id", "--out", "rows.csv").out == "3 rows written to rows.csv\n"
    assert in_csv((tmp_path / "rows.csv").read_text(encoding="utf-8")) == rows


def test_amounts_are_exact_in_json(run: Run, tmp_path: Path) -> None:
    rows = run("query", f"{ALL} id", "--format", "json").json
    assert [row["amount"] for row in rows] == [EXACT, LEAST, "2.5"]
    assert rows[1]["error_message"] == FORMULA
    assert rows[2]["addresses"] == ["a,b", 'c"d']
    assert run("query", f"{ALL} id", "--out", "rows.json").code == 0
    assert json.loads((tmp_path / "rows.json").read_text(encoding="utf-8")) == rows


def test_amounts_are_exact_in_parquet(run: Run) -> None:
    polars = pytest.importorskip("polars")
    assert run("query", f"{ALL} id", "--out", "rows.parquet").out.startswith("3 rows")
    frame = polars.read_parquet("rows.parquet")
    assert frame.schema["amount"] == polars.Decimal(38, 18)
    assert frame["amount"].to_list() == [Decimal(EXACT), Decimal(LEAST), Decimal("2.5")]
    assert frame["onchain_status"].to_list() == ["PENDING", "FAILED", "PENDING"]


def test_amounts_are_exact_in_a_table(run: Run) -> None:
    shown = run("query", f"{ALL} id").out
    for expected in (EXACT, LEAST, " 2.5 ", FORMULA):
        assert expected in shown


def test_a_wide_table_has_all_columns_and_all_text(run: Run) -> None:
    """The tables are far wider than a terminal: by one text, by prose, or by many columns."""
    long = "x" * 100_000
    shown = run("query", f"SELECT 'first' AS id, repeat('x', {len(long)}) AS a, 'last' AS z").out
    assert [line.split() for line in shown.splitlines()[::2]] == [
        ["id", "a", "z"],
        ["first", long, "last"],
    ]
    prose = f"repeat('many words ', 5) || repeat('y', {len(long)})"
    shown = run("query", f"SELECT 'first' AS id, {prose} AS a, repeat('z', 12000) AS z").out
    assert [shown.count(each) for each in ("words", "y" * len(long), "z" * 12_000)] == [5, 1, 1]
    columns = ", ".join(f"'value{number:03}' AS column{number:03}" for number in range(900))
    header, _, row = run("query", f"SELECT {columns}").out.splitlines()
    assert header.split() == [f"column{number:03}" for number in range(900)]
    assert row.split() == [f"value{number:03}" for number in range(900)]


def test_every_kind_is_a_table(run: Run) -> None:
    for table in (
        *("identities", "controls", "orchestrations", "payout_groups", "reward_addresses"),
        *("balances", "claims"),
    ):
        (row,) = run("query", f"SELECT count(*) AS n FROM {table}", "--format", "json").json
        assert row["n"] == (3 if table == "claims" else 0)


@pytest.mark.parametrize(
    ("sql", "first"),
    [
        ("SELECT sum(1)::HUGEINT AS x", 1),
        ("SELECT 'nan'::DOUBLE AS x", None),
        ("SELECT [1.10::DECIMAL(9, 2)] AS x", ["1.1"]),
        ("SELECT {'a': 1e-18::DECIMAL(38, 18)} AS x", {"a": LEAST}),
        ("SELECT {'a': [1.50], 'b': NULL::DECIMAL(9, 2)} AS x", {"a": ["1.5"], "b": None}),
        ("SELECT NULL::STRUCT(a DECIMAL(9, 2)) AS x", None),
        ("SELECT MAP {1.50: [MAP {'k': 1.10}]} AS x", {"1.5": [{"k": "1.1"}]}),
        ("SELECT MAP {'it''s \"': 1} AS x", {"it's \"": 1}),
        ("SELECT [1.0, 2]::DECIMAL(3, 1)[2] AS x", ["1", "2"]),
        ("SELECT [[1.50], NULL] AS x", [["1.5"], None]),
        ("SELECT MAP {1.50: 1} AS x, {'key': 5, 'value': 6} AS item0", {"1.5": 1}),
        ("SELECT MAP {'inf'::DOUBLE: 1} AS x", {"inf": 1}),
        ("SELECT (1.50, 'a', NULL) AS x", ["1.5", "a", None]),
        ("SELECT NULL::TUPLE(DECIMAL(3, 2)) AS x", None),
        (f"SELECT json_object('a', {EXACT}) AS x", f'{{"a":{EXACT}}}'),
        (f"SELECT [to_json({EXACT})] AS x", [EXACT]),
        ("SELECT .0 AS x", "0"),
        ("SELECT [.5, -.5, NULL] AS x", ["0.5", "-0.5", None]),
        ("SELECT 5::BIGNUM AS x", "5"),
        ("SELECT '101'::BIT AS x", "101"),
        ("SELECT TIME '10:00:01.5' AS x", "10:00:01.5"),
        ("SELECT union_value(n := 2) AS x", "2"),
        ("SELECT 100::DECIMAL(38, 0) AS x", "100"),
        ("SELECT 'inf'::FLOAT AS x", None),
        ("SELECT 0.5::DOUBLE AS x", 0.5),
        ("SELECT 'x'::BLOB AS x", "78"),
        ("SELECT INTERVAL 25 HOUR AS x", "25:00:00"),
        ("SELECT TIMESTAMP '2026-01-31 12:00:00.25' AS x", "2026-01-31T12:00:00.25"),
        (
            "SELECT TIMESTAMP_NS '2026-01-31 00:00:00.000000001' AS x",
            "2026-01-31T00:00:00.000000001",
        ),
        ("SELECT 'infinity'::TIMESTAMPTZ AS x", "infinity"),
        ("SELECT DATE '2026-01-31' AS x", "2026-01-31"),
        ("SELECT TIMESTAMPTZ '2026-01-31 12:00:00+02' AS x", "2026-01-31T10:00:00Z"),
        ("SELECT true AS x", True),
        ("SELECT NULL AS x", None),
        ("SELECT 1 AS x;", 1),
        ("SELECT 1 AS x -- one", 1),
        ("SELECT 'é;' AS x\n;\n; -- two", "é;"),
        ("PIVOT (SELECT 'x' AS k) ON k USING count(*);", 1),
        ("SELECT 1 AS x, 2 AS X", 1),
        ("SELECT x FROM range(3) AS t(x) ORDER BY x DESC", 2),
        ("SELECT count(*) AS x FROM claims a JOIN claims b USING (id)", 3),
        ("WITH two AS (FROM claims LIMIT 2) SELECT count(*) AS x FROM two", 2),
        ("FROM (PIVOT claims ON onchain_status USING count(*)) SELECT count(*) AS x", 3),
    ],
)
def test_values_are_plain(run: Run, sql: str, first: object) -> None:
    ended = run("query", sql, "--format", "json")
    assert ended.err == ""
    assert ended.json[0]["x"] == first


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO claims SELECT * FROM claims",
        "DELETE FROM claims",
        "UPDATE claims SET amount = 0",
        "DROP VIEW claims",
        "CREATE TABLE mine AS FROM claims",
        "COPY claims TO 'stolen.csv'",
        "COPY (SELECT 1) TO 'stolen.csv'",
        "EXPORT DATABASE 'stolen'",
        "ATTACH 'stolen.db'",
        "SET enable_external_access = true",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SELECT 1; SELECT 2",
        "SELECT 1; COPY (SELECT 1) TO 'stolen.csv'",
        "",
        "/* nothing */",
        "SELEC 1",
        "FROM secret.csv",
        "FROM 'secret.csv'",
        "FROM read_csv('secret.csv')",
        "FROM read_text('secret.csv')",
        "FROM read_blob('secret.csv')",
        "FROM glob('*')",
        "FROM sniff_csv('secret.csv')",
        "FROM 'https://example.org/x.parquet'",
        "FROM query('SELECT * FROM read_text(''secret.csv'')')",
        "FROM svc",
        "FROM sqlite_scan('comptroller.db', 'claims')",
        "WITH gone AS (DELETE FROM claims RETURNING *) FROM gone",
        "SELECT sum(amount) FROM (FROM claims UNION ALL FROM claims)",
    ],
)
def test_other_statements_than_queries_are_refused(run: Run, tmp_path: Path, sql: str) -> None:
    (tmp_path / "secret.csv").write_text("secret\nhidden\n")
    ended = run("query", sql, "--format", "json")
    assert ended.code == 1
    assert ended.err.startswith("comptroller: invalid-request: sql: ")
    assert "hidden" not in ended.out
    made = {path.name for path in tmp_path.iterdir() if not path.name.startswith("comptroller.db")}
    assert made == {"secret.csv"}
    assert len(run("query", "FROM claims", "--format", "json").json) == 3


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--format", "parquet"], "parquet needs --out FILE"),
        (["--out", "rows.txt"], "give the --format"),
        (["--out", "rows.txt", "--format", "table"], "a table goes to the terminal"),
    ],
)
def test_a_format_needs_a_suitable_output(run: Run, words: list[str], why: str) -> None:
    ended = run("query", "FROM claims", *words)
    assert (ended.code, why in ended.err) == (2, True)


def test_a_file_of_the_store_is_not_replaced(run: Run) -> None:
    ended = run("query", "FROM claims", "--out", "comptroller.db", "--format", "csv")
    assert (ended.code, "belongs to the store" in ended.err) == (1, True)


def test_a_table_counts_the_hidden_rows(run: Run) -> None:
    ended = run("query", "SELECT * FROM range(1234)")
    assert ended.out.endswith("... and more; --format csv writes all rows\n")


def test_columns_with_one_name_are_distinct_or_refused(run: Run) -> None:
    sql = "SELECT 1 AS a, 2 AS a"
    assert run("query", sql, "--format", "csv").out.split() == ["a,a", "1,2"]
    for words in (["--format", "json"], ["--out", "x.xlsx"], ["--out", "x.html"]):
        ended = run("query", sql, *words)
        assert (ended.code, "2 columns have the name a; rename" in ended.err) == (1, True)


def test_csv_has_nested_values_as_json_and_plain_numbers(run: Run) -> None:
    numbers, texts = "-1 AS n, -5::BIGNUM AS d", "'-1' AS t, ' =x' AS f, '' AS e"
    sql = f"SELECT {numbers}, {texts}, {{'a': [1.50]}} AS s, true AS b"
    (row,) = in_csv(run("query", sql, "--format", "csv").out)
    assert list(row.values()) == ["-1", "-5", "'-1", "' =x", "", '{"a":["1.5"]}', "true"]


def test_csv_escapes_formulas(run: Run) -> None:
    risky = ["=x", "+x", "-x", "@x", "  =x", "\tx", "\rx", "'=x"]
    harmless = ["x", "a=b", "", "\\x"]
    texts = ", ".join("'" + text.replace("'", "''") + "'" for text in risky + harmless)
    output = run("query", f"SELECT unnest([{texts}]) AS x", "--format", "csv").out
    cells = [row["x"] for row in in_csv(output)]
    assert cells == [f"'{text}" for text in risky] + harmless


def test_csv_keeps_the_order_of_many_rows(run: Run, tmp_path: Path) -> None:
    sql = "SELECT n, 'x' || n AS t FROM range(500_000) AS every(n) ORDER BY n DESC"
    assert run("query", sql, "--out", "rows.csv").code == 0
    with (tmp_path / "rows.csv").open(newline="") as file:
        next(file)
        assert [int(row[0]) for row in csv.reader(file)] == list(reversed(range(500_000)))


def test_a_sum_beyond_38_digits_is_refused_in_every_format(run: Run, tmp_path: Path) -> None:
    sql = f"SELECT sum(x) AS s FROM (VALUES ({'9' * 38}::DECIMAL(38, 0)), (1)) AS t(x)"
    for to in (["--format", "csv"], ["--format", "json"], ["--out", "rows.parquet"]):
        ended = run("query", sql, *to)
        assert (ended.code, ended.err.startswith("comptroller: invalid-request: sql: ")) == (
            1,
            True,
        )
    assert not (tmp_path / "rows.parquet").exists()


def test_a_value_that_is_not_text_is_not_a_query(run: Run) -> None:
    ended = run("query", "SELECT '\udcff'")
    assert ended.err.startswith("comptroller: invalid-request: sql: ")


def test_a_hyphen_is_standard_output(run: Run, tmp_path: Path) -> None:
    assert run("query", "SELECT 1 AS a", "--out", "-").out.split() == ["a", "1"]
    assert run("query", "SELECT 1 AS a", "--out", "-", "--format", "json").json == [{"a": 1}]
    assert not (tmp_path / "-").exists()


def test_the_tables_are_those_of_the_documentation(run: Run) -> None:
    tables = run("query", "FROM (SHOW TABLES)", "--format", "json").json
    assert {row["name"] for row in tables} == {
        *("identities", "controls", "orchestrations", "payout_groups", "reward_addresses"),
        *("balances", "claims"),
    }


def test_control_characters_are_shown_escaped(run: Run) -> None:
    shown = run("query", "SELECT chr(27) || '[31mred' AS x, 'two' || chr(10) || 'lines' AS y").out
    assert "\x1b" not in shown
    assert "\\u001b[31mred" in shown


def test_a_query_needs_a_store_and_creates_none(run: Run, tmp_path: Path) -> None:
    ended = run("query", "SELECT 1", "--db", "none.db")
    assert (ended.code, "there is no store none.db" in ended.err) == (1, True)
    assert not (tmp_path / "none.db").exists()


def test_missing_modules_are_named(run: Run, monkeypatch: Any) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert 'its extra "analysis"' in run("query", "SELECT 1").err
