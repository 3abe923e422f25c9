"""Sheets of Excel files as frames, with the type of each cell, read by python-calamine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree.ElementTree import ParseError

from comptroller.bulk.cell_texts import text_of
from comptroller.bulk.number_formats import NumberFormat
from comptroller.bulk.sheet_xml import read_xml, require_near, with_known_errors
from comptroller.bulk.unread_cells import (
    ShownNumber,
    UnreadCell,
    covered,
    formatted,
    merged,
    shown_cells,
)
from comptroller.errors import invalid, require

if TYPE_CHECKING:
    import polars

_UNKNOWN_ERROR = "Unsupported cell error value"  # in the message of python-calamine


class Sheet(NamedTuple):
    """The rows of a sheet below its header, and how many rows of the sheet are before them."""

    frame: polars.DataFrame
    rows_before: int


def read_sheet(
    path: str, name: str, sheet: str | None, is_text: Callable[[str], bool] = lambda _column: True
) -> Sheet:
    """Returns the rows of a sheet of an Excel file, also empty ones.

    A column of cells of several types has the cells as objects. Errors, formulas without a value
    and cells that another one covers are `UnreadCell`. In the columns that `is_text`, a number is
    the text that its format shows. Raises InvalidRequest if no sheet is named and several have
    rows.
    """
    frames = require("polars", f"reading {name}", "analysis")
    library = require("python_calamine", f"reading {name}", "analysis")
    try:
        workbook = library.load_workbook(path)
        names: list[str] = workbook.sheet_names
        if sheet is not None and sheet not in names:
            raise invalid("sheet", f"{name} has no sheet {sheet!r}; it has {', '.join(names)}")
        read = [sheet] if sheet is not None else names
        rows = [_rows(path, name, library, workbook, each) for each in read]
    except (
        library.CalamineError,
        library.XmlError,
        library.ZipError,
        ParseError,
        LookupError,
        OSError,
    ) as error:
        raise invalid("source", f"{name} cannot be read: {error}") from error
    filled = [each for each in rows if len(each) > 1] or rows[:1]
    if len(filled) > 1:
        several = f"{len(filled)} sheets with rows"
        raise invalid("sheet", f"{name} has {several}; name one of {', '.join(names)}")
    return _sheet(frames, name, filled[0] if filled else [], is_text)


def _rows(path: str, name: str, library: Any, workbook: Any, sheet: str) -> list[list[object]]:
    """Returns the rows of a sheet from its first; a sheet that only has a chart has none."""
    xml = read_xml(path, sheet)
    require_near(xml, name, sheet)
    try:
        found = workbook.get_sheet_by_name(sheet)
    except library.CalamineError as error:
        if _UNKNOWN_ERROR not in str(error):
            raise
        with with_known_errors(path, xml) as copy:
            found = library.load_workbook(copy).get_sheet_by_name(sheet)
    rows: list[list[object]] = found.to_python(skip_empty_area=False) if found.height else []
    if not rows:
        return rows
    for row, column, cell in shown_cells(xml):
        if isinstance(cell, NumberFormat):
            if row < len(rows) and column < len(rows[row]):
                rows[row][column] = formatted(rows[row][column], cell)
            continue
        rows.extend([""] * len(rows[0]) for _ in range(len(rows), row + 1))
        if column < len(rows[row]):
            rows[row][column] = cell
    ranges = found.merged_cell_ranges or ()
    for row, column, (top, left) in merged(ranges, len(rows), len(rows[0])):
        if rows[top][left] != "":
            rows[row][column] = covered(text_of(rows[top][left]))
    return rows


def _sheet(
    library: Any, name: str, rows: list[list[object]], is_text: Callable[[str], bool]
) -> Sheet:
    header = next((place for place, row in enumerate(rows) if any(cell != "" for cell in row)), 0)
    if not rows:
        return Sheet(library.DataFrame(), 1)
    titles = [_title(cell) for cell in rows[header]]
    cells = rows[header + 1 :]
    columns: dict[str, Any] = {}
    for place, title in enumerate(titles):
        values = [_value(row[place]) for row in cells]
        if title is None:
            if all(value is None for value in values):
                continue
            title = f"column {place + 1}"
        if title in columns:
            raise invalid("source", f"{name} has the column {title!r} more than once; rename one")
        if ShownNumber in set(map(type, values)):
            values = _as_shown(values) if is_text(title) else _as_numbers(values)
        columns[title] = _column(library, title, values)
    return Sheet(library.DataFrame([*columns.values()]), header + 1)


def _title(cell: object) -> str | None:
    cell = cell.shown if isinstance(cell, ShownNumber) else cell
    value = None if isinstance(cell, UnreadCell) else _value(cell)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return None if value is None else str(value).strip()


def _as_shown(values: Iterable[object]) -> list[object]:
    return [each.shown if isinstance(each, ShownNumber) else each for each in values]


def _as_numbers(values: Iterable[object]) -> list[object]:
    return [each.number if isinstance(each, ShownNumber) else each for each in values]


def _value(cell: object) -> object:
    """Returns the value of a cell; None if it is empty."""
    return None if isinstance(cell, str) and cell == "" else cell


def _column(library: Any, name: str, values: Sequence[object]) -> Any:
    types = {type(value) for value in values} - {type(None)}
    dtypes = {
        str: library.String,
        float: library.Float64,
        int: library.Int64,
        bool: library.Boolean,
        date: library.Date,
        datetime: library.Datetime("us"),
        time: library.Time,
        timedelta: library.Duration("us"),
    }
    dtype = dtypes.get(types.pop()) if len(types) == 1 else library.Null if not types else None
    return library.Series(name, values, dtype=library.Object if dtype is None else dtype)
