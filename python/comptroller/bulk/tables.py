"""Parquet files and frames as rows, and the errors of polars."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from glob import escape
from typing import TYPE_CHECKING, Any

from comptroller.errors import invalid, require

if TYPE_CHECKING:
    import polars


def parquet_frames(path: str, name: str) -> Iterator[polars.DataFrame]:
    """Yields the rows of a Parquet file in batches."""
    library = require("polars", f"reading {name}", "analysis")
    with refusing(library, name):
        rows = library.scan_parquet(path, glob=False, hive_partitioning=False)
        yield from batches(rows.with_columns(_uuids(library, path, rows.collect_schema())))


def _uuids(library: Any, path: str, schema: polars.Schema) -> list[polars.Expr]:
    """Returns the columns of UUIDs as text, which polars reads as bytes."""
    if library.Binary not in schema.values():
        return []
    duckdb = require("duckdb", "reading columns of bytes", "analysis")
    with duckdb.connect() as engine:
        found = engine.execute(
            "SELECT name FROM parquet_schema(?) WHERE logical_type = 'UUIDType()'", [escape(path)]
        ).fetchall()
    return [
        library.col(name).bin.encode("hex").str.replace(_HEX_OF_UUID, "$1-$2-$3-$4-$5")
        for (name,) in found
        if schema.get(name) == library.Binary
    ]


_HEX_OF_UUID = "^(.{8})(.{4})(.{4})(.{4})(.{12})$"


def batches(rows: polars.LazyFrame) -> Iterator[polars.DataFrame]:
    """Yields the rows in batches; one that is empty if there are none."""
    is_empty = True
    for frame in rows.collect_batches(maintain_order=True, chunk_size=50_000):
        is_empty = False
        yield frame
    if is_empty:
        yield rows.collect()


def rows_of(frames: Iterable[polars.DataFrame]) -> Iterator[dict[str, object]]:
    """Yields the rows of frames; floats of 32 bits as the shortest decimals that they have."""
    library = require("polars", "a mapping", "analysis")
    for frame in frames:
        short = [name for name, each in frame.schema.items() if each == library.Float32]
        exact = frame.with_columns(library.col(short).cast(library.String).cast(library.Float64))
        yield from exact.iter_rows(named=True)


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
    except (library.exceptions.PolarsError, OSError, UnicodeError) as error:
        why = "invalid utf-8" if isinstance(error, UnicodeError) else first_line(error)
        advice = next((advice for part, advice in _ADVICE.items() if part in why), "")
        raise invalid("source", f"{name} cannot be read: {why}{advice}") from error


_ADVICE = {
    "invalid utf-8": "; convert it to UTF-8, for example with iconv -f WINDOWS-1252 -t UTF-8",
    "precision must be": "; write its decimals as decimal(38, 18) or as text",
}


def first_line(error: Exception) -> str:
    """Returns the first line of an error's message."""
    return str(error).strip().partition("\n")[0]
