"""The reports on other records."""

# Generated from the registry of reports by `make generate`; change the files of `sql`.

from __future__ import annotations

from collections.abc import Sequence

from comptroller.analysis.engines import Engine
from comptroller.analysis.parameters import Since
from comptroller.analysis.registry import REPORTS
from comptroller.analysis.report import Report
from comptroller.analysis.running import Runner
from comptroller.arguments import Texts


class RecordsReports(Runner):
    """Reports on other records."""

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

        active = all controls created - all controls deleted, up to the end of the period.
        median_days is the time within which half of the controls created in the period are deleted.
        A control that is still active counts as lasting longer than from its creation to the newest
        time of all selected controls (the Kaplan-Meier estimate). Controls created outside since
        and until are excluded, also from active. A control deleted before it was created counts as
        deleted when it was created. A control has neither status nor chain, asset, jurisdiction or
        payout group, so these filters select none.

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
            engine: the engine that runs the SQL: duckdb (the default), postgresql (in the
                database of the service), spark, or an Engine.

        Columns:
            keys: the keys of `by`, type, set_by, reason_code; a period is the date of its start
                in `tz`, an hour a time in UTC.
            created: the number of controls created in the period (count).
            deleted: the number of controls deleted in the period (count).
            active: the number of controls active at its end (count).
            median_days: the median duration of controls created in it; null while it is not
                reached (days).
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

        A register of the controls that were active at any time of the day: created before it ends,
        and not deleted before it begins. A control has neither status nor chain, asset,
        jurisdiction or payout group, so these filters select none.

        Args:
            on: the day, by its start; by default the day of the newest change of a control.
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
            identity: the restricted identity (text).
            reference: its reference id, given by the client (text).
            type: what it may not do (text).
            set_by: who restricted it (text).
            created_at: restricted since (time).
            deleted_at: when the control was deleted; null if it was still active (time).
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

        The duration of a COMPLETED, FAILED or REJECTED orchestration is the time from its creation
        to its last change. Percentiles are by nearest rank. The filter asset selects orchestrations
        that have the asset as source or as destination. An orchestration has neither chain nor
        jurisdiction nor payout group: these filters select none.

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
            engine: the engine that runs the SQL: duckdb (the default), postgresql (in the
                database of the service), spark, or an Engine.

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
        as_of_recorded: Since = None,
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

        The time of a failed claim or an ended orchestration is that of its last change. The event
        made good of a failed claim is the next CONFIRMED claim of its group. The journal says who
        wrote what, and when: recorded is the load or call that stored a record, changed has the old
        and the new value of a member. Only the operator of a store in this process sees them. Other
        events show present values, or with as_of_recorded those that the store had then; their
        amount is the one before later changes. since and until limit the events. The filters select
        the claims, orchestrations and controls whose events are listed; the events of the record
        itself remain.

        Args:
            id: id of a claim, identity, group or reward address, an address, or a unique group
                name.
            as_of_recorded: show what the store knew at this time, without later changes.
            status: only claims and orchestrations of these statuses.
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
            at: the time of the event (time).
            record: claim, control, orchestration, identity, group or address (text).
            id: the record's id (text).
            event: the event (text).
            asset: the asset of the amount (text).
            amount: the amount of the claim or orchestration, or the observed balance (amount).
            actor: who made the change, or created or deleted the control (text).
            detail: the reason, message, transaction, other record, or entry of the journal
                (text).
            member: the member that was changed (text).
            old: its value before; null if it was not set (text).
            new: its value after; null if it is not set (text).
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
        return self.run(REPORTS["history"], {"id": id, "as_of_recorded": as_of_recorded, **common})
