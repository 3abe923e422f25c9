"""Operations on balances."""

# Generated from the core's description by `make generate`; change the C++ declarations.

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Never, TypedDict, Unpack

from comptroller.arguments import Id, Key, Money, Timestamp
from comptroller.bulk.streams import Stream
from comptroller.operations.pages import Page
from comptroller.operations.resource import Resource, list_request, request
from comptroller.records import Balance
from comptroller.values import (
    Order,
)


class BalanceFilters(TypedDict, total=False):
    """The filters of balances.

    A record must match all of them, and of several values of one filter any.
    """

    address_id: Id | None


class Balances(Resource):
    """The balances of a service.

    Each is a :class:`comptroller.records.Balance`.
    """

    __slots__ = ()

    def list(
        self,
        *,
        address_id: Id | None = None,
        limit: int | None = None,
        order: Order | None = None,
        page_cursor: str | None = None,
        **unknown: Never,
    ) -> Page[Balance]:
        """Lists recorded balances in order of time. Returns one page.

        Args:
            address_id: only balances of this reward address.
            limit: items on a page, 1 to 1000; default 100.
            order: order by creation time; default DESC (DESC or ASC).
            page_cursor: next_page_cursor of the previous page; the filters must be the same.

        Raises:
            InvalidRequest: a filter is unknown or not valid; the cursor belongs to another
                list, or is damaged (``invalid-cursor``).
            Forbidden: the caller is not the operator (``insufficient-scope``).
        """
        return self._send(list_request("balances.list", locals()), Page[Balance])

    def iter(
        self, *, order: Order | None = None, limit: int = 1000, **filters: Unpack[BalanceFilters]
    ) -> Iterator[Balance]:
        """Iterates over all balances that match.

        A page is fetched when its first item is needed.

        Args:
            order: order by creation time, newest first by default.
            limit: items on a page, 1 to 1000; it does not limit how many are returned.
            filters: those of `list`.

        Raises:
            InvalidRequest: a filter is unknown or not valid.
        """
        return self._walk("balances.list", Page[Balance], filters, BalanceFilters, order, limit)

    def stream(
        self, columns: str | Sequence[str] | None = None, **filters: Unpack[BalanceFilters]
    ) -> Stream:
        """Returns all balances that match as Arrow columns.

        Args:
            columns: the columns; all of them by default.
            filters: those of `list`.

        Raises:
            InvalidRequest: a filter or column is unknown, or a filter is not valid.
        """
        return self._stream("balances", columns, filters, BalanceFilters)

    def record(
        self, *, address_id: Id, balance: Money, at: Timestamp, idempotency_key: Key | None = None
    ) -> Balance:
        """Records the balance of a reward address at a time. Operator only.

        Args:
            address_id: the reward address.
            balance: its balance, in units of the asset of its payout group.
            at: time of the balance.
            idempotency_key: repeating the call with the same key returns the first answer.

        Raises:
            InvalidRequest: an argument is not valid.
            Forbidden: the caller is not the operator (``insufficient-scope``).
            NotFound: the reward address does not exist.
            Conflict: another balance is recorded for that time.
        """
        return self._send(
            request(
                "balances.record",
                body={"address_id": address_id, "balance": balance, "at": at},
                idempotency_key=idempotency_key,
            ),
            Balance,
        )
