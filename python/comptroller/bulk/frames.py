"""Sources of a load as polars frames, for what compares or joins them with records."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import msgspec

from comptroller import arguments
from comptroller.bulk import tables
from comptroller.bulk.cell_texts import text_of
from comptroller.bulk.compression import content, spool
from comptroller.bulk.documents import records
from comptroller.bulk.files import refuse_open_store
from comptroller.bulk.formats import format_of
from comptroller.bulk.mapping import ColumnMapping, plain
from comptroller.bulk.pipes import NamedFile
from comptroller.bulk.table_files import table_file
from comptroller.errors import Error, invalid, require

if TYPE_CHECKING:
    import polars

    from comptroller.bulk.sources import LoadSource


def frame_of(source: LoadSource, options: ColumnMapping) -> tuple[polars.DataFrame, int]:
    """Returns the rows of anything that `load` reads, and the lines before the first of them.

    The columns of CSV are text; those of a sheet with cells of several types are objects. Raises
    InvalidRequest for a source that cannot be read.

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
        frame: polars.DataFrame = library.DataFrame(source)
    except (Error, ImportError):
        raise
    except Exception as error:  # each library raises its own classes
        if hasattr(source, "itertuples"):  # pandas, with a column of several types
            return _of_rows(tables.pandas_rows(source))
        raise invalid("source", f"cannot be read as an Arrow stream: {error}") from error
    short = [name for name, each in frame.schema.items() if each == library.Float32]
    return frame.with_columns(library.col(short).cast(library.String).cast(library.Float64))


def _of_file(file: BinaryIO, name: str, options: ColumnMapping) -> tuple[polars.DataFrame, int]:
    library = require("polars", f"reading {name}", "analysis")
    with ExitStack() as closing:
        found = content(file, name, closing)
        format = format_of(found.head, found.name)
        if format == "json":
            return _of_rows(records(NamedFile(found.file, found.name))), 0
        path = name if file is found.file and Path(name).is_file() else None
        path = path or spool(found.file, closing).name
        table = table_file(format, path, found, options)
        with tables.refusing(library, found.name):
            frames = list(table.frames(_refuse))
            whole = library.concat(frames) if frames else library.DataFrame()
        return whole, table.lines()[1] - 1


def as_arrow(frame: polars.DataFrame) -> polars.DataFrame:
    """Returns a frame whose columns all libraries read.

    Columns of several types, and of none, are text; integers of 128 bits are decimals, or text if
    they have more than 38 digits.
    """
    library = require("polars", "a table of yours", "analysis")
    return frame.with_columns(
        _wide_integers(library, each)
        if each.dtype in (library.Int128, library.UInt128)
        else column_of(library, each.name, each.to_list()).cast(library.String)
        for each in frame
        if each.dtype in (library.Object, library.Null, library.Int128, library.UInt128)
    )


def _wide_integers(library: Any, column: polars.Series) -> polars.Series:
    decimals = column.cast(library.Decimal(38, 0), strict=False)
    is_exact = decimals.null_count() == column.null_count()
    return decimals if is_exact else column.cast(library.String)


def _of_rows(rows: Iterable[object]) -> polars.DataFrame:
    """Returns rows as a frame; a column of several types is text."""
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
        [column_of(library, *each) for each in columns.items()]
    )
    return frame


def column_of(library: Any, name: str, values: list[object]) -> polars.Series:
    """Returns values as a column of their type; as text if they are of several types."""
    try:
        column: polars.Series = library.Series(name, values, strict=True)
        if column.dtype != library.Object:
            return column
    except (TypeError, ValueError, OverflowError, library.exceptions.PolarsError):
        pass
    texts = [None if value is None else _text(value) for value in values]
    return cast("polars.Series", library.Series(name, texts, dtype=library.String))


def _text(value: object) -> str:
    return value if isinstance(value, str) else text_of(value)


def _refuse(_row: int, why: str) -> None:
    raise invalid("source", why)
