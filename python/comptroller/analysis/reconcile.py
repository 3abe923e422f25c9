"""Reconciliation of the records of a service with a table of someone else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import duckdb
import polars

from comptroller import arguments
from comptroller.analysis.comparison import ASSETS, Comparison
from comptroller.analysis.member_columns import ROW, member_table
from comptroller.analysis.memory import memory_limit
from comptroller.analysis.reconciliation import Reconciliation
from comptroller.analysis.registry import ALL_ROWS
from comptroller.analysis.table import rows_of
from comptroller.bulk.mapping import ColumnMapping
from comptroller.bulk.streams import interruptible, run_interruptibly
from comptroller.description import core_description, members, stored_members
from comptroller.errors import invalid, unavailable
from comptroller.values import RENAMED

if TYPE_CHECKING:
    from comptroller.bulk.sources import LoadSource
    from comptroller.service import Service

_PYTHON_NAMES = {sent: name for name, sent in RENAMED.items()}

# Results are sorted where their order matters.
_UNORDERED: dict[str, str | bool | int | float | list[str]] = {"preserve_insertion_order": "false"}


def reconcile(
    svc: Service,
    kind: str,
    source: LoadSource,
    on: str | Sequence[str],
    compare: str | Sequence[str] | None,
    where: Mapping[str, Any],
    mapping: ColumnMapping,
) -> Reconciliation:
    """Compares the records of a kind with a table; see `Service.reconcile`."""
    kind = arguments.kind(kind)
    types = {name: str(members(kind)[name]["type"]).rstrip("?") for name in stored_members(kind)}
    comparable = {name: type for name, type in types.items() if _is_comparable(type)}
    keys = list(arguments.choices("on", on, list(comparable)))
    there, ignored = member_table(kind, source, mapping, comparable)
    if (
        there.columns == [ROW] and not len(there) and not ignored
    ):  # a list of no rows has no columns
        there = there.with_columns(polars.lit(None, polars.String).alias(name) for name in keys)
    for name in keys:
        if name not in there.columns:
            raise invalid("on", _no_column(name, there))
    if compare is None:
        compared = [name for name in comparable if name in there.columns and name not in keys]
    else:
        compared = list(arguments.choices("compare", compare, list(comparable)))
        for name in compared:
            if name not in there.columns:
                raise invalid("compare", _no_column(name, there))
    amounts = [name for name in types if name in ASSETS]
    assets = [ASSETS[name] for name in amounts if ASSETS[name] in types]
    own = ["id"] if "id" in types else []
    names = list(dict.fromkeys([*own, *keys, *compared, *amounts, *assets]))
    filters = {**ALL_ROWS.get(kind, {}), **_in_python(where)}
    stream = getattr(svc, kind.replace("-", "_")).stream(names, **filters)
    with _refusing(), duckdb.connect(config=_UNORDERED | memory_limit()) as connection:
        connection.execute("SET GLOBAL TimeZone = 'UTC'")
        work = Comparison(connection, comparable, keys, compared, amounts)

        def run() -> Reconciliation:
            work.copy("here", stream, names)
            work.copy("there", rows_of(there), [each for each in names if each in there.columns])
            tables = work.tables()
            return Reconciliation(
                tables.pop("rows"),
                kind=kind,
                on=keys,
                compared=compared,
                ignored=ignored,
                tables=tables,
            )

        return run_interruptibly(run, connection.interrupt)


def _in_python(where: Mapping[str, Any]) -> dict[str, Any]:
    """Returns filters by their names in Python, such as `updated_at_lt` for `updated_at.lt`."""
    filters = {_PYTHON_NAMES.get(name, name): value for name, value in where.items()}
    if len(filters) < len(where):
        raise invalid("where", "a filter appears in both of its spellings; give it once")
    return filters


def _is_comparable(type: str) -> bool:
    return type != "metadata" and type not in core_description()["records"]


def _no_column(name: str, frame: polars.DataFrame) -> str:
    found = ", ".join(each for each in frame.columns if each != ROW) or "none"
    return f"the table has no column {name}; of the members it has {found}; see rename"


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        with interruptible(duckdb):
            yield
    except duckdb.ConversionException as error:
        raise invalid("source", str(error)) from error
    except duckdb.OperationalError as error:
        raise unavailable(f"the reconciliation failed: {error}") from error
