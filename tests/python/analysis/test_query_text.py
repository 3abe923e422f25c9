"""The core writes a query's rows as simple Python code does."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from decimal import Context, Decimal
from typing import Any

import comptroller
import pytest
from comptroller import InvalidRequest
from comptroller._core import TextRows
from examples import KINDS, LINES, loaded
from hypothesis import HealthCheck, given, settings, strategies as st

duckdb = pytest.importorskip("duckdb")

from comptroller.analysis import plain  # noqa: E402
from comptroller.analysis.formatting import csv_lines  # noqa: E402
from comptroller.analysis.query import open_query  # noqa: E402
from comptroller.analysis.registry import TABLES  # noqa: E402

TEXTS = (
    *("''", "'a'", "'a,b'", "'a\"b'", "'a' || chr(13)", "'a' || chr(10) || 'b'", "'  =1+1'"),
    *("'=1+1,2'", "'-1'", "'+'", "'@x'", "chr(9) || 'x'", "chr(13)", "' '", "'é' || chr(8232)"),
    *("repeat('long, text', 200)", "'exactly 8'", "'12345678'", "chr(1) || chr(8) || chr(12)"),
    *("chr(31) || chr(127)", "chr(0) || 'a'", "'1234567\"'", "'12345678\\'", "NULL::VARCHAR"),
)
NUMBERS = (
    *("1::TINYINT", "(-128)::TINYINT", "255::UTINYINT", "(-32768)::SMALLINT", "65535::USMALLINT"),
    *("(-2147483648)::INTEGER", "4294967295::UINTEGER", "(-9223372036854775808)::BIGINT"),
    *("18446744073709551615::UBIGINT", "170141183460469231731687303715884105727::HUGEINT"),
    *("NULL::INTEGER", "0.1::DOUBLE", "1e300::DOUBLE", "'nan'::DOUBLE", "'-inf'::FLOAT"),
    *("0::DECIMAL(4, 2)", "-0.01::DECIMAL(4, 2)", "1.50::DECIMAL(4, 2)", ".5::DECIMAL(2, 2)"),
    *("-99999999999999999999.999999999999999999::DECIMAL(38, 18)", "7::DECIMAL(38, 0)"),
    *("0.00000000000000000000000000000000000001::DECIMAL(38, 38)", "NULL::DECIMAL(9, 3)"),
    *("12345678901234567890123456789012345678::DECIMAL(38, 0)", "100::DECIMAL(18, 4)", "5::BIGNUM"),
)
TIMES = (
    *("TIMESTAMP '1970-01-01'", "TIMESTAMP '2026-01-31 12:00:00.25'", "TIMESTAMP '0001-01-01'"),
    *("TIMESTAMP '9999-12-31 23:59:59.999999'", "TIMESTAMP '10000-01-01'", "NULL::TIMESTAMP"),
    *("TIMESTAMP '0044-03-15 (BC) 00:00:00.000001'", "TIMESTAMP '0001-12-31 (BC) 10:00:00'"),
    *("TIMESTAMP '12345-06-07 08:09:10.1'", "'infinity'::TIMESTAMP", "'-infinity'::TIMESTAMPTZ"),
    *("TIMESTAMP '0005-01-01'", "TIMESTAMP '1969-12-31 23:59:59.999999'", "DATE '2026-01-31'"),
    *(
        "TIMESTAMPTZ '2026-01-31 12:00:00+02'",
        "TIMESTAMPTZ '290000-01-01 00:00:00Z'",
        "TIME '10:00'",
    ),
    *("TIMESTAMP_NS '2026-01-31 00:00:00.000000001'", "TIMESTAMP_S '2026-01-31 00:00:01'"),
    *("TIMESTAMP_S '20000-01-02 00:00:00'", "'infinity'::TIMESTAMP_S"),
    *("INTERVAL 25 HOUR", "TIMESTAMP '290308-01-01 (BC) 00:00:00'"),
)
OTHERS = (
    *("true", "false", "NULL", "NULL::BOOLEAN", "'x'::BLOB", "'101'::BIT", "union_value(n := 2)"),
    *("'b'::ENUM('a', 'b')", "NULL::ENUM('a', 'b')", "'=x'::ENUM('=x', 'b')", "'[1]'::JSON"),
    *("['a', NULL, 'b\"c']", "[]::VARCHAR[]", "NULL::VARCHAR[]", "[['a'], NULL]", "[1.50, NULL]"),
    *("['[1]'::JSON]", "['=1']", "{'a': 1, 'b': ['x']}", "MAP {'k': 1.10}", "(1.50, 'a', NULL)"),
    *(
        "uuid()::UUID = uuid()",
        "'00000000-0000-0000-0000-000000000001'::UUID",
        "[1, 2]::INTEGER[2]",
    ),
    *("['a']::VARCHAR[1]", "[DATE '2026-01-31']"),
)
EXPRESSIONS = (*TEXTS, *NUMBERS, *TIMES, *OTHERS)


@pytest.fixture(scope="module")
def store() -> Iterator[comptroller.Service]:
    with comptroller.open(":memory:") as service:
        for kind in KINDS:
            loaded(service, kind, LINES[kind])
        yield service


BOTH = pytest.mark.parametrize("is_json", [False, True], ids=["csv", "json"])


def python_text(store: comptroller.Service, sql: str, *, is_json: bool) -> bytes:
    """Writes the rows of a query as CSV or JSON in Python."""
    with open_query(store, sql) as query:
        columns = query.columns
        if not is_json:
            header = csv_lines([[each.name for each in columns]], [True] * len(columns))
            are_free = [plain.may_hold_a_formula(each.type) for each in columns]
            rows = [row for batch in query.rows() for row in batch]
            return (header + csv_lines(rows, are_free)).encode()
    members = ", ".join(
        f"{plain.literal(each.name)}, {plain.plain(each.value, each.type)}" for each in columns
    )
    with open_query(store, f"SELECT json_object({members}) FROM ({sql}\n) AS answer") as query:
        documents = [f"\n{document}" for batch in query.rows() for (document,) in batch]
    return f"[{','.join(documents)}\n]\n".encode()


def texts(store: comptroller.Service, sql: str, *, is_json: bool) -> tuple[bytes, bytes]:
    """Returns the texts that the core and the Python code write."""
    with open_query(store, sql) as query:
        in_core = b"".join(text for _, text in query.text(is_json=is_json))
    return in_core, python_text(store, sql, is_json=is_json)


@BOTH
@pytest.mark.parametrize(
    "values", [TEXTS, NUMBERS, TIMES, OTHERS], ids=["text", "number", "time", "other"]
)
def test_values_of_every_type(
    store: comptroller.Service, is_json: bool, values: tuple[str, ...]
) -> None:
    columns = ", ".join(f"{value} AS c{place}" for place, value in enumerate(values))
    in_core, in_python = texts(store, f"SELECT {columns}", is_json=is_json)
    assert in_core == in_python
    for value in values:  # alone in its line, between others
        sql = f"SELECT unnest([NULL, {value}, NULL, {value}]) AS x"
        in_core, in_python = texts(store, sql, is_json=is_json)
        assert in_core == in_python, value


@BOTH
def test_records_of_every_resource(store: comptroller.Service, is_json: bool) -> None:
    for table in TABLES:
        in_core, in_python = texts(store, f"FROM {table}", is_json=is_json)
        assert in_core == in_python != b""


@BOTH
def test_many_rows_stay_in_order(store: comptroller.Service, is_json: bool) -> None:
    sql = "SELECT i, CASE WHEN i % 3 > 0 THEN i::VARCHAR END AS t FROM range(300_000) AS r(i)"
    in_core, in_python = texts(store, sql, is_json=is_json)
    assert in_core == in_python
    with open_query(store, sql) as query:
        assert sum(rows for rows, _ in query.text(is_json=is_json)) == 300_000


@BOTH
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 AS x, 'a' AS \"=y,\" WHERE false",
        "FROM claims WHERE false",
        'SELECT 1 AS "-"""',
        "SELECT NULL AS x",
        "SELECT '' AS x",
        "SELECT repeat('x', 5_000_000) || i AS x FROM range(5) AS r(i)",
        "SELECT repeat(chr(10), 100_000) AS x, ['a', repeat('\"', 100_000)] AS y",
        "PIVOT (FROM range(5) AS r(i)) ON i USING count(*)",
        "DESCRIBE claims",
        "SUMMARIZE claims",
        "FROM (SHOW TABLES)",
    ],
)
def test_results_of_any_shape(store: comptroller.Service, sql: str, is_json: bool) -> None:
    in_core, in_python = texts(store, sql, is_json=is_json)
    assert in_core == in_python
    if is_json:
        json.loads(in_core)


