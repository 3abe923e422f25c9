"""Cells of Excel files have the types that they have in the sheet."""

from __future__ import annotations

import csv
import io
from datetime import datetime, time
from pathlib import Path
from typing import Any

import pytest
from comptroller import Service
from examples import GROUP, accounted
from test_load_odd_files import edited

for needed in ("polars", "python_calamine", "xlsxwriter"):
    pytest.importorskip(needed)

HEADER = ["id", "payout_group_id", "claim_type", "onchain_status", "amount", "created_at"]


def sheet_of(rows: dict[int, list[object]], header_row: int = 0, column: int = 0) -> io.BytesIO:
    """Returns a workbook with rows of id, amount and time at the given places, from 0."""
    import xlsxwriter

    out = io.BytesIO()
    with xlsxwriter.Workbook(out, {"in_memory": True}) as book:
        sheet = book.add_worksheet()
        day = book.add_format({"num_format": "dd.mm.yyyy"})
        sheet.write_row(header_row, column, HEADER)
        for place, (id, amount, at) in rows.items():
            for number, cell in enumerate((id, GROUP, "CLAIM_ALL", "FAILED", amount, at), column):
                if isinstance(cell, str):
                    sheet.write_string(place, number, cell)
                elif isinstance(cell, datetime):
                    sheet.write_datetime(place, number, cell, day)
                else:
                    sheet.write(place, number, cell)
    return io.BytesIO(out.getvalue())


TIME = "2026-01-01T00:00:00Z"


def test_each_cell_has_its_own_type(
    operator: Service, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    content = sheet_of(
        {
            1: ["a", 1.5, TIME],
            2: [1001, "2.50", datetime(2026, 1, 1)],
            3: [1002, True, TIME],
            4: ["b", 0.1, datetime(2026, 1, 1, 12)],
            5: [1003, "x", datetime(2026, 1, 2)],
            6: [1004.5, 1e-7, "2026-01-01"],
        }
    )
    rejects = tmp_path / "r.csv"
    result = accounted(
        operator.load("claims", content, floats="shortest", keep_going=True, rejects=rejects)
    )
    assert [(each.line, each.member) for each in result.rejections] == [
        (4, "amount"),
        (5, "created_at"),
        (6, "amount"),
    ]
    assert "give tz" in result.rejections[1].message
    assert {each.id: format(each.amount, "f") for each in operator.claims.iter()} == {
        "a": "1.5",
        "1001": "2.50",
        "1004.5": "0.0000001",
    }
    with rejects.open(newline="") as file:
        assert [row["id"] for row in csv.DictReader(file)] == ["1002", "b", "1003"]
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("column", [0, 2])
@pytest.mark.parametrize(
    ("header_row", "places"), [(0, (1, 2)), (3, (4, 5)), (0, (4, 9)), (2, (5, 6))]
)
def test_rejections_have_the_row_of_the_sheet(
    operator: Service, header_row: int, places: tuple[int, int], column: int
) -> None:
    rows: dict[int, list[object]] = {place: [f"c{place}", "x", TIME] for place in places}
    result = accounted(operator.load("claims", sheet_of(rows, header_row, column)))
    assert [each.line for each in result.rejections] == [place + 1 for place in places]
    assert result.blank == places[1] - header_row - len(places)


@pytest.mark.parametrize(
    ("options", "created_at"),
    [
        ({}, "2026-07-01T00:00:00+00:00"),
        ({"tz": "Europe/Zurich"}, "2026-06-30T22:00:00+00:00"),
    ],
)
def test_a_date_is_the_start_of_its_day(
    operator: Service, options: dict[str, Any], created_at: str
) -> None:
    content = sheet_of({1: ["a", "1", datetime(2026, 7, 1)], 2: ["b", "1", datetime(2026, 7, 1)]})
    assert accounted(operator.load("claims", content, **options)).inserted == 2
    assert operator.claims.get("a").created_at.isoformat() == created_at


def sheet_of_cells(cells: list[tuple[int, Any, str]]) -> io.BytesIO:
    """Returns a workbook with a claim for each cell: its column, value and number format."""
    import xlsxwriter

    out = io.BytesIO()
    with xlsxwriter.Workbook(out, {"in_memory": True}) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, [*HEADER, "error_message"])
        for row, (column, value, code) in enumerate(cells, start=1):
            valid = [f"c{row}", GROUP, "CLAIM_ALL", "FAILED", "42", TIME]
            for place, cell in enumerate(valid):
                sheet.write_string(row, place, cell)
            sheet.write(row, column, value, book.add_format({"num_format": code}))
    return io.BytesIO(out.getvalue())


