"""The messages of the command load name its options, and what was stored."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Run
from examples import GROUP

pytest.importorskip("polars")
HEADER = "id,payout_group_id,claim_type,onchain_status,amount,created_at"


def row(amount: str = "1", created_at: str = "2026-01-31", id: str = "c1") -> str:
    return f"{id},{GROUP},CLAIM_ALL,FAILED,{amount},{created_at}\n"


ADVICE = {
    "a decimal comma": (row('"1,5"'), "give --decimal , if"),
    "commas between thousands": (row('"1,655.39"'), "remove the commas between its thousands"),
    "more commas": (row('"1,655,000"'), "remove the commas between its thousands"),
    "a local time": (row(created_at="2026-01-31 13:00"), "give --tz, such as --tz UTC or"),
    "a day or a month": (row(created_at="03/04/2026"), "give --dayfirst or --monthfirst"),
}


def spoken(text: str) -> str:
    """Returns the text of a table, whose lines are wrapped."""
    return " ".join(text.split())


@pytest.mark.parametrize("case", ADVICE)
def test_advice_about_a_row_names_options(run: Run, tmp_path: Path, case: str) -> None:
    rows, advice = ADVICE[case]
    (tmp_path / "x.csv").write_text(f"{HEADER}\n{rows}")
    ended = run("load", "claims", "x.csv")
    assert (ended.code, advice in spoken(ended.out)) == (1, True)
    assert advice.split(" if")[0] in spoken(run("load", "claims", "x.csv", "--keep-going").out)


def test_advice_about_json_names_options(run: Run) -> None:
    number = b'{"id":"c","amount":0.30000000000000004}\n'
    assert "give --floats shortest" in spoken(run("load", "claims", "-", given=number).out)
    answer = b'{"items":[{"id":"k","type":"SELL_ONLY","created_at":"2026-01-01"}]}'
    ended = run("load", "controls", "-", given=answer)
    assert "--constant identity_id=..." in spoken(ended.out)


def test_advice_about_a_file_names_options(run: Run, tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    polars.DataFrame({"id": ["c"], "amount": [1.5]}).write_parquet(tmp_path / "x.parquet")
    assert "or --floats shortest for" in run("load", "claims", "x.parquet").err
    (tmp_path / "x.csv").write_text("Betrag,Datum\n1,2\n")
    assert "or give --rename or --map" in run("load", "claims", "x.csv").err


@pytest.mark.parametrize(
    ("rows", "stored"),
    [
        (row("x"), "Nothing was stored, because no line is valid."),
        (row("x") + "\n", "Nothing was stored, because no line is valid."),
        (row("x") + row(id="c2"), "The valid lines were stored."),
        (row(), "All lines were stored."),
        ("\n", "All lines were stored."),
    ],
)
def test_the_last_line_says_what_was_stored(
    run: Run, tmp_path: Path, rows: str, stored: str
) -> None:
    (tmp_path / "x.csv").write_text(f"{HEADER}\n{rows}")
    assert run("load", "claims", "x.csv", "--keep-going").out.endswith(f"\n{stored}\n")


def test_the_rest_of_many_rejections_is_in_the_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(HEADER + "\n" + row("x") * 30)
    assert "... and 10 more; --rejects FILE.csv writes all\n" in run("load", "claims", "x.csv").out
    ended = run("load", "claims", "x.csv", "--rejects", "r.csv")
    assert "... and 10 more; r.csv has all\n" in ended.out


@pytest.mark.parametrize("text", ["", "Nummer;Betrag\n", "[]", "\n\n"])
def test_a_suggestion_needs_rows(run: Run, tmp_path: Path, text: str) -> None:
    (tmp_path / "x.csv").write_text(text)
    ended = run("load", "claims", "x.csv", "--suggest")
    assert ended.code == 1
    assert "file: x.csv has no rows; give one that has values to guess from" in ended.err


@pytest.mark.parametrize(
    ("text", "is_header"),
    [
        ("Rewards of May\nid;amount\nc;1\n", False),
        ("id;amount\nc;1\n", True),
        ("Betrag\n1.5\n", True),
    ],
)
def test_a_suggestion_without_members_asks_for_the_header(
    run: Run, tmp_path: Path, text: str, is_header: bool
) -> None:
    (tmp_path / "x.csv").write_text(text)
    printed = run("load", "claims", "x.csv", "--suggest").out
    assert ("the first row must be the header" not in printed) == is_header
