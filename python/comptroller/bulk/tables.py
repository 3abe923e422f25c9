"""Parquet files and frames as rows, and the errors of polars."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import date
from glob import escape
from typing import TYPE_CHECKING, Any

from comptroller.bulk.floats import float_texts
from comptroller.bulk.parquet import quote_name
from comptroller.errors import invalid, require

if TYPE_CHECKING:
    import polars


_COLUMNS = """
    SELECT name, coalesce(num_children, 0), coalesce(precision > 38, false),
        coalesce(converted_type = 'INTERVAL', false), coalesce(logical_type = 'UUIDType()', false)
    FROM parquet_schema(?)
"""
_ARROW_SCHEMA = "SELECT value FROM parquet_kv_metadata(?) WHERE key = 'ARROW:schema'::BLOB"
_OFFSET = re.compile(rb"[+-]\d\d:\d\d")  # a time zone of pandas and Arrow that polars lacks
_HEX_OF_UUID = "^(.{8})(.{4})(.{4})(.{4})(.{12})$"
_EPOCH = date(1970, 1, 1).toordinal()


def parquet_frames(
    path: str, name: str, is_used: Callable[[str], bool] = lambda _column: True
) -> Iterator[polars.DataFrame]:
    """Yields the rows of a Parquet file in batches.

    DuckDB reads a file with a type for which polars ends with a panic. Both lack decimals of more
    than 38 digits: InvalidRequest is raised for a column of them that `is_used`; of others is only
    yielded whether they are set.
    """
    library = require("polars", f"reading {name}", "analysis")
    duckdb = require("duckdb", f"reading {name}", "analysis")
    with refusing(library, name), duckdb.connect() as engine:
        with _refusing_damage(duckdb, name):
            columns = engine.execute(_COLUMNS, [escape(path)]).fetchall()
            schemas = engine.execute(_ARROW_SCHEMA, [escape(path)]).fetchall()
            has_offsets = any(_OFFSET.search(b64decode(text)) for (text,) in schemas)
        tops = _top_columns([(name, children) for name, children, *_ in columns])
        wide = {top for top, (_, _, is_wide, _, _) in zip(tops, columns, strict=True) if is_wide}
        for column in filter(is_used, wide):
            why = "has decimals of more than 38 digits; write its decimals as decimal(38, 18)"
            raise invalid(column, f"{why} or as text")
        if wide or has_offsets or any(is_interval for *_, is_interval, _ in columns):
            with _refusing_damage(duckdb, name):
                frame = _read_by_duckdb(library, engine, path, wide)
            yield frame
            return
        rows = library.scan_parquet(path, glob=False, hive_partitioning=False)
        uuids = [
            library.col(column).bin.encode("hex").str.replace(_HEX_OF_UUID, "$1-$2-$3-$4-$5")
            for column, *_, is_uuid in columns
            if is_uuid and rows.collect_schema().get(column) == library.Binary
        ]
        yield from batches(rows.with_columns(uuids))


@contextmanager
def _refusing_damage(duckdb: Any, name: str) -> Iterator[None]:
    """Raises InvalidRequest for an error of DuckDB, and for a schema of Arrow that is damaged."""
    try:
        yield
    except duckdb.Error as error:
        raise invalid("source", f"{name} cannot be read: {first_line(error)}") from error
    except binascii.Error as error:
        why = f"its Arrow schema is damaged: {error}"
        raise invalid("source", f"{name} cannot be read: {why}") from error


def _top_columns(nodes: list[tuple[str, int]]) -> list[str]:
    """Returns the column of each node of a schema, which is in depth-first order after its root.

    Args:
        nodes: the name, and the number of children.
    """
    tops: list[str] = []
    open_children: list[int] = []  # of each node from the root to the last one
    for name, children in nodes:
        tops.append(tops[-1] if len(open_children) > 1 else name)
        open_children.append(children)
        while open_children and not open_children[-1]:
            open_children.pop()
            if open_children:
                open_children[-1] -= 1
    return tops


def _read_by_duckdb(
    library: Any, engine: Any, path: str, flagged: Iterable[str]
) -> polars.DataFrame:
    """Returns the rows of a Parquet file; intervals, and values with intervals, are text.

    The columns `flagged` are true where they are set.
    """
    engine.execute("SET TimeZone = 'UTC'")
    rows = engine.read_parquet(escape(path), hive_partitioning=False)
    columns = zip(rows.columns, rows.types, strict=True)
    texts = [quote_name(name) for name, type in columns if "INTERVAL" in str(type)]
    replaced = [f"{name}::VARCHAR AS {name}" for name in texts]
    replaced += [
        f"nullif({each} IS NOT NULL, false) AS {each}" for each in map(quote_name, flagged)
    ]
    selected = f"* REPLACE ({', '.join(replaced)})" if replaced else "*"
    frame: polars.DataFrame = library.DataFrame(rows.project(selected))
    return frame


def batches(rows: polars.LazyFrame) -> Iterator[polars.DataFrame]:
    """Yields the rows in batches; one that is empty if there are none."""
    is_empty = True
    for frame in rows.collect_batches(maintain_order=True, chunk_size=100_000):
        is_empty = False
        yield frame
    if is_empty:
        yield rows.collect()


def rows_of(frames: Iterable[polars.DataFrame]) -> Iterator[dict[str, object]]:
    """Yields the rows of frames.

    Short floats are the shortest decimals that they have; a day or time for which Python has no
    date is text: its distance from 1970 in the unit of its column. Maps with a duplicate key are
    lists of their entries, as a dict would have only the last one.
    """
    library = require("polars", "a mapping", "analysis")
    for frame in frames:
        known: list[polars.Series] = []
        far: list[polars.Series] = []
        for column in frame.get_columns():
            if column.dtype in (library.Float16, library.Float32):
                known.append(float_texts(column).cast(library.Float64))
            elif isinstance(column.dtype, library.Map):
                keys = column.map.keys().list
                if (keys.n_unique() < keys.len()).any():
                    known.append(column.map.entries())
            elif column.dtype in (library.Date, library.Datetime):
                numbers = column.to_physical()
                is_far = ~numbers.is_between(*_dates_of(column))
                if is_far.any():
                    texts = numbers.cast(library.String)
                    known.append(column.zip_with(~is_far, column.clear(1)))
                    far.append(texts.zip_with(is_far, texts.clear(1)))
        rows = frame.with_columns(known).iter_rows(named=True)
        if not far:
            yield from rows
            continue
        for number, row in enumerate(rows):
            yield row | {each.name: text for each in far if (text := each[number]) is not None}


def _dates_of(column: polars.Series) -> tuple[int, int]:
    """Returns the first and the last number of a column of days or times that has a date.

    With a time zone, without a day at either end, which remains for its offset.
    """
    units = {"ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
    unit = getattr(column.dtype, "time_unit", "")
    per_day = 24 * 3600 * units[unit] if unit else 1
    first, last = ((each.toordinal() - _EPOCH) * per_day for each in (date.min, date.max))
    if getattr(column.dtype, "time_zone", None) is not None:
        first, last = first + per_day, last - per_day
    elif unit:
        last += per_day - 1
    return max(first, -(2**63)), min(last, 2**63 - 1)


def without_wide_decimals(frame: Any, is_used: Callable[[str], bool]) -> Any:
    """Returns a table of pyarrow, with whether they are set instead of decimals of 256 bits."""
    for place, field in enumerate(frame.schema):
        if "decimal256" in str(field.type) and not is_used(field.name):
            flags = [True if chunk.is_valid else None for chunk in frame.column(place)]
            frame = frame.set_column(place, field.name, [flags])
    return frame


def pandas_rows(frame: Any) -> Iterator[dict[str, object]]:
    """Yields the rows of a pandas frame, with the levels of its index that have names."""
    names = [name for name in frame.index.names if name is not None]
    whole = frame.reset_index(level=names) if names else frame
    columns = [str(name) for name in whole.columns]
    for name in columns:
        if columns.count(name) > 1:
            raise invalid("source", f"the frame has the column {name!r} more than once; rename one")
    short = [name for name, each in whole.dtypes.items() if each in ("float16", "float32")]
    # The shortest decimals that they have, which a float of 64 bits would not have.
    whole = whole.assign(
        **{name: [float(str(each)) for each in whole[name].to_numpy()] for name in short}
    )
    for row in whole.itertuples(index=False, name=None):
        yield dict(zip(columns, row, strict=True))


@contextmanager
def refusing(library: Any, name: str) -> Iterator[None]:
    """Raises InvalidRequest for an error of polars, and for text that is not UTF-8."""
    try:
        yield
    except (
        library.exceptions.PolarsError,
        library.exceptions.PanicException,
        OSError,
        UnicodeError,
    ) as error:
        why = "invalid utf-8" if isinstance(error, UnicodeError) else first_line(error)
        advice = next((advice for part, advice in _ADVICE.items() if part in why), "")
        raise invalid("source", f"{name} cannot be read: {why}{advice}") from error


_ADVICE = {
    "invalid utf-8": "; convert it to UTF-8, for example with iconv -f WINDOWS-1252 -t UTF-8",
    "Int256": "; cast its decimals to decimal(38, 18) or to text",
    "time zone": "; convert its times to UTC",
}


def first_line(error: BaseException) -> str:
    """Returns the first line of an error's message."""
    return str(error).strip().partition("\n")[0]