def with_unusual_cells(content: bytes) -> bytes:
    """Returns a workbook with other spellings of its cells that have a format."""
    return edited(content, (r'<c r="([A-Z]+[0-9]+)" s="([0-9]+)">', r"<c s='\2' r='\1'>"))


#: What a load reads of 42 with a number format; None if it rejects the cell.
FORMATS_OF_42: dict[str, str | None] = {
    "00000": "00042",
    "00000;-00000": "00042",
    "[Red]0000;[Blue]-0000": "0042",
    "[$-409]00000": "00042",
    "00000_)": "00042",
    "*-00000": "00042",
    "#000": "042",
    '"GRP-"000': "042",
    '000" GRP"': "042",
    "0,000": "0042",
    "00": "42",
    "0": "42",
    "#,##0": "42",
    "# ##0": "42",
    "0.00": "42",
    "00%": "42",
    '_-* #,##0.00\\ "CHF"_-': "42",
    "[<=9999999]###\\-####;(###) ###\\-####": "42",
    "0000 0000": None,
    "000-000": None,
    "000\\-00\\-0000": None,
    '000"."000': None,
    "[>99]000;00000": None,
}


@pytest.mark.parametrize("is_usual", [True, False])
@pytest.mark.parametrize("code", FORMATS_OF_42)
def test_leading_zeros_of_a_number_format_are_read(
    operator: Service, code: str, is_usual: bool
) -> None:
    expected = FORMATS_OF_42[code]
    content = sheet_of_cells([(0, 42, code), (6, 42, code)]).getvalue()
    if not is_usual:
        content = with_unusual_cells(content)
    result = accounted(operator.load("claims", io.BytesIO(content), keep_going=True))
    if expected is None:
        assert [each.member for each in result.rejections] == ["id", "error_message"]
        assert "by its number format; write it as text" in result.rejections[0].message
    else:
        assert result.rejections == []
        assert operator.claims.get(expected).id == expected
        assert operator.claims.get("c2").error_message == expected


@pytest.mark.parametrize("code", ["00000", "00000;-00000", "0"])
def test_a_number_format_makes_no_rounded_number_exact(operator: Service, code: str) -> None:
    content = sheet_of_cells([(0, 12345678901234567, code)])
    (rejection,) = accounted(operator.load("claims", content)).rejections
    assert "may be rounded" in rejection.message


@pytest.mark.parametrize("code", [*FORMATS_OF_42, "0,0", "#,#00", "00,", '00" h"', "0 000"])
def test_a_number_format_does_not_change_an_amount(operator: Service, code: str) -> None:
    numbers = (7, 42, 5000, 1234567, 0.5)
    content = sheet_of_cells([(4, each, code) for each in numbers]).getvalue()
    result = accounted(operator.load("claims", io.BytesIO(content), keep_going=True))
    assert ["is a float" in each.message for each in result.rejections] == [True] * len(numbers)
    result = accounted(operator.load("claims", io.BytesIO(content), floats="shortest"))
    assert (result.inserted, result.floats) == (len(numbers), len(numbers))
    amounts = {str(claim.amount) for claim in operator.claims.iter()}
    assert amounts == {repr(float(each)) for each in numbers}


@pytest.mark.parametrize("code", ["0000-00-00", "00000", "0"])
def test_a_number_format_makes_no_number_a_time(operator: Service, code: str) -> None:
    (rejection,) = operator.load("claims", sheet_of_cells([(5, 46000, code)])).rejections
    assert "format the column as dates" in rejection.message


#: Number formats, and whether they show a time of the day.
CLOCKS = {
    "yyyy-mm-dd hh:mm": True,
    "dd.mm.yyyy h:mm:ss;@": True,
    "[$-409]d mmm yyyy h:mm AM/PM;@": True,
    "m/d/yy h:mm": True,  # built in
    "yyyy-mm-dd": False,
    'yyyy"h"': False,
    "dd\\ mmm\\ yyyy": False,
    "mm-dd-yy": False,  # built in
}


@pytest.mark.parametrize("is_usual", [True, False])
@pytest.mark.parametrize("code", CLOCKS)
def test_midnight_is_a_time_if_its_cell_shows_one(
    operator: Service, code: str, is_usual: bool
) -> None:
    content = sheet_of_cells([(5, day, code) for day in (46053, 46053.5, 46054)]).getvalue()
    if not is_usual:
        content = with_unusual_cells(content)
    result = accounted(operator.load("claims", io.BytesIO(content), dry_run=True))
    assert [each.line for each in result.rejections] == ([2, 3, 4] if CLOCKS[code] else [3])
    assert all("give tz" in each.message for each in result.rejections)
    loaded = operator.load("claims", io.BytesIO(content), tz="Europe/Zurich")
    assert accounted(loaded).inserted == 3
    assert operator.claims.get("c1").created_at.isoformat() == "2026-01-30T23:00:00+00:00"


