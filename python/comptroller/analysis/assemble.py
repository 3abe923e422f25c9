"""Assembly of report queries: inserts keys, shared relations, parameters and types into SQL files.

A file of `sql/` is DuckDB SQL with these placeholders:

- ``keys``: the requested keys; ``kinds``: those that are not periods; ``periods``: those that are;
- ``$name``: a parameter;
- ``main.claims``: a table of the store;
- ``total(amount)``: the exact sum; ``approximate_total(amount)``: a sum for a ratio;
- ``ranks(took)``: the nearest ranks of 50, 90 and 99 %, as an array; NULL on Spark.

An unqualified relation that the file does not define is the file of that name in `sql/tables`. A
LEFT JOIN is removed if no column of it is read, even if it multiplies rows, such as the join of
claims with their addresses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property, lru_cache
from typing import Any

from sqlglot import exp, parse_one
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.optimizer.eliminate_ctes import eliminate_ctes
from sqlglot.optimizer.pushdown_projections import pushdown_projections
from sqlglot.optimizer.qualify_columns import qualify_columns
from sqlglot.optimizer.qualify_tables import qualify_tables
from sqlglot.optimizer.scope import traverse_scope
from sqlglot.optimizer.simplify import simplify
from sqlglot.schema import MappingSchema

from comptroller.analysis.parameters import PARAMETER_TYPES
from comptroller.analysis.registry import PERIODS, REPORTS, SQL, TABLES, UNITS, columns_in, text_of
from comptroller.description import members

#: The schema name of the tables of the store in the files.
STORE = "main"
_AGGREGATES = {
    "total": "sum({x})",
    "approximate_total": "sum({x})",
    "ranks": "quantile_disc({x}, [0.5, 0.9, 0.99])",
}
# Sums of any size: whole units and fractions are summed separately, then combined if the result
# fits a decimal(38, 18). A sum is NULL if it does not fit, or if an amount is NULL.
_WHOLE = "CASE WHEN ({x}) < 0 THEN -floor(-({x})) ELSE floor({x}) END"
_UNITS, _FRACTIONS = f"sum({_WHOLE})", f"sum(({{x}}) - {_WHOLE})"
_POSITIVE, _NEGATIVE = (
    f"TRY_CAST({sign}{_UNITS} + floor({sign}{_FRACTIONS}) AS DECIMAL(20, 0))::DECIMAL(38, 18)"
    f" + ({sign}{_FRACTIONS} - floor({sign}{_FRACTIONS}))"
    for sign in ("", "-")
)
_WIDE = {
    **_AGGREGATES,
    "total": f"""
        CASE
          WHEN count({{x}}) < count(*) THEN NULL
          WHEN {_UNITS} + floor({_FRACTIONS}) < 0 THEN -({_NEGATIVE})
          ELSE {_POSITIVE}
        END
    """,
    "approximate_total": f"""
        CASE WHEN count({{x}}) = count(*) THEN {_UNITS}::DOUBLE + {_FRACTIONS}::DOUBLE END
    """,
}
#: The names of the files of `sql/tables`.
_SHARED = frozenset(path.name.removesuffix(".sql") for path in (SQL / "tables").iterdir())
_PARAMETER_TYPES = {
    name: PARAMETER_TYPES[each.kind].sql
    for definition in REPORTS.values()
    for name, each in definition.takes.items()
}


@dataclass(frozen=True, eq=False)
class Statement:
    """A query.

    Attributes:
        tree: the query.
        duckdb: the SQL for DuckDB, with parameters; made at once, because DuckDB still connects.
        reads: the columns that it reads from each table of the store.
        texts: the columns of its rows to cast to text. It does not cast them itself, because
            DuckDB takes longer than polars to cast an enumeration.
    """

    tree: exp.Query
    duckdb: str
    reads: Mapping[str, frozenset[str]]
    texts: Sequence[str]

    @cached_property
    def parameters(self) -> set[str]:
        """The names of the parameters of the query."""
        return {each.name for each in self.tree.find_all(exp.Placeholder)}

    def with_values(self, values: Mapping[str, Any]) -> exp.Expr:
        """Returns the query with values in place of the parameters, for display."""
        shown = {
            name: value.isoformat(" ") if isinstance(value, datetime) else value
            for name, value in values.items()
        }
        return exp.replace_placeholders(self.tree, **shown)


@lru_cache(maxsize=256)
def assemble(
    file: str, keys: tuple[str, ...], absent: frozenset[str], *, is_wide: bool = False
) -> Statement:
    """Returns the statement of a file.

    Args:
        file: the name of the file, without its suffix.
        keys: the keys, in order.
        absent: the parameters that have no value.
        is_wide: makes sums that exceed decimal(38, 18) NULL instead of an error; this takes 25
            times as long.
    """
    tree = _bound(file, absent)
    ctes = list(_ctes(tree, absent, set()))
    types: dict[str, str | None] = {
        key: UNITS["time"] if key in PERIODS else UNITS["text"] if key == "group" else None
        for key in keys
    }
    types |= {name: UNITS[column.unit] for name, column in columns_in(file).items()}
    whole = _declared(tree, types)
    whole.set("with_", exp.With(expressions=[*ctes, *whole.ctes]))
    _expand_keys(whole, keys)
    _expand_aggregates(whole, _WIDE if is_wide else _AGGREGATES)
    # sqlglot's qualify() would also run other steps, which have no effect here.
    whole = qualify_columns(qualify_tables(whole, dialect=DuckDB), _schema())
    pushdown_projections(whole)
    _drop_unread_joins(whole)
    eliminate_ctes(whole)
    texts = [name for name, type in types.items() if type is None]
    return Statement(whole, whole.sql(DuckDB), _reads(whole), texts)


def parse(file: str) -> exp.Query:
    """Parses a file, without its comments."""
    tree = parse_one(text_of(file), read=DuckDB)
    assert isinstance(tree, exp.Query)
    for node in tree.walk():
        node.pop_comments()
    return tree


def _bound(file: str, absent: frozenset[str]) -> exp.Query:
    """Returns the tree of a file, with its parameters cast to their types.

    Absent parameters become NULL, and lose their conditions.
    """
    tree = parse(file)
    for test in list(tree.find_all(exp.Is)):
        if isinstance(test.this, exp.Placeholder):
            test.replace(exp.convert(test.this.name in absent))
    for place in list(tree.find_all(exp.Placeholder)):
        value = exp.null() if place.name in absent else place.copy()
        place.replace(exp.cast(value, _PARAMETER_TYPES[place.name], dialect=DuckDB))
    for where in list(tree.find_all(exp.Where)):
        if where.find(exp.Boolean):
            where.set("this", simplify(where.this))
            if where.this == exp.true():
                where.pop()
    return tree


@cache
def _schema() -> MappingSchema:
    # The optimizer needs the names of the columns, not their types.
    tables = {table: dict.fromkeys(members(table), "VARCHAR") for table in TABLES}
    return MappingSchema({STORE: tables}, dialect=DuckDB)


def _ctes(query: exp.Query, absent: frozenset[str], known: set[str]) -> Iterator[exp.CTE]:
    """Takes the CTEs out of a query; yields them, each after the shared relations it references."""
    own = list(query.ctes)
    query.set("with_", None)
    for part in (*own, query):
        for table in part.find_all(exp.Table):
            name = table.name
            if not table.db and name in _SHARED - known:
                known.add(name)
                shared = _bound(f"tables/{name}", absent)
                yield from _ctes(shared, absent, known)
                cte = exp.CTE(this=shared, alias=exp.TableAlias(this=exp.to_identifier(name)))
                if any(each.db for each in shared.find_all(exp.Table)):
                    cte.set("materialized", False)  # reading a table again is cheaper than a copy
                yield cte
        if isinstance(part, exp.CTE):
            yield part


def _expand_keys(tree: exp.Query, keys: tuple[str, ...]) -> None:
    """Replaces ``keys``, ``kinds`` and ``periods`` by the keys; removes clauses without a key."""
    names = {
        "keys": keys,
        "kinds": [key for key in keys if key not in PERIODS],
        "periods": [key for key in keys if key in PERIODS],
    }
    for column in list(tree.find_all(exp.Column)):
        if column.name not in names:
            continue
        table, parent = column.args.get("table"), column.parent
        columns = [exp.column(identifier(name), table=table) for name in names[column.name]]
        if isinstance(parent, exp.Ordered):
            parent.replace([exp.Ordered(this=each, nulls_first=False) for each in columns])
        elif not isinstance(parent, exp.NullSafeEQ):
            column.replace(columns)
        elif column is parent.this:
            others = [exp.column(each.this, parent.expression.table) for each in columns]
            pairs = zip(columns, others, strict=True)
            equal = [exp.NullSafeEQ(this=one, expression=other) for one, other in pairs]
            parent.replace(exp.and_(*equal) if equal else exp.true())
    for clause in list(tree.find_all(exp.Group, exp.Order)):
        if not clause.expressions:
            clause.pop()


def identifier(name: str) -> exp.Identifier:
    """Returns an identifier, quoted if it is an SQL keyword."""
    return exp.to_identifier(name, quoted=name == "group")


def _expand_aggregates(tree: exp.Query, aggregates: Mapping[str, str]) -> None:
    """Replaces ``total``, ``approximate_total`` and ``ranks`` by aggregates of DuckDB."""
    for call in list(tree.find_all(exp.Anonymous)):
        (argument,) = call.expressions
        text = aggregates[call.name].format(x=argument.sql(DuckDB))
        call.replace(parse_one(text, read=DuckDB))


def _declared(tree: exp.Query, types: Mapping[str, str | None]) -> exp.Query:
    """Wraps a query to cast its columns to the declared types; keeps its order.

    It orders by the columns before the casts, because enumerations are sorted faster than texts.
    """
    order = tree.args.pop("order", None)
    for column in order.find_all(exp.Column) if order is not None else ():
        column.set("table", exp.to_identifier("answer"))
    columns = ((name, exp.column(identifier(name)), type) for name, type in types.items())
    casts = [
        exp.alias_(exp.cast(column, type, dialect=DuckDB) if type else column, identifier(name))
        for name, column, type in columns
    ]
    answer = exp.select(*casts).from_("answer").with_("answer", as_=tree, copy=False)
    answer.set("order", order)
    return answer


def _drop_unread_joins(tree: exp.Query) -> None:
    """Removes left joins whose columns are read only in their own conditions."""
    for select in tree.find_all(exp.Select):
        for join in list(select.args.get("joins") or ()):
            columns, own = (
                sum(column.table == join.alias_or_name for column in part.find_all(exp.Column))
                for part in (select, join)
            )
            if join.side == "LEFT" and columns == own:
                join.pop()


def _reads(tree: exp.Query) -> Mapping[str, frozenset[str]]:
    reads: dict[str, frozenset[str]] = {}
    for scope in traverse_scope(tree):
        for name, source in scope.sources.items():
            if isinstance(source, exp.Table) and source.db == STORE:
                columns = {column.name for column in scope.source_columns(name)}
                reads[source.name] = reads.get(source.name, frozenset()) | columns
    return reads
