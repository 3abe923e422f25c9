# Written by `python -m comptroller.analysis.reference` from the registry.
from collections.abc import Sequence

from comptroller.analysis.engines import Engine
from comptroller.analysis.parameters import Since
from comptroller.analysis.report import Report
from comptroller.analysis.running import Runner

class Reports(Runner):
    def claims_summary(
        self,
        by: Sequence[str] = ("chain", "day"),
        *,
        since: Since = None,
        until: Since = None,
        engine: str | Engine | None = None,
    ) -> Report:
        """How many claims are there, what do they amount to, and how many succeeded?

        success_rate = confirmed / (confirmed + failed); claims_share is of all claims, amount_share
        of the sum of the asset. By address, a claim counts once for each of its addresses, in what
        the shares are of too.

        Args:
            by: the keys, each once, of status, chain, asset, jurisdiction, group, address,
                customer, schedule, claim_type, hour, day, week, month
            since: only what was created at this time or later
            until: only what was created before this time
            engine: what runs the report: duckdb (the default), spark, or an engine

        Columns:
            keys: those of `by`, periods as their start in UTC, asset
            claims: the claims (count)
            amount: the exact sum of their amounts (amount)
            claims_share: of all claims (share)
            amount_share: of the sum of the asset; null if that is 0 or unknown (share)
            confirmed: those CONFIRMED (count)
            failed: those FAILED (count)
            success_rate: confirmed / (confirmed + failed); null without either (share)
        """

    def confirmation_times(
        self,
        by: Sequence[str] = ("chain",),
        as_of: Since = None,
        *,
        since: Since = None,
        until: Since = None,
        engine: str | Engine | None = None,
    ) -> Report:
        """How long do claims take to be confirmed, counting those that still wait?

        Kaplan-Meier: a percentile p is the smallest t with S(t) <= 1 - p + 1e-12, where claims
        still SUBMITTED wait until as_of, the newest updated_at by default (a claim confirmed later
        is confirmed all the same). Without waiting claims it is the nearest rank.

        Args:
            by: the keys, each once, of status, chain, asset, jurisdiction, group, address,
                customer, schedule, claim_type, hour, day, week, month
            as_of: the time until which claims wait; their newest updated_at if None
            since: only what was created at this time or later
            until: only what was created before this time
            engine: what runs the report: duckdb (the default), spark, or an engine

        Columns:
            keys: those of `by`, periods as their start in UTC
            confirmed: CONFIRMED claims that have both times (count)
            waiting: SUBMITTED claims with a submitted_at, which wait until as_of (count)
            p50_seconds: the median; null if never reached (seconds)
            p90_seconds: the 90th percentile; null if never reached (seconds)
            p99_seconds: the 99th percentile; null if never reached (seconds)
        """

    def stuck_claims(
        self,
        as_of: Since = None,
        percentile: float = 0.99,
        *,
        since: Since = None,
        until: Since = None,
        engine: str | Engine | None = None,
    ) -> Report:
        """Which claims wait longer than nearly all of their chain did?

        age = as_of - submitted_at (of a PENDING claim, or without one: as_of - created_at);
        threshold = the percentile, by nearest rank, of confirmed_at - submitted_at of the chain's
        CONFIRMED claims. as_of is the newest updated_at by default.

        Args:
            as_of: the time until which claims wait; their newest updated_at if None
            percentile: of the chain's confirmed claims, above 0 to 1
            since: only what was created at this time or later
            until: only what was created before this time
            engine: what runs the report: duckdb (the default), spark, or an engine

        Columns:
            id: the claim (text)
            group: its payout group (text)
            chain: its chain; claims without one are compared with each other (text)
            status: PENDING or SUBMITTED (text)
            asset: its asset (text)
            amount: its amount (amount)
            age_seconds: how long it waits (seconds)
            threshold_seconds: how long nearly all of the chain waited (seconds)
        """

    def failures(
        self,
        by: Sequence[str] = ("chain",),
        *,
        since: Since = None,
        until: Since = None,
        engine: str | Engine | None = None,
    ) -> Report:
        """Why did claims fail, and how many failures did a later claim make good?

        FAILED claims by their message; made good if a claim of the same group that was created
        later is CONFIRMED.

        Args:
            by: the keys, each once, of status, chain, asset, jurisdiction, group, address,
                customer, schedule, claim_type, hour, day, week, month
            since: only what was created at this time or later
            until: only what was created before this time
            engine: what runs the report: duckdb (the default), spark, or an engine

        Columns:
            keys: those of `by`, periods as their start in UTC, asset
            error_message: the message; null if there is none (text)
            failures: the FAILED claims with it (count)
            amount: the exact sum of their amounts (amount)
            groups: the payout groups that they are of (count)
            made_good: those that a later claim of their group made good (count)
            made_good_amount: the exact sum of what these had failed to bring (amount)
            first_at: when the first was created (time)
            last_at: when the last was created (time)
        """

    def failing_schedules(
        self,
        least: int = 3,
        *,
        since: Since = None,
        until: Since = None,
        engine: str | Engine | None = None,
    ) -> Report:
        """On which schedules have claims failed ever since the last one that was confirmed?

        FAILED claims of a schedule created after its last CONFIRMED one; listed if there are at
        least `least` of them.

        Args:
            least: as many failures make a schedule failing
            since: only what was created at this time or later
            until: only what was created before this time
            engine: what runs the report: duckdb (the default), spark, or an engine

        Columns:
            schedule: the schedule (text)
            failures: claims FAILED since its last CONFIRMED one (count)
            groups: the payout groups that they are of (count)
            last_message: the message of the last of them (text)
            first_at: when the first of them was created (time)
            last_at: when the last of them was created (time)
            confirmed_at: when the last CONFIRMED one was created; null without (time)
        """

    def restrictions(
        self,
        by: Sequence[str] = ("month",),
        *,
        since: Since = None,
        until: Since = None,
        engine: str | Engine | None = None,
    ) -> Report:
        """How many controls were created, lifted and in force, and how long do they last?

        active = all created - all lifted up to the end of the period; median_days, of those created
        in it, by Kaplan-Meier, where those in force last until the newest time of all controls.
        Controls created outside since and until do not count, also not as active. A control lifted
        before it was created counts as lifted when it was created.

        Args:
            by: the keys, each once, of customer, hour, day, week, month
            since: only what was created at this time or later
            until: only what was created before this time
            engine: what runs the report: duckdb (the default), spark, or an engine

        Columns:
            keys: those of `by`, periods as their start in UTC, type, set_by, reason_code
            created: controls created in the period (count)
            lifted: controls lifted in the period (count)
            active: controls in force at its end (count)
            median_days: half of those created in it are lifted after so long; null if never reached
                (days)
        """

    def group_statement(
        self,
        group: str,
        month: str,
        *,
        since: Since = None,
        until: Since = None,
        engine: str | Engine | None = None,
    ) -> Report:
        """What did a group hold and claim on each day of a month?

        Holdings are the sum over the group's addresses of the newest snapshot before the day, and
        before the next; claims are the CONFIRMED ones by confirmed_at. The last row, without a day,
        is the whole month. since and until leave out claims created outside, and no holdings.

        Args:
            group: the payout group
            month: a month such as 2026-05
            since: only what was created at this time or later
            until: only what was created before this time
            engine: what runs the report: duckdb (the default), spark, or an engine

        Columns:
            day: the day; null in the last row, which is the month (time)
            asset: the asset: the group's, and others that it claimed (text)
            opening_holdings: what its addresses held when the day began (amount)
            claims: its claims CONFIRMED on the day (count)
            claimed: the exact sum of their amounts (amount)
            closing_holdings: what its addresses held when the day ended (amount)
            last_claim: the last of these claims; of several the greatest id (text)
            last_claim_at: when it was confirmed (time)
        """

    def reconciliation(
        self,
        month: str | None = None,
        tolerance: float = 0.05,
        *,
        since: Since = None,
        until: Since = None,
        engine: str | Engine | None = None,
    ) -> Report:
        """Does what groups claimed fit what was held on their addresses?

        annual_rate = claimed / average_holdings x 365 / days; deviation = annual_rate / median_rate
        - 1, against the groups of the same asset and ledger in the same month. Claims are the
        CONFIRMED ones by confirmed_at; holdings are weighted by time. since and until leave out
        claims created outside, and no holdings.

        Args:
            month: a month such as 2026-05; if None, each in which something was seen
            tolerance: how far from the median rate, in parts of it
            since: only what was created at this time or later
            until: only what was created before this time
            engine: what runs the report: duckdb (the default), spark, or an engine

        Columns:
            group: the payout group, in each month from its first on (text)
            month: the month (time)
            asset: the asset: the group's, and others that it claimed (text)
            ledger: its ledger; null if the group is unknown (text)
            claimed: the exact sum of its CONFIRMED claims (amount)
            average_holdings: the mean of its holdings; null without a snapshot (holdings)
            days: days from the group's first claim or snapshot to the last of any (count)
            annual_rate: claimed / average_holdings x 365 / days (ratio)
            median_rate: the lower middle of the asset's and ledger's groups (ratio)
            deviation: annual_rate / median_rate - 1 (ratio)
            within_tolerance: whether it is; false for claims on holdings of 0 (flag)
        """

    def cohort(
        self,
        *,
        since: Since = None,
        until: Since = None,
        engine: str | Engine | None = None,
    ) -> Report:
        """How many of the groups that began to claim in a month still claim later?

        A group's month is that of the first claim of the asset that it created; its age in another
        month is the months between, and it is active if it created a claim in it.

        Args:
            since: only what was created at this time or later
            until: only what was created before this time
            engine: what runs the report: duckdb (the default), spark, or an engine

        Columns:
            month: the month of the first claim (time)
            age_months: the months since; 0 for that month itself (count)
            asset: the asset that they claim (text)
            groups: those of the groups that created a claim at that age (count)
            amount: the exact sum of these claims, whatever their status (amount)
        """

    def anomalies(
        self,
        by: Sequence[str] = ("chain",),
        band: float = 5.0,
        measure: str = "claims",
        *,
        since: Since = None,
        until: Since = None,
        engine: str | Engine | None = None,
    ) -> Report:
        """On which days was there far more or less than usual?

        score = (value - median) / MAD over the days from the series' first claim to the last day of
        any, a day without claims being 0; a day is listed if the score is beyond the band, or MAD
        is 0 and the value not the median. Medians are the lower middle.

        Args:
            by: the keys, each once, of status, chain, asset, jurisdiction, group, address,
                customer, schedule, claim_type
            band: how many MADs from the median are usual
            measure: what is counted: claims or amount
            since: only what was created at this time or later
            until: only what was created before this time
            engine: what runs the report: duckdb (the default), spark, or an engine

        Columns:
            keys: those of `by`, periods as their start in UTC, asset
            day: the day; the last one may not be over (time)
            value: the claims created on it, or the exact sum of their amounts (amount)
            median: the median of the series (amount)
            mad: the median distance from it (amount)
            score: (value - median) / mad; null if mad is 0 (ratio)
        """

    def orchestration_flow(
        self,
        *,
        since: Since = None,
        until: Since = None,
        engine: str | Engine | None = None,
    ) -> Report:
        """What goes from which asset to which, and how does it end?

        A duration is updated_at - created_at, of COMPLETED, FAILED and REJECTED ones; percentiles
        are by nearest rank.

        Args:
            since: only what was created at this time or later
            until: only what was created before this time
            engine: what runs the report: duckdb (the default), spark, or an engine

        Columns:
            source_asset: the asset that goes in (text)
            destination_asset: the asset that comes out (text)
            status: the status (text)
            orchestrations: the orchestrations (count)
            source_amount: the exact sum in units of the source asset (amount)
            p50_seconds: the median duration; null unless at its end (seconds)
            p90_seconds: its 90th percentile; null unless at its end (seconds)
        """

    def history(
        self,
        id: str,
        *,
        since: Since = None,
        until: Since = None,
        engine: str | Engine | None = None,
    ) -> Report:
        """What happened to a claim, an identity, a payout group or an address, in order?

        A claim failed at its updated_at, an orchestration ended at its. A failed claim is made good
        by the next claim of its group that is CONFIRMED. What was overwritten since is not kept.
        since and until bound the events.

        Args:
            id: of the claim, identity, group or reward address, or its address
            since: only what was created at this time or later
            until: only what was created before this time
            engine: what runs the report: duckdb (the default), spark, or an engine

        Columns:
            at: when (time)
            record: claim, control, orchestration, identity, group or address (text)
            id: the record's id (text)
            event: what happened to it (text)
            asset: the asset of the amount (text)
            amount: of the claim or orchestration, or the balance observed (amount)
            actor: the client that created or lifted the control, or ``operator`` (text)
            detail: the reason, the message, the transaction, the other record (text)
        """
