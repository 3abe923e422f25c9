# Written by `make generate` from the registry of reports.
from collections.abc import Sequence
from typing import TypedDict, Unpack

from comptroller.analysis.engines import Engine
from comptroller.analysis.parameters import Since
from comptroller.analysis.report import Report
from comptroller.analysis.running import Runner

class Bounds(TypedDict, total=False):
    since: Since
    until: Since
    engine: str | Engine | None

class Reports(Runner):
    def claims_summary(
        self,
        by: Sequence[str] = ("chain", "day"),
        **bounds: Unpack[Bounds],
    ) -> Report:
        """How many claims are there, what do they amount to, and how many succeeded?"""

    def confirmation_times(
        self,
        by: Sequence[str] = ("chain",),
        as_of: Since = None,
        **bounds: Unpack[Bounds],
    ) -> Report:
        """How long do claims take to be confirmed, including claims that still wait?"""

    def stuck_claims(
        self,
        as_of: Since = None,
        percentile: float = 0.99,
        **bounds: Unpack[Bounds],
    ) -> Report:
        """Which claims have waited longer than nearly all confirmed claims of their chain?"""

    def failures(
        self,
        by: Sequence[str] = ("chain",),
        **bounds: Unpack[Bounds],
    ) -> Report:
        """Why did claims fail, and how many failures did a later claim make good?"""

    def failing_schedules(
        self,
        least: int = 3,
        **bounds: Unpack[Bounds],
    ) -> Report:
        """On which schedules have claims failed since the last confirmed claim?"""

    def restrictions(
        self,
        by: Sequence[str] = ("month",),
        **bounds: Unpack[Bounds],
    ) -> Report:
        """How many controls were created, deleted and active, and how long do they last?"""

    def group_statement(
        self,
        group: str,
        month: str,
        **bounds: Unpack[Bounds],
    ) -> Report:
        """What did a group hold and claim on each day of a month?"""

    def reconciliation(
        self,
        month: str | None = None,
        tolerance: float = 0.05,
        **bounds: Unpack[Bounds],
    ) -> Report:
        """Do the amounts that groups claimed match the balances of their addresses?"""

    def cohort(
        self,
        **bounds: Unpack[Bounds],
    ) -> Report:
        """How many of the groups that first claimed in a month still claim in later months?"""

    def anomalies(
        self,
        by: Sequence[str] = ("chain",),
        band: float = 5.0,
        measure: str = "claims",
        **bounds: Unpack[Bounds],
    ) -> Report:
        """On which days was the number or amount of claims far from usual?"""

    def orchestration_flow(
        self,
        **bounds: Unpack[Bounds],
    ) -> Report:
        """Between which assets does value move, and how do the orchestrations end?"""

    def history(
        self,
        id: str,
        **bounds: Unpack[Bounds],
    ) -> Report:
        """Which events happened to a claim, an identity, a payout group or an address?"""
