"""Reward addresses, and what they held at recorded moments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Never, TypedDict, Unpack

from comptroller.arguments import Id, Moment, Money
from comptroller.operations.noun import Noun
from comptroller.pages import Page
from comptroller.records import Balance, RewardAddress
from comptroller.streams import Stream


class RewardAddressFilters(TypedDict, total=False):
    """The filters of reward addresses, and whether to show their balances; all must hold."""

    ledger: str | None
    address: str | None
    id: Id | None
    payout_group_id: Id | None
    include_balance: bool | None
    balance_timestamp: Moment | None
    customer_id: str | None


class BalanceFilters(TypedDict, total=False):
    """The filter of balances."""

    address_id: Id | None


class RewardAddresses(Noun):
    """Monitored addresses. Specification 2.4 and 4.4."""

    __slots__ = ()

    def get(self, id: Id) -> RewardAddress:
        """One reward address, without its balance. Specification 2.4.

        Raises:
            NotFound: there is none of that id, or it is another customer's.
        """
        return self._ask("reward_addresses.get", RewardAddress, {"id": id})

    def list(
        self,
        *,
        ledger: str | None = None,
        address: str | None = None,
        id: Id | None = None,
        payout_group_id: Id | None = None,
        include_balance: bool | None = None,
        balance_timestamp: Moment | None = None,
        customer_id: str | None = None,
        limit: int | None = None,
        order: str | None = None,
        page_cursor: str | None = None,
        **unknown: Never,
    ) -> Page[RewardAddress]:
        """One page of reward addresses by created_at. Specification 4.4.

        Args:
            ledger: ETHEREUM, SOLANA, INK, XLAYER or ARBITRUM_ONE.
            address: the monitored address; case matters on SOLANA only.
            id: its own id.
            payout_group_id: the group it is attributed to.
            include_balance: shows each balance; none are when left out.
            balance_timestamp: as of this time; now when left out.
            customer_id: another customer than one's own only for the operator.
            limit: items on the page, 1 to 1000; 100 when left out.
            order: DESC (newest first, the default) or ASC.
            page_cursor: `next_page_cursor` of the page before, with the same filters.

        Raises:
            InvalidRequest: an unknown or malformed filter, or a cursor of another list.
            Forbidden: a customer that is not one's own.
        """
        return self._page("reward_addresses.list", RewardAddress, locals())

    def iter(
        self,
        *,
        order: str | None = None,
        limit: int = 1000,
        **filters: Unpack[RewardAddressFilters],
    ) -> Iterator[RewardAddress]:
        """Every reward address that `list` with these filters would give, `limit` a page."""
        return self._walk(
            "reward_addresses.list", RewardAddress, filters, RewardAddressFilters, order, limit
        )

    def stream(
        self, columns: str | Sequence[str] | None = None, **filters: Unpack[RewardAddressFilters]
    ) -> Stream:
        """All reward addresses that pass the filters of `list`, as Arrow columns."""
        return self._stream("reward-addresses", columns, filters, RewardAddressFilters)

    def create(
        self,
        *,
        ledger: str,
        address: str,
        name: str | None = None,
        payout_group_id: Id | None = None,
        customer_id: str | None = None,
        idempotency_key: Id | None = None,
    ) -> RewardAddress:
        """Registers an address, attributed to a payout group if one is named. Specification 4.4.

        Args:
            ledger: ETHEREUM, SOLANA, INK, XLAYER or ARBITRUM_ONE.
            address: valid on that ledger; mixed-case hex must carry a right EIP-55 checksum.
            name: for people, at most 256 characters.
            payout_group_id: one's own group, on the same ledger.
            customer_id: for the operator: whose it is; ``default`` when left out.
            idempotency_key: asking again with it gives the first answer.

        Raises:
            InvalidRequest: a malformed member, or a group on another ledger
                (``ledger-mismatch``).
            NotFound: there is no such payout group.
            Conflict: the address is registered; `existing` is its id where it is one's own.
        """
        members = {
            "ledger": ledger,
            "address": address,
            "name": name,
            "payout_group_id": payout_group_id,
            "customer_id": customer_id,
        }
        return self._ask(
            "reward_addresses.create", RewardAddress, body=members, idempotency_key=idempotency_key
        )

    def update(
        self,
        id: Id,
        *,
        name: str | None = None,
        payout_group_id: Id | None = None,
        idempotency_key: Id | None = None,
    ) -> RewardAddress:
        """Sets what is given; a new payout group makes the address PENDING. Specification 4.4.

        Raises:
            InvalidRequest: a group on another ledger (``ledger-mismatch``).
            NotFound: there is no such address, or no such group.
        """
        members = {"name": name, "payout_group_id": payout_group_id}
        return self._ask(
            "reward_addresses.update", RewardAddress, {"id": id}, members, idempotency_key
        )

    def observe(self, id: Id, *, status: str, idempotency_key: Id | None = None) -> RewardAddress:
        """Records the status that was seen. For the operator. Specification 2.4.

        Raises:
            NotFound: there is no such address.
            Forbidden: asked by a client.
        """
        members = {"status": status}
        return self._ask(
            "reward_addresses.observe", RewardAddress, {"id": id}, members, idempotency_key
        )


class Balances(Noun):
    """What reward addresses held at recorded moments. For the operator. Specification 4.4."""

    __slots__ = ()

    def record(
        self,
        *,
        address_id: Id,
        balance: Money,
        at: Moment,
        idempotency_key: Id | None = None,
    ) -> Balance:
        """Records the balance of an address at a time. Specification 4.4.

        `balance` is in units of the asset of the address's payout group, a Decimal, int or str.

        Raises:
            InvalidRequest: a malformed member, or a float for the balance.
            NotFound: there is no such address.
            Forbidden: asked by a client.
            Conflict: another balance is recorded for that moment.
        """
        members = {"address_id": address_id, "balance": balance, "at": at}
        return self._ask("balances.record", Balance, body=members, idempotency_key=idempotency_key)

    def list(
        self,
        *,
        address_id: Id | None = None,
        limit: int | None = None,
        order: str | None = None,
        page_cursor: str | None = None,
        **unknown: Never,
    ) -> Page[Balance]:
        """One page of balances by their moment. Specification 4.4.

        Args:
            address_id: of this reward address.
            limit: items on the page, 1 to 1000; 100 when left out.
            order: DESC (newest first, the default) or ASC.
            page_cursor: `next_page_cursor` of the page before, with the same filters.

        Raises:
            InvalidRequest: an unknown or malformed filter, or a cursor of another list.
            Forbidden: asked by a client.
        """
        return self._page("balances.list", Balance, locals())

    def iter(
        self, *, order: str | None = None, limit: int = 1000, **filters: Unpack[BalanceFilters]
    ) -> Iterator[Balance]:
        """Every balance that `list` with these filters would give, `limit` a page, as wanted."""
        return self._walk("balances.list", Balance, filters, BalanceFilters, order, limit)

    def stream(
        self, columns: str | Sequence[str] | None = None, **filters: Unpack[BalanceFilters]
    ) -> Stream:
        """All balances that pass the filter of `list`, as Arrow columns."""
        return self._stream("balances", columns, filters, BalanceFilters)
