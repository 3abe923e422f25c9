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


def test_leading_zeros_of_a_number_format_are_read(operator: Service) -> None:
    import xlsxwriter

    out = io.BytesIO()
    formats = {"00000": "00042", "00": "42", "0": "42", "#,##0": "42", "0.00": "42"}
    with xlsxwriter.Workbook(out, {"in_memory": True}) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, [*HEADER, "error_message"])
        for place, code in enumerate(formats, start=1):
            shown = book.add_format({"num_format": code})
            sheet.write_row(place, 0, [f"c{place}", GROUP, "CLAIM_ALL", "FAILED"])
            sheet.write_number(place, 4, 42, shown)
            sheet.write_string(place, 5, TIME)
            sheet.write_number(place, 6, 42, shown)
    content = io.BytesIO(out.getvalue())
    assert accounted(operator.load("claims", content, floats="shortest")).inserted == len(formats)
    found = [operator.claims.get(f"c{place}") for place in range(1, len(formats) + 1)]
    assert [claim.error_message for claim in found] == [*formats.values()]
    assert {claim.amount for claim in found} == {42}


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
