"""The XML of a sheet of an Excel file (ECMA-376), and where its cells are."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from io import BytesIO
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import IO, NamedTuple
from xml.etree import ElementTree
from zipfile import ZIP_DEFLATED, ZipFile

from comptroller.bulk.number_formats import NumberFormat, number_format
from comptroller.errors import invalid

# A cell in another spelling than the usual one: its place, then other attributes of cells. And a
# cell beyond the columns A to Z or row 99,999.
_UNUSUAL = re.compile(
    rb"""<c(?! r="[A-Z]{1,9}[0-9]{1,9}"(?: (?:s|t|cm|vm|ph)="[^"<>]*")*\s?/?>)[\s/>]|:c[\s/>]"""
)
_FAR = re.compile(rb'<c r="(?:[A-Z]{2}|[A-Z][0-9]{6})')
_USUAL_CELL = re.compile(rb'<c r="([A-Z]+)([0-9]+)"[^<>]*>')
# A cell with an error up to the text of the error: the cell, its formula if it has one, its value.
_ERROR_CELL = re.compile(
    rb"""(<(?:\w+:)?c\s[^<>]*\bt=["']e["'][^<>]*>\s*"""
    rb"""(?:<(?:\w+:)?f\b[^<>]*>(?:[^<>]*</(?:\w+:)?f>)?\s*)?"""
    rb"""<(?:\w+:)?v\b[^<>]*>)[^<>]*"""
)
_PLACE = re.compile("([A-Za-z]{1,9})([0-9]{1,9})")
_ROW = re.compile("[0-9]{1,9}")
# Reading a sheet needs memory for each place from A1 to the last cell.
_MOST_PLACES = 20_000_000
_PLACES_FOR_A_CELL = 50
_SLASH = ord("/")
_SHARED = "xl/sharedStrings.xml"
# Characters that XML has not, in the form of ECMA-376, 22.9.2.19; without surrogates.
_ESCAPE = re.compile("_x((?![Dd][89A-Fa-f])[0-9A-Fa-f]{4})_")
NONCHARACTER_ESCAPE = re.compile(rb"_x[Ff]{3}[EeFf]_")
_NONCHARACTERS = ("\ufffe", "\uffff")
_OF_CONTENT = ("v", "f", "is")


class SheetXml(NamedTuple):
    """The XML of a sheet, and what of the workbook its cells depend on.

    Attributes:
        part: the name of its file in the archive.
        data: the XML.
        is_calculated: whether formulas have their values. A program that does not calculate
            writes 0 as the value of each.
        formats: those of the styles of cells that show something else than a value.
        noncharacter_texts: by their number, the shared texts with U+FFFE or U+FFFF, which
            python-calamine does not decode.
    """

    part: str
    data: bytes
    is_calculated: bool
    formats: dict[str, NumberFormat]
    noncharacter_texts: dict[str, str]


def read_xml(path: str, sheet: str) -> SheetXml:
    """Returns the XML of a sheet.

    Raises ParseError if two files, or two sheets, have one name: python-calamine might read the
    other one. And for UTF-16, in which it would find no rows.
    """
    with ZipFile(path) as archive:
        _require_distinct("files", map(_normal_name, archive.namelist()))
        workbook = ElementTree.fromstring(archive.read("xl/workbook.xml"))
        settings = workbook.find("{*}calcPr")
        is_calculated = settings is None or settings.get("fullCalcOnLoad") not in ("1", "true")
        part = _part(archive, workbook, sheet)
        data = archive.read(part)
        if b"\0" in data[:4]:
            raise ElementTree.ParseError("the sheet is not UTF-8")
        return SheetXml(
            part, data, is_calculated, _formats_of_styles(archive), _noncharacter_texts(archive)
        )


@contextmanager
def with_known_errors(path: str, xml: SheetXml) -> Iterator[IO[bytes]]:
    """Yields a copy of a workbook in which each error of a sheet is one that all programs know.

    python-calamine reads no sheet with a newer one, such as #SPILL!.
    """
    known = _ERROR_CELL.sub(rb"\1#VALUE!", xml.data)
    with TemporaryFile() as copy:
        with ZipFile(path) as old, ZipFile(copy, "w", ZIP_DEFLATED, compresslevel=1) as new:
            for name in old.namelist():
                with old.open(name) as content, new.open(name, "w", force_zip64=True) as file:
                    copyfileobj(BytesIO(known) if name == xml.part else content, file)
        copy.seek(0)
        yield copy


def _normal_name(name: str) -> str:
    """Returns the name of a file in an archive as a reader may compare it."""
    return name.replace("\\", "/").lstrip("/").lower()