@pytest.mark.parametrize("cell", [r"\1", '<c r="G2" t=\'e\'>\n<v xml:space="preserve">#N/A</v>'])
@pytest.mark.parametrize("error", ["#SPILL!", "#CALC!", "#FIELD!", "#BLOCKED!", "#N/A"])
def test_a_row_with_any_error_is_rejected(operator: Service, error: str, cell: str) -> None:
    """python-calamine reads no sheet with an error that it does not know."""
    import xlsxwriter

    out = io.BytesIO()
    with xlsxwriter.Workbook(out, {"in_memory": True}) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, [*HEADER, "error_message"])
        for row in (1, 2):
            sheet.write_row(row, 0, [f"c{row}", GROUP, "CLAIM_ALL", "FAILED", "1", TIME, error])
        sheet.write_formula(1, 6, "=A1<B1", None, "#N/A")
    content = edited(out.getvalue(), ('(<c r="G2".*?)(?=</c>)', cell), (">#N/A<", f">{error}<"))
    result = accounted(operator.load("claims", io.BytesIO(content), keep_going=True))
    (rejection,) = result.rejections
    assert (rejection.line, rejection.member) == (2, "error_message")
    assert f"'{error}' is an error in the spreadsheet" in rejection.message
    assert operator.claims.get("c2").error_message == error


#: What a cell of an optional member has, and what its rejection says.
UNREAD: dict[str, tuple[Any, str]] = {
    "an error": (lambda sheet: sheet.write_formula(1, 6, "=1/0", None, "#DIV/0!"), "is an error"),
    "a formula that was never calculated": (
        lambda sheet: sheet.write_formula(1, 6, "=A2&B2"),
        "'=A2&B2' is a formula that has no value; open the file in a spreadsheet",
    ),
    "a formula without a value": (
        lambda sheet: sheet.write_formula(1, 6, "=A2&B2", None, ""),
        "is a formula that has no value",
    ),
    "a cell below that it is merged with": (
        lambda sheet: sheet.merge_range(0, 6, 1, 6, sheet.column),
        "is merged with another cell",
    ),
    "a cell beside that it is merged with": (
        lambda sheet: sheet.merge_range(1, 5, 1, 6, TIME),
        "is merged with another cell",
    ),
    "a time without a day": (
        lambda sheet: sheet.write_datetime(1, 6, time(12), sheet.clock),
        "12:00:00 is a time without a day",
    ),
}


@pytest.mark.parametrize("column", ["error_message", "not ours"])
@pytest.mark.parametrize("cell", UNREAD)
def test_a_cell_without_a_value_is_not_taken_for_an_empty_one(
    operator: Service, cell: str, column: str
) -> None:
    import xlsxwriter

    write, why = UNREAD[cell]
    out = io.BytesIO()
    with xlsxwriter.Workbook(out, {"in_memory": True}) as book:
        sheet = book.add_worksheet("Claims & more")
        sheet.column = column
        sheet.clock = book.add_format({"num_format": "hh:mm"})
        sheet.write_row(0, 0, [*HEADER, column])
        for row in (1, 2):
            sheet.write_row(row, 0, [f"c{row}", GROUP, "CLAIM_ALL", "FAILED", "1", TIME])
        write(sheet)
    content = io.BytesIO(out.getvalue())
    result = accounted(operator.load("claims", content, keep_going=True))
    if column == "not ours":
        assert result.inserted == 2
        return
    [rejection] = result.rejections
    assert (rejection.line, rejection.member) == (2, "error_message")
    assert why in rejection.message


def test_formulas_of_a_spreadsheet_have_their_values(operator: Service) -> None:
    import xlsxwriter

    out = io.BytesIO()
    with xlsxwriter.Workbook(out, {"in_memory": True}) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, HEADER)
        sheet.merge_range(0, 6, 0, 8, "remarks")
        sheet.write_row(1, 0, ["c1", GROUP, "CLAIM_ALL", "FAILED", "", TIME])
        sheet.write_formula(1, 4, "=1/8", None, 0.125)
    result = accounted(operator.load("claims", io.BytesIO(out.getvalue()), floats="shortest"))
    assert result.inserted == 1
    assert format(operator.claims.get("c1").amount, "f") == "0.125"
