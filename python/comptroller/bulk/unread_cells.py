"""Cells of Excel files that show something else than their value.

Errors, formulas without a value, merged cells, numbers with leading zeros, times at midnight, and
rare characters.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime, time
from typing import NamedTuple
from xml.etree import ElementTree

from comptroller.bulk.number_formats import NumberFormat
from comptroller.bulk.sheet_xml import (
    NONCHARACTER_ESCAPE,
    SheetXml,
    column_of,
    decode,
    formatted_cells,
)

_MAY_BE_UNREAD = re.compile(rb"""<(\w+:)?f[\s/>]|\st=["']e["']""")
_PLACE = re.compile(r"([A-Z]+)([0-9]+)")


_SEPARATED = (
    "is shown with zeros and other characters by its number format; write it as text, or format "
    "the cell as 0"
)


class UnreadCell(NamedTuple):
    """A cell whose value is not known; a load refuses it as the value of a member.

    Attributes:
        text: what the sheet shows, or the formula.
        why: why it has no value, and what to do.
    """

    text: str
    why: str

    def __str__(self) -> str:
        """Returns what the sheet shows."""
        return self.text


class ShownNumber(NamedTuple):
    """A number that its format shows as another text.

    Attributes:
        number: its value.
        shown: what the cell shows, which is the value of a member whose values are texts.
    """

    number: float
    shown: str | UnreadCell

    def __str__(self) -> str:
        """Returns what the sheet shows."""
        return str(self.shown)


def formatted(cell: object, cell_format: NumberFormat) -> object:
    """Returns the value of a cell with a format, which python-calamine read without it."""
    if cell_format.has_clock:  # a day is its midnight
        return datetime.combine(cell, time()) if type(cell) is date else cell
    shown = cell_format.padded(cell) if isinstance(cell, float) else None
    if not isinstance(cell, float) or shown is None:
        return cell
    is_read = not cell_format.is_separated
    return ShownNumber(cell, shown if is_read else UnreadCell(str(int(cell)), _SEPARATED))


def shown_cells(xml: SheetXml) -> Iterator[tuple[int, int, UnreadCell | str | NumberFormat]]:
    """Yields errors, formulas without a value, and texts with U+FFFE or U+FFFF.

    And before these, the formats of cells whose numbers they show otherwise; also those of cells
    that have no number. Each with its row and column. Rows and columns begin with 0.
    """
    of_formats = formatted_cells(xml)
    yield from of_formats or ()
    if (
        not xml.noncharacter_texts
        and of_formats is not None
        and _MAY_BE_UNREAD.search(xml.data) is None
        and NONCHARACTER_ESCAPE.search(xml.data) is None
    ):
        return
    for _, cell in ElementTree.iterparse(io.BytesIO(xml.data)):
        if not cell.tag.endswith("}c"):
            if cell.tag.endswith("}row"):
                cell.clear()
            continue
        place = _PLACE.fullmatch(cell.get("r", ""))
        value = cell.findtext("{*}v") or ""
        formula = cell.find("{*}f")
        found: UnreadCell | str | NumberFormat | None = None
        if cell.get("t") == "e" and (value or formula is not None):
            found = UnreadCell(value, "is an error in the spreadsheet; correct it or clear it")
        elif (
            formula is not None
            and cell.get("t") != "str"  # whose empty value is a text
            and (not value or (value == "0" and not xml.is_calculated))
        ):
            why = "is a formula that has no value; open the file in a spreadsheet and save it"
            found = UnreadCell(f"={formula.text or ''}", why)
        elif cell.get("t") == "s":
            found = xml.noncharacter_texts.get(value)
        elif cell.get("t") == "str":
            found = _noncharacter_text(value)
        elif cell.get("t") == "inlineStr":
            parts = [*cell.iterfind("{*}is/{*}t"), *cell.iterfind("{*}is/{*}r/{*}t")]
            found = _noncharacter_text("".join(each.text or "" for each in parts))
        elif of_formats is None:
            found = xml.formats.get(cell.get("s", ""))
        if found is not None and place is not None:
            yield int(place[2]) - 1, column_of(place[1]), found


def _noncharacter_text(text: str) -> str | None:
    return decode(text) if NONCHARACTER_ESCAPE.search(text.encode()) else None


def merged(
    ranges: Iterable[tuple[tuple[int, int], tuple[int, int]]], height: int, width: int
) -> Iterator[tuple[int, int, tuple[int, int]]]:
    """Yields the cells that are covered by another, and that one: row, column, row and column.

    Only those of the first `height` rows and `width` columns. Raises ParseError if there are more
    of them than cells, so that a small file with many large ranges does not take hours.
    """
    places = height * width
    for (top, left), (bottom, right) in ranges:
        rows = range(top, min(bottom + 1, height))
        columns = range(left, min(right + 1, width))
        places -= len(rows) * len(columns)
        if places < 0:
            raise ElementTree.ParseError("its merged cells overlap")
        for row in rows if columns else ():
            for column in columns:
                if (row, column) != (top, left):
                    yield row, column, (top, left)


def covered(text: str) -> UnreadCell:
    """Returns a cell that another one with this text covers."""
    why = "is merged with another cell, whose value may be meant; unmerge the cells"
    return UnreadCell(text, why)