SPECIAL = st.text(alphabet=" =+-@\t\r\n,\"'\\\x01\x1f\x7fé€😀ab", max_size=12)
TEXT = SPECIAL | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


def decimals(precision: int, scale: int) -> st.SearchStrategy[str]:
    most = 10**precision - 1
    sql = f"{{}}::DECIMAL({precision}, {scale})"
    return st.integers(-most, most).map(
        lambda digits: sql.format(f"'{Decimal(digits).scaleb(-scale, EXACT):f}'")
    )


def times(type: str) -> st.SearchStrategy[str]:
    """Generates times, also before the year 1 and after 9999."""
    microseconds = st.integers(-(2**63) + 10**16, 2**63 - 2) | st.integers(-(10**17), 10**17)
    return microseconds.map(lambda number: f"make_timestamp({number}::BIGINT)::{type}")


def lists(items: st.SearchStrategy[str], type: str) -> st.SearchStrategy[str]:
    return st.lists(items, max_size=3).map(lambda some: f"[{', '.join(some)}]::{type}[]")


EXACT = Context(prec=40)
NULL = st.just("NULL")
VALUES: dict[str, st.SearchStrategy[str]] = {
    "VARCHAR": TEXT.map(plain.literal),
    "VARCHAR[]": lists(NULL | TEXT.map(plain.literal), "VARCHAR"),
    "ENUM": st.sampled_from(["a", "=b", "c,d"]).map(lambda it: f"'{it}'::ENUM('a', '=b', 'c,d')"),
    "BIGINT": st.integers(-(2**63), 2**63 - 1).map(lambda number: f"'{number}'::BIGINT"),
    "UTINYINT": st.integers(0, 255).map(lambda number: f"{number}::UTINYINT"),
    "BOOLEAN": st.booleans().map(str),
    "DOUBLE": st.floats().map(lambda number: f"'{number}'::DOUBLE"),
    **{f"DECIMAL{each}": decimals(*each) for each in [(38, 18), (38, 38), (19, 0), (9, 2), (2, 2)]},
    "DECIMAL[]": lists(NULL | decimals(9, 2), "DECIMAL(9, 2)"),
    "TIMESTAMP": times("TIMESTAMP"),
    "TIMESTAMPTZ": times("TIMESTAMPTZ"),
}


