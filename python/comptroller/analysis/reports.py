"""The class of `svc.reports`, with a method for each report of the registry."""

# Generated from the registry of reports by `make generate`; change the files of `sql`.

from __future__ import annotations

from collections.abc import Sequence

from comptroller.analysis.engines import Engine
from comptroller.analysis.parameters import Since
from comptroller.analysis.registry import REPORTS
from comptroller.analysis.report import Report
from comptroller.analysis.running import Runner
from comptroller.arguments import Texts


class Reports(Runner):
    """Reports on the records of a service. A method runs a report and returns its result.

    All methods accept the filters `status`, `chain`, `asset`, `jurisdiction`, `group` and
    `customer`, each one value or several; `since` (inclusive) and `until` (exclusive), which bound
    ``created_at``; and `engine`: duckdb, spark, or an engine object. A filter selects rows: what
    they are compared with, such as the times of a chain or the median of all groups, stays that of
    all records. All engines return equal results. Reports on an unchanged store share the tables
    that were read. Each table is a consistent snapshot; the tables of one report may be read at
    slightly different times.

    Raises:
        InvalidRequest: a key or the engine is unknown, a value is invalid, or `until` is before
            `since`.
        MissingExtra: a module of the engine is not installed.
    """

    def claims_summary(
        self,
        by: Sequence[str] = ("chain", "day"),
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
        """How many claims are there, what do they amount to, and how many succeeded?

        Only confirmed_amount was paid. waiting_amount may still be confirmed; failed_amount was
        never paid, and a later claim may contain it again. success_rate = confirmed / (confirmed +
        failed). claims_share is the share of all selected claims, amount_share the share of the
        asset's confirmed amount. By address, a claim counts once for each of its addresses, also in
        the totals of the shares.

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
            engine: the engine that runs the SQL: duckdb (the default), spark, or an Engine.

        Columns:
            keys: the keys of `by`, asset; a period is the date of its start in `tz`, an hour a
                time in UTC.
            claims: the number of claims (count).
            confirmed_amount: the exact sum of the amounts of CONFIRMED claims (amount).
            waiting_amount: the exact sum of the amounts of PENDING and SUBMITTED claims
                (amount).
            failed_amount: the exact sum of the amounts of FAILED claims (amount).
            claims_share: the share of all claims (share).
            amount_share: the share of the asset's confirmed amount; null if that is 0 or
                unknown (share).
            confirmed: the number of CONFIRMED claims (count).
            failed: the number of FAILED claims (count).
            success_rate: confirmed / (confirmed + failed); null if both are 0 (share).
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
        return self.run(REPORTS["claims_summary"], {"by": by, **common})

    def confirmation_times(
        self,
        by: Sequence[str] = ("chain",),
        as_of: Since = None,
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
        """How long do claims take to be confirmed, including claims that still wait?

        The time within which half, 90 or 99 percent of claims are confirmed. Claims that are still
        SUBMITTED count as longer than their wait until as_of, by default the newest updated_at (the
        Kaplan-Meier estimate: the time p is the smallest t with S(t) <= 1 - p + 1e-12, where S(t)
        is the share that takes longer than t). A claim confirmed after as_of counts as confirmed.
        Without waiting claims, a time is that of the nearest rank. The filter status selects among
        SUBMITTED and CONFIRMED.

        Args:
            by: the keys to group by, from status, chain, asset, jurisdiction, group, address,
                customer, schedule, claim_type, hour, day, week, month, quarter, year.
            as_of: the end of the waiting times; if None, the newest updated_at.
            status: only claims of these statuses: PENDING or SUBMITTED or CONFIRMED or FAILED.
            chain: only records of these chains.
            asset: only records of these assets.
            jurisdiction: only records of payout groups of these jurisdictions.
            group: only records of these payout groups, by id or unique name.
            customer: only records of these customers.
            since: only records created at this time or later; a day is its start.
            until: only records created before this time; a day is its start, so it is left out.
            tz: the time zone of days and longer periods, and of bounds.
            engine: the engine that runs the SQL: duckdb (the default), spark, or an Engine.

        Columns:
            keys: the keys of `by`; a period is the date of its start in `tz`, an hour a time in
                UTC.
            confirmed: the number of CONFIRMED claims that have both times (count).
            waiting: the number of SUBMITTED claims that have a submitted_at (count).
            p50_seconds: the median; null if never reached (seconds).
            p90_seconds: the 90th percentile; null if never reached (seconds).
            p99_seconds: the 99th percentile; null if never reached (seconds).
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
        return self.run(REPORTS["confirmation_times"], {"by": by, "as_of": as_of, **common})

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

        age = as_of - submitted_at; for a claim that is PENDING or has no submitted_at, as_of -
        created_at. threshold = the percentile, by nearest rank, of confirmed_at - submitted_at of
        the chain's CONFIRMED claims, whatever the filters. By default, as_of is the newest
        updated_at. The filter status selects among PENDING and SUBMITTED.

        Args:
            as_of: the end of the waiting times; if None, the newest updated_at.
            percentile: the percentile of its chain's confirmed times; above 0, at most 1.
            status: only claims of these statuses: PENDING or SUBMITTED or CONFIRMED or FAILED.
            chain: only records of these chains.
            asset: only records of these assets.
            jurisdiction: only records of payout groups of these jurisdictions.
            group: only records of these payout groups, by id or unique name.
            customer: only records of these customers.
            since: only records created at this time or later; a day is its start.
            until: only records created before this time; a day is its start, so it is left out.
            tz: the time zone of days and longer periods, and of bounds.
            engine: the engine that runs the SQL: duckdb (the default), spark, or an Engine.

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
        """Why did claims fail, and how many failures did a later claim make good?

        FAILED claims by their message. A failure was made good if a claim of the same group that
        was created later is CONFIRMED, whatever the filters. The filter status selects FAILED or
        nothing.

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
            engine: the engine that runs the SQL: duckdb (the default), spark, or an Engine.

        Columns:
            keys: the keys of `by`, asset; a period is the date of its start in `tz`, an hour a
                time in UTC.
            error_message: the message; null if there is none (text).
            failures: the number of FAILED claims with this message (count).
            amount: the exact sum of their amounts (amount).
            groups: the number of their payout groups (count).
            made_good: the number of failures that a later claim made good (count).
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
        is listed if it has at least so many of them. Filters select failures; the last CONFIRMED
        claim is that of all claims of the schedule. The filter status selects FAILED or nothing.

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
            engine: the engine that runs the SQL: duckdb (the default), spark, or an Engine.

        Columns:
            schedule: the schedule (text).
            failures: the number of FAILED claims since its last CONFIRMED claim (count).
            groups: the number of their payout groups (count).
            last_message: the message of the last failure (text).
            first_at: when the first failure was created (time).
            last_at: when the last failure was created (time).
            confirmed_at: when the last CONFIRMED claim was created; null if none (time).
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
            engine: the engine that runs the SQL: duckdb (the default), spark, or an Engine.

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

    def restrictions(
        self,
        by: Sequence[str] = ("month",),
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
        """How many controls were created, deleted and active, and how long do they last?

        active = all created - all lifted until the end of the period. median_days is the time
        within which half of the controls created in the period are lifted; active controls count as
        longer than from their creation to the newest time of all controls (the Kaplan-Meier
        estimate). Controls created outside since and until are excluded, from active too. A control
        lifted before it was created counts as lifted when it was created. A control has neither
        status nor chain, asset, jurisdiction or payout group, so these filters select none.

        Args:
            by: the keys to group by, from customer, hour, day, week, month, quarter, year.
            status: only claims of these statuses: PENDING or SUBMITTED or CONFIRMED or FAILED.
            chain: only records of these chains.
            asset: only records of these assets.
            jurisdiction: only records of payout groups of these jurisdictions.
            group: only records of these payout groups, by id or unique name.
            customer: only records of these customers.
            since: only records created at this time or later; a day is its start.
            until: only records created before this time; a day is its start, so it is left out.
            tz: the time zone of days and longer periods, and of bounds.
            engine: the engine that runs the SQL: duckdb (the default), spark, or an Engine.

        Columns:
            keys: the keys of `by`, type, set_by, reason_code; a period is the date of its start
                in `tz`, an hour a time in UTC.
            created: the number of controls created in the period (count).
            lifted: the number of controls lifted in the period (count).
            active: the number of controls active at its end (count).
            median_days: the median duration of controls created in it; null if never reached
                (days).
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
        return self.run(REPORTS["restrictions"], {"by": by, **common})

    def restricted(
        self,
        on: Since = None,
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
        """Which identities are restricted on a day, by which control, since when and why?

        A register of the controls in force at any time of the day: created before it ends, and not
        lifted before it begins. A control has neither status nor chain, asset, jurisdiction or
        payout group, so these filters select none.

        Args:
            on: the day, by its start; if None, the day of the newest change of a control.
            status: only claims of these statuses: PENDING or SUBMITTED or CONFIRMED or FAILED.
            chain: only records of these chains.
            asset: only records of these assets.
            jurisdiction: only records of payout groups of these jurisdictions.
            group: only records of these payout groups, by id or unique name.
            customer: only records of these customers.
            since: only records created at this time or later; a day is its start.
            until: only records created before this time; a day is its start, so it is left out.
            tz: the time zone of days and longer periods, and of bounds.
            engine: the engine that runs the SQL: duckdb (the default), spark, or an Engine.

        Columns:
            identity: the restricted identity (text).
            reference: its reference id, given by the client (text).
            type: what it may not do (text).
            set_by: who restricted it (text).
            created_at: restricted since (time).
            lifted_at: when the control was lifted; null if it still was in force (time).
            reason_code: the coded reason (text).
            reason: the reason in prose (text).
            created_by: the client that created the control, or operator (text).
            control: the id of the control (text).
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
        return self.run(REPORTS["restricted"], {"on": on, **common})

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
        closing_holdings before the next day. Claims are CONFIRMED claims by confirmed_at. The last
        row, without a day, covers the whole month. since, until and the filters leave out claims,
        but no holdings; the filter asset leaves out the rows of other assets, too.

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
            engine: the engine that runs the SQL: duckdb (the default), spark, or an Engine.

        Columns:
            day: the day; null in the last row, which covers the month (date).
            asset: the asset: the group's, and others that it claimed (text).
            opening_holdings: the balance of its addresses when the day began; null if unknown
                (amount).
            claims: the number of its claims confirmed on the day (count).
            claimed: the exact sum of their amounts (amount).
            closing_holdings: the balance of its addresses when the day ended; null if unknown
                (amount).
            last_claim: the last of these claims; the greatest id of several (text).
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
        Claims are CONFIRMED claims by confirmed_at. Holdings are weighted by time. since and until
        leave out claims created outside them, but no holdings. The filters select rows by their
        group, whose ledger is the chain; the median is that of all groups. The filter status leaves
        out claims of other statuses: nothing is claimed without CONFIRMED.

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
            engine: the engine that runs the SQL: duckdb (the default), spark, or an Engine.

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

        A group's month is the month in which it created its first claim of the asset. Its age in a
        later month is the number of months between. It is active in a month if it created a claim
        in it. Only confirmed_amount was paid.

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
            engine: the engine that runs the SQL: duckdb (the default), spark, or an Engine.

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

    def anomalies(
        self,
        by: Sequence[str] = ("chain",),
        band: float = 5.0,
        measure: str = "claims",
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
        """On which days was the number of claims or the confirmed amount far from usual?

        score = (value - median) / MAD, where MAD, the median absolute deviation, is the usual
        distance from the median: half of the days are nearer. All days count from the series' first
        claim to the last day of any series. A day without claims counts as 0. The amount of a day
        is that of its CONFIRMED claims, or with the filter status that of the claims of these
        statuses. A day is listed if its score is beyond the band, or if MAD is 0 and its value is
        not the median. Medians are the lower middle value.

        Args:
            by: the keys to group by, from status, chain, asset, jurisdiction, group, address,
                customer, schedule, claim_type.
            band: the tolerated distance from the median, in MADs.
            measure: the measured value: claims or amount.
            status: only claims of these statuses: PENDING or SUBMITTED or CONFIRMED or FAILED.
            chain: only records of these chains.
            asset: only records of these assets.
            jurisdiction: only records of payout groups of these jurisdictions.
            group: only records of these payout groups, by id or unique name.
            customer: only records of these customers.
            since: only records created at this time or later; a day is its start.
            until: only records created before this time; a day is its start, so it is left out.
            tz: the time zone of days and longer periods, and of bounds.
            engine: the engine that runs the SQL: duckdb (the default), spark, or an Engine.

        Columns:
            keys: the keys of `by`, asset; a period is the date of its start in `tz`, an hour a
                time in UTC.
            day: the day; the last day may be incomplete (date).
            value: the claims created on it, or the exact sum of their confirmed amounts
                (amount).
            median: the median of the series (amount).
            mad: the median distance from the median (amount).
            score: (value - median) / mad; null if mad is 0 (ratio).
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
            REPORTS["anomalies"], {"by": by, "band": band, "measure": measure, **common}
        )

    def orchestration_flow(
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
        """Between which assets does value move, and how do the orchestrations end?

        The duration of a COMPLETED, FAILED or REJECTED orchestration is updated_at - created_at.
        Percentiles are by nearest rank. The filter asset selects orchestrations that have the asset
        as source or as destination. An orchestration has neither chain nor jurisdiction nor payout
        group: these filters select none.

        Args:
            status: only orchestrations of these statuses.
            chain: only records of these chains.
            asset: only records of these assets.
            jurisdiction: only records of payout groups of these jurisdictions.
            group: only records of these payout groups, by id or unique name.
            customer: only records of these customers.
            since: only records created at this time or later; a day is its start.
            until: only records created before this time; a day is its start, so it is left out.
            tz: the time zone of days and longer periods, and of bounds.
            engine: the engine that runs the SQL: duckdb (the default), spark, or an Engine.

        Columns:
            source_asset: the asset that goes in (text).
            destination_asset: the asset that comes out (text).
            status: the status (text).
            orchestrations: the number of orchestrations (count).
            source_amount: the exact sum of the known amounts, in the source asset; null if none
                (amount).
            p50_seconds: the median duration; null unless the status is final (seconds).
            p90_seconds: the 90th percentile; null unless the status is final (seconds).
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
        return self.run(REPORTS["orchestration_flow"], {**common})

    def history(
        self,
        id: str,
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
        """Which events happened to a claim, an identity, a payout group or an address?

        The time of a failed claim or an ended orchestration is its updated_at. A failed claim is
        made good by the next CONFIRMED claim of its group. Overwritten values are not kept. since
        and until bound the events. The filters select the claims, orchestrations and controls whose
        events are listed; the events of the record itself remain.

        Args:
            id: the id of a claim, identity, group or reward address, or an address.
            status: only claims and orchestrations of these statuses.
            chain: only records of these chains.
            asset: only records of these assets.
            jurisdiction: only records of payout groups of these jurisdictions.
            group: only records of these payout groups, by id or unique name.
            customer: only records of these customers.
            since: only records created at this time or later; a day is its start.
            until: only records created before this time; a day is its start, so it is left out.
            tz: the time zone of days and longer periods, and of bounds.
            engine: the engine that runs the SQL: duckdb (the default), spark, or an Engine.

        Columns:
            at: the time of the event (time).
            record: claim, control, orchestration, identity, group or address (text).
            id: the record's id (text).
            event: the event (text).
            asset: the asset of the amount (text).
            amount: the amount of the claim or orchestration, or the observed balance (amount).
            actor: who created or lifted the control: the created_by or deleted_by (text).
            detail: the reason, the message, the transaction, the other record (text).
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
        return self.run(REPORTS["history"], {"id": id, **common})
