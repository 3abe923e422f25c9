"""The XML of a sheet of an Excel file (ECMA-376), and where its cells are."""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache
from typing import NamedTuple
from xml.etree import ElementTree
from zipfile import ZipFile

from comptroller.errors import invalid

_ZEROS = re.compile("00+")
# A cell in another spelling than the usual one, and one beyond the columns A to Z or row 99,999.
_UNUSUAL = re.compile(rb'<c(?! r="[A-Z])[\s/>]|:c[\s/>]')
_FAR = re.compile(rb'<c r="(?:[A-Z]{2}|[A-Z][0-9]{6})')
# A row or a cell, and its place; first only a cell in the usual spelling, which is faster.
_USUAL_CELL = re.compile(rb'<(?:(row)|c) r="([A-Z]+)([0-9]+)"[^<>]*>')
_ROW_OR_CELL = re.compile(
    rb"""<(?:\w+:)?(?:(row)|c)(?=[\s/>])(?:[^<>]*?\sr\s*=\s*["']([A-Za-z]*)([0-9]+)["'])?[^<>]*>"""
)
# Reading a sheet needs memory for each place from A1 to the last cell.
_MOST_PLACES = 20_000_000
_PLACES_FOR_A_CELL = 50
_SLASH = ord("/")


class SheetXml(NamedTuple):
    """The XML of a sheet, and what of the workbook its cells depend on.

    Attributes:
        data: the XML.
        is_calculated: whether formulas have their values. A program that does not calculate
            writes 0 as the value of each.
        digits: how many digits at least the cells of a style show, if more than one.
    """

    data: bytes
    is_calculated: bool
    digits: dict[str, int]


def read_xml(path: str, sheet: str) -> SheetXml:
    """Returns the XML of a sheet."""
    with ZipFile(path) as archive:
        workbook = ElementTree.fromstring(archive.read("xl/workbook.xml"))
        settings = workbook.find("{*}calcPr")
        is_calculated = settings is None or settings.get("fullCalcOnLoad") not in ("1", "true")
        data = archive.read(_part(archive, workbook, sheet))
        return SheetXml(data, is_calculated, _digits_of_styles(archive))


def require_near(xml: SheetXml, name: str, sheet: str) -> None:
    """Raises InvalidRequest for a sheet with a few cells in a very large area.

    A file of some kilobytes could otherwise need more memory than there is.
    """
    is_usual = _UNUSUAL.search(xml.data) is None
    if is_usual and _FAR.search(xml.data) is None:
        return
    height, width, cells = _area(xml.data, _USUAL_CELL if is_usual else _ROW_OR_CELL)
    if height * width > max(_MOST_PLACES, cells * _PLACES_FOR_A_CELL):
        raise invalid(
            "source",
            f"{name} cannot be read: the sheet {sheet!r} has {cells:,} cells in {height:,} rows "
            f"and {width:,} columns; delete those that are far from the table",
        )


def _area(data: bytes, row_or_cell: re.Pattern[bytes]) -> tuple[int, int, int]:
    """Returns the last row and column that have a cell with content, and how many there are."""
    height, width, cells = 0, 0, 0
    row, column = 0, 0
    for found in row_or_cell.finditer(data):
        is_row, letters, number = found.groups()
        if is_row:
            row, column = int(number) if number else row + 1, 0
            continue
        column = _column(letters) if letters else column + 1
        row = int(number) if letters else row
        if data[found.end() - 2] != _SLASH:
            cells += 1
            height, width = max(height, row), max(width, column)
    return height, width, cells


@lru_cache(1 << 15)
def _column(letters: bytes) -> int:
    return column_of(letters.decode()) + 1


def column_of(letters: str) -> int:
    """Returns the number of a column, from 0."""
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1


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
