"""Files as others make them are loaded, or refused with what to do."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from comptroller import InvalidRequest, Service
from comptroller.bulk import csv_files
from examples import GROUP, accounted

pytest.importorskip("polars")
pytest.importorskip("python_calamine")
xlsxwriter = pytest.importorskip("xlsxwriter")

MADE_BY_OTHERS = Path(__file__).parent / "made_by_others"
HEADER = ["id", "payout_group_id", "claim_type", "onchain_status", "amount", "created_at"]
ROWS = [
    [id, GROUP, "CLAIM_ALL", "PENDING", amount, f"2026-03-0{day}T00:00:00Z"]
    for id, amount, day in (("a", "1.5", 1), ("b", "2.5", 2))
]


def csv(rows: list[list[str]], separator: str = ",") -> str:
    return "\n".join(separator.join(row) for row in rows) + "\n"


def workbook(fill: Callable[[Any], None]) -> bytes:
    out = io.BytesIO()
    with xlsxwriter.Workbook(out, {"in_memory": True}) as book:
        fill(book)
    return out.getvalue()


def rows_on(sheet: Any, first: int, rows: list[list[str]]) -> None:
    for number, row in enumerate(rows, start=first):
        sheet.write_row(number, 0, row)


def titled(book: Any) -> None:
    sheet = book.add_worksheet()
    sheet.write(0, 0, "Rewards of March 2026")
    rows_on(sheet, 2, [HEADER, *ROWS])


def on_two_sheets(book: Any) -> None:
    for name in ("Q1", "Q2"):
        rows_on(book.add_worksheet(name), 0, [HEADER, *ROWS])


def with_times(book: Any, *, is_formatted: bool) -> None:
    sheet = book.add_worksheet()
    format = book.add_format({"num_format": "dd.mm.yyyy hh:mm"}) if is_formatted else None
    rows_on(sheet, 0, [HEADER, *(row[:-1] for row in ROWS)])
    for number in (1, 2):
        if is_formatted:
            sheet.write_datetime(number, 5, datetime(2026, 3, number, 12), format)
        else:
            sheet.write_number(number, 5, 46082.5)


LAST_CELL = (1_048_575, 16_383)


def far(book: Any, *, has_content: bool) -> None:
    sheet = book.add_worksheet()
    rows_on(sheet, 0, [HEADER, *ROWS])
    sheet.write(*LAST_CELL, "x" if has_content else None, book.add_format({"bold": True}))


SHEET = "xl/worksheets/sheet1.xml"


def rewritten(book: bytes, name: str, change: Callable[[bytes], bytes]) -> bytes:
    """Returns a workbook in which one file has changed."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(book)) as old, zipfile.ZipFile(out, "w") as new:
        for each in old.namelist():
            content = old.read(each)
            new.writestr(each, change(content) if each == name else content)
    return out.getvalue()


def edited(book: bytes, *edits: tuple[str, str]) -> bytes:
    """Returns a workbook whose first sheet is edited by regular expressions."""

    def edit(content: bytes) -> bytes:
        text = content.decode()
        for pattern, by in edits:
            text = re.sub(pattern, by, text)
        return text.encode()

    return rewritten(book, SHEET, edit)


def with_file(book: bytes, name: str, content: bytes) -> bytes:
    """Returns a workbook with a further file."""
    out = io.BytesIO(book)
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr(name, content)
    return out.getvalue()


def with_sheet_twice(book: bytes) -> bytes:
    return rewritten(
        book, "xl/workbook.xml", lambda content: re.sub(rb"<sheet .*?/>", rb"\g<0>\g<0>", content)
    )


def in_utf_16(book: bytes) -> bytes:
    return rewritten(
        book, SHEET, lambda content: content.decode().replace("UTF-8", "UTF-16").encode("utf-16")
    )


