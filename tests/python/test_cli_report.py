"""The report at the command line, and how figures are shown for people."""

from __future__ import annotations

import re

import pytest
from command_line import GOOD, Run, claim, lines
from comptroller import figures
from comptroller.counting.totals import DIMENSIONS

pytest.importorskip("click")
pytest.importorskip("rich")

REPORTED = lines(
    claim("c-1", amount="0.000000000000000001", blockchain="INK"),
    claim(
        "c-2",
        onchain_status="CONFIRMED",
        submitted_at="2026-01-31T12:00:00Z",
        confirmed_at="2026-01-31T12:01:36.5Z",
    ),
    claim("c-3", onchain_status="FAILED", error_message="out of gas", amount="1000000"),
)


def test_a_report_is_exact_for_machines(run: Run) -> None:
    run("load", "claims", "-", given=REPORTED)
    ended = run("report", "--json", "--start", "2026-01-31", "--by", "chain", "--by", "status,day")
    times = {"claims": 1, "p50_us": 96500000, "p90_us": 96500000, "p99_us": 96500000}
    answer = ended.json
    assert answer["start"] == "2026-01-31T00:00:00Z"
    assert (answer["claims"], answer["success_rate"]) == (3, 0.5)
    assert answer["time_to_confirm"] == times
    assert answer["assets"] == [
        {"asset": "RPL", "claims": 3, "amount": "1000001.500000000000000001"}
    ]
    assert answer["failures"] == [{"message": "out of gas", "claims": 1}]
    assert list(answer["by"]) == ["chain", "status,day"]
    assert answer["by"]["chain"][0] == {
        "chain": "INK",
        "claims": 1,
        "confirmed": 0,
        "failed": 0,
        "waiting": 0,
        "success_rate": None,
        "time_to_confirm": None,
        "assets": [{"asset": "RPL", "claims": 1, "amount": "0.000000000000000001"}],
    }
    assert [row["status"] for row in answer["by"]["status,day"]] == [
        "PENDING",
        "CONFIRMED",
        "FAILED",
    ]


def test_a_report_is_whole_in_eighty_columns(run: Run) -> None:
    run("load", "claims", "-", given=REPORTED)
    ended = run("report")
    assert ended.code == 0
    assert max(len(line.rstrip()) for line in ended.out.splitlines()) <= 80
    for expected in (
        "success rate     50.00 %  (1 CONFIRMED, 1 FAILED)",
        "time to confirm  p50 1 min 36 s",
        "1,000,000.000000000000000000",
        "0.000000000000000001",
        "     1  out of gas",
        *(f"By {name}: amounts" for name in DIMENSIONS),
    ):
        assert expected in ended.out


def test_amounts_are_never_cut(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("load", "claims", "-", given=lines(claim("c-1", amount="9" * 20 + "." + "9" * 18)))
    monkeypatch.setenv("COLUMNS", "20")
    shown = run("report").out
    assert shown.count("99,999,999,999,999,999,999.999999999999999999") == len(DIMENSIONS)


@pytest.mark.parametrize("option", ["--start", "--end"])
@pytest.mark.parametrize("given", ["bogus", "2026-13-01", "2026-01-31T12:00:00"])
@pytest.mark.parametrize(
    "words", [["report"], ["export", "claims", "out"], ["export", "controls", "out.parquet"]]
)
def test_a_bound_that_is_no_time_is_named(
    run: Run, words: list[str], option: str, given: str
) -> None:
    run("load", "claims", "-", given=GOOD)
    ended = run(*words, option, given)
    assert ended.code == 1
    assert f"{option}: {given!r} is no time; give a date such as 2026-01-31" in ended.err


def test_of_many_days_the_latest_are_shown(run: Run) -> None:
    days = (f"2026-01-{day:02}T00:00:00Z" for day in range(1, 31))
    run("load", "claims", "-", given=lines(*(claim(day, created_at=day) for day in days)))
    short, whole = run("report"), run("report", "--by", "day")
    assert "... and 16 earlier days" in short.out
    assert "2026-01-01" not in short.out
    assert "2026-01-01" in whole.out
    assert len(run("report", "--json").json["by"]["day"]) == 30


def test_a_report_of_nothing_says_so(run: Run) -> None:
    run("load", "claims", "-", given=b"")
    assert run("report").out == "0 claims of all customers\n"
    assert run("report", "--json").json["success_rate"] is None
    ended = run("report", "--start", "yesterday")
    assert ended.code == 1
    assert re.match(r"comptroller: invalid-request: --start: ", ended.err)


@pytest.mark.parametrize(
    ("microseconds", "shown"),
    [
        (0, "0 ms"),
        (999_999, "999 ms"),
        (1_000_000, "1.0 s"),
        (59_999_999, "59.9 s"),
        (60_000_000, "1 min 00 s"),
        (3_599_999_999, "59 min 59 s"),
        (3_600_000_000, "1 h 00 min"),
        (90_000_000_000, "1 d 01 h"),
        (-1_500_000, "-1.5 s"),
        (-999, "0 ms"),
    ],
)
def test_durations_are_shown_for_people(microseconds: int, shown: str) -> None:
    assert figures.duration(microseconds) == shown


@pytest.mark.parametrize(
    ("ratio", "shown"),
    [
        (None, "-"),
        (0.0, "0.00 %"),
        (-0.00001, "0.00 %"),
        (1.0, "100.00 %"),
        (0.999999, "> 99.99 %"),
        (0.00001, "< 0.01 %"),
        (0.978512, "97.85 %"),
    ],
)
def test_ratios_are_not_rounded_to_certainty(ratio: float | None, shown: str) -> None:
    assert figures.percent(ratio) == shown
