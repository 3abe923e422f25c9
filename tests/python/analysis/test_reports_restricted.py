"""The register of the identities that are restricted on a day."""

from __future__ import annotations

from typing import Any

import comptroller
from lines import control, identity, load
from reporting import only, ran


def made(name: str, created_at: str, deleted_at: str | None = None) -> dict[str, Any]:
    lifted = {} if deleted_at is None else {"deleted_at": deleted_at}
    return control(id=name, identity_id="i", created_at=created_at, reason="asked", **lifted)


def test_the_controls_in_force_on_a_day_are_listed(operator: comptroller.Service) -> None:
    load(operator, "identities", identity(id="i", ref_id="customer-17"))
    load(
        operator,
        "controls",
        made("before", "2026-01-01T00:00:00Z", "2026-01-09T23:59:59.999999Z"),
        made("until", "2026-01-01T00:00:00Z", "2026-01-10T00:00:00Z"),
        made("still", "2026-01-10T23:59:59.999999Z"),
        made("later", "2026-01-11T00:00:00Z", "2026-02-01T12:00:00Z"),
    )
    rows = ran(operator, "restricted", "2026-01-10")
    assert only(rows, "identity", "reference", "type", "control", "reason") == [
        ("i", "customer-17", "SELL_ONLY", "until", "asked"),
        ("i", "customer-17", "SELL_ONLY", "still", "asked"),
    ]
    assert [row["control"] for row in ran(operator, "restricted")] == ["still", "later"]
    rows = ran(operator, "restricted", "2026-01-10", tz="Asia/Tokyo")
    assert [row["control"] for row in rows] == ["before", "until"]
    assert "on 2026-01-10" in operator.reports.restricted("2026-01-10").summary
    assert "on 2026-02-01" in operator.reports.restricted().summary
    assert "on 2026-02-02" in operator.reports.restricted(tz="Pacific/Kiritimati").summary
    until = operator.reports.restricted(until="2026-01-01")
    assert until.summary.endswith("on 2026-02-01, 0 rows")
    assert ran(operator, "restricted", customer="nobody") == []


def test_without_controls_nobody_is_restricted(operator: comptroller.Service) -> None:
    assert ran(operator, "restricted") == []
    assert operator.reports.restricted().summary == "0 rows"
