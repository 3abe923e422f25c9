"""A broken row of a CSV file is one rejection; each rejection has the line of the file."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from comptroller import InvalidRequest, Service
from examples import GROUP, accounted

pytest.importorskip("polars")

HEADER = "id,payout_group_id,claim_type,onchain_status,amount,created_at"


def row(number: int, amount: str = "1", *, more: str = "") -> str:
    return f"c{number},{GROUP},CLAIM_ALL,FAILED,{amount},2026-01-01{more}"


def file_of(*rows: str, before: str = "", end: str = "\n") -> io.BytesIO:
    return io.BytesIO((before + end.join([HEADER, *rows]) + end).encode())


BROKEN = {
    "too many cells": row(2, more=",x"),
    "too few cells": "c2",
    "a quote that is not closed": row(2, '"1'),
    "text after a quote": row(2, '"x"y'),
    "a quote that is not closed at the end": row(2, more=',"'),
    "a quote in an amount": row(2, '5" x'),
    "an empty cell too many": row(2, "1,50").removesuffix("2026-01-01"),
    "quotes within quotes": row(2, '"1"2"3"'),
    "two quotes at each end": row(2, '""1""'),
    "a CR within it": f"{row(2)}\r{row(3)}",
}


@pytest.mark.parametrize(
    ("cell", "why"),
    [
        ("x" * 200_000 + '""\n', "line 3 has a cell of more than 131,072 characters"),
        ("xx\n" * 900 + "x" * (1 << 20), "line 3 has a cell of more than 131,072 characters"),
        ("x\n" * 2000, "line 3 has a quote that is not closed"),
    ],
    ids=["quotes", "a long line", "many lines"],
)
def test_a_very_large_cell_with_line_breaks_is_refused(
    operator: Service, cell: str, why: str
) -> None:
    content = file_of(row(1), f'"{cell}"', row(3))
    result = accounted(operator.load("claims", content, keep_going=True))
    assert why in result.rejections[0].message
    assert {each.id for each in operator.claims.list()} == {"c1", "c3"}


@pytest.mark.parametrize("is_ended", [True, False])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("place", [1, 3])
@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_row_is_one_rejection(
    operator: Service, tmp_path: Path, broken: str, place: int, end: str, is_ended: bool
) -> None:
    rows = [row(n) for n in range(3, place + 2)] + [BROKEN[broken], "", row(1, "x"), row(0)]
    name = tmp_path / "x.csv"
    content = file_of(*rows, end=end).getvalue()
    name.write_bytes(content if is_ended else content.removesuffix(end.encode()))
    result = accounted(operator.load("claims", name, keep_going=True, rejects=tmp_path / "r.csv"))
    assert [each.line for each in result.rejections] == [place + 1, place + 3]
    assert (result.inserted, result.blank) == (place, 1)
    loaded = {each.id for each in operator.claims.list()}
    assert loaded == {f"c{n}" for n in (0, *range(3, place + 2))}
    first = result.rejections[0].message
    assert f"line {place + 1} has" in first or first.startswith("amount: ")
    rejects = (tmp_path / "r.csv").read_text()
    assert rejects.count("invalid-request") == 2
    again = accounted(operator.load("claims", tmp_path / "r.csv", keep_going=True))
    assert (again.rejected, again.inserted) == (2, 0)


def test_a_broken_row_stops_a_load_of_all_rows(operator: Service) -> None:
    result = accounted(operator.load("claims", file_of(row(1), row(2, more=",x"), row(3))))
    assert not result.committed
    assert "line 3 has more cells than the first row: 7 cells" in result.rejections[0].message
    assert operator.claims.list().items == []


@pytest.mark.parametrize(
    ("rows", "before", "lines"),
    [
        ((row(1, "x"), row(2), row(3, "x")), "", [2, 4]),
        ((row(1, "x"), row(2), row(3, "x")), "\n\r\n \n", [5, 7]),
        (("", row(1, "x"), "", "", row(2), " ", row(3, "x")), "\n", [4, 9]),
        ((row(1, '"x\ny"'), "", row(2, "x")), "", [2, 5]),
        ((row(1), row(2, "x")), "\ufeff", [3]),
    ],
)
@pytest.mark.parametrize("broken", [(), ("c9",)])
def test_rejections_have_the_lines_of_the_file(
    operator: Service, rows: tuple[str, ...], before: str, lines: list[int], broken: tuple[str, ...]
) -> None:
    content = file_of(*rows, *broken, before=before)
    last = content.getvalue().count(b"\n")
    result = accounted(operator.load("claims", content, keep_going=True))
    found = [each.line for each in result.rejections]
    assert found == [*lines, *([last] if broken else [])]
    assert min(each.first_line for each in result.summary()) == lines[0]


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_row_among_full_rows_is_one_rejection(operator: Service, broken: str) -> None:
    content = file_of(row(1), BROKEN[broken], row(4))
    result = accounted(operator.load("claims", content, keep_going=True))
    assert [each.line for each in result.rejections] == [3]
    assert {each.id for each in operator.claims.list()} == {"c1", "c4"}


def test_no_line_within_quotes_is_a_row(operator: Service) -> None:
    inside = row(2)
    content = file_of(row(1), f'c9,"x\n{inside}\n', f'{inside}\n{inside[:-1]}"', "", row(3))
    result = accounted(operator.load("claims", content, keep_going=True))
    assert [each.line for each in result.rejections] == [3, 4, 6, 7]
    expected = "line 4 is in a row of 2 cells that quotes extend over the lines 3 to 7; the first"
    assert expected in result.rejections[1].message
    assert (result.inserted, result.blank) == (2, 2)


def test_broken_rows_and_line_breaks_among_runs_of_rows(operator: Service, tmp_path: Path) -> None:
    rows: list[str] = []
    expected: list[int] = []
    loaded = blank = 0
    line = 2
    for number, broken in enumerate([*BROKEN.values()] * 3):
        run = [row(number * 1000 + n, more=",") for n in range(number % 4 * 7)]
        several = [row(number * 1000 + 500 + n, more=',"a\nb ""c""\n"') for n in range(number % 3)]
        rows += [*run, "", *several, f"{broken},"]
        loaded += len(run) + len(several)
        blank += 1
        expected.append(line + len(run) + 1 + 3 * len(several))
        line = expected[-1] + 1
    content = "\n".join([f"{HEADER},note", *rows, ""])
    (tmp_path / "x.csv").write_bytes(content.encode())
    result = accounted(operator.load("claims", tmp_path / "x.csv", keep_going=True))
    assert [each.line for each in result.rejections] == expected
    assert (result.inserted, result.blank) == (loaded, blank)


def test_quotes_within_cells_are_text(operator: Service) -> None:
    header = f"{HEADER},error_message"
    rows = [f'{row(1)},5" pipe', f'{row(2)},a "quoted"', f'{row(3)},"a ""b"" c"', row(4)]
    content = io.BytesIO("\n".join([header, *rows]).encode())
    result = accounted(operator.load("claims", content, keep_going=True))
    assert [each.line for each in result.rejections] == [5]
    assert [operator.claims.get(f"c{n}").error_message for n in (1, 2, 3)] == [
        '5" pipe',
        'a "quoted"',
        'a "b" c',
    ]


@pytest.mark.parametrize("rows", [("1,2", "3,4"), ("1,2,3,4,5,6,7",), (f'"{row(1)}',)])
def test_a_file_without_whole_rows_is_refused_at_once(
    operator: Service, rows: tuple[str, ...]
) -> None:
    with pytest.raises(InvalidRequest, match=r"line 2 has .*the first row must be the header"):
        operator.load("claims", file_of(*rows), keep_going=True)


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.txt"])
@pytest.mark.parametrize(
    "text", [row(1), f"{row(1)}\n\n", 'x"y,z', "title,\n", '"title",x\n', "\ufeffa,b"]
)
def test_a_first_row_without_members_is_refused_also_without_rows(
    operator: Service, tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text.replace(",", "\t") if name == "x.tsv" else text)
    with pytest.raises(InvalidRequest, match="no column of the first row"):
        operator.load("claims", tmp_path / name)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_header_may_have_line_breaks(operator: Service, tmp_path: Path, separator: str) -> None:
    text = f'"of\ntwo lines",{HEADER}\n,{row(1)}\n,{row(2)},x\n'.replace(",", separator)
    (tmp_path / "x.csv").write_text(text)
    result = accounted(operator.load("claims", tmp_path / "x.csv", keep_going=True))
    assert (result.inserted, [each.line for each in result.rejections]) == (1, [4])


@pytest.mark.parametrize("text", ["", "\n\n", f"{HEADER}\n", f"\n{HEADER}"])
def test_a_file_without_rows_may_be_loaded(operator: Service, tmp_path: Path, text: str) -> None:
    (tmp_path / "x.csv").write_text(text)
    assert accounted(operator.load("claims", tmp_path / "x.csv")).inserted == 0


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.ndjson", "x"])
@pytest.mark.parametrize("before", ["", "\ufeff", "\n "])
def test_json_in_a_file_of_another_name_is_loaded(
    operator: Service, tmp_path: Path, name: str, before: str
) -> None:
    record = dict(zip(HEADER.split(","), row(1).split(","), strict=True))
    for text in (json.dumps(record), json.dumps([record]), json.dumps([record], indent=2)):
        (tmp_path / name).write_text(before + text)
        result = accounted(operator.load("claims", tmp_path / name))
        assert result.inserted + result.unchanged == 1
