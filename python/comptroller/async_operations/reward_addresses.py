"""Operations on reward addresses, as coroutines."""

# Generated from the core's description by `make generate`; change the C++ declarations.

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Never, Unpack

from comptroller.arguments import Id, Key, Timestamp
from comptroller.async_operations.resource import AsyncResource
from comptroller.bulk.streams import Stream
from comptroller.operations.pages import Page
from comptroller.operations.resource import list_request, request
from comptroller.operations.reward_addresses import RewardAddressFilters
from comptroller.records import RewardAddress
from comptroller.values import (
    Ledger,
    Order,
)


class AsyncRewardAddresses(AsyncResource):
    """The reward addresses of an asynchronous service.

    Each is a :class:`comptroller.records.RewardAddress`.
    """

    __slots__ = ()

    async def get(self, id: Id) -> RewardAddress:
        """Returns one reward address, without its balance.

        Args:
            id: identifies the record.

        Raises:
            NotFound: no record has this id, or it belongs to another customer.
        """
        return await self._send(request("reward_addresses.get", query={"id": id}), RewardAddress)

    async def list(
        self,
        *,
        ledger: Ledger | None = None,
        address: str | None = None,
        id: Id | None = None,
        payout_group_id: Id | None = None,
        include_balance: bool | None = None,
        balance_timestamp: Timestamp | None = None,
        customer_id: Id | None = None,
        limit: int | None = None,
        order: Order | None = None,
        page_cursor: str | None = None,
        **unknown: Never,
    ) -> Page[RewardAddress]:
        """Lists reward addresses. Returns one page.

        Args:
            ledger: only addresses on this ledger (ETHEREUM, SOLANA, INK, XLAYER or
                ARBITRUM_ONE).
            address: only this address; case matters on SOLANA only.
            id: only the address with this id.
            payout_group_id: only addresses attributed to this payout group.
            include_balance: whether to show the balance of each address; default false.
            balance_timestamp: time of the balances; default now.
            customer_id: only records of this customer; a client may only name its own customer.
            limit: items on a page, 1 to 1000; default 100.
            order: order by creation time; default DESC (DESC or ASC).
            page_cursor: next_page_cursor of the previous page; the filters must be the same.

        Raises:
            InvalidRequest: a filter is unknown or not valid; the cursor belongs to another
                list, or is damaged (``invalid-cursor``).
            Forbidden: a client named another customer (``customer-not-accessible``).
        """
        return await self._send(
            list_request("reward_addresses.list", locals()), Page[RewardAddress]
        )

    def iter(
        self,
        *,
        order: Order | None = None,
        limit: int = 1000,
        **filters: Unpack[RewardAddressFilters],
    ) -> AsyncIterator[RewardAddress]:
        """Iterates over all reward addresses that match.

        A page is fetched when its first item is needed.

        Args:
            order: order by creation time, newest first by default.
            limit: items on a page, 1 to 1000; it does not limit how many are returned.
            filters: those of `list`.

        Raises:
            InvalidRequest: a filter is unknown or not valid.
        """
        return self._walk(
            "reward_addresses.list",
            Page[RewardAddress],
            filters,
            RewardAddressFilters,
            order,
            limit,
        )

    async def stream(
        self, columns: str | Sequence[str] | None = None, **filters: Unpack[RewardAddressFilters]
    ) -> Stream:
        """Returns all reward addresses that match as Arrow columns.

        Args:
            columns: the columns; all of them by default.
            filters: those of `list`.

        Raises:
            InvalidRequest: a filter or column is unknown, or a filter is not valid.
        """
        return await self._stream("reward-addresses", columns, filters, RewardAddressFilters)

    async def create(
        self,
        *,
        ledger: Ledger,
        address: str,
        name: str | None = None,
        payout_group_id: Id | None = None,
        customer_id: Id | None = None,
        idempotency_key: Key | None = None,
    ) -> RewardAddress:
        """Registers an address for reward attribution.

        Args:
            ledger: the ledger of the address (ETHEREUM, SOLANA, INK, XLAYER or ARBITRUM_ONE).
            address: the address to monitor, valid on the ledger; mixed-case hex needs a correct
                EIP-55 checksum.
            name: name for people, at most 256 characters.
            payout_group_id: the payout group to attribute it to, on the same ledger.
            customer_id: the customer it belongs to; default: the client's own, `default` for
                the operator.
            idempotency_key: repeating the call with the same key returns the first answer.

        Raises:
            InvalidRequest: an argument is not valid; the payout group is on another ledger
                (``ledger-mismatch``).
            Forbidden: a client named another customer (``customer-not-accessible``).
            NotFound: the payout group does not exist.
            Conflict: the address is registered; `existing` is its id if the caller may see it.
        """
        return await self._send(
            request(
                "reward_addresses.create",
                body={
                    "ledger": ledger,
                    "address": address,
                    "name": name,
                    "payout_group_id": payout_group_id,
                    "customer_id": customer_id,
                },
                idempotency_key=idempotency_key,
            ),
            RewardAddress,
        )

    async def update(
        self,
        id: Id,
        *,
        name: str | None = None,
        payout_group_id: Id | None = None,
        idempotency_key: Key | None = None,
    ) -> RewardAddress:
        """Sets the name or payout group of a reward address.

        A change of the payout group sets the status to PENDING.

        Args:
            id: identifies the record.
            name: name for people, at most 256 characters.
            payout_group_id: the payout group to attribute it to, on the same ledger.
            idempotency_key: repeating the call with the same key returns the first answer.

        Raises:
            InvalidRequest: an argument is not valid; the payout group is on another ledger
                (``ledger-mismatch``).
            NotFound: the address or the payout group does not exist.
        """
        return await self._send(
            request(
                "reward_addresses.update",
                query={"id": id},
                body={"name": name, "payout_group_id": payout_group_id},
                idempotency_key=idempotency_key,
            ),
            RewardAddress,
        )

    async def observe(
        self, id: Id, *, status: str, idempotency_key: Key | None = None
    ) -> RewardAddress:
        """Records the observed status of a reward address. Operator only.

        Args:
            id: identifies the record.
            status: status as observed, in upper case.
            idempotency_key: repeating the call with the same key returns the first answer.

        Raises:
            InvalidRequest: an argument is not valid.
            Forbidden: the caller is not the operator (``insufficient-scope``).
            NotFound: no record has this id, or it belongs to another customer.
        """
        return await self._send(
            request(
                "reward_addresses.observe",
                query={"id": id},
                body={"status": status},
                idempotency_key=idempotency_key,
            ),
            RewardAddress,
        )
