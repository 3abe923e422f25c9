"""Failing schedules: the number, time and reason of their failures."""

from __future__ import annotations

from collections import defaultdict
from random import Random
from typing import Any

import comptroller
import pytest
from lines import at, claim, load
from reporting import only, ran

ONE, TWO = (f"01900000-0000-7000-8000-0000000000{each}" for each in ("aa", "bb"))
COLUMNS = ("schedule", "failures", "groups", "last_message", "first_at", "last_at", "confirmed_at")


def of(schedule: str | None, second: float, status: str = "FAILED", **members: Any) -> Any:
    given = {"claim_schedule_id": schedule, "created_at": at(second), "payout_group_id": ONE}
    return claim(**{**given, "onchain_status": status, **members})


def test_failures_since_the_last_confirmed_claim_are_counted(operator: comptroller.Service) -> None:
    load(
        operator,
        "claims",
        *(of("daily", n, error_message="old") for n in range(5)),
        of("daily", 6, "CONFIRMED"),
        of("daily", 6, error_message="at once"),  # the claim is not after it
        of("daily", 7, error_message="gas"),
        of("daily", 8, error_message="gas", payout_group_id=TWO),
        of("daily", 9, error_message="nonce"),
        of("daily", 10, "SUBMITTED"),
        *(of("never", n) for n in range(3)),
        *(of("seldom", n) for n in range(2)),
        *(of(None, n) for n in range(9)),
    )
    rows = ran(operator, "failing_schedules")
    assert only(rows, *COLUMNS) == [
        ("daily", 3, 2, "nonce", at(7), at(9), at(6)),
        ("never", 3, 1, None, at(0), at(2), None),
    ]
    assert len(ran(operator, "failing_schedules", 2)) == 3
    assert only(ran(operator, "failing_schedules", since=at(8), least=1), "schedule") == [
        ("daily",)
    ]


def test_many_claims_match_a_python_loop(operator: comptroller.Service) -> None:
    chance = Random(4)
    statuses = ("CONFIRMED", "FAILED", "FAILED", "FAILED", "PENDING")
    lines = [
        of(f"s{chance.randrange(30)}", chance.randrange(400), chance.choice(statuses))
        for _ in range(600)
    ]
    load(operator, "claims", *lines)
    streaks: dict[Any, int] = defaultdict(int)
    made = [line for line in lines if line["onchain_status"] == "FAILED"]
    for line in made:
        good = [
            each["created_at"]
            for each in lines
            if each["claim_schedule_id"] == line["claim_schedule_id"]
            and each["onchain_status"] == "CONFIRMED"
        ]
        streaks[line["claim_schedule_id"]] += not good or line["created_at"] > max(good)
    rows = ran(operator, "failing_schedules", 1)
    assert dict(only(rows, "schedule", "failures")) == {key: n for key, n in streaks.items() if n}


@pytest.mark.parametrize("least", [0, -1, 1.5, "3", None, True])
def test_an_invalid_number_is_refused(operator: comptroller.Service, least: Any) -> None:
    with pytest.raises(comptroller.InvalidRequest, match="least: must be a whole number"):
        operator.reports.failing_schedules(least)