def _require_distinct(what: str, names: Iterable[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise ElementTree.ParseError(f"{count} {what} have the name {name!r}")


def require_near(xml: SheetXml, name: str, sheet: str) -> None:
    """Raises InvalidRequest for a sheet with a few cells in a very large area.

    A file of some kilobytes could otherwise need more memory than there is. Raises ParseError for
    a sheet that is not well-formed XML, if its cells are in another spelling than the usual one.
    """
    is_usual = _UNUSUAL.search(xml.data) is None
    if is_usual and _FAR.search(xml.data) is None:
        return
    area = _usual_area(xml.data) if is_usual else _any_area(xml.data)
    if area.height * area.width > max(_MOST_PLACES, area.cells * _PLACES_FOR_A_CELL):
        raise invalid(
            "source",
            f"{name} cannot be read: the sheet {sheet!r} has {area.cells:,} cells in "
            f"{area.height:,} rows and {area.width:,} columns; delete those that are far from the "
            "table",
        )


class _Area:
    """The last row and column that have a cell with content, and how many there are.

    The target of a parser of XML: quotes, prefixes and spaces are those of XML.
    """

    def __init__(self) -> None:
        self.height = self.width = self.cells = 0
        self._row = self._column = 0
        self._is_in_cell = False

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition("}")[2]
        if name == "c":
            self._begin_cell(attributes.get("r"))
        elif name == "row":
            number = attributes.get("r")
            if number is not None and _ROW.fullmatch(number) is None:
                raise ElementTree.ParseError(f"a row has the number {number[:20]!r}")
            self._row, self._column = self._row + 1 if number is None else int(number), 0
        elif self._is_in_cell and name in _OF_CONTENT:
            self.add(self._row, self._column)
        self._is_in_cell = name == "c"

    def add(self, row: int, column: int) -> None:
        """Adds a cell with content."""
        self.cells += 1
        self.height, self.width = max(self.height, row), max(self.width, column)

    def _begin_cell(self, place: str | None) -> None:
        if place is None:
            self._column += 1
            return
        found = _PLACE.fullmatch(place)
        if found is None:
            raise ElementTree.ParseError(f"a cell has the place {place[:20]!r}")
        self._row, self._column = int(found[2]), column_of(found[1]) + 1


def _usual_area(data: bytes) -> _Area:
    """Returns the area of a sheet whose cells are in the usual spelling, in less time."""
    area = _Area()
    for found in _USUAL_CELL.finditer(data):
        if data[found.end() - 2] != _SLASH:
            area.add(int(found[2]), _column(found[1]))
    return area


def _any_area(data: bytes) -> _Area:
    area = _Area()
    parser = ElementTree.XMLParser(target=area)
    parser.feed(data)
    parser.close()
    return area


def formatted_cells(xml: SheetXml) -> Iterator[tuple[int, int, NumberFormat]] | None:
    """Yields the row and column, from 0, of the cells that have one of the formats.

    None for an unusual spelling.
    """
    if not xml.formats:
        return iter(())
    if _UNUSUAL.search(xml.data) is not None:
        return None
    formats = {style.encode(): each for style, each in xml.formats.items()}
    styles = b"|".join(map(re.escape, formats))
    cell = re.compile(rb'<c r="([A-Z]+)([0-9]+)"[^<>]* s="(%s)"' % styles)
    return (
        (int(each[2]) - 1, _column(each[1]) - 1, formats[each[3]])
        for each in cell.finditer(xml.data)
    )


@lru_cache(1 << 15)
def _column(letters: bytes) -> int:
    return column_of(letters.decode()) + 1


def column_of(letters: str) -> int:
    """Returns the number of a column, from 0."""
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1


def _formats_of_styles(archive: ZipFile) -> dict[str, NumberFormat]:
    """Returns the formats of the styles of cells that show something else than a value."""
    if "xl/styles.xml" not in archive.namelist():
        return {}
    styles = ElementTree.fromstring(archive.read("xl/styles.xml"))
    codes = {
        each.get("numFmtId"): each.get("formatCode", "")
        for each in styles.iterfind("{*}numFmts/{*}numFmt")
    }
    numbers = [each.get("numFmtId") for each in styles.iterfind("{*}cellXfs/{*}xf")]
    formats = {each: number_format(each, codes.get(each, "")) for each in {*numbers}}
    found = {str(style): formats[each] for style, each in enumerate(numbers)}
    return {style: each for style, each in found.items() if each != NumberFormat()}


def decode(text: str) -> str:
    """Returns a text of the XML with the characters that XML lacks, such as _xFFFE_."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)


def _noncharacter_texts(archive: ZipFile) -> dict[str, str]:
    """Returns the shared texts with U+FFFE or U+FFFF by their number."""
    if _SHARED not in archive.namelist() or not _has_noncharacter_escape(archive):
        return {}
    texts: dict[str, str] = {}
    number = 0
    with archive.open(_SHARED) as file:
        for _, item in ElementTree.iterparse(file):
            if not item.tag.endswith("}si"):
                continue
            # Without the pronunciation, in elements rPh.
            parts = [*item.iterfind("{*}t"), *item.iterfind("{*}r/{*}t")]
            text = decode("".join(each.text or "" for each in parts))
            if any(character in text for character in _NONCHARACTERS):
                texts[str(number)] = text
            number += 1
            item.clear()
    return texts


def _has_noncharacter_escape(archive: ZipFile) -> bool:
    last = b""
    with archive.open(_SHARED) as file:
        while part := file.read(1 << 20):
            if NONCHARACTER_ESCAPE.search(last + part):
                return True
            last = part[-len(b"_xFFFE_") :]
    return False


def _part(archive: ZipFile, workbook: ElementTree.Element, sheet: str) -> str:
    """Returns the name of the file within the archive that has a sheet."""
    found = workbook.findall(".//{*}sheet")
    _require_distinct("sheets", (each.get("name", "") for each in found))
    sheets = {each.get("name"): each for each in found}
    keys = [value for name, value in sheets[sheet].items() if name.endswith("}id")]
    relations = ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))
    targets = {each.get("Id"): each.get("Target", "") for each in relations.iter()}
    return posixpath.normpath(posixpath.join("/xl", targets[keys[0]])).lstrip("/")
