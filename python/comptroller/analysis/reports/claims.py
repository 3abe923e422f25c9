"""The reports on claims."""

# Generated from the registry of reports by `make generate`; change the files of `sql`.

from __future__ import annotations

from collections.abc import Sequence

from comptroller.analysis.engines import Engine
from comptroller.analysis.parameters import Since
from comptroller.analysis.registry import REPORTS
from comptroller.analysis.report import Report
from comptroller.analysis.running import Runner
from comptroller.arguments import Texts


class ClaimsReports(Runner):
    """Reports on claims."""

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
            engine: the engine that runs the SQL: duckdb (the default), postgresql (in the
                database of the service), spark, or an Engine.

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

        The time within which half, 90 or 99 percent of claims are confirmed. A claim that is still
        SUBMITTED counts as longer than its wait until the end of the waiting times (the
        Kaplan-Meier estimate). A claim confirmed after that end counts as confirmed. If no claim
        waits, a time is that of one claim, the one of the nearest rank. The filter status selects
        among SUBMITTED and CONFIRMED.

        Args:
            by: the keys to group by, from status, chain, asset, jurisdiction, group, address,
                customer, schedule, claim_type, hour, day, week, month, quarter, year.
            as_of: the end of the waiting times; by default the newest change of a claim.
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
        distance from the median: half of the days are nearer to it. All days count from the series'
        first claim to the last day of any series. A day without claims counts as 0. The amount of a
        day is that of its CONFIRMED claims, or with the filter status that of the claims of these
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
            engine: the engine that runs the SQL: duckdb (the default), postgresql (in the
                database of the service), spark, or an Engine.

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
