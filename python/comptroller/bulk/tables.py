"""Parquet files and frames as rows, and the errors of polars."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import MAXYEAR, MINYEAR, date, datetime, timedelta
from decimal import Context, Decimal
from glob import escape
from typing import TYPE_CHECKING, Any

from comptroller.bulk.floats import float_texts
from comptroller.bulk.parquet import quote_name
from comptroller.bulk.unread_cells import UnreadCell
from comptroller.errors import invalid, require

if TYPE_CHECKING:
    import polars


_COLUMNS = """
    SELECT name, coalesce(num_children, 0), coalesce(precision > 38, false),
        coalesce(converted_type = 'INTERVAL', false), coalesce(logical_type = 'UUIDType()', false),
        coalesce(logical_type = 'Float16Type()', false)
    FROM parquet_schema(?)
"""
_ARROW_SCHEMA = "SELECT value FROM parquet_kv_metadata(?) WHERE key = 'ARROW:schema'::BLOB"
_OFFSET = re.compile(rb"[+-]\d\d:\d\d")  # a time zone of pandas and Arrow that polars lacks
_HEX_OF_UUID = "^(.{8})(.{4})(.{4})(.{4})(.{12})$"
_EXACT = Context(prec=1000)
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
        wide = {top for top, (_, _, is_wide, *_) in zip(tops, columns, strict=True) if is_wide}
        for column in filter(is_used, wide):
            why = "has decimals of more than 38 digits; write its decimals as decimal(38, 18)"
            raise invalid(column, f"{why} or as text")
        if wide or has_offsets or any(is_interval for *_, is_interval, _, _ in columns):
            with _refusing_damage(duckdb, name):
                frame = _read_by_duckdb(library, engine, path, wide)
            halves = {
                name
                for top, (name, *_, is_half) in zip(tops, columns, strict=True)
                if is_half and top == name
            }
            # DuckDB makes them floats of 32 bits, which have other shortest decimals.
            yield frame.with_columns(frame[each].cast(library.Float16) for each in halves)
            return
        rows = library.scan_parquet(path, glob=False, hive_partitioning=False)
        uuids = [
            library.col(column).bin.encode("hex").str.replace(_HEX_OF_UUID, "$1-$2-$3-$4-$5")
            for column, *_, is_uuid, _ in columns
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


def rows_of(
    frames: Iterable[polars.DataFrame], is_used: Callable[[str], bool] = lambda _name: True
) -> Iterator[dict[str, object]]:
    """Yields the rows of frames.

    Short floats are the shortest decimals that they have; a day or time for which Python has no
    date is unread, with its distance from 1970 in the unit of its column. Decimals are `exact`.
    Maps with a duplicate key are lists of their entries, as a dict would have only the last one. Of
    a column that is not used and has such a time within its values, only whether they are set.
    """
    library = require("polars", "a mapping", "analysis")
    for frame in frames:
        known: list[polars.Series] = []
        far: list[polars.Series] = []
        for column in frame.get_columns():
            if column.dtype.is_nested() and _has_far(library, column):
                read = _python_value if is_used(column.name) else _is_set
                values = [*map(read, column.to_arrow())]
                known.append(library.Series(column.name, values, dtype=library.Object))
            elif column.dtype in (library.Float16, library.Float32):
                known.append(float_texts(column).cast(library.Float64))
            elif isinstance(column.dtype, library.Map):
                keys = column.map.keys().list
                if (keys.n_unique() < keys.len()).any():
                    known.append(column.map.entries())
            elif column.dtype in (library.Date, library.Datetime, library.Duration):
                is_far = _is_far(column)
                if is_far.any():
                    texts = column.to_physical().cast(library.String)
                    known.append(column.zip_with(~is_far, column.clear(1)))
                    far.append(texts.zip_with(is_far, texts.clear(1)))
        decimals = [name for name, each in frame.schema.items() if "Decimal" in str(each)]
        rows = frame.with_columns(known).iter_rows(named=True)
        if not decimals and not far:
            yield from rows
            continue
        for number, row in enumerate(rows):
            row |= {name: exact(row[name]) for name in decimals}
            row |= {each.name: _far(text) for each in far if (text := each[number]) is not None}
            yield row


def _has_far(library: Any, column: polars.Series) -> bool:
    """Whether a column has a day, time or duration that Python lacks, also within its values."""
    dtype = column.dtype
    if dtype in (library.Date, library.Datetime, library.Duration):
        return bool(_is_far(column).any())
    if isinstance(dtype, library.Map):
        return _has_far(library, column.map.entries())
    if isinstance(dtype, library.Struct):
        return any(_has_far(library, each) for each in column.struct.unnest())
    return dtype.is_nested() and _has_far(library, column.explode())


def _is_far(column: polars.Series) -> polars.Series:
    return ~column.to_physical().is_between(*_dates_of(column))


def _dates_of(column: polars.Series) -> tuple[int, int]:
    """Returns the first and the last number of a column of days or times that has a date.

    Of durations, those that Python has. With a time zone, without a day at either end, which
    remains for its offset.
    """
    units = {"ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
    unit = getattr(column.dtype, "time_unit", "")
    per_day = 24 * 3600 * units[unit] if unit else 1
    if "Duration" in str(column.dtype):
        longest = min(timedelta.max.days * per_day, 2**63 - 1)
        return -longest, longest
    first, last = ((each.toordinal() - _EPOCH) * per_day for each in (date.min, date.max))
    if getattr(column.dtype, "time_zone", None) is not None:
        first, last = first + per_day, last - per_day
    elif unit:
        last += per_day - 1
    return max(first, -(2**63)), min(last, 2**63 - 1)


def of_pandas(frame: Any) -> Any:
    """Returns a pandas frame whose named levels of the index are columns, with texts as names.

    A level with the name of a column is dropped. Raises InvalidRequest for other duplicate names.
    """
    columns = list(map(str, frame.columns))
    index = frame.index.names
    levels = [
        place for place, name in enumerate(index) if name is not None and str(name) not in columns
    ]
    names = [str(index[place]) for place in levels]
    for part, given in (("column", columns), ("level of the index", names)):
        for name in given:
            if given.count(name) > 1:
                why = f"the frame has the {part} {name!r} more than once; rename one"
                raise invalid("source", why)
    whole = frame.reset_index(level=levels) if levels else frame
    return whole.reset_index(drop=True).set_axis(names + columns, axis=1)


def arrow_of_pandas(frame: Any) -> Any:
    """Returns a frame of `of_pandas` as a table of pyarrow; None if this could change a value.

    In a column of objects with days and times, pyarrow makes all of them days; with local times and
    times of a zone, all of them times of UTC. It gives times of pandas outside of the years 1 to
    9999 another year.
    """
    arrow = require("pyarrow", "a frame of pandas")
    try:
        table = arrow.Table.from_pandas(frame, preserve_index=False)
    except Exception:  # pyarrow's own classes and Python's, for a column of several types
        return None
    for field, dtype in zip(table.schema, frame.dtypes, strict=True):
        is_inferred = dtype.kind == "O" and not hasattr(dtype, "pyarrow_dtype")
        if is_inferred and _has_times(arrow.types, field.type):
            values = getattr(dtype, "categories", frame[field.name]).dropna()
            if not _are_alike(values):
                return None
    return table


def _are_alike(values: Iterable[Any]) -> bool:
    """Whether all values are days, or times of one class and one zone, that Python has."""
    classes = set(map(type, values))
    if len(classes) != 1:
        return False
    (found,) = classes
    if found is date or not issubclass(found, datetime):
        return found is date
    zones = (each.tzinfo for each in values)
    first = next(zones)
    try:  # zones have no hash, if they are those of dateutil, or may be of the caller
        is_one_zone = all(each is first or each == first for each in zones)
    except Exception:
        return False
    return is_one_zone and all(MINYEAR <= each.year <= MAXYEAR for each in values)


def _has_times(types: Any, type: Any) -> bool:
    if types.is_dictionary(type):
        return _has_times(types, type.value_type)
    return types.is_temporal(type) or any(
        _has_times(types, type.field(place).type) for place in range(type.num_fields)
    )


def pandas_rows(
    frame: Any, is_used: Callable[[str], bool] = lambda _name: True
) -> Iterator[dict[str, object]]:
    """Yields the rows of a frame of `of_pandas`.

    Of a column of Arrow that is not used, only whether its values are set.
    """
    names = list(frame.columns)  # to iterate an index of pandas for each row takes longer
    columns = (_pandas_values(frame[name], is_used=is_used(name)) for name in names)
    for row in zip(*columns, strict=True):
        yield dict(zip(names, row, strict=True))


def _pandas_values(column: Any, *, is_used: bool) -> Iterable[object]:
    """Returns the values of a column; see `rows_of` for its floats, times and decimals."""
    dtype = column.dtype
    size = getattr(dtype, "itemsize", 8)
    if dtype.kind == "f" and size < 8:
        floats = column.to_numpy(dtype=f"float{8 * size}", na_value=float("nan"))
        return (float(str(each)) for each in floats)
    if hasattr(dtype, "pyarrow_dtype") and dtype.kind in "mMO":
        values = require("pyarrow", "a frame of pandas").array(column)
        return map(_python_value if is_used else _is_set, values)
    objects = column if str(dtype) == "object" else getattr(dtype, "categories", ())
    classes = set(map(type, objects))
    is_changed = any(issubclass(each, (Decimal, list, dict)) for each in classes)
    return map(exact, column) if is_changed else column


def _python_value(scalar: Any) -> object:
    """Returns a scalar of pyarrow; a day or time for which Python has no date as in `rows_of`.

    A struct with a duplicate name is a list of pairs.
    """
    try:
        return exact(scalar.as_py())
    except (OverflowError, ValueError):
        return _python_parts(scalar)


def _python_parts(scalar: Any) -> object:
    """Returns a scalar that pyarrow cannot convert, part by part."""
    arrow = require("pyarrow", "a table of pyarrow")
    if arrow.types.is_struct(scalar.type):
        names = [scalar.type.field(place).name for place in range(scalar.type.num_fields)]
        pairs = [(name, _python_value(scalar[place])) for place, name in enumerate(names)]
        return dict(pairs) if len(set(names)) == len(names) else pairs
    if arrow.types.is_nested(scalar.type) and hasattr(scalar, "values"):  # lists and maps
        return [_python_value(each) for each in scalar.values]
    value = getattr(scalar, "value", scalar.type)
    return _python_value(value) if isinstance(value, arrow.Scalar) else _far(str(value))


def _far(text: str) -> UnreadCell:
    why = "is the number of a time outside of the years 1 to 9999, or of a long duration"
    return UnreadCell(text, why)


def exact(value: object) -> object:
    """Returns a value of a table; decimals without the zeros that the scale of a column adds.

    This is how the columns of a table are read that are not converted.
    """
    if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) < _EXACT.prec:
        return _EXACT.plus(value.normalize(_EXACT))  # plus: -0 is 0
    if isinstance(value, list):
        return list(map(exact, value))
    if isinstance(value, dict):
        return {name: exact(each) for name, each in value.items()}
    return value


def polars_frame(
    source: Any, is_used: Callable[[str], bool] = lambda _name: True
) -> polars.DataFrame:
    """Returns an Arrow stream as a frame of polars. Raises InvalidRequest if polars cannot read it.

    polars lacks types that pyarrow has, or changes their values: the columns of them consist of
    objects of Python, or if they are not used, of whether they are set.
    """
    library = require("polars", "a mapping of a data frame", "analysis")
    frame: polars.DataFrame
    with refusing(library, "the data frame"):
        if type(source).__module__.partition(".")[0] != "pyarrow":
            frame = library.DataFrame(source)
            return frame
        arrow = require("pyarrow", "a table of pyarrow")
        table = arrow.table(source)
        objects: list[polars.Series] = []
        for place, field in enumerate(table.schema):
            column = table.column(place)
            known = _known_to_polars(arrow, column)
            types = arrow.types
            is_encoded = types.is_run_end_encoded(field.type)
            if is_used(field.name) and (is_encoded or types.is_union(field.type)):
                cast = f"cast the column to {field.type.value_type}" if is_encoded else ""
                why = f"has the Arrow type {field.type}; {cast or 'give a struct or a list'}"
                raise invalid(field.name, why)
            if known is None:
                values = map(_python_value if is_used(field.name) else _is_set, column)
                objects.append(library.Series(field.name, [*values], dtype=library.Object))
                known = arrow.nulls(len(column))
            table = table.set_column(place, field.name, known)
        frame = library.DataFrame(table).with_columns(objects)
    return frame


def _is_set(scalar: Any) -> bool | None:
    return True if scalar.is_valid else None


def _known_to_polars(arrow: Any, column: Any) -> Any:
    """Returns a column with its values in a type that polars reads; None if there is none."""
    types, type = arrow.types, column.type
    if types.is_date64(type):
        return column.cast(arrow.date32())
    if types.is_timestamp(type) and type.unit != "s" and _OFFSET.fullmatch(str(type.tz).encode()):
        return column.cast(arrow.timestamp(type.unit, "UTC"))
    return column if _is_known(types, type) else None


def _is_known(types: Any, type: Any) -> bool:
    if types.is_dictionary(type):
        return _is_known(types, type.value_type)
    if types.is_decimal(type):
        return bool(type.bit_width <= 128 and type.scale >= 0)
    if types.is_timestamp(type):  # polars converts seconds to milliseconds, which may overflow
        return bool(type.unit != "s") and not _OFFSET.fullmatch(str(type.tz).encode())
    if type.num_fields:
        kinds = (types.is_list, types.is_large_list, types.is_fixed_size_list)
        return any(is_kind(type) for is_kind in (*kinds, types.is_struct, types.is_map)) and all(
            _is_known(types, type.field(place).type) for place in range(type.num_fields)
        )
    is_lacking = types.is_date64(type) or types.is_interval(type)
    return not is_lacking and not hasattr(type, "extension_name")


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
    "time zone": "; convert its times to UTC",
}


def first_line(error: BaseException) -> str:
    """Returns the first line of an error's message."""
    return str(error).strip().partition("\n")[0]
