"""Cells of Excel files that show something else than their value.

Errors, formulas without a value, merged cells, and numbers with leading zeros.
"""

from __future__ import annotations

import io
import posixpath
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from xml.etree import ElementTree
from zipfile import ZipFile

_MAY_BE_UNREAD = re.compile(rb"""<(\w+:)?f[\s/>]|\st=["']e["']""")
_ZEROS = re.compile("00+")
_PLACE = re.compile(r"([A-Z]+)([0-9]+)")


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


def shown_cells(path: str, sheet: str) -> Iterator[tuple[int, int, UnreadCell | str]]:
    """Yields errors, formulas without a value, and numbers with leading zeros as text.

    Each with its row and column. Rows and columns begin with 0.
    """
    with ZipFile(path) as archive:
        workbook = ElementTree.fromstring(archive.read("xl/workbook.xml"))
        data = archive.read(_part(archive, workbook, sheet))
        digits = _digits_of_styles(archive)
    if _MAY_BE_UNREAD.search(data) is None and not digits:
        return
    settings = workbook.find("{*}calcPr")
    # Written by a program that does not calculate: 0 is the value of every formula.
    is_calculated = settings is None or settings.get("fullCalcOnLoad") not in ("1", "true")
    for _, cell in ElementTree.iterparse(io.BytesIO(data)):
        if not cell.tag.endswith("}c"):
            if cell.tag.endswith("}row"):
                cell.clear()
            continue
        place = _PLACE.fullmatch(cell.get("r", ""))
        value = cell.findtext("{*}v") or ""
        formula = cell.find("{*}f")
        found: UnreadCell | str | None = None
        if cell.get("t") == "e":
            found = UnreadCell(value, "is an error in the spreadsheet; correct it or clear it")
        elif (
            formula is not None
            and cell.get("t") != "str"  # whose empty value is a text
            and (not value or (value == "0" and not is_calculated))
        ):
            why = "is a formula that has no value; open the file in a spreadsheet and save it"
            found = UnreadCell(f"={formula.text or ''}", why)
        elif cell.get("t", "n") == "n" and cell.get("s") in digits and value.isdecimal():
            found = value.zfill(digits[cell.get("s", "")])
        if found is not None and place is not None:
            yield int(place[2]) - 1, _column(place[1]), found


def _digits_of_styles(archive: ZipFile) -> dict[str, int]:
    """Returns how many digits at least the cells of a style show, if more than one."""
    if "xl/styles.xml" not in archive.namelist():
        return {}
    styles = ElementTree.fromstring(archive.read("xl/styles.xml"))
    codes = {
        each.get("numFmtId"): each.get("formatCode", "")
        for each in styles.iterfind("{*}numFmts/{*}numFmt")
    }
    found = (codes.get(each.get("numFmtId"), "") for each in styles.iterfind("{*}cellXfs/{*}xf"))
    return {str(style): len(code) for style, code in enumerate(found) if _ZEROS.fullmatch(code)}


def _part(archive: ZipFile, workbook: ElementTree.Element, sheet: str) -> str:
    """Returns the name of the file within the archive that has a sheet."""
    sheets = {each.get("name"): each for each in workbook.iterfind(".//{*}sheet")}
    keys = [value for name, value in sheets[sheet].items() if name.endswith("}id")]
    relations = ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))
    targets = {each.get("Id"): each.get("Target", "") for each in relations.iter()}
    return posixpath.normpath(posixpath.join("/xl", targets[keys[0]])).lstrip("/")


def merged(
    ranges: Iterable[tuple[tuple[int, int], tuple[int, int]]],
) -> Iterator[tuple[int, int, tuple[int, int]]]:
    """Yields the cells that are covered by another, and that one: row, column, row and column."""
    for (top, left), (bottom, right) in ranges:
        for row in range(top, bottom + 1):
            for column in range(left, right + 1):
                if (row, column) != (top, left):
                    yield row, column, (top, left)


def covered(text: str) -> UnreadCell:
    """Returns a cell that another one with this text covers."""
    why = "is merged with another cell, whose value may be meant; unmerge the cells"
    return UnreadCell(text, why)


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1
