"""Reward claims: the transactions that claim a payout group's rewards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Never, TypedDict, Unpack

from comptroller.arguments import Id, Moment, Words
from comptroller.operations.noun import Noun
from comptroller.pages import Page
from comptroller.records import Claim
from comptroller.streams import Stream


class ClaimFilters(TypedDict, total=False):
    """The filters of claims; all must hold, statuses are alternatives."""

    payout_group_id: Id | None
    statuses: Words | None
    chain: str | None
    jurisdiction: str | None
    start_time: Moment | None
    end_time: Moment | None
    id: Id | None
    customer_id: str | None


class Claims(Noun):
    """Reward claims. Specification 2.5, 3.3 and 4.5."""

    __slots__ = ()

    def get(self, id: Id) -> Claim:
        """One claim. Specification 2.5.

        Raises:
            NotFound: there is none of that id, or it is another customer's.
        """
        return self._ask("claims.get", Claim, {"id": id})

    def list(
        self,
        *,
        payout_group_id: Id | None = None,
        statuses: Words | None = None,
        chain: str | None = None,
        jurisdiction: str | None = None,
        start_time: Moment | None = None,
        end_time: Moment | None = None,
        id: Id | None = None,
        customer_id: str | None = None,
        limit: int | None = None,
        order: str | None = None,
        page_cursor: str | None = None,
        **unknown: Never,
    ) -> Page[Claim]:
        """One page of claims by created_at. Specification 4.5.

        Args:
            payout_group_id: whose rewards it claims.
            statuses: PENDING, SUBMITTED, CONFIRMED or FAILED; several are alternatives.
            chain: its blockchain.
            jurisdiction: the present one of its payout group.
            start_time: created at this time or later.
            end_time: created at this time or before.
            id: its own id.
            customer_id: another customer than one's own only for the operator.
            limit: items on the page, 1 to 1000; 100 when left out.
            order: DESC (newest first, the default) or ASC.
            page_cursor: `next_page_cursor` of the page before, with the same filters.

        Raises:
            InvalidRequest: an unknown or malformed filter, or a cursor of another list.
            Forbidden: a customer that is not one's own.
        """
        return self._page("claims.list", Claim, locals())

    def iter(
        self, *, order: str | None = None, limit: int = 1000, **filters: Unpack[ClaimFilters]
    ) -> Iterator[Claim]:
        """Every claim that `list` with these filters would give, `limit` a page, as wanted."""
        return self._walk("claims.list", Claim, filters, ClaimFilters, order, limit)

    def stream(
        self, columns: str | Sequence[str] | None = None, **filters: Unpack[ClaimFilters]
    ) -> Stream:
        """All claims that pass the filters of `list`, as Arrow columns."""
        return self._stream("claims", columns, filters, ClaimFilters)

    def put(
        self, record: Claim | Mapping[str, object], *, idempotency_key: Id | None = None
    ) -> Claim:
        """Takes one claim as a load of one line would. For the operator. Specification 2.5.

        Args:
            record: a Claim, or a dict of its members; id, payout_group_id, claim_type,
                onchain_status, amount and created_at are required. The amount is Decimal, int or
                str, in units of `asset_type`.
            idempotency_key: asking again with it gives the first answer.

        Raises:
            InvalidRequest: a member is missing or malformed, or the amount is a float.
            Forbidden: asked by a client.
            Conflict: a step back along PENDING, SUBMITTED, CONFIRMED or FAILED
                (``illegal-transition``) or in time, or other content at the same updated_at.
        """
        return self._put("claims.put", Claim, record, idempotency_key)

    def submit(
        self,
        id: Id,
        *,
        tx_hash: str,
        at: Moment | None = None,
        idempotency_key: Id | None = None,
    ) -> Claim:
        """PENDING becomes SUBMITTED, at `at` or now. For the operator. Specification 3.3.

        Raises:
            NotFound: there is no such claim.
            Forbidden: asked by a client.
            Conflict: it is not PENDING (``illegal-transition``).
        """
        members = {"tx_hash": tx_hash, "at": at}
        return self._ask("claims.submit", Claim, {"id": id}, members, idempotency_key)

    def confirm(
        self, id: Id, *, at: Moment | None = None, idempotency_key: Id | None = None
    ) -> Claim:
        """SUBMITTED becomes CONFIRMED, at `at` or now. For the operator. Specification 3.3.

        Raises:
            NotFound: there is no such claim.
            Forbidden: asked by a client.
            Conflict: it is not SUBMITTED (``illegal-transition``).
        """
        return self._ask("claims.confirm", Claim, {"id": id}, {"at": at}, idempotency_key)

    def fail(self, id: Id, *, error_message: str, idempotency_key: Id | None = None) -> Claim:
        """PENDING or SUBMITTED becomes FAILED. For the operator. Specification 3.3.

        Raises:
            NotFound: there is no such claim.
            Forbidden: asked by a client.
            Conflict: it is CONFIRMED or FAILED already (``illegal-transition``).
        """
        members = {"error_message": error_message}
        return self._ask("claims.fail", Claim, {"id": id}, members, idempotency_key)