FAR = workbook(lambda book: far(book, has_content=True))
FAR_STYLE = workbook(lambda book: far(book, has_content=False))
PREFIXED = r'<a-b:c xmlns:a-b="http://schemas.openxmlformats.org/spreadsheetml/2006/main" \1a-b:c>'
WIDE = '<mergeCell ref="H1:XFD1048576"/>'
MERGED = f"</sheetData><mergeCells>{WIDE}</mergeCells>"


def archive() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("a.csv", csv([HEADER, ROWS[0]]))
        file.writestr("b.csv", csv([HEADER, ROWS[1]]))
    return out.getvalue()


def zip_of(**files: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, content in files.items():
            file.writestr(name.replace("__", "/").replace("_", "."), content)
    return out.getvalue()


GERMAN = csv([HEADER, *([*row[:4], "1.234,50", "01.03.2026 12:00"] for row in ROWS)], ";")
NOTES = [[*HEADER, "error_message"], *([*row, '"two, ""quoted"""'] for row in ROWS)]
LOADED: dict[str, tuple[bytes, dict[str, Any]]] = {
    "german.csv": (GERMAN.encode(), {"decimal": ",", "tz": "Europe/Zurich"}),
    "mark.csv": (csv([HEADER, *ROWS]).encode("utf-8-sig"), {}),
    "quotes.csv": (csv(NOTES).encode(), {}),
    "commas.tsv": (
        csv([[*HEADER, "a,b,c,d,e,f,g,h"], *([*row, "x"] for row in ROWS)], "\t").encode(),
        {},
    ),
    "commas_alone.tsv": (csv([HEADER, *ROWS]).encode(), {}),
    "semicolons.txt": (csv([HEADER, *ROWS], ";").encode(), {}),
    "crlf.csv": (csv([HEADER, *ROWS]).replace("\n", "\r\n").encode(), {}),
    "sheets.xlsx": (workbook(on_two_sheets), {"sheet": "Q2"}),
    "dates.xlsx": (workbook(lambda book: with_times(book, is_formatted=True)), {"tz": "UTC"}),
    "far_style.xlsx": (FAR_STYLE, {}),
    "placeless.xlsx": (edited(FAR_STYLE, ('<c r="[A-Z0-9]+"', "<c")), {}),
    "far_error.xlsx": (
        edited(FAR_STYLE, ('<c r="XFD1048576"', '<c t="e" r="XFD1048576"')),
        {},
    ),
    "merged.xlsx": (edited(FAR_STYLE, ("</sheetData>", MERGED)), {}),
}
REFUSED: dict[str, tuple[bytes, str]] = {
    "cp1252.csv": (csv([HEADER, *ROWS, ["ü"] * 6]).encode("cp1252"), "iconv -f WINDOWS-1252"),
    "title.csv": (("Rewards\n\n" + csv([HEADER, *ROWS])).encode(), "delete rows above the header"),
    "ragged.csv": (csv([HEADER, [*ROWS[0], "x"]]).encode(), "more cells than the first row"),
    "headless.csv": (csv(ROWS).encode(), "first row must be the header"),
    "title.xlsx": (workbook(titled), "first row must be the header"),
    "sheets.xlsx": (workbook(on_two_sheets), "name one of Q1, Q2"),
    "far.xlsx": (FAR, "19 cells in 1,048,576 rows and 16,384 columns; delete those that are far"),
    "far_row.xlsx": (
        edited(FAR, ('<c r="XFD1048576"', "<c"), ('<c r="C3"', '<c r="XFD3"')),
        "19 cells",
    ),
    **{
        f"far_{number}.xlsx": (edited(FAR, ('<c r="XFD1048576"', cell)), why)
        for number, (cell, why) in enumerate(
            [
                ("<c r = 'xfd1048576'", "19 cells"),
                ('<c r="Xfd1048576"', "19 cells"),
                ('<c z=">" r="XFD1048576"', "19 cells"),
                ('<c r="XFD1048576" z="/>"', "19 cells"),
                ('<c r="X&#70;D1048576"', "19 cells"),
                ('<c z="1"r="XFD1048576"', "not well-formed"),
                ('<c r="A4"r="XFD1048576"', "not well-formed"),
                ('<c r="A4" r="XFD1048576"', "duplicate attribute"),
                ('<c z="<" r="XFD1048576"', "not well-formed"),
                ('<c r="XFD99999999999"', "place 'XFD99999999999'"),
            ]
        )
    },
    **{
        f"file_{number}.xlsx": (
            with_file(FAR_STYLE, name, b"<x/>"),
            f"2 files have the name '{SHEET}'",
        )
        for number, name in enumerate(
            ["xl/worksheets/SHEET1.xml", f"/{SHEET}", r"xl\worksheets\sheet1.xml"]
        )
    },
    "overlapping.xlsx": (
        edited(FAR_STYLE, ("</sheetData>", MERGED.replace(WIDE, '<mergeCell ref="A1:F3"/>' * 2))),
        "its merged cells overlap",
    ),
    "cut_off.xlsx": (edited(FAR, ("<c r=", '<c z="1" r='), ("</worksheet>", "")), "no element"),
    "utf_16.xlsx": (in_utf_16(FAR_STYLE), "the sheet is not UTF-8"),
    "sheet_twice.xlsx": (with_sheet_twice(FAR_STYLE), "2 sheets have the name 'Sheet1'"),
    "far_prefix.xlsx": (edited(FAR, (r'<c (r="XFD1048576".*?</)c>', PREFIXED)), "19 cells"),
    "far_number.xlsx": (
        edited(FAR, ('<row r="3"', f'<row r="{"9" * 5000}"'), ('<c r="C3"', "<c")),
        "a row has the number",
    ),
    "long.csv": (csv([HEADER, ["x" * (3 << 20)]]).encode(), "line 2 is larger than 1 MiB"),
    "two.zip": (archive(), r"two\.zip is a zip archive of 2 files.*an archive of one file"),
    "two.xlsx": (archive(), "an archive of one file"),
    "two": (archive(), "an archive of one file"),
    "none.zip": (zip_of(), "a zip archive without files"),
    "nameless.zip": (zip_of(x=b"").replace(b"x", b"\0"), "a zip archive of 0 files"),
    "x.ods": (zip_of(mimetype=b"", content_xml=b"<"), "an OpenDocument file"),
    "x.xlsb": (zip_of(xl__workbook_bin=b"", a=b""), "a binary Excel file"),
    "x.docx": (zip_of(word__document_xml=b"", a=b""), "a Word document"),
    "old.xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(999), "an old Excel file"),
    "old.xlsx": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(999), "an old Excel file"),
    "x.pdf": (b"%PDF-1.7\n" * 99, "a PDF"),
    "x.csv": (b"SQLite format 3\0" + bytes(4000), "an SQLite database"),
    "x.arrow": (b"ARROW1\0\0" + bytes(99), "an Arrow file"),
    "page.xls": (b"<html><table><tr><td>id</td></tr></table>\n" * 9, "a page of HTML"),
    "page.csv": (b"\n <!DOCTYPE html><table>\n", "a page of HTML"),
    "x.xml": (b"<?xml version='1.0'?><Workbook>\n", "it is XML"),
    "le.csv": (csv([HEADER, *ROWS]).encode("utf-16-le"), "iconv -f UTF-16LE"),
    "be.ndjson": (json.dumps({"id": "a"}).encode("utf-16-be"), "iconv -f UTF-16BE"),
    **{
        f"{name}.csv": (csv([HEADER, *ROWS]).encode(name), f"{kind} text.*iconv -f {kind}")
        for name, kind in {
            "utf-16-be": "UTF-16BE",
            "utf-32": "UTF-32",
            "utf-32-le": "UTF-32LE",
            "utf-32-be": "UTF-32BE",
        }.items()
    },
    "utf-32-be.ndjson": (b"\0\0\xfe\xff" + "{}".encode("utf-32-be"), "iconv -f UTF-32"),
    "x": (bytes(range(256)) * 9, "it is binary"),
    "zeros.csv": (bytes(999), "it is binary"),
    "commas.tsv": (b"id;a;b,c\n1,2\n", "separator ';', or give another one with separator"),
    "x.tsv": (b"id\0amount\x07" + bytes(99), "it is binary"),
    "none.xlsx": (b"", "it is empty; give a complete copy"),
    "none.parquet": (b"", "it is empty; give a complete copy"),
}


