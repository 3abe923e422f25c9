"""Statements as the SQL of each engine: what sqlglot does not know of them, or gets wrong."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlglot import exp

from comptroller.analysis.assemble import STORE, Statement


@lru_cache(maxsize=256)
def bound_duckdb(statement: Statement) -> str:
    """A statement for DuckDB with its parameters, which takes a third as long as to assemble it."""
    return duckdb(statement.tree)


def duckdb(tree: exp.Query, values: Mapping[str, Any] | None = None) -> str:
    """A statement for DuckDB; with the values in it for people."""
    return _with_values(tree, values).sql("duckdb", pretty=values is not None)


def spark(tree: exp.Query, values: Mapping[str, Any] | None = None) -> str:
    """A statement for Spark, whose tables of the store are views such as ``store_claims``."""
    query = _with_values(tree, values).copy()
    for node in list(query.find_all(exp.Table, exp.CTE, exp.DataType)):
        if isinstance(node, exp.Table) and node.db == STORE:
            node.set("this", exp.to_identifier(f"store_{node.name}"))
            node.set("db", None)
        elif isinstance(node, exp.CTE):
            node.set("materialized", None)  # a word that it does not know
        elif isinstance(node, exp.DataType) and node.is_type("TIMESTAMP", "TIMESTAMPNTZ"):
            node.replace(exp.DataType.build("TIMESTAMPTZ"))  # as its own times are, in UTC
    for quotient in list(query.find_all(exp.Div)):  # of whole numbers and decimals it rounds
        for side in ("this", "expression"):
            quotient.set(side, exp.cast(quotient.args[side], "DOUBLE"))
    return query.sql("spark", pretty=True)


def _with_values(query: exp.Query, values: Mapping[str, Any] | None) -> exp.Query:
    """The values where the parameters stand, if there are any; engines get them bound."""
    if values is not None:
        query = query.copy()
        for place in list(query.find_all(exp.Placeholder)):
            value = values[place.name]
            text = value.isoformat(" ") if isinstance(value, datetime) else value
            place.replace(exp.convert(text))
    return query
