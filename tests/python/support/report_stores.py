"""Stores with records to report on, and every report of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import comptroller
from comptroller.analysis.registry import REPORTS
from comptroller.analysis.report import Report
from lines import claim, load

#: Text of open sets comes from outside, and may be anything.
HOSTILE = "<script>alert('x')</script>&\u202e"
_KINDS = (
    *("identities", "controls", "orchestrations", "payout-groups", "reward-addresses"),
    *("balances", "claims"),
)
NAMES = list(REPORTS)


def fill(svc: comptroller.Service, folder: Path, *, claims: int, seed: int) -> None:
    """Fills a store with a sample of every kind."""
    made = comptroller.sample("all", rows=claims, seed=seed, out=str(folder / "sample"))
    for kind in _KINDS:
        assert svc.load(kind, made / f"{kind}.ndjson").committed


def furnish(svc: comptroller.Service, folder: Path) -> None:
    """Fills a store with a sample of every kind, and a failing schedule with hostile names."""
    fill(svc, folder, claims=3_000, seed=5)
    failed = {"onchain_status": "FAILED", "error_message": HOSTILE, "claim_schedule_id": "odd"}
    failed["tx_hash"] = f"0x{'ab' * 32}"
    load(svc, "claims", *(claim(**failed) for _ in range(3)))


def reported(svc: comptroller.Service, name: str, **named: Any) -> Report:
    """Runs a report; uses the group and month with the most claimed if they are required."""
    if name == "group_statement":
        (top,) = svc.reports.reconciliation().to_polars().top_k(1, by="claimed").to_dicts()
        named = {"group": top["group"], "month": f"{top['month']:%Y-%m}"}
    if name == "anomalies":
        named = {"measure": "amount", **named}
    if name == "history":
        (first,) = svc.claims.list(limit=1).items
        named = {"id": first.payout_group_id}
    report: Report = getattr(svc.reports, name)(**named)
    return report


def all_reports(svc: comptroller.Service) -> dict[str, Report]:
    """Runs every report; returns them by name."""
    return {name: reported(svc, name) for name in NAMES}
