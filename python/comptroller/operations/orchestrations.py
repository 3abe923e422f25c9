"""Orchestrations: value moved from a source to a destination."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Never, Unpack

from comptroller.arguments import Id, Ids, Moment, Words
from comptroller.operations.noun import CreatedFilters, Noun
from comptroller.pages import Page
from comptroller.records import Orchestration
from comptroller.streams import Stream


class OrchestrationFilters(CreatedFilters, total=False):
    """The filters of orchestrations; all must hold, values within one are alternatives."""

    orchestration_rule_id: Ids | None
    source_asset: Words | None
    destination_asset: Words | None
    status: Words | None
    orchestration_id: Ids | None
    profile_id: Ids | None
    ref_id: Words | None


class Orchestrations(Noun):
    """Orchestrations. Specification 2.2 and 4.2."""

    __slots__ = ()

    def get(self, id: Id) -> Orchestration:
        """One orchestration. Specification 2.2.

        Raises:
            NotFound: there is none of that id, or it is another customer's.
        """
        return self._ask("orchestrations.get", Orchestration, {"id": id})

    def list(
        self,
        *,
        orchestration_rule_id: Ids | None = None,
        source_asset: Words | None = None,
        destination_asset: Words | None = None,
        status: Words | None = None,
        orchestration_id: Ids | None = None,
        profile_id: Ids | None = None,
        ref_id: Words | None = None,
        customer_id: str | None = None,
        created_at_lt: Moment | None = None,
        created_at_lte: Moment | None = None,
        created_at_eq: Moment | None = None,
        created_at_gte: Moment | None = None,
        created_at_gt: Moment | None = None,
        limit: int | None = None,
        order: str | None = None,
        page_cursor: str | None = None,
        **unknown: Never,
    ) -> Page[Orchestration]:
        """One page of orchestrations by created_at. Specification 4.2.

        Args:
            orchestration_rule_id: the rule that initiated it; one or up to 100, as all but
                customer_id and the bounds below.
            source_asset: what is taken.
            destination_asset: what is brought.
            status: PENDING, PROCESSING, COMPLETED, FAILED, REJECTED, ...
            orchestration_id: its own id.
            profile_id: its profile, or the profile it brings value to.
            ref_id: the reference the customer gave.
            customer_id: another customer than one's own only for the operator.
            created_at_lt: created before this time; `_lte`, `_eq`, `_gte`, `_gt` likewise.
            limit: items on the page, 1 to 1000; 100 when left out.
            order: DESC (newest first, the default) or ASC.
            page_cursor: `next_page_cursor` of the page before, with the same filters.

        Raises:
            InvalidRequest: an unknown or malformed filter, or a cursor of another list.
            Forbidden: a customer that is not one's own.
        """
        return self._page("orchestrations.list", Orchestration, locals())

    def iter(
        self,
        *,
        order: str | None = None,
        limit: int = 1000,
        **filters: Unpack[OrchestrationFilters],
    ) -> Iterator[Orchestration]:
        """Every orchestration that `list` would give, `limit` a page, as wanted."""
        return self._walk(
            "orchestrations.list", Orchestration, filters, OrchestrationFilters, order, limit
        )

    def stream(
        self, columns: str | Sequence[str] | None = None, **filters: Unpack[OrchestrationFilters]
    ) -> Stream:
        """All orchestrations that pass the filters of `list`, as Arrow columns."""
        return self._stream("orchestrations", columns, filters, OrchestrationFilters)

    def put(
        self,
        record: Orchestration | Mapping[str, object],
        *,
        idempotency_key: Id | None = None,
    ) -> Orchestration:
        """Takes one orchestration as a load of one line would. For the operator. Specification 2.2.

        Args:
            record: an Orchestration, or a dict of its members; id, status and created_at are
                required. Amounts are Decimal, int or str, in units of `source_asset`.
            idempotency_key: asking again with it gives the first answer.

        Raises:
            InvalidRequest: a member is missing or malformed, or an amount is a float.
            Forbidden: asked by a client.
            Conflict: a step back in updated_at, or other content at the same one.
        """
        return self._put("orchestrations.put", Orchestration, record, idempotency_key)
