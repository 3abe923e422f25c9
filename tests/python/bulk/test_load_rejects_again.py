"""A file of rejects that is loaded unchanged is rejected again, as often as it is loaded."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from datetime import datetime, time, timedelta, tzinfo
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from comptroller import Service
from examples import GROUP, accounted, short_line

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
for needed in ("python_calamine", "xlsxwriter"):
    pytest.importorskip(needed)

HEADER = ["id", "payout_group_id", "claim_type", "onchain_status", "amount", "created_at"]
VALID = ["c-1", GROUP, "CLAIM_ALL", "FAILED", "1", "2026-01-01T00:00:00Z"]


def sheet(write: Callable[[Any, Any], object]) -> io.BytesIO:
    """Returns a workbook with a claim in row 1, with error_message in column 6, after `write`."""
    import xlsxwriter

    out = io.BytesIO()
    with xlsxwriter.Workbook(out, {"in_memory": True}) as book:
        page = book.add_worksheet()
        for row, cells in enumerate(([*HEADER, "error_message"], VALID)):
            for column, cell in enumerate(cells):
                page.write_string(row, column, cell)
        write(book, page)
    return io.BytesIO(out.getvalue())


def claims(**members: object) -> list[dict[str, Any]]:
    return [short_line("claims", **members)]


def as_json(**members: object) -> io.BytesIO:
    return io.BytesIO(json.dumps(short_line("claims", **members)).encode())


OPTIONS: dict[str, dict[str, Any]] = {
    "no options": {},
    "tz": {"tz": "UTC"},
    "uuid5": {"ids": "uuid5"},
    "constants": {"constants": {"amount": "5"}},
    "shortest": {"floats": "shortest"},
    "comma": {"decimal": ","},
}
SEVERAL = [each for each in OPTIONS if each != "comma"]
ROUNDED = 0.1 + 0.2
NOT_SHORTEST = [each for each in SEVERAL if each != "shortest"]
#: Sources of one claim that is refused for what a value is; the member, and the options.
REFUSED: dict[str, tuple[Callable[[], Any], str, list[str]]] = {
    "rows: a float": (lambda: claims(amount=ROUNDED), "amount", NOT_SHORTEST),
    "polars: a float": (lambda: pl.DataFrame(claims(amount=ROUNDED)), "amount", ["tz", "uuid5"]),
    "pandas: a float": (
        lambda: pd.DataFrame([*claims(amount=ROUNDED), *claims(id="c-2", amount="x")]),
        "amount",
        NOT_SHORTEST,
    ),
    "json: a rounded float": (lambda: as_json(amount=ROUNDED), "amount", NOT_SHORTEST),
    "sheet: a float": (
        lambda: sheet(lambda _, page: page.write_number(1, 4, 0.5)),
        "amount",
        NOT_SHORTEST,
    ),
    "sheet: more digits than a float has": (
        lambda: sheet(lambda _, page: page.write_number(1, 0, 12345678901234567)),
        "id",
        [*SEVERAL],
    ),
    "sheet: a group of many digits": (
        lambda: sheet(lambda _, page: page.write_number(1, 1, 12345678901234567)),
        "payout_group_id",
        [*SEVERAL],
    ),
    "sheet: a covered cell": (
        lambda: sheet(lambda _, page: page.merge_range(1, 5, 1, 6, VALID[5])),
        "error_message",
        [*SEVERAL],
    ),
    "sheet: an error": (
        lambda: sheet(lambda _, page: page.write_formula(1, 6, "=1/0", None, "#DIV/0!")),
        "error_message",
        [*SEVERAL],
    ),
    "sheet: a formula": (
        lambda: sheet(lambda _, page: page.write_formula(1, 6, "=A1&B1", None, "")),
        "error_message",
        [*SEVERAL],
    ),
    "sheet: a required cell with an error": (
        lambda: sheet(lambda _, page: page.write_formula(1, 4, "=1/0", None, "#DIV/0!")),
        "amount",
        [*SEVERAL],
    ),
    "sheet: a time": (
        lambda: sheet(
            lambda book, page: page.write_datetime(
                1, 6, time(12), book.add_format({"num_format": "hh:mm"})
            )
        ),
        "error_message",
        [*SEVERAL],
    ),
    "sheet: a boolean": (
        lambda: sheet(lambda _, page: page.write(1, 0, True)),
        "id",
        [*SEVERAL],
    ),
    "sheet: a number in place of a time": (
        lambda: sheet(lambda _, page: page.write_number(1, 5, 46000.5)),
        "created_at",
        [*SEVERAL],
    ),
    "rows: bytes": (lambda: claims(error_message=b"x"), "error_message", [*SEVERAL]),
    "polars: bytes": (lambda: pl.DataFrame(claims(error_message=b"x")), "error_message", ["tz"]),
    "rows: a boolean": (lambda: claims(id=True), "id", [*SEVERAL]),
    "rows: a list": (lambda: claims(error_message=["x"]), "error_message", [*SEVERAL]),
    "json: a number": (lambda: as_json(error_message=12), "error_message", [*SEVERAL]),
    "json: a boolean": (lambda: as_json(error_message=True), "error_message", [*SEVERAL]),
    "rows: an empty text": (lambda: claims(tx_hash=""), "tx_hash", [*SEVERAL]),
    "polars: an empty text": (lambda: pl.DataFrame(claims(tx_hash="")), "tx_hash", [*SEVERAL]),
    "json: an empty text": (lambda: as_json(tx_hash=""), "tx_hash", [*SEVERAL]),
    "rows: a lone surrogate": (lambda: claims(tx_hash="\ud800"), "tx_hash", [*SEVERAL]),
    "rows: a time without a zone": (
        lambda: claims(created_at=datetime(2026, 1, 1)),
        "created_at",
        ["no options", "uuid5"],
    ),
}


#: Texts that a cell would have in another meaning, and the options with which they are refused.
SPACED: dict[str, tuple[str, list[str]]] = {
    "id": (" c ", [*SEVERAL]),
    "amount": (" 5 ", [*SEVERAL, "comma"]),
    "onchain_status": (" CONFIRMED ", [*SEVERAL]),
    "payout_group_id": (f"{GROUP} ", ["no options", "tz", "constants", "shortest"]),
    "payout_group_id, an id": (" x", ["uuid5"]),
}
for _name, (_text, _options) in SPACED.items():
    _given = {_name.partition(",")[0]: _text}
    for _source, _make in (
        ("rows", claims),
        ("polars", lambda **members: pl.DataFrame(claims(**members))),
        ("arrow", lambda **members: pl.DataFrame(claims(**members)).to_arrow().to_reader()),
        ("json", as_json),
    ):
        REFUSED[f"{_source}: {_name} with spaces"] = (
            partial(_make, **_given),
            _name.partition(",")[0],
            _options,
        )


@pytest.mark.parametrize(
    ("name", "options"),
    [(name, each) for name, (_, _, options) in REFUSED.items() for each in options],
)
def test_what_is_refused_once_is_refused_until_it_is_replaced(
    operator: Service, tmp_path: Path, name: str, options: str
) -> None:
    source, member, _ = REFUSED[name]
    how, rejects = OPTIONS[options], tmp_path / "rejects-0.csv"
    first = accounted(operator.load("claims", source(), rejects=rejects, **how))
    assert first.rejections[0].member == member
    for number in range(1, 3):
        again, rejects = rejects, tmp_path / f"rejects-{number}.csv"
        result = accounted(operator.load("claims", again, rejects=rejects, **how))
        assert result.rejected == result.read == len(first.rejections)
        assert result.rejections[0].member == member
    written = read_csv(rejects)[0]
    valid = {"created_at": VALID[5], "payout_group_id": GROUP, "onchain_status": "FAILED"}
    written[member] = valid.get(member, "1")
    write_csv(rejects, [written])
    assert accounted(operator.load("claims", rejects, **how)).inserted == 1


@pytest.mark.parametrize("how", ["no options", "tz"])
@pytest.mark.parametrize(
    ("kind", "member", "text", "sources"),
    [
        ("identities", "user_disabled", "TRUE ", ["rows", "json"]),
        ("identities", "user_disabled", "true", ["json"]),
        ("claims", "addresses", '["a"]', ["json"]),
        ("orchestrations", "metadata", '{"a":"b"}', ["json"]),
    ],
)
def test_a_text_that_is_no_boolean_or_list_does_not_become_one(
    operator: Service,
    tmp_path: Path,
    kind: str,
    member: str,
    text: str,
    sources: list[str],
    how: str,
) -> None:
    row = short_line(kind, **{member: text})
    for source in sources:
        given: Any = [row] if source == "rows" else io.BytesIO(json.dumps(row).encode())
        rejects = tmp_path / f"{source}.csv"
        (rejection,) = operator.load(kind, given, rejects=rejects, **OPTIONS[how]).rejections
        assert rejection.member == member
        assert operator.load(kind, rejects, **OPTIONS[how]).rejected == 1


class Zone(tzinfo):
    """A zone that can be pickled, but not read again."""

    def __init__(self, hours: int) -> None:
        self._offset = timedelta(hours=hours)

    def utcoffset(self, _: datetime | None) -> timedelta:
        return self._offset


def test_a_zone_of_the_caller_does_not_end_a_load(operator: Service, tmp_path: Path) -> None:
    rows = [short_line("claims", id=f"c-{number}") for number in range(2)]
    for row in rows:
        row["created_at"] = datetime(2026, 1, 1, tzinfo=Zone(1))
    rows[1]["amount"] = "x"
    path = tmp_path / "r.csv"
    result = accounted(operator.load("claims", iter(rows), keep_going=True, rejects=path))
    assert (result.inserted, result.rejected) == (1, 1)
    assert "2026-01-01T00:00:00+01:00" in path.read_text()


def test_a_valid_value_of_a_refused_row_stays_as_it_is(operator: Service, tmp_path: Path) -> None:
    values = {"created_at": " 2026-01-01", "error_message": " x ", "tx_hash": "true"}
    for rows in (iter(claims(amount="x", **values)), as_json(amount="x", **values)):
        operator.load("claims", rows, rejects=tmp_path / "r.csv")
        (written,) = read_csv(tmp_path / "r.csv")
        assert {name: written[name] for name in values} == values


@pytest.mark.parametrize(
    ("kind", "line", "cells"),
    [
        ("claims", '{"id":"a","tx_hash":NaN}', {"id": "a", "tx_hash": "rejected:\nNaN"}),
        (
            "orchestrations",
            '{"id":"a","metadata":{"a":1.50}}',
            {"id": "a", "metadata": '{"a": 1.50}'},
        ),
    ],
)
def test_a_line_of_json_is_not_written_as_another(
    operator: Service, tmp_path: Path, kind: str, line: str, cells: dict[str, str]
) -> None:
    rejects = tmp_path / "r.csv"
    operator.load(kind, io.BytesIO(line.encode()), rejects=rejects)
    (row,) = read_csv(rejects)
    assert {name: cell for name, cell in row.items() if "rejected_" not in name} == cells
    assert operator.load(kind, rejects).rejected == 1


def test_a_line_with_a_member_twice_is_no_record(operator: Service, tmp_path: Path) -> None:
    line = json.dumps(short_line("claims"))[:-1] + ',"tx_hash":"x","tx_hash":"y"}'
    operator.load("claims", io.BytesIO(line.encode()), rejects=tmp_path / "r.csv")
    (row,) = read_csv(tmp_path / "r.csv")
    assert row["row"] == line


def test_every_refused_value_of_a_row_is_refused_again(operator: Service, tmp_path: Path) -> None:
    """A rejection names the first of them."""
    row = claims(amount=ROUNDED, tx_hash=True, error_message=b"x", asset_type="")
    rejects = tmp_path / "r.csv"
    operator.load("claims", row, rejects=rejects)
    for member in ("amount", "tx_hash", "error_message"):
        (written,) = read_csv(rejects)
        assert written["rejected_member"]
        written[member] = "1"
        write_csv(rejects, [written])
        assert operator.load("claims", rejects, dry_run=True).rejected == 1


AGAIN: dict[str, Callable[[Path], Any]] = {
    "csv": lambda path: path,
    "pandas": lambda path: pd.read_csv(path, dtype=str),
    "polars": lambda path: pl.read_csv(path, infer_schema=False),
    "rows": lambda path: iter(read_csv(path)),
    "json": lambda path: io.BytesIO(json.dumps(read_csv(path)).encode()),
}


@pytest.mark.parametrize("source", AGAIN)
def test_rejects_of_rejects_have_their_own_reasons(
    operator: Service, tmp_path: Path, source: str
) -> None:
    first, second = tmp_path / "1.csv", tmp_path / "2.csv"
    operator.load("claims", claims(amount="x", note="of the source"), rejects=first)
    (row,) = read_csv(first)
    write_csv(first, [row | {"amount": "y", "rejected_message": "old"}])
    assert operator.load("claims", AGAIN[source](first), rejects=second).rejected == 1
    assert second.read_text(encoding="utf-8").count("rejected_line") == 1
    (row,) = read_csv(second)
    assert row["rejected_value"] == "y"
    if source != "pandas":  # its other columns are not in the lines
        assert row["note"] == "of the source"
    assert "old" not in row["rejected_message"]
    write_csv(second, [row | {"amount": "2"}])
    assert accounted(operator.load("claims", second)).inserted == 1


@pytest.mark.parametrize("options", [{}, {"tz": "UTC"}, {"rename": {"amount": "amount"}}], ids=str)
@pytest.mark.parametrize("rows", [[], claims()], ids=["no rows", "valid rows"])
def test_rejects_without_rows_are_an_empty_table(
    operator: Service, tmp_path: Path, rows: list[dict[str, Any]], options: dict[str, Any]
) -> None:
    rejects = tmp_path / "r.csv"
    for source in (iter(rows), io.BytesIO(b"".join(json.dumps(row).encode() for row in rows))):
        operator.load("claims", source, rejects=rejects, **options)
        result = accounted(operator.load("claims", rejects, rejects=tmp_path / "2.csv", **options))
        assert result.read == 0


def read_csv(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"), newline="")))


def write_csv(path: Path, rows: list[dict[str, str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
