"""The registry: methods and documentation follow from it, and the SQL is portable."""

from __future__ import annotations

import inspect
import runpy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import comptroller
import pytest
from places import ROOT

pytest.importorskip("sqlglot")
pytest.importorskip("duckdb")
pytest.importorskip("polars")

from comptroller.analysis import assemble
from comptroller.analysis.registry import CLAIM_KEYS, REPORTS, SQL, TABLES, UNITS, comment_in
from comptroller.analysis.reports import Reports
from comptroller.analysis.tables import ServiceTables
from report_stores import NAMES
from sqlglot import exp

FILES = sorted(path.relative_to(SQL).with_suffix("").as_posix() for path in SQL.rglob("*.sql"))
#: What DuckDB, Spark and PostgreSQL answer alike as sqlglot translates it. Others, such as
#: percentile_disc, GROUP BY ALL, ANTI JOIN, EXCLUDE, arg_max, epoch_us and ASOF, are translated
#: wrongly or not at all, and nothing says so.
PROVEN = {
    *("Select", "Union", "With", "CTE", "Subquery", "From", "Join", "Where", "Group", "Having"),
    *("Order", "Ordered", "Window", "Distinct", "Table", "TableAlias", "Alias", "Column", "Star"),
    *("Identifier", "Literal", "Null", "Boolean", "Placeholder", "Cast", "DataType", "Paren"),
    *("DataTypeParam", "Case", "If", "Coalesce", "Nullif", "In", "Is", "Not", "And", "Or", "EQ"),
    *("GT", "GTE", "LT", "LTE", "NullSafeEQ", "Exists", "Add", "Sub", "Mul", "Div", "Neg"),
    *("Count", "Sum", "Min", "Max", "Filter", "RowNumber", "Lead", "Abs", "Floor", "Ln", "Log"),
    *("Exp", "Greatest", "Least", "DateDiff", "TimestampTrunc", "Interval", "Var"),
    *("GenerateSeries", "Explode", "DPipe", "Lower", "Anonymous", "Bracket"),
}


@pytest.mark.parametrize("file", FILES)
def test_a_file_uses_only_the_portable_subset(file: str) -> None:
    tree = assemble.parse(file)
    assert {type(node).__name__ for node in tree.walk()} <= PROVEN
    assert {each.name for each in tree.find_all(exp.Anonymous)} <= {
        "total",
        "approximate_total",
        "ranks",
        "fold_address",
        "fold_hash",
        "local",
        "utc",
    }
    for select in tree.find_all(exp.Select):
        assert not select.args.get("qualify")
        assert not (select.args.get("group") and select.args["group"].args.get("all"))
    assert not [join for join in tree.find_all(exp.Join) if join.method]  # ASOF
    text = (SQL / f"{file}.sql").read_text(encoding="utf-8")
    assert text.startswith("-- ")
    assert max(map(len, text.splitlines())) <= 100
    assert "%" not in text  # a placeholder for drivers of PostgreSQL


@pytest.mark.parametrize(
    "line",
    [
        "-- groups: a column without a unit",
        "-- groups  (count): two spaces",
        "-- groups (counts): an unknown unit",
        "-- groups (count = 3): a column with a default",
        "-- failures (count): a column that is declared again",
        "-- $least count = 3: a parameter without parentheses",
        "-- $least (counts = 3): an unknown type",
        "-- $least (count = three): a default that is not a number",
        "-- the second line of a meaning",
    ],
)
def test_a_wrong_line_of_a_comment_is_refused_by_its_file(line: str) -> None:
    text = f"-- Title\n--\n-- failures (count): the number\n{line}\nSELECT 1"
    with pytest.raises(ValueError, match=r"sql/failures\.sql: '-- ") as refused:
        comment_in(text, "failures")
    assert line in str(refused.value)


def test_comments_of_statements_declare_nothing() -> None:
    comment = comment_in("-- Title\n--\n-- a (text): b\nSELECT 1\n-- c (text): d", "failures")
    assert list(comment.columns) == ["a"]


def test_every_file_is_used() -> None:
    named = {file for each in REPORTS.values() for file in (each.drawing_sql, each.default_sql)}
    named = {*REPORTS, *named} - {None}
    named |= {"named_groups", "linked_records", "claims_of_groups"}
    assert {file for file in FILES if "/" not in file} == named
    relations = {file.removeprefix("tables/") for file in FILES if "/" in file}
    read = {table.name for file in FILES for table in assemble.parse(file).find_all(exp.Table)}
    assert relations <= read | {"group_names", "address_names"}


@pytest.mark.parametrize("name", NAMES)
def test_an_entry_is_complete(name: str) -> None:
    definition = REPORTS[name]
    texts = (definition.title, definition.question, definition.formula, definition.empty)
    assert all(texts)
    assert definition.question.endswith("?")
    for column in definition.columns.values():
        assert column.unit in UNITS
        assert column.meaning
    amounts = {column.unit for column in definition.columns.values()} & {"amount"}
    has_asset = "asset" in definition.columns or definition.has_amounts
    assert has_asset or not amounts or name == "orchestration_flow"  # its rows have two assets


@pytest.mark.parametrize("name", NAMES)
def test_a_method_has_the_signature_and_docstring_of_its_entry(name: str) -> None:
    definition = REPORTS[name]
    method = getattr(Reports, name)
    taken = list(inspect.signature(method).parameters)
    assert taken == ["self", *definition.takes]
    docstring = inspect.getdoc(method) or ""
    for word in (definition.question, *definition.columns, *definition.takes):
        assert word in docstring


def test_the_documentation_has_the_table_of_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "generate")
    table = runpy.run_path(str(ROOT / "generate" / "reports.py"))["table"]
    page = (ROOT / "docs" / "how-to" / "analyse.md").read_text(encoding="utf-8")
    assert table() in page
    for key in CLAIM_KEYS:
        assert f"`{key}`" in page


class Recorded(ServiceTables):
    """The tables of a service of unknown version, which records the columns that were read."""

    def __init__(self, svc: comptroller.Service) -> None:
        super().__init__({name: getattr(svc, name) for name in TABLES}, lambda: None)
        self.columns: dict[str, set[str]] = {}

    def copy_to(self, engine: Any, table: str, columns: Sequence[str], filters: Any) -> None:
        self.columns[table] = set(columns)
        super().copy_to(engine, table, columns, filters)


def test_only_the_required_columns_are_read(operator: comptroller.Service) -> None:
    def reads(*keys: str) -> dict[str, set[str]]:
        source = Recorded(operator)
        Reports(source).claims_summary(keys)
        return source.columns

    own = {"asset_type", "onchain_status", "amount"}
    assert reads() == {"claims": own}
    assert reads("jurisdiction") == {
        "claims": own | {"payout_group_id"},
        "payout_groups": {"id", "jurisdiction"},
    }
    assert reads("address") == {
        "claims": own | {"id", "addresses"},
        "reward_addresses": {"address", "name"},
    }


def test_only_three_modules_use_sqlglot() -> None:
    package = Path(assemble.__file__).parents[1]
    knowing = {path.stem for path in package.rglob("*.py") if "sqlglot import" in path.read_text()}
    assert knowing == {"assemble", "postgresql", "spark"}
