"""The reports on failures."""

# Generated from the registry of reports by `make generate`; change the files of `sql`.

from __future__ import annotations

from collections.abc import Sequence

from comptroller.analysis.engines import Engine
from comptroller.analysis.parameters import Since
from comptroller.analysis.registry import REPORTS
from comptroller.analysis.report import Report
from comptroller.analysis.running import Runner
from comptroller.arguments import Texts


class FailuresReports(Runner):
    """Reports on failures."""

    def stuck_claims(
        self,
        as_of: Since = None,
        percentile: float = 0.99,
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
        """Which claims have waited longer than nearly all confirmed claims of their chain?

        A claim waits from its submission, or from its creation if it is PENDING or has no time of
        submission. It is listed if it waits longer than the threshold of its chain: the time within
        which the given share of the chain's CONFIRMED claims, whatever the filters but within since
        and until, were confirmed after their submission. The filter status selects among PENDING
        and SUBMITTED.

        Args:
            as_of: the end of the waiting times; by default the newest change of a claim.
            percentile: the share of the threshold, by nearest rank; above 0, at most 1.
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
            id: the claim (text).
            group: its payout group (text).
            chain: its chain; claims without one are compared with each other (text).
            status: PENDING or SUBMITTED (text).
            asset: its asset (text).
            amount: its amount (amount).
            age_seconds: its waiting time (seconds).
            threshold_seconds: the threshold of its chain (seconds).
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
            REPORTS["stuck_claims"], {"as_of": as_of, "percentile": percentile, **common}
        )

    def failures(
        self,
        by: Sequence[str] = ("chain",),
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
        """Why did claims fail, and how many failures did a later claim recover?

        FAILED claims by their message. A later CONFIRMED claim of the same group and asset recovers
        a failure, whatever the filters: it includes its rewards. One that was created outside since
        and until recovers none. The filter status selects FAILED or nothing.

        Args:
            by: the keys to group by, from status, chain, asset, jurisdiction, group, address,
                customer, schedule, claim_type, hour, day, week, month, quarter, year.
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
            keys: the keys of `by`, asset; a period is the date of its start in `tz`, an hour a
                time in UTC.
            error_message: the message; null if there is none (text).
            failures: the number of FAILED claims with this message (count).
            amount: the exact sum of their amounts (amount).
            groups: the number of their payout groups (count).
            made_good: the number of failures that a later claim recovered (count).
            made_good_amount: the exact sum of the amounts of these failures (amount).
            first_at: when the first failure was created (time).
            last_at: when the last failure was created (time).
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
        return self.run(REPORTS["failures"], {"by": by, **common})

    def failing_schedules(
        self,
        least: int = 3,
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
        """On which schedules have claims failed since the last confirmed claim?

        The FAILED claims of a schedule that were created after its last CONFIRMED claim. A schedule
        is listed if it has at least the given minimum of them. Filters select failures; the last
        CONFIRMED claim is taken from all claims of the schedule within since and until. The filter
        status selects FAILED or nothing.

        Args:
            least: the minimum number of failures of a schedule.
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
            schedule: the schedule (text).
            failures: the number of FAILED claims since its last CONFIRMED claim (count).
            groups: the number of their payout groups (count).
            last_message: the message of the last failure (text).
            first_at: when the first failure was created (time).
            last_at: when the last failure was created (time).
            confirmed_at: when this CONFIRMED claim was created; null if there is none (time).
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
        return self.run(REPORTS["failing_schedules"], {"least": least, **common})

    def shared_transactions(
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
        """Which transactions are named by more than one claim?

        Claims of one chain with the same tx_hash. The spellings of an EVM hash are one hash; the
        case of any other hash is significant. One transaction may pay several groups; if it does
        not, the claim was recorded twice and its amount counts twice. Filters select claims before
        they are compared.

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
            tx_hash: the hash of the transaction; an EVM hash in lower case (text).
            chain: the chain (text).
            asset: the asset of these claims (text).
            claims: the number of claims that name the transaction (count).
            groups: the number of their payout groups (count).
            confirmed_amount: the exact sum of the amounts of those that are CONFIRMED (amount).
            first_at: when the first of them was created (time).
            last_at: when the last of them was created (time).
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
        return self.run(REPORTS["shared_transactions"], {**common})
