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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from typing import Any

from sqlglot import exp, parse_one
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.optimizer.pushdown_projections import pushdown_projections
from sqlglot.optimizer.qualify_columns import qualify_columns
from sqlglot.optimizer.qualify_tables import qualify_tables
from sqlglot.optimizer.scope import traverse_scope
from sqlglot.optimizer.simplify import simplify
from sqlglot.schema import MappingSchema

from comptroller.analysis.registry import PARAMETER_TYPES, PERIODS, TABLES
from comptroller.description import members

#: The schema name of the tables of the store in the files.
STORE = "main"
_SQL = files("comptroller.analysis") / "sql"
# Sums of any size: whole units and fractions are summed separately, then combined if the result
# fits a decimal(38, 18). A sum is NULL if it does not fit, or if an amount is NULL.
_WHOLE = "CASE WHEN x < 0 THEN -floor(-(x)) ELSE floor(x) END"
_UNITS, _FRACTIONS = f"sum({_WHOLE})", f"sum(x - {_WHOLE})"
_EXACT = """
TRY_CAST({sign}{units} + floor({sign}{fractions}) AS DECIMAL(20, 0))::DECIMAL(38, 18)
+ ({sign}{fractions} - floor({sign}{fractions}))
"""
_POSITIVE, _NEGATIVE = (
    _EXACT.format(sign=sign, units=_UNITS, fractions=_FRACTIONS) for sign in ("", "-")
)
_WIDE = {
    "total": f"""
        CASE
          WHEN count(x) < count(*) THEN NULL
          WHEN {_UNITS} + floor({_FRACTIONS}) < 0 THEN -({_NEGATIVE})
          ELSE {_POSITIVE}
        END
    """,
    "approximate_total": f"""
        CASE WHEN count(x) = count(*) THEN {_UNITS}::DOUBLE + {_FRACTIONS}::DOUBLE END
    """,
}
_AGGREGATES = {
    "total": "sum(x)",
    "approximate_total": "sum(x)",
    "ranks": "quantile_disc(x, [0.5, 0.9, 0.99])",
}
_TYPES = {"amount": "DECIMAL(38, 18)", "timestamp": "TIMESTAMP", "boolean": "BOOLEAN"}


@dataclass(frozen=True, eq=False)
class Statement:
    """A query, and the columns that it reads from each table of the store."""

    tree: exp.Query
    reads: Mapping[str, tuple[str, ...]]

    @cached_property
    def parameters(self) -> set[str]:
        """The names of the parameters of the query."""
        return {each.name for each in self.tree.find_all(exp.Placeholder)}

    @cached_property
    def duckdb(self) -> str:
        """The SQL for DuckDB, with parameters."""
        return self.tree.sql(DuckDB)

    def with_values(self, values: Mapping[str, Any]) -> exp.Query:
        """Returns the query with values in place of the parameters, for display."""
        query = self.tree.copy()
        for place in list(query.find_all(exp.Placeholder)):
            value = values[place.name]
            text = value.isoformat(" ") if isinstance(value, datetime) else value
            place.replace(exp.convert(text))
        return query


@lru_cache(maxsize=256)
def assemble(
    file: str,
    keys: tuple[str, ...],
    columns: tuple[tuple[str, str], ...],
    absent: frozenset[str],
    *,
    is_wide: bool = False,
) -> Statement:
    """Returns the statement of a file.

    Args:
        file: the name of the file, without its suffix.
        keys: the keys, in order.
        columns: the columns of the result and their types.
        absent: the parameters that have no value.
        is_wide: makes sums that exceed decimal(38, 18) NULL instead of an error; this takes 25
            times as long.
    """
    tree = _with_relations(_bound(file, absent).copy(), absent)
    _expand(tree, keys)
    _expand_aggregates(tree, is_wide)
    # sqlglot's qualify() would also run other steps, which have no effect here.
    whole = qualify_columns(qualify_tables(_declared(tree, columns), dialect=DuckDB), _schema())
    pushdown_projections(whole)
    _drop_unread_joins(whole)
    return Statement(whole, _reads(whole))


