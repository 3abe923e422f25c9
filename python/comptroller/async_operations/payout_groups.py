"""Operations on payout groups, as coroutines."""

# Generated from the core's description by `make generate`; change the C++ declarations.

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Never, Unpack

from comptroller.arguments import Id, Key, Money, Texts, Timestamp
from comptroller.async_operations.resource import AsyncResource
from comptroller.bulk.streams import Stream
from comptroller.operations.pages import Page
from comptroller.operations.payout_groups import PayoutGroupFilters
from comptroller.operations.resource import list_request, request
from comptroller.records import PayoutGroup
from comptroller.values import (
    Ledger,
    Order,
    ScheduleType,
)


class AsyncPayoutGroups(AsyncResource):
    """The payout groups of an asynchronous service.

    Each is a :class:`comptroller.records.PayoutGroup`.
    """

    __slots__ = ()

    async def get(self, id: Id) -> PayoutGroup:
        """Returns one payout group.

        Args:
            id: identifies the record.

        Raises:
            NotFound: no record has this id, or it belongs to another customer.
        """
        return await self._send(request("payout_groups.get", query={"id": id}), PayoutGroup)

    async def list(
        self,
        *,
        id: Id | None = None,
        ledger: Ledger | None = None,
        asset_type: str | None = None,
        jurisdiction: str | None = None,
        claimer_address: str | None = None,
        onchain_status: Texts | None = None,
        name_prefix: str | None = None,
        customer_id: Id | None = None,
        limit: int | None = None,
        order: Order | None = None,
        page_cursor: str | None = None,
        **unknown: Never,
    ) -> Page[PayoutGroup]:
        """Lists payout groups. Returns one page.

        Args:
            id: only the group with this id.
            ledger: only groups on this ledger (ETHEREUM, SOLANA, INK, XLAYER or ARBITRUM_ONE).
            asset_type: only groups paid in this asset.
            jurisdiction: only groups in this jurisdiction.
            claimer_address: only groups with this claimer_address; case matters on SOLANA only.
            onchain_status: only groups with one of these statuses.
            name_prefix: only groups whose name begins with this text; case matters.
            customer_id: only records of this customer; a client may only name its own customer.
            limit: items on a page, 1 to 1000; default 100.
            order: order by creation time; default DESC (DESC or ASC).
            page_cursor: next_page_cursor of the previous page; the filters must be the same.

        Raises:
            InvalidRequest: a filter is unknown or not valid; the cursor belongs to another
                list, or is damaged (``invalid-cursor``).
            Forbidden: a client named another customer (``customer-not-accessible``).
        """
        return await self._send(list_request("payout_groups.list", locals()), Page[PayoutGroup])

    def iter(
        self,
        *,
        order: Order | None = None,
        limit: int = 1000,
        **filters: Unpack[PayoutGroupFilters],
    ) -> AsyncIterator[PayoutGroup]:
        """Iterates over all payout groups that match.

        A page is fetched when its first item is needed.

        Args:
            order: order by creation time, newest first by default.
            limit: items on a page, 1 to 1000; it does not limit how many are returned.
            filters: those of `list`.

        Raises:
            InvalidRequest: a filter is unknown or not valid.
        """
        return self._walk(
            "payout_groups.list", Page[PayoutGroup], filters, PayoutGroupFilters, order, limit
        )

    async def stream(
        self, columns: str | Sequence[str] | None = None, **filters: Unpack[PayoutGroupFilters]
    ) -> Stream:
        """Returns all payout groups that match as Arrow columns.

        Args:
            columns: the columns; all of them by default.
            filters: those of `list`.

        Raises:
            InvalidRequest: a filter or column is unknown, or a filter is not valid.
        """
        return await self._stream("payout-groups", columns, filters, PayoutGroupFilters)

    async def create(
        self,
        *,
        ledger: Ledger,
        asset_type: str,
        jurisdiction: str,
        name: str,
        claimer_address: str,
        schedule_type: ScheduleType | None = None,
        customer_id: Id | None = None,
        idempotency_key: Key | None = None,
    ) -> PayoutGroup:
        """Creates a payout group with status UNREGISTERED and balance 0.

        Args:
            ledger: the ledger it is paid on (ETHEREUM, SOLANA, INK, XLAYER or ARBITRUM_ONE).
            asset_type: the asset it is paid in.
            jurisdiction: the country or region whose law applies to it.
            name: name for people, at most 256 characters.
            claimer_address: address that claims for the group, valid on the ledger.
            schedule_type: how often it is claimed (DAILY).
            customer_id: the customer it belongs to; default: the client's own, `default` for
                the operator.
            idempotency_key: repeating the call with the same key returns the first answer.

        Raises:
            InvalidRequest: an argument is not valid.
            Forbidden: a client named another customer (``customer-not-accessible``).
        """
        return await self._send(
            request(
                "payout_groups.create",
                body={
                    "ledger": ledger,
                    "asset_type": asset_type,
                    "jurisdiction": jurisdiction,
                    "name": name,
                    "claimer_address": claimer_address,
                    "schedule_type": schedule_type,
                    "customer_id": customer_id,
                },
                idempotency_key=idempotency_key,
            ),
            PayoutGroup,
        )

    async def update(
        self,
        id: Id,
        *,
        name: str | None = None,
        jurisdiction: str | None = None,
        idempotency_key: Key | None = None,
    ) -> PayoutGroup:
        """Sets the name or jurisdiction of a payout group.

        Args:
            id: identifies the record.
            name: name for people, at most 256 characters.
            jurisdiction: the country or region whose law applies to it.
            idempotency_key: repeating the call with the same key returns the first answer.

        Raises:
            InvalidRequest: an argument is not valid.
            NotFound: no record has this id, or it belongs to another customer.
        """
        return await self._send(
            request(
                "payout_groups.update",
                query={"id": id},
                body={"name": name, "jurisdiction": jurisdiction},
                idempotency_key=idempotency_key,
            ),
            PayoutGroup,
        )

    async def observe(
        self,
        id: Id,
        *,
        onchain_status: str | None = None,
        balance: Money | None = None,
        balance_at: Timestamp | None = None,
        rate_id: str | None = None,
        onchain_group_id: str | None = None,
        last_claim_all_at: Timestamp | None = None,
        idempotency_key: Key | None = None,
    ) -> PayoutGroup:
        """Records the observed on-chain state of a payout group. Operator only.

        Args:
            id: identifies the record.
            onchain_status: status as observed, in upper case.
            balance: unclaimed balance, in units of the group's asset_type.
            balance_at: when the balance was observed; default now.
            rate_id: id of the rate that applies.
            onchain_group_id: its id on chain.
            last_claim_all_at: when the latest CLAIM_ALL claim was confirmed.
            idempotency_key: repeating the call with the same key returns the first answer.

        Raises:
            InvalidRequest: an argument is not valid.
            Forbidden: the caller is not the operator (``insufficient-scope``).
            NotFound: no record has this id, or it belongs to another customer.
        """
        return await self._send(
            request(
                "payout_groups.observe",
                query={"id": id},
                body={
                    "onchain_status": onchain_status,
                    "balance": balance,
                    "balance_at": balance_at,
                    "rate_id": rate_id,
                    "onchain_group_id": onchain_group_id,
                    "last_claim_all_at": last_claim_all_at,
                },
                idempotency_key=idempotency_key,
            ),
            PayoutGroup,
        )
