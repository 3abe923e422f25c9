"""Sources of a load as polars frames, for what compares or joins them with records."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import msgspec

from comptroller import arguments
from comptroller.bulk import tables
from comptroller.bulk.cell_texts import LONGEST_DECIMAL, text_of
from comptroller.bulk.compression import content, spool
from comptroller.bulk.documents import records
from comptroller.bulk.files import refuse_open_store
from comptroller.bulk.floats import float_texts
from comptroller.bulk.formats import format_of
from comptroller.bulk.mapping import ColumnMapping
from comptroller.bulk.pipes import NamedFile, naming
from comptroller.bulk.row_values import plain
from comptroller.bulk.table_files import table_file
from comptroller.errors import Error, invalid, require

if TYPE_CHECKING:
    import polars

    from comptroller.bulk.sources import LoadSource

_AMOUNT_FRACTION = 18  # digits
_ALWAYS_FIT = {str, bool, int, float, datetime, date}


def frame_of(source: LoadSource, options: ColumnMapping) -> tuple[polars.DataFrame, int]:
    """Returns the rows of anything that `load` reads, and the lines before the first of them.

    The columns of CSV are text; those of rows, or of a sheet, with values of several types are
    objects. Raises InvalidRequest for a source that cannot be read.

    Args:
        source: the rows.
        options: how to read a file; the names of the columns do not change.
    """
    library = require("polars", "a table of yours", "analysis")
    if hasattr(source, "__arrow_c_stream__"):
        return _of_frame(source, library), 0
    if isinstance(source, (str, os.PathLike)):
        path = arguments.path("source", source)
        refuse_open_store("source", path)
        try:
            with Path(path).open("rb") as opened:
                return _of_file(opened, path, options)
        except (OSError, UnicodeError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise invalid("source", f"{path} cannot be read: {why}") from error
    if hasattr(source, "read") and not isinstance(source, io.TextIOBase):
        file = cast("BinaryIO", source)
        return _of_file(file, str(getattr(source, "name", "the file")), options)
    if isinstance(source, (bytes, bytearray, memoryview, Mapping, io.TextIOBase)) or not isinstance(
        source, Iterable
    ):
        raise invalid(
            "source",
            f"{type(source).__name__} is not allowed; give a path, a binary file, a data frame or "
            "an iterable of dicts",
        )
    return _of_rows(cast("Iterable[object]", source)), 0


def _of_frame(source: Any, library: Any) -> polars.DataFrame:
    try:
        if hasattr(source, "itertuples"):  # pandas
            given = tables.of_pandas(source)
            source = tables.arrow_of_pandas(given)
            if source is None:
                return _of_rows(tables.pandas_rows(given))
        frame = tables.polars_frame(source)
    except (Error, ImportError):
        raise
    except Exception as error:  # each library raises its own classes
        raise invalid("source", f"cannot be read as an Arrow stream: {error}") from error
    short = (library.Float16, library.Float32)
    return frame.with_columns(
        float_texts(each).cast(library.Float64) for each in frame if each.dtype in short
    )


def _of_file(file: BinaryIO, name: str, options: ColumnMapping) -> tuple[polars.DataFrame, int]:
    library = require("polars", f"reading {name}", "analysis")
    with ExitStack() as closing:
        with naming(name):
            found = content(file, name, closing)
        format = format_of(found.head, found.name)
        if format == "json":
            return _of_rows(_json_rows(NamedFile(found.file, found.name))), 0
        path = name if file is found.file and Path(name).is_file() else None
        with naming(name):
            path = path or spool(found.file, closing).name
        table = table_file(format, path, found, options)
        with tables.refusing(library, found.name):
            frames = list(table.frames(_refuse))
            whole = library.concat(frames) if frames else library.DataFrame()
        return whole, table.lines()[1] - 1


def _json_rows(file: NamedFile) -> Iterator[object]:
    row = 1
    try:
        for record in records(file):
            yield record
            row += 1
    except InvalidOperation as error:  # of Decimal
        raise invalid("source", f"row {row}: a number has too many digits") from error


def as_arrow(frame: polars.DataFrame) -> polars.DataFrame:
    """Returns a frame whose columns all libraries read.

    Columns of several types, and of none, are text, except integers beside decimals or floats, see
    `column_of`. Integers of 128 bits are decimals, or text if they have more than 38 digits.
    """
    library = require("polars", "a table of yours", "analysis")
    return with_types(
        frame.with_columns(
            _wide_integers(library, each)
            if each.dtype in (library.Int128, library.UInt128)
            else _numbers_or_texts(library, each)
            for each in frame
            if each.dtype in (library.Object, library.Int128, library.UInt128)
        )
    )


def with_types(frame: polars.DataFrame) -> polars.DataFrame:
    """Returns a frame in which columns without a type, also within nested ones, are text."""
    library = require("polars", "a table", "analysis")
    types = {name: _typed(library, each) for name, each in frame.schema.items()}
    return frame.cast({name: type for name, type in types.items() if type != frame.schema[name]})


def _typed(library: Any, dtype: Any) -> Any:
    if dtype == library.Null:
        return library.String()
    if isinstance(dtype, library.List):
        return library.List(_typed(library, dtype.inner))
    if isinstance(dtype, library.Array):
        return library.Array(_typed(library, dtype.inner), dtype.size)
    if isinstance(dtype, library.Map):
        return library.Map(_typed(library, dtype.key), _typed(library, dtype.value))
    if isinstance(dtype, library.Struct):
        fields = ((each.name, _typed(library, each.dtype)) for each in dtype.fields)
        return library.Struct(dict(fields))
    return dtype


def _numbers_or_texts(library: Any, column: polars.Series) -> polars.Series:
    found = column_of(library, column.name, column.to_list())
    return found if found.dtype.is_numeric() else found.cast(library.String)


def _wide_integers(library: Any, column: polars.Series) -> polars.Series:
    decimals = column.cast(library.Decimal(38, 0), strict=False)
    is_exact = decimals.null_count() == column.null_count()
    return decimals if is_exact else column.cast(library.String)


def _of_rows(rows: Iterable[object]) -> polars.DataFrame:
    """Returns rows as a frame; a column that polars would change consists of objects."""
    library = require("polars", "a table of yours", "analysis")
    columns: dict[str, list[object]] = {}
    count = 0
    for count, row in enumerate(rows, start=1):
        if row is None:  # a blank line
            row = {}
        given = msgspec.structs.asdict(row) if isinstance(row, msgspec.Struct) else row
        if not isinstance(given, Mapping):
            raise invalid("source", f"row {count} is not an object or dict")
        for name, value in given.items():
            values = columns.setdefault(str(name), [])
            values.extend([None] * (count - 1 - len(values)))
            values.append(plain(value))
    for values in columns.values():
        values.extend([None] * (count - len(values)))
    frame: polars.DataFrame = library.DataFrame(
        [_column(library, *each) for each in columns.items()]
    )
    return frame


def _column(library: Any, name: str, values: list[object]) -> polars.Series:
    column = _of_one_type(library, name, values)
    if column is None:
        column = cast("polars.Series", library.Series(name, values, dtype=library.Object))
    return column


def column_of(library: Any, name: str, values: list[object]) -> polars.Series:
    """Returns values as a column of their type, or as text if this could change a value.

    Values of several types are text, except that integers beside decimals or floats have the type
    of these if all stay exact.
    """
    column = _of_one_type(library, name, _widened(values))
    if column is None:
        texts = [None if value is None else _text(value) for value in values]
        column = cast("polars.Series", library.Series(name, texts, dtype=library.String))
    return column


def _of_one_type(library: Any, name: str, values: list[object]) -> polars.Series | None:
    """Returns values as a column; None if they have several types, or polars would change one."""
    if len(_types(values)) > 1:
        return None
    try:
        if not (_types(values) <= _ALWAYS_FIT or _fits(values)):
            return None
        column: polars.Series = library.Series(name, values, strict=True)
        is_exact = column.dtype == library.String or _is_unchanged(values, column)
    except (
        *(TypeError, ValueError, OverflowError, RuntimeError),  # a decimal of 39 digits: the last
        *(library.exceptions.PolarsError, library.exceptions.PanicException),
    ):
        return None
    return column if is_exact and column.dtype != library.Object else None


def _types(values: list[object]) -> set[type]:
    return {type(value) for value in values} - {type(None)}


def _widened(values: list[object]) -> list[object]:
    """Returns integers beside decimals or floats as these, if all stay exact."""
    types = _types(values)
    for wide in (Decimal, float):
        if types == {int, wide}:
            try:
                wider = [None if value is None else wide(cast("int", value)) for value in values]
            except OverflowError:
                return values
            return cast("list[object]", wider) if wider == values else values
    return values


def _fits(value: object) -> bool:
    """Whether polars reads a value without a panic: its decimals are finite and not too long."""
    if isinstance(value, Decimal):
        return value.is_finite() and abs(value.adjusted()) <= LONGEST_DECIMAL
    if isinstance(value, (list, tuple)):
        return all(map(_fits, value))
    if isinstance(value, dict):
        return all(map(_fits, value.values()))
    return True


def _is_unchanged(values: list[object], column: polars.Series) -> bool:
    found = column.to_list()
    # Within lists and dicts, == takes True for 1.
    is_equal = not column.dtype.is_nested() and found == values
    return is_equal or _is_same(values, found)


def _is_same(given: object, found: object) -> bool:
    """Whether polars returns a value as it was given; a tuple becomes a list."""
    if isinstance(given, (list, tuple)):
        return (
            isinstance(found, list)
            and len(given) == len(found)
            and all(map(_is_same, given, found))
        )
    if isinstance(given, dict):
        return (
            isinstance(found, dict)
            and given.keys() == found.keys()
            and all(_is_same(value, found[name]) for name, value in given.items())
        )
    if isinstance(given, float) and isnan(given):
        return isinstance(found, float) and isnan(found)
    return given == found and isinstance(given, bool) is isinstance(found, bool)


def _text(value: object) -> str:
    if isinstance(value, str):  # with escapes for lone surrogates
        return str.encode(value, errors="backslashreplace").decode()
    if isinstance(value, Decimal) and value.is_finite():
        return _decimal_text(value)
    return text_of(list(value) if isinstance(value, tuple) else value)


def _decimal_text(value: Decimal) -> str:
    """Returns a decimal without zeros at its end that an amount has no place for."""
    if abs(value.adjusted()) > LONGEST_DECIMAL:
        return str(value) if value else "0"
    text = format(value, "f")
    _, _, fraction = text.partition(".")
    return text.rstrip("0").rstrip(".") if len(fraction) > _AMOUNT_FRACTION else text


def _refuse(_row: int, why: str) -> None:
    raise invalid("source", why)