@pytest.mark.parametrize("name", LOADED)
def test_an_odd_file_is_loaded(operator: Service, tmp_path: Path, name: str) -> None:
    content, options = LOADED[name]
    (tmp_path / name).write_bytes(content)
    assert accounted(operator.load("claims", tmp_path / name, **options)).inserted == 2


@pytest.mark.parametrize("before", [0, 1, 30_000])
@pytest.mark.parametrize("cell", ["ü", '"two\nlines ü"'])
def test_a_line_that_is_not_utf_8_is_named(
    operator: Service, tmp_path: Path, cell: str, before: int
) -> None:
    rows = [[*HEADER, "error_message"], *([*ROWS[0], "x"] for _ in range(before))]
    (tmp_path / "x.csv").write_bytes(csv([*rows, [*ROWS[1], cell]]).encode("cp1252"))
    line = before + 2 + cell.count("\n")
    with pytest.raises(InvalidRequest, match=rf"x\.csv cannot be read: line {line} is not UTF-8"):
        operator.load("claims", tmp_path / "x.csv")


def test_a_file_that_became_utf_8_meanwhile_is_refused(
    operator: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.csv").write_bytes(csv([HEADER, *ROWS, ["ü"] * 6]).encode("cp1252"))
    monkeypatch.setattr(csv_files, "_is_bad", lambda _line: False)
    with pytest.raises(InvalidRequest, match=r"x\.csv cannot be read: invalid utf-8"):
        operator.load("claims", tmp_path / "x.csv")


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x"])
@pytest.mark.parametrize("before", [1, 99])
def test_a_cell_with_nul_is_one_rejection_wherever_it_is(
    operator: Service, tmp_path: Path, name: str, before: int
) -> None:
    rows = [[f"c-{n}", *ROWS[0][1:]] for n in range(before)]
    bad = ["bad", *ROWS[0][1:4], "1\0", ROWS[0][5]]
    text = csv([HEADER, *rows, bad], "\t" if name == "x.tsv" else ",")
    (tmp_path / name).write_bytes(text.encode())
    result = accounted(operator.load("claims", tmp_path / name, keep_going=True))
    assert [(each.id, each.member) for each in result.rejections] == [("bad", "amount")]
    assert result.inserted == before


@pytest.mark.parametrize("name", REFUSED)
def test_an_odd_file_is_refused_with_what_to_do(
    operator: Service, tmp_path: Path, name: str
) -> None:
    content, why = REFUSED[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidRequest, match=why):
        operator.load("claims", tmp_path / name)


def test_a_number_in_place_of_a_time_is_explained(operator: Service) -> None:
    content = workbook(lambda book: with_times(book, is_formatted=False))
    result = accounted(operator.load("claims", io.BytesIO(content), tz="UTC"))
    assert "format the column as dates" in result.summary()[0].message


@pytest.mark.parametrize("name", sorted(path.name for path in MADE_BY_OTHERS.iterdir()))
def test_a_file_of_another_program_is_loaded(operator: Service, name: str) -> None:
    result = accounted(operator.load("claims", MADE_BY_OTHERS / name))
    assert result.inserted == result.read > 0


@pytest.mark.parametrize("suffix", ["parquet", "xlsx"])
def test_a_decimal_comma_concerns_only_text(operator: Service, tmp_path: Path, suffix: str) -> None:
    import polars as pl

    amounts = ["12.345", "1.5", "100.125"]
    rows = [{**dict(zip(HEADER, ROWS[0], strict=True)), "id": each} for each in amounts]
    frame = pl.DataFrame(rows).with_columns(amount=pl.Series(map(float, amounts)))
    path = tmp_path / f"floats.{suffix}"
    frame.write_parquet(path) if suffix == "parquet" else frame.write_excel(path)
    result = operator.load("claims", path, decimal=",", floats="shortest")
    assert (result.inserted, result.floats) == (3, 3)
    assert {each.id: str(each.amount) for each in operator.claims.iter()} == dict(
        zip(amounts, amounts, strict=True)
    )


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (csv([HEADER, *ROWS]).replace("\n", "\r"), "its lines end with CR"),
        (csv([[*HEADER, "amount"], *([*row, "3"] for row in ROWS)]), "'amount' more than once"),
    ],
    ids=["CR", "a column twice"],
)
def test_a_table_that_would_lose_values_is_refused(
    operator: Service, tmp_path: Path, content: str, expected: str
) -> None:
    path = tmp_path / "odd.csv"
    path.write_bytes(content.encode())
    with pytest.raises(InvalidRequest, match=expected):
        operator.load("claims", path)
    assert list(operator.claims.iter()) == []