@cache
def _bound(file: str, absent: frozenset[str]) -> exp.Query:
    """Returns the tree of a file with its parameters bound; callers copy it."""
    tree = parse(file)
    _bind(tree, absent)
    return tree


def parse(file: str) -> exp.Query:
    """Parses a file, without its comments."""
    text = (_SQL / f"{file}.sql").read_text(encoding="utf-8")
    tree = parse_one(text, read=DuckDB)
    assert isinstance(tree, exp.Query)
    for node in tree.walk():
        node.pop_comments()
    return tree


@cache
def _shared() -> frozenset[str]:
    return frozenset(path.name.removesuffix(".sql") for path in (_SQL / "tables").iterdir())


@cache
def store_columns() -> Mapping[str, Mapping[str, str]]:
    """Returns the columns of each table of the store and their SQL types."""
    return {
        table: {name: _sql_type(member["type"]) for name, member in members(table).items()}
        for table in TABLES
    }


@cache
def _schema() -> MappingSchema:
    return MappingSchema({STORE: store_columns()}, dialect=DuckDB)


@cache
def _type(name: str) -> exp.DataType:
    return exp.DataType.build(name, dialect=DuckDB)


def _sql_type(type: str) -> str:
    return "VARCHAR[]" if type.endswith("[]") else _TYPES.get(type, "VARCHAR")


def _with_relations(tree: exp.Query, absent: frozenset[str]) -> exp.Query:
    """Adds the referenced shared relations to the WITH clause, in the order of their references."""
    ctes: list[exp.CTE] = []
    known: set[str] = set()

    def add(query: exp.Query) -> None:
        own = list(query.ctes)
        query.set("with_", None)
        defined = {each.alias for each in own}
        for part in (*own, query):
            for table in part.find_all(exp.Table):
                name = table.name
                if not table.db and name in _shared() - known - defined:
                    known.add(name)
                    shared = _bound(f"tables/{name}", absent).copy()
                    add(shared)
                    ctes.append(_cte(name, shared))
            if isinstance(part, exp.CTE):
                ctes.append(part)

    add(tree)
    tree.set("with_", exp.With(expressions=ctes))
    return tree


def _cte(name: str, query: exp.Query) -> exp.CTE:
    cte = exp.CTE(this=query, alias=exp.TableAlias(this=exp.to_identifier(name)))
    if any(table.db for table in query.find_all(exp.Table)):
        cte.set("materialized", False)  # reading the claims again is cheaper than a copy
    return cte


def _expand(tree: exp.Query, keys: tuple[str, ...]) -> None:
    """Replaces ``keys``, ``kinds`` and ``periods`` by the keys."""
    parts = {
        "keys": keys,
        "kinds": tuple(key for key in keys if key not in PERIODS),
        "periods": tuple(key for key in keys if key in PERIODS),
    }
    for same in list(tree.find_all(exp.NullSafeEQ)):
        if same.this.name in parts:
            both = (_columns(side, parts) for side in (same.this, same.expression))
            pairs = (
                exp.NullSafeEQ(this=one, expression=other) for one, other in zip(*both, strict=True)
            )
            same.replace(exp.and_(*pairs) if parts[same.this.name] else exp.true())
    for column in list(tree.find_all(exp.Column)):
        if column.name not in parts:
            continue
        item = column.parent if isinstance(column.parent, exp.Ordered) else column
        assert item is not None
        holder, place = item.parent, item.arg_key
        assert isinstance(holder, exp.Expression)
        assert place is not None
        columns: list[exp.Expression] = _columns(column, parts)
        if isinstance(item, exp.Ordered):
            columns = [exp.Ordered(this=each, nulls_first=False) for each in columns]
        listed = holder.args[place]
        position = next(index for index, each in enumerate(listed) if each is item)
        holder.set(place, [*listed[:position], *columns, *listed[position + 1 :]])
        if not holder.args[place]:
            _remove_clause(holder, place)


