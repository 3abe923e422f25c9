"""Payout groups: reward addresses that are paid out together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Never, TypedDict, Unpack

from comptroller.arguments import Id, Moment, Money, Words
from comptroller.operations.noun import Noun
from comptroller.pages import Page
from comptroller.records import PayoutGroup
from comptroller.streams import Stream


class PayoutGroupFilters(TypedDict, total=False):
    """The filters of payout groups; all must hold, onchain statuses are alternatives."""

    id: Id | None
    ledger: str | None
    asset_type: str | None
    jurisdiction: str | None
    claimer_address: str | None
    onchain_status: Words | None
    name_prefix: str | None
    customer_id: str | None


class PayoutGroups(Noun):
    """Payout groups. Specification 2.3 and 4.3."""

    __slots__ = ()

    def get(self, id: Id) -> PayoutGroup:
        """One payout group. Specification 2.3.

        Raises:
            NotFound: there is none of that id, or it is another customer's.
        """
        return self._ask("payout_groups.get", PayoutGroup, {"id": id})

    def list(
        self,
        *,
        id: Id | None = None,
        ledger: str | None = None,
        asset_type: str | None = None,
        jurisdiction: str | None = None,
        claimer_address: str | None = None,
        onchain_status: Words | None = None,
        name_prefix: str | None = None,
        customer_id: str | None = None,
        limit: int | None = None,
        order: str | None = None,
        page_cursor: str | None = None,
        **unknown: Never,
    ) -> Page[PayoutGroup]:
        """One page of payout groups by created_at. Specification 4.3.

        Args:
            id: its own id.
            ledger: ETHEREUM, SOLANA, INK, XLAYER or ARBITRUM_ONE.
            asset_type: what it is paid in.
            jurisdiction: where.
            claimer_address: the address that claims for it; case matters on SOLANA only.
            onchain_status: one or several.
            name_prefix: how its name begins, character for character.
            customer_id: another customer than one's own only for the operator.
            limit: items on the page, 1 to 1000; 100 when left out.
            order: DESC (newest first, the default) or ASC.
            page_cursor: `next_page_cursor` of the page before, with the same filters.

        Raises:
            InvalidRequest: an unknown or malformed filter, or a cursor of another list.
            Forbidden: a customer that is not one's own.
        """
        return self._page("payout_groups.list", PayoutGroup, locals())

    def iter(
        self, *, order: str | None = None, limit: int = 1000, **filters: Unpack[PayoutGroupFilters]
    ) -> Iterator[PayoutGroup]:
        """Every payout group that `list` with these filters would give, `limit` a page."""
        return self._walk(
            "payout_groups.list", PayoutGroup, filters, PayoutGroupFilters, order, limit
        )

    def stream(
        self, columns: str | Sequence[str] | None = None, **filters: Unpack[PayoutGroupFilters]
    ) -> Stream:
        """All payout groups that pass the filters of `list`, as Arrow columns."""
        return self._stream("payout-groups", columns, filters, PayoutGroupFilters)

    def create(
        self,
        *,
        ledger: str,
        asset_type: str,
        jurisdiction: str,
        name: str,
        claimer_address: str,
        schedule_type: str | None = None,
        customer_id: str | None = None,
        idempotency_key: Id | None = None,
    ) -> PayoutGroup:
        """Makes a payout group, UNREGISTERED and with balance 0. Specification 4.3.

        Args:
            ledger: ETHEREUM, SOLANA, INK, XLAYER or ARBITRUM_ONE.
            asset_type: what it is paid in.
            jurisdiction: where.
            name: for people, at most 256 characters.
            claimer_address: the address that claims for it, valid on the ledger.
            schedule_type: DAILY, or left out.
            customer_id: for the operator: whose it is; ``default`` when left out.
            idempotency_key: asking again with it gives the first answer.

        Raises:
            InvalidRequest: a member is missing or malformed, such as a wrong checksum.
        """
        members = {
            "ledger": ledger,
            "asset_type": asset_type,
            "jurisdiction": jurisdiction,
            "name": name,
            "claimer_address": claimer_address,
            "schedule_type": schedule_type,
            "customer_id": customer_id,
        }
        return self._ask(
            "payout_groups.create", PayoutGroup, body=members, idempotency_key=idempotency_key
        )

    def update(
        self,
        id: Id,
        *,
        name: str | None = None,
        jurisdiction: str | None = None,
        idempotency_key: Id | None = None,
    ) -> PayoutGroup:
        """Sets what is given. Specification 4.3.

        Raises:
            NotFound: there is no such payout group.
        """
        members = {"name": name, "jurisdiction": jurisdiction}
        return self._ask("payout_groups.update", PayoutGroup, {"id": id}, members, idempotency_key)

    def observe(
        self,
        id: Id,
        *,
        onchain_status: str | None = None,
        balance: Money | None = None,
        balance_at: Moment | None = None,
        rate_id: str | None = None,
        onchain_group_id: str | None = None,
        last_claim_all_at: Moment | None = None,
        idempotency_key: Id | None = None,
    ) -> PayoutGroup:
        """Records what was seen on chain. For the operator. Specification 2.3.

        `balance` is in units of the group's asset_type, a Decimal, int or str.

        Raises:
            InvalidRequest: a malformed member, or a float for the balance.
            NotFound: there is no such payout group.
            Forbidden: asked by a client.
        """
        members = {
            "onchain_status": onchain_status,
            "balance": balance,
            "balance_at": balance_at,
            "rate_id": rate_id,
            "onchain_group_id": onchain_group_id,
            "last_claim_all_at": last_claim_all_at,
        }
        return self._ask("payout_groups.observe", PayoutGroup, {"id": id}, members, idempotency_key)