def test_floats_of_pandas_of_32_bits_have_their_shortest_decimal(operator: Service) -> None:
    pandas = pytest.importorskip("pandas")

    rows = [dict(zip(HEADER, row, strict=True)) for row in ROWS]
    frame = pandas.DataFrame(rows).assign(amount=[1.1, 2.7]).astype({"amount": "float32"})
    operator.load("claims", frame, floats="shortest")
    assert sorted(str(each.amount) for each in operator.claims.iter()) == ["1.1", "2.7"]
    frame.columns = [*HEADER[:-1], "amount"]
    with pytest.raises(InvalidRequest, match="'amount' more than once"):
        operator.load("claims", frame)


def with_amounts(*amounts: object) -> bytes:
    def fill(book: Any) -> None:
        sheet = book.add_worksheet()
        rows_on(sheet, 0, [HEADER])
        for row, amount in enumerate(amounts, start=1):
            cells = [str(row), *ROWS[0][1:4], amount, ROWS[0][5]]
            for column, cell in enumerate(cells):
                write = sheet.write_string if isinstance(cell, str) else sheet.write
                write(row, column, cell)

    return workbook(fill)


@pytest.mark.parametrize(
    ("amounts", "options", "expected"),
    [
        (("2.50", 0.000000000123), {}, ["2.50", "0.000000000123"]),
        (("7,50", 12.345), {"decimal": ","}, ["7.50", "12.345"]),
        (("1.655", "1"), {"decimal": ","}, ["1655", "1"]),
        ((2, "3.5", 0.1), {}, ["2.0", "3.5", "0.1"]),
    ],
)
def test_a_sheet_may_have_numbers_among_texts(
    operator: Service, amounts: tuple[object, ...], options: dict[str, Any], expected: list[str]
) -> None:
    content = with_amounts(*amounts)
    result = operator.load("claims", io.BytesIO(content), floats="shortest", **options)
    assert result.rejections == []
    found = {claim.id: format(claim.amount, "f") for claim in operator.claims.iter()}
    assert [found[str(n)] for n in range(1, len(expected) + 1)] == expected


def test_texts_of_a_sheet_that_are_no_numbers_of_it_are_read(operator: Service) -> None:
    content = io.BytesIO(with_amounts("1655.39", "0.000000000123", "123456789012345678"))
    assert operator.load("claims", content).inserted == 3
    content = io.BytesIO(with_amounts("1.655,39"))
    assert operator.load("claims", content, decimal=",").unchanged == 1