def _columns(
    placeholder: exp.Expression, parts: Mapping[str, Sequence[str]]
) -> list[exp.Expression]:
    table = placeholder.args.get("table")
    return [
        exp.column(identifier(key), table=table and table.copy()) for key in parts[placeholder.name]
    ]


def identifier(name: str) -> exp.Identifier:
    """Returns an identifier, quoted if it is an SQL keyword."""
    return exp.to_identifier(name, quoted=name == "group")


def _remove_clause(holder: exp.Expression, place: str) -> None:
    """Removes a clause that has no key left."""
    if isinstance(holder, exp.Select):
        holder.set(place, [exp.alias_(exp.null(), "nothing")])
    elif isinstance(holder, exp.Group | exp.Order):
        holder.pop()


def _expand_aggregates(tree: exp.Query, is_wide: bool) -> None:
    """Replaces ``total``, ``approximate_total`` and ``ranks`` by aggregates of DuckDB."""
    aggregates = {**_AGGREGATES, **_WIDE} if is_wide else _AGGREGATES
    for call in list(tree.find_all(exp.Anonymous)):
        (argument,) = call.expressions
        aggregate = parse_one(aggregates[call.name], read=DuckDB)
        for column in list(aggregate.find_all(exp.Column)):
            column.replace(argument.copy())
        window = call.parent
        if is_wide and isinstance(window, exp.Window):
            for each in list(aggregate.find_all(exp.AggFunc)):
                part = window.copy()
                part.set("this", each.copy())
                each.replace(part)
            window.replace(aggregate)
        else:
            call.replace(aggregate)


def _bind(tree: exp.Query, absent: frozenset[str]) -> None:
    """Casts parameters to their types; absent ones become NULL and lose their conditions."""
    for test in list(tree.find_all(exp.Is)):
        if isinstance(test.this, exp.Placeholder):
            test.replace(exp.convert(test.this.name in absent))
    for place in list(tree.find_all(exp.Placeholder)):
        value = exp.null() if place.name in absent else place.copy()
        place.replace(exp.cast(value, _type(PARAMETER_TYPES[place.name])))
    for where in list(tree.find_all(exp.Where)):
        if where.find(exp.Boolean):
            where.set("this", simplify(where.this))
            if where.this == exp.true():
                where.pop()


def _declared(tree: exp.Query, columns: Iterable[tuple[str, str]]) -> exp.Query:
    """Wraps a query to cast its columns to the declared types; keeps its order."""
    order, ctes = tree.args.get("order"), tree.args.get("with_")
    tree.set("order", None)
    tree.set("with_", None)
    casts = [
        exp.alias_(exp.cast(exp.column(identifier(name)), _type(type)), identifier(name))
        for name, type in columns
    ]
    answer = exp.select(*casts).from_("answer")
    answer.set("with_", ctes)
    answer.set("order", order)
    return answer.with_("answer", as_=tree, copy=False)


def _drop_unread_joins(tree: exp.Query) -> None:
    """Removes left joins whose columns are not read, then relations that are not referenced."""
    for select in tree.find_all(exp.Select):
        for join in [each for each in select.args.get("joins") or () if each.side == "LEFT"]:
            inside = {id(each) for each in join.find_all(exp.Column)}
            name = join.this.alias_or_name
            if not any(
                column.table == name and id(column) not in inside
                for column in select.find_all(exp.Column)
            ):
                join.pop()
    named = {table.name for table in tree.find_all(exp.Table) if not table.db}
    for cte in [each for each in tree.ctes if each.alias not in named]:
        cte.pop()


def _reads(tree: exp.Query) -> Mapping[str, tuple[str, ...]]:
    reads: dict[str, set[str]] = {}
    for scope in traverse_scope(tree):
        for name, source in scope.sources.items():
            if isinstance(source, exp.Table) and source.db == STORE:
                columns = reads.setdefault(source.name, set())
                columns.update(column.name for column in scope.source_columns(name))
    return {
        table: tuple(name for name in store_columns()[table] if name in columns)
        or tuple(store_columns()[table])[:1]
        for table, columns in reads.items()
    }
