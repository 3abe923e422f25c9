"""Columns of tables are converted as rows are, whatever the values and options."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import comptroller
import pytest
from comptroller import LoadResult, Service
from examples import accounted, line, short_line
from hypothesis import example, given, settings, strategies as st

pl = pytest.importorskip("polars")

AMOUNTS = [
    "1.5",
    "1,5",
    "1.234,50",
    "1'234,5",
    "1'234.5",
    "0.123",
    "1,2,3",
    "eins",
    " 1",
    "-1",
    "",
    "1e3",
]
TIMES = [
    "2026-01-31T12:00:00Z",
    "2026-01-31T12:00:00+01:00",
    "2026-01-31 12:00",
    "2026-01-31T12:00:00",
    "2026-01-31T12:00:00.1234567",
    "2026-01-31",
    "31.01.2026",
    "1.2.2026 3:04",
    "31.01.2026 13:00:05",
    "03/04/2026",
    "2026-03-29 02:30:00",
    "2026-10-25 02:30:00",
    "2026-02-30",
    "yesterday",
    " 2026-01-31 ",
    "",
]
GROUPS = ["GRP-1", "GRP-2", "0190c7a4-5d3e-7cc3-98c4-dc0c0c07398f", ""]
ADDRESSES = ['["0x1", "0x2"]', "[]", "0x1", "[", '["a\\u00e4"]', "{}", "[1]", '["a",\n"b"]', ""]

rows = st.lists(
    st.fixed_dictionaries(
        {
            "amount": st.sampled_from(AMOUNTS),
            "created_at": st.sampled_from(TIMES),
            "confirmed_at": st.sampled_from(TIMES),
            "payout_group_id": st.sampled_from(GROUPS),
            "addresses": st.sampled_from(ADDRESSES),
            "claim_type": st.sampled_from(["CLAIM_ALL", ""]),
            "note": st.sampled_from(["", "a"]),
        }
    ),
    min_size=1,
    max_size=8,
)
options = st.fixed_dictionaries(
    {},
    optional={
        "decimal": st.just(","),
        "tz": st.sampled_from(["UTC", "Europe/Zurich"]),
        "dayfirst": st.booleans(),
        "ids": st.just("uuid5"),
        "constants": st.sampled_from([{"claim_type": "CLAIM_ALL"}, {"asset_type": "ETH"}]),
    },
)


def lines_of(rows: list[dict[str, str]]) -> list[int]:
    """Returns the line of each row in a CSV file, by its number from 1; a cell may have lines."""
    more = [sum(value.count("\n") for value in row.values()) for row in rows]
    return [0, *(2 + n + sum(more[:n]) for n in range(len(rows)))]


def shown(result: LoadResult, lines: Sequence[int]) -> object:
    rejections = [(lines.index(each.line), each.member, each.message) for each in result.rejections]
    counts = (result.read, result.inserted, result.rejected, result.blank)
    return counts, rejections, result.unknown_members


def exported(service: Service, folder: str) -> bytes:
    service.export("claims", Path(folder) / "o.ndjson")
    return (Path(folder) / "o.ndjson").read_bytes()


@settings(deadline=None, max_examples=150)
@given(rows, options)
@example([{"created_at": each, "amount": "1"} for each in TIMES], {"tz": "Europe/Zurich"})
@example([{"created_at": TIMES[-2], "amount": each} for each in AMOUNTS], {"decimal": ","})
def test_a_table_loads_as_its_rows(rows: list[dict[str, str]], options: Any) -> None:
    base = {"id": "", "payout_group_id": "", "claim_type": "CLAIM_ALL", "onchain_status": "FAILED"}
    rows = [base | row | {"id": f"c-{n}"} for n, row in enumerate(rows)]
    rows.insert(1, dict.fromkeys(rows[0], ""))
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    with (
        TemporaryDirectory() as folder,
        comptroller.open(":memory:") as table,
        comptroller.open(":memory:") as other,
    ):
        content = io.BytesIO(out.getvalue().encode())
        loaded = accounted(table.load("claims", content, keep_going=True, **options))
        plain = [{name: row[name].strip(" ") or None for name in rows[0]} for row in rows]
        options.setdefault("rename", {"id": "id"})  # converts rows as those of a table
        expected = accounted(other.load("claims", plain, keep_going=True, **options))
        assert shown(loaded, lines_of(rows)) == shown(expected, range(len(rows) + 1))
        assert exported(table, folder) == exported(other, folder)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_large_table_has_each_refusal_in_its_line(
    operator: Service, tmp_path: Path, suffix: str
) -> None:
    count, bad = 150_000, {7, 70_000, 149_999}
    base = short_line("claims")
    frame = pl.DataFrame(
        {
            "Nr": [f"c-{n}" for n in range(count)],
            "Betrag": ["eins" if n in bad else f"{n},5" for n in range(count)],
        }
    )
    getattr(frame, f"write_{suffix}")(tmp_path / f"x.{suffix}")
    result = accounted(
        operator.load(
            "claims",
            tmp_path / f"x.{suffix}",
            rename={"Nr": "id", "Betrag": "amount"},
            decimal=",",
            constants={name: base[name] for name in base if name not in ("id", "amount")},
            keep_going=True,
            rejects=tmp_path / "r.csv",
        )
    )
    before = 1 if suffix == "csv" else 0
    assert [each.line - before - 1 for each in result.rejections] == sorted(bad)
    assert {(each.member, each.value) for each in result.rejections} == {("amount", "eins")}
    assert result.inserted == count - 3
    assert (tmp_path / "r.csv").read_text().count("\n") == 4


def test_typed_columns_of_parquet_are_converted(operator: Service, tmp_path: Path) -> None:
    base = short_line("claims")
    frame = pl.DataFrame(
        {
            **{name: [value] * 3 for name, value in base.items()},
            "id": ["1", "2", "3"],
            "amount": [0.1, 1e-7, 2.5],  # the second is converted as a row
            "created_at": [datetime(2026, 7, 1, 12)] * 3,
            "confirmed_at": [date(2026, 7, 1), None, None],
            "blockchain": pl.Series(["INK", None, "INK"], dtype=pl.Categorical),
        }
    )
    frame.write_parquet(tmp_path / "x.parquet")
    result = accounted(
        operator.load("claims", tmp_path / "x.parquet", floats="shortest", tz="Europe/Zurich")
    )
    assert (result.inserted, result.floats) == (3, 3)
    claims = [operator.claims.get(str(n)) for n in (1, 2, 3)]
    assert [each.amount for each in claims] == [
        Decimal("0.1"),
        Decimal("0.0000001"),
        Decimal("2.5"),
    ]
    assert claims[0].created_at.isoformat() == "2026-07-01T10:00:00+00:00"
    assert claims[0].confirmed_at is not None
    assert claims[0].confirmed_at.isoformat() == "2026-06-30T22:00:00+00:00"
    assert [each.blockchain for each in claims] == ["INK", None, "INK"]


def test_texts_of_a_frame_may_be_json_and_booleans(operator: Service) -> None:
    frame = pl.DataFrame([short_line("claims") | {"addresses": '["0x1",\n "0x2"]'}])
    assert accounted(operator.load("claims", frame)).inserted == 1
    assert operator.claims.list().items[0].addresses == ("0x1", "0x2")
    control = {name: str(value) for name, value in line("controls").items() if value is not None}
    assert accounted(operator.load("controls", pl.DataFrame([control]))).inserted == 1


def test_a_row_of_a_frame_without_a_value_is_blank(operator: Service) -> None:
    row = short_line("claims")
    frame = pl.DataFrame([row, dict.fromkeys(row)])
    result = accounted(operator.load("claims", frame))
    assert (result.inserted, result.blank) == (1, 1)