@st.composite
def tables(draw: st.DrawFn) -> str:
    """Generates a query with some rows of columns of any types."""
    types = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=6))
    row = st.tuples(*(NULL | VALUES[type] for type in types))
    rows = draw(st.lists(row, min_size=1, max_size=8))
    return "VALUES " + ", ".join(f"({', '.join(values)})" for values in rows)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(sql=tables(), is_json=st.booleans())
def test_tables_of_any_values(store: comptroller.Service, sql: str, is_json: bool) -> None:
    in_core, in_python = texts(store, sql, is_json=is_json)
    assert in_core == in_python


# ---- the binding ---------------------------------------------------------------------------------


def core_text(connection: Any, sql: str, names: list[str], *, is_json: bool) -> str:
    stream = connection.sql(sql).__arrow_c_stream__()
    rows = TextRows(stream, [(name, False, False) for name in names], is_json)
    text = b""
    while piece := rows.next():
        text += piece
    return text.decode()


@pytest.fixture
def connection() -> Iterator[Any]:
    with duckdb.connect() as connection:
        connection.execute("SET arrow_large_buffer_size = true")
        yield connection


def test_readers_get_the_original_texts(connection: Any) -> None:
    values = ["", " ", "a,b", 'a"b', "a\r\nb", "é😀", "\0\1\x1f\x7f", "\\", "x" * 100_000]
    connection.execute("CREATE TABLE t AS SELECT unnest($values) AS x", {"values": values})
    text = core_text(connection, "FROM t", ["x"], is_json=True)
    assert [row["x"] for row in json.loads(f"[{text}]")] == values
    text = core_text(connection, "FROM t", ["x"], is_json=False)
    assert [row[0] for row in csv.reader(io.StringIO(text, newline=""))] == values


def test_slices_of_a_frame_are_read() -> None:
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table(
        {
            "n": [1, None, 3, 4],
            "t": arrow.array(["a", "b", None, "four"], arrow.large_utf8()),
            "l": arrow.array([["a"], [], None, ["b", None]], arrow.large_list(arrow.large_utf8())),
        }
    )
    columns = [(name, False, False) for name in table.column_names]
    piece = TextRows(table.slice(1, 3).__arrow_c_stream__(), columns, False).next()
    assert bytes(piece or b"") == b',b,[]\r\n3,,\r\n4,four,"[""b"",null]"\r\n'


def test_a_failure_during_the_rows_is_that_of_the_query(store: comptroller.Service) -> None:
    sql = "SELECT CASE WHEN i < 500_000 THEN i ELSE error('no') END AS x FROM range(600_000) r(i)"
    with open_query(store, sql) as query, pytest.raises(InvalidRequest, match=r"sql: .*no"):
        list(query.text(is_json=False))


def test_an_unreadable_stream_is_refused(store: comptroller.Service, connection: Any) -> None:
    def refused(sql: str, names: list[str], why: str) -> None:
        with pytest.raises(InvalidRequest, match=why):
            core_text(connection, sql, names, is_json=False)

    refused("SELECT 1::INTEGER", ["x"], "columns: the Arrow type i cannot be written as text")
    refused("SELECT [1]", ["x"], "cannot be written as text")
    refused("SELECT {'a': 1}", ["x"], "cannot be written as text")
    refused("SELECT 1::BIGINT", ["x", "y"], "columns: must have the same number")
    stream = connection.sql("SELECT 1::BIGINT").__arrow_c_stream__()
    TextRows(stream, [("x", False, False)], False)
    with pytest.raises(InvalidRequest, match="stream: was read already"):
        TextRows(stream, [("x", False, False)], False)
    with pytest.raises(TypeError, match="capsule of an Arrow stream"):
        TextRows(store.claims.stream().__arrow_c_schema__(), [("x", False, False)], False)


def test_abandoned_rows_end_their_threads(connection: Any) -> None:
    stream = connection.sql("SELECT range AS x FROM range(10_000_000)").__arrow_c_stream__()
    rows = TextRows(stream, [("x", False, False)], True)
    piece = rows.next()
    del rows
    assert piece
    assert bytes(piece).startswith(b'\n{"x":0},\n{"x":1}')
    assert memoryview(piece).readonly
