"""The reports on groups."""

# Generated from the registry of reports by `make generate`; change the files of `sql`.

from __future__ import annotations

from comptroller.analysis.engines import Engine
from comptroller.analysis.parameters import Since
from comptroller.analysis.registry import REPORTS
from comptroller.analysis.report import Report
from comptroller.analysis.running import Runner
from comptroller.arguments import Texts


class GroupsReports(Runner):
    """Reports on groups."""

    def group_statement(
        self,
        group: str,
        month: str,
        *,
        status: Texts | None = None,
        chain: Texts | None = None,
        asset: Texts | None = None,
        jurisdiction: Texts | None = None,
        customer: Texts | None = None,
        since: Since = None,
        until: Since = None,
        tz: str = "UTC",
        engine: str | Engine | None = None,
    ) -> Report:
        """What did a group hold and claim on each day of a month?

        opening_holdings is the sum of the newest snapshots of the group's addresses before the day,
        closing_holdings before the next day. Claims are CONFIRMED claims, on the day of their
        confirmation. The last row, without a day, covers the whole month. since, until and the
        filters exclude claims; they do not limit holdings. The filter asset also excludes the rows
        of other assets.

        Args:
            group: the payout group, by id or unique name.
            month: a month such as 2026-05.
            status: only claims of these statuses: PENDING or SUBMITTED or CONFIRMED or FAILED.
            chain: only records of these chains.
            asset: only records of these assets.
            jurisdiction: only records of payout groups of these jurisdictions.
            customer: only records of these customers.
            since: only records created at this time or later; a day is its start.
            until: only records created before this time; a day is its start, so it is left out.
            tz: the time zone of days and longer periods, and of bounds.
            engine: the engine that runs the SQL: duckdb (the default), postgresql (in the
                database of the service), spark, or an Engine.

        Columns:
            day: the day; null in the last row, which covers the month (date).
            asset: the asset: the group's, and others that it claimed (text).
            opening_holdings: the balance of its addresses when the day began; null if unknown
                (amount).
            claims: the number of its claims confirmed on the day (count).
            claimed: the exact sum of their amounts (amount).
            closing_holdings: the balance of its addresses when the day ended; null if unknown
                (amount).
            last_claim: the last of these claims; if several are last, the one with the greatest
                id (text).
            last_claim_at: when it was confirmed (time).
            group: the payout group (text).
        """
        common = {
            "status": status,
            "chain": chain,
            "asset": asset,
            "jurisdiction": jurisdiction,
            "customer": customer,
            "since": since,
            "until": until,
            "tz": tz,
            "engine": engine,
        }
        return self.run(REPORTS["group_statement"], {"group": group, "month": month, **common})

    def reconciliation(
        self,
        month: str | None = None,
        tolerance: float = 0.05,
        *,
        status: Texts | None = None,
        chain: Texts | None = None,
        asset: Texts | None = None,
        jurisdiction: Texts | None = None,
        group: Texts | None = None,
        customer: Texts | None = None,
        since: Since = None,
        until: Since = None,
        tz: str = "UTC",
        engine: str | Engine | None = None,
    ) -> Report:
        """Do the amounts that groups claimed match the balances of their addresses?

        annual_rate = claimed / average_holdings x 365 / days; deviation = annual_rate / median_rate
        - 1, where the median is that of the groups of the same asset and ledger in the same month.
        Claims are CONFIRMED claims, in the month of their confirmation. Holdings are weighted by
        time. since and until exclude claims created outside them; they do not limit holdings. The
        filters select rows by their group, whose ledger is the chain; the median is that of all
        groups. With a filter status that does not select CONFIRMED, nothing counts as claimed.

        Args:
            month: a month such as 2026-05; by default each month with claims or holdings.
            tolerance: the tolerated deviation from the median rate.
            status: only claims of these statuses: PENDING or SUBMITTED or CONFIRMED or FAILED.
            chain: only records of these chains.
            asset: only records of these assets.
            jurisdiction: only records of payout groups of these jurisdictions.
            group: only records of these payout groups, by id or unique name.
            customer: only records of these customers.
            since: only records created at this time or later; a day is its start.
            until: only records created before this time; a day is its start, so it is left out.
            tz: the time zone of days and longer periods, and of bounds.
            engine: the engine that runs the SQL: duckdb (the default), postgresql (in the
                database of the service), spark, or an Engine.

        Columns:
            group: the payout group, in each month from its first month on (text).
            month: the month (date).
            asset: the asset: the group's, and others that it claimed (text).
            ledger: its ledger; null if the group is unknown (text).
            claimed: the exact sum of its CONFIRMED claims (amount).
            average_holdings: the mean of its holdings; null without a snapshot (holdings).
            days: from the group's first claim or snapshot to the last of any group (count).
            annual_rate: claimed / average_holdings x 365 / days (ratio).
            median_rate: the lower median of groups of the same asset and ledger (ratio).
            deviation: annual_rate / median_rate - 1 (ratio).
            within_tolerance: whether the deviation is tolerated; false for claims on holdings
                of 0 (flag).
        """
        common = {
            "status": status,
            "chain": chain,
            "asset": asset,
            "jurisdiction": jurisdiction,
            "group": group,
            "customer": customer,
            "since": since,
            "until": until,
            "tz": tz,
            "engine": engine,
        }
        return self.run(
            REPORTS["reconciliation"], {"month": month, "tolerance": tolerance, **common}
        )

    def cohort(
        self,
        *,
        status: Texts | None = None,
        chain: Texts | None = None,
        asset: Texts | None = None,
        jurisdiction: Texts | None = None,
        group: Texts | None = None,
        customer: Texts | None = None,
        since: Since = None,
        until: Since = None,
        tz: str = "UTC",
        engine: str | Engine | None = None,
    ) -> Report:
        """How many of the groups that first claimed in a month still claim in later months?

        A group's month is the month in which it created its first claim of the asset that the
        filters, since and until select. Its age in a later month is the number of months in
        between. It is active in a month in which it created such a claim. Only confirmed_amount was
        paid.

        Args:
            status: only claims of these statuses: PENDING or SUBMITTED or CONFIRMED or FAILED.
            chain: only records of these chains.
            asset: only records of these assets.
            jurisdiction: only records of payout groups of these jurisdictions.
            group: only records of these payout groups, by id or unique name.
            customer: only records of these customers.
            since: only records created at this time or later; a day is its start.
            until: only records created before this time; a day is its start, so it is left out.
            tz: the time zone of days and longer periods, and of bounds.
            engine: the engine that runs the SQL: duckdb (the default), postgresql (in the
                database of the service), spark, or an Engine.

        Columns:
            month: the month of the first claim (date).
            age_months: the number of months since then; 0 in that month (count).
            asset: the asset that they claim (text).
            groups: the number of groups that created a claim at that age (count).
            confirmed_amount: the exact sum of those of these claims that are CONFIRMED
                (amount).
            waiting_amount: the exact sum of those that are PENDING or SUBMITTED (amount).
            failed_amount: the exact sum of those that are FAILED (amount).
        """
        common = {
            "status": status,
            "chain": chain,
            "asset": asset,
            "jurisdiction": jurisdiction,
            "group": group,
            "customer": customer,
            "since": since,
            "until": until,
            "tz": tz,
            "engine": engine,
        }
        return self.run(REPORTS["cohort"], {**common})
