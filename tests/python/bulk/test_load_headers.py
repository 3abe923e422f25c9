"""The first row of CSV and Excel files, which names the columns."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from comptroller import InvalidRequest, Service
from examples import short_line

pl = pytest.importorskip("polars")
xlsxwriter = pytest.importorskip("xlsxwriter")
pytest.importorskip("python_calamine")

ROW: dict[str, Any] = short_line("claims")


def text_of(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def as_csv(names: list[str]) -> str:
    written = io.StringIO()
    csv.writer(written).writerows([names, [text_of(value) for value in ROW.values()]])
    return written.getvalue()


def test_spaces_around_names_of_columns_do_not_matter(operator: Service, tmp_path: Path) -> None:
    for name, cells in {"fast.csv": "", "slow.csv": '"a"b\n'}.items():
        (tmp_path / name).write_text(as_csv([f" {member} " for member in ROW]) + cells)
        result = operator.load("claims", tmp_path / name, keep_going=True)
        assert (result.inserted + result.unchanged, result.unknown_members) == (1, {})
    with xlsxwriter.Workbook(tmp_path / "x.xlsx") as book:
        sheet = book.add_worksheet()
        for place, (member, value) in enumerate(ROW.items()):
            sheet.write(0, place, f" {member}  ")
            sheet.write(1, place, text_of(value))
    assert operator.load("claims", tmp_path / "x.xlsx").unchanged == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sep=;\nid;amount\nc;1\n", r"its first line, 'sep=;', is not the header; delete it"),
        ("id, id\nc,d\n", r"has the column 'id' more than once; rename one"),
        ('id,id \nc,d\n"x"y\n', r"has the column 'id' more than once; rename one"),
        ("id,id\nc,d\n", r"has the column 'id' more than once; rename one"),
    ],
)
def test_a_header_that_cannot_be_one_is_named(
    operator: Service, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(InvalidRequest, match=message):
        operator.load("claims", tmp_path / "x.csv")


def test_times_of_parquet_without_a_zone_are_read_with_tz(
    operator: Service, tmp_path: Path
) -> None:
    frame = pl.DataFrame([ROW]).with_columns(
        created_at=pl.lit("2026-05-01T00:00:00").str.to_datetime()
    )
    frame.write_parquet(tmp_path / "x.parquet")
    with pytest.raises(InvalidRequest, match=r'give timestamps with one, or tz="UTC" for all'):
        operator.load("claims", tmp_path / "x.parquet")
    assert operator.load("claims", tmp_path / "x.parquet", tz="Europe/Zurich").inserted == 1
