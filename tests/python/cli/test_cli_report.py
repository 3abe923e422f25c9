"""The report at the command line, and the formatting of figures."""

from __future__ import annotations

import pytest
from command_line import GOOD, Run, claim, lines
from comptroller.display import numbers

pytest.importorskip("click")
pytest.importorskip("rich")
pytest.importorskip("sqlglot")
pytest.importorskip("duckdb")
pytest.importorskip("polars")

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


STUCK = lines(
    *(
        claim(
            f"s-{n}", onchain_status="FAILED", error_message="out of gas", claim_schedule_id="daily"
        )
        for n in range(3)
    ),
    claim(
        "s-9",
        onchain_status="SUBMITTED",
        submitted_at="2026-01-31T12:00:00Z",
        updated_at="2026-02-02T12:00:00Z",
    ),
)


def test_the_overview_in_json_is_exact(run: Run) -> None:
    run("load", "claims", "-", given=REPORTED)
    answer = run("report", "--json", "--since", "2026-01-31").json
    assert answer["claims"] == [
        {
            "claims": 3,
            "confirmed": 1,
            "failed": 1,
            "submitted": 0,
            "pending": 1,
            "success_rate": 0.5,
        }
    ]
    (amount,) = answer["amounts"]
    assert (amount["asset"], amount["confirmed_amount"]) == ("RPL", "1.5")
    assert amount["waiting_amount"] == "0.000000000000000001"
    assert amount["failed_amount"] == "1000000"
    assert [row["p99_seconds"] for row in answer["times"]] == [96.5]
    assert answer["failures"] == [{"error_message": "out of gas", "failures": 1, "made_good": 0}]
    assert answer["findings"] == []
    assert run("report", "--json", "--until", "2026-01-31").json["claims"] == []


def test_the_overview_fits_eighty_columns(run: Run) -> None:
    run("load", "claims", "-", given=REPORTED)
    ended = run("report")
    assert ended.code == 0
    assert max(len(line.rstrip()) for line in ended.out.splitlines()) <= 80
    for expected in ("50.00 %", "1 min 36 s", "0.000000000000000001", "1,000,000", "out of gas"):
        assert expected in ended.out
    assert "Nothing unusual was found." in ended.out


def test_findings_name_the_command_for_details(run: Run) -> None:
    run("load", "claims", "-", given=REPORTED)
    run("load", "claims", "-", given=STUCK)
    ended = run("report", "--since", "2026-01-01")
    found = run("report", "--since", "2026-01-01", "--json").json["findings"]
    assert [each["command"] for each in found] == [
        "comptroller report stuck-claims --since 2026-01-01",
        "comptroller report failing-schedules --since 2026-01-01",
    ]
    assert "1 claim wait" in found[0]["finding"]
    assert "daily: 3 claims failed since 2026-01-31, none confirmed: out of gas" in ended.out
    for each in found:
        assert each["command"] in ended.out
        shown = run(*each["command"].split()[1:], "--json").json
        assert len(shown["rows"]) == 1


def test_amounts_are_never_cut(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("load", "claims", "-", given=lines(claim("c-1", amount="9" * 20 + "." + "9" * 18)))
    monkeypatch.setenv("COLUMNS", "20")
    assert "99,999,999,999,999,999,999.999999999999999999" in run("report").out


@pytest.mark.parametrize("option", ["--since", "--until"])
@pytest.mark.parametrize("given", ["bogus", "2026-13-01", "2026-01-31T12:00:00"])
@pytest.mark.parametrize("kind", ["claims", "controls"])
def test_an_invalid_bound_is_named(run: Run, kind: str, option: str, given: str) -> None:
    run("load", "claims", "-", given=GOOD)
    ended = run("export", kind, "out.parquet", option, given)
    assert ended.code == 1
    assert f"{option}: {given!r} is not a time; give a date such as 2026-01-31" in ended.err


def test_an_overview_without_claims_says_so(run: Run) -> None:
    run("load", "claims", "-", given=b"")
    assert run("report").out == "There are no claims.\n"
    assert run("report", "--json").json["claims"] == []
    ended = run("report", "--since", "yesterday")
    assert ended.code == 1
    assert "invalid-request: since: must be a date such as" in ended.err


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
def test_durations_are_formatted_for_people(microseconds: int, shown: str) -> None:
    assert numbers.duration(microseconds) == shown


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
def test_ratios_are_not_rounded_to_0_or_100_percent(ratio: float | None, shown: str) -> None:
    assert numbers.percent(ratio) == shown
