"""Files as rows: CSV, Parquet and Excel, read by polars and fastexcel, and JSON."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TypeAlias

from comptroller.bulk.compression import Content, Resumed
from comptroller.bulk.mapping import ColumnMapping
from comptroller.errors import invalid, require
from comptroller.values import AMOUNTS

if TYPE_CHECKING:
    import polars

Format: TypeAlias = Literal["json", "csv", "parquet", "xlsx"]

#: The suffixes of the files that a load reads, and the formats that they promise.
FORMATS: dict[str, Format] = {
    ".ndjson": "json",
    ".jsonl": "json",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".xlsx": "xlsx",
}

_SEPARATORS = ",;\t|"


def format_of(head: bytes, name: str) -> Format:
    """Returns the format of a file by its first bytes, then by the suffix of its name.

    Raises InvalidRequest if the suffix promises a binary format that the bytes are not.
    """
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "xlsx"
    suffix = PurePath(name).suffix.lower()
    promised = FORMATS.get(suffix)
    if promised in ("parquet", "xlsx") and head:
        raise invalid("source", f"{name} cannot be read: it is not a file of the format {suffix}")
    return promised or ("csv" if _is_table(head) else "json")


def separator_of(head: bytes) -> str:
    """Returns the separator that appears most often in the first line, outside of quotes."""
    line = head.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n").partition(b"\n")[0]
    plain = b"".join(line.split(b'"')[::2]).decode(errors="replace")
    return max(_SEPARATORS, key=plain.count)


def frames_of(
    format: Format, path: str, found: Content, options: ColumnMapping
) -> Iterator[polars.DataFrame]:
    """Yields the rows of a table in batches.

    Args:
        format: the format, which is not JSON.
        path: a file that has the content.
        found: the content, for its name and first bytes.
        options: the separator and the sheet, and what is refused in a sheet with a decimal comma.
    """
    if format == "parquet":
        yield from parquet_frames(path, found.name)
    elif format == "xlsx":
        frame = sheet_frame(path, found.name, options.sheet)
        if options.decimal == ",":
            amounts = [name for name in frame.columns if options.rename.get(name, name) in AMOUNTS]
            refuse_ambiguous(frame, amounts)
        yield frame
    else:
        yield from csv_frames(path, found.name, options.separator or separator_of(found.head))


def csv_frames(path: str, name: str, separator: str) -> Iterator[polars.DataFrame]:
    """Yields the rows of a CSV file in batches, with every column as text.

    An empty cell is null; two quotes are an empty text. The only batch of a file without rows has
    the columns.
    """
    library = require("polars", f"reading {name}", "analysis")
    _require_lines(path, name)
    with refusing(library, name):
        rows = library.scan_csv(path, separator=separator, infer_schema=False, glob=False)
        _require_single(rows.collect_schema().names(), name)
        yield from _batches(rows)


def _batches(rows: polars.LazyFrame) -> Iterator[polars.DataFrame]:
    """Yields the rows in batches; one that is empty if there are none."""
    is_empty = True
    for frame in rows.collect_batches():
        is_empty = False
        yield frame
    if is_empty:
        yield rows.collect()


def _require_lines(path: str, name: str) -> None:
    """Raises InvalidRequest for a file whose lines end with CR alone, which would be one line."""
    with Path(path).open("rb") as file:
        head = file.read(1 << 20)
    if b"\r" in head and b"\n" not in head:
        raise invalid(
            "source",
            f"{name} cannot be read: its lines end with CR; convert them, for example with "
            "tr '\\r' '\\n'",
        )


def _require_single(columns: list[str], name: str) -> None:
    """Raises InvalidRequest for a column that appears more than once, which polars renames."""
    for column in columns:
        first, is_renamed, number = column.rpartition("_duplicated_")
        if is_renamed and number.isdigit() and first in columns:
            raise invalid("source", f"{name} has the column {first!r} more than once; rename one")


def parquet_frames(path: str, name: str) -> Iterator[polars.DataFrame]:
    """Yields the rows of a Parquet file in batches."""
    library = require("polars", f"reading {name}", "analysis")
    with refusing(library, name):
        yield from _batches(library.scan_parquet(path, glob=False, hive_partitioning=False))


def sheet_frame(path: str, name: str, sheet: str | None) -> polars.DataFrame:
    """Returns the rows of a sheet of an Excel file, also empty ones.

    Raises InvalidRequest if no sheet is named and several have rows.
    """
    frames = require("polars", f"reading {name}", "analysis")
    library = require("fastexcel", f"reading {name}", "analysis")
    # It warns of each column without values, which without a handler is printed.
    logging.getLogger("fastexcel.types.dtype").setLevel(logging.ERROR)
    try:
        workbook = library.read_excel(path)
        names: list[str] = workbook.sheet_names
        if sheet is not None and sheet not in names:
            raise invalid("sheet", f"{name} has no sheet {sheet!r}; it has {', '.join(names)}")
        sheets = [_sheet(workbook, each) for each in ([sheet] if sheet else names)]
    except library.FastExcelError as error:
        raise invalid("source", f"{name} cannot be read: {_first_line(error)}") from error
    filled = [each for each in sheets if each.height]
    if len(filled) > 1:
        several = f"{len(filled)} sheets with rows"
        raise invalid("sheet", f"{name} has {several}; name one of {', '.join(names)}")
    with_header = [each for each in sheets if each.width] or [frames.DataFrame()]
    return (filled or with_header)[0]


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


def json_rows(file: BinaryIO) -> Iterator[object]:
    """Yields the records of NDJSON, of JSON objects, of arrays and of saved list responses.

    A line of NDJSON that is not JSON is returned as it is, which the load rejects. Numbers with a
    fraction are Decimals.
    """
    lines = io.BufferedReader(Resumed(b"", file))
    first = next((line for line in lines if line.strip()), b"").removeprefix(b"\xef\xbb\xbf")
    record = _parsed(first)
    if isinstance(record, dict) and not _ANSWERS & record.keys():
        yield record
        yield from map(_parsed, lines)
    else:
        yield from _documents((first + lines.read()).decode())


_ANSWERS = frozenset({"items", "orchestrations"})


def _parsed(line: bytes) -> object:
    try:
        return json.loads(line, parse_float=Decimal) if line.strip() else None
    except ValueError:
        return line


def _documents(text: str) -> Iterator[object]:
    decoder = json.JSONDecoder(parse_float=Decimal)
    begin = 0
    while begin < len(text):
        try:
            document, end = decoder.raw_decode(text, begin)
        except ValueError as error:
            raise invalid("source", f"the JSON cannot be read: {error}") from error
        yield from _records(document)
        found = _NOT_SPACE.search(text, end)
        begin = found.start() if found else len(text)


_NOT_SPACE = re.compile(r"\S")


def _records(document: object) -> Iterator[object]:
    if isinstance(document, list):
        for each in document:
            yield from _records(each)
    elif isinstance(document, dict) and _ANSWERS & document.keys():
        for name in _ANSWERS & document.keys():
            yield from document[name]
    else:
        yield document


def _sheet(workbook: Any, sheet: str) -> polars.DataFrame:
    """Returns a sheet as a frame."""
    # The types of the columns follow from all rows; by default from the first thousand.
    loaded = workbook.load_sheet(sheet, schema_sample_rows=None)
    frame: polars.DataFrame = loaded.to_polars()
    if frame.height:
        _refuse_shortened(workbook, sheet, frame)
    return frame


def _refuse_shortened(workbook: Any, sheet: str, frame: polars.DataFrame) -> None:
    """Raises InvalidRequest for a number that lost digits as the text of a mixed column.

    fastexcel writes the numbers of a column that also has texts with nine decimals.
    """
    library = require("polars", "reading a sheet", "analysis")
    parsed = frame.select(library.col(library.String).cast(library.Float64, strict=False))
    mixed = [column.name for column in parsed if column.null_count() < len(column)]
    if not mixed:
        return
    numbers = workbook.load_sheet(
        sheet,
        schema_sample_rows=None,
        use_columns=mixed,
        dtypes=dict.fromkeys(mixed, "float"),
        dtype_coercion="coerce",
    ).to_polars()
    for name in mixed:
        _refuse_cell(
            numbers[name],
            (numbers[name] != parsed[name]).fill_null(False),
            "is a number in a column of texts and would lose digits; format the whole column as "
            "text or as numbers",
        )


def _refuse_cell(column: polars.Series, is_refused: polars.Series, why: str) -> None:
    """Raises InvalidRequest for the first refused cell of a sheet; row 1 is the header."""
    row = is_refused.arg_max()
    if row is not None and is_refused[row]:
        raise invalid("source", f"column {column.name!r}, row {row + 2}: {column[row]} {why}")


def refuse_ambiguous(frame: polars.DataFrame, amounts: Iterable[str]) -> None:
    """Raises InvalidRequest for texts of a sheet such as 12.345, with a decimal comma.

    In a column of numbers and texts, such a cell may be the number, or have a mark of thousands.
    """
    for name in amounts:
        if name not in frame.columns or str(frame[name].dtype) != "String":
            continue
        _refuse_cell(
            frame[name],
            frame[name].str.contains(r"^-?\d{1,3}\.\d{3}$").fill_null(False),
            "may be a number, or have a mark of thousands; format the whole column as numbers, or "
            "as texts with a comma",
        )


def _is_table(head: bytes) -> bool:
    """Whether text without a suffix is a table: not JSON, with a separator in its first line."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    line = text.partition(b"\n")[0]
    try:
        shown = line.decode()
    except UnicodeDecodeError:
        return False
    return text[:1] not in (b"{", b"[") and any(each in shown for each in _SEPARATORS)


@contextmanager
def refusing(library: Any, name: str) -> Iterator[None]:
    """Raises InvalidRequest for an error of polars."""
    try:
        yield
    except (library.exceptions.PolarsError, OSError) as error:
        why = _first_line(error)
        advice = next((advice for part, advice in _ADVICE.items() if part in why), "")
        raise invalid("source", f"{name} cannot be read: {why}{advice}") from error


_ADVICE = {
    "invalid utf-8": "; convert it to UTF-8, for example with iconv -f WINDOWS-1252 -t UTF-8",
    "more fields": "; a row has more cells than the first row, which must be the header: delete "
    "rows above the header, and quote cells that contain the separator",
}


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
