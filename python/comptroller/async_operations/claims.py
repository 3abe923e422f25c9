"""Operations on claims, as coroutines."""

# Generated from the core's description by `make generate`; change the C++ declarations.

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Never, Unpack

from comptroller.arguments import Id, Key, Timestamp
from comptroller.async_operations.resource import AsyncResource
from comptroller.bulk.streams import Stream
from comptroller.operations.claims import ClaimFilters
from comptroller.operations.pages import Page
from comptroller.operations.resource import list_request, record_request, request
from comptroller.records import Claim
from comptroller.values import (
    ClaimStatus,
    Order,
)


class AsyncClaims(AsyncResource):
    """The claims of an asynchronous service.

    Each is a :class:`comptroller.records.Claim`.
    """

    __slots__ = ()

    async def get(self, id: Id) -> Claim:
        """Returns one claim.

        Args:
            id: identifies the record.

        Raises:
            NotFound: no record has this id, or it belongs to another customer.
        """
        return await self._send(request("claims.get", query={"id": id}), Claim)

    async def list(
        self,
        *,
        payout_group_id: Id | None = None,
        statuses: ClaimStatus | Iterable[str] | None = None,
        chain: str | None = None,
        jurisdiction: str | None = None,
        start_time: Timestamp | None = None,
        end_time: Timestamp | None = None,
        id: Id | None = None,
        tx_hash: str | None = None,
        address: str | None = None,
        asset_type: str | None = None,
        claim_schedule_id: str | None = None,
        customer_id: Id | None = None,
        updated_at_lt: Timestamp | None = None,
        updated_at_lte: Timestamp | None = None,
        updated_at_eq: Timestamp | None = None,
        updated_at_gte: Timestamp | None = None,
        updated_at_gt: Timestamp | None = None,
        limit: int | None = None,
        order: Order | None = None,
        page_cursor: str | None = None,
        **unknown: Never,
    ) -> Page[Claim]:
        """Lists reward claims. Returns one page.

        Args:
            payout_group_id: only claims of this payout group.
            statuses: only claims with one of these statuses (PENDING, SUBMITTED, CONFIRMED or
                FAILED).
            chain: only claims on this blockchain.
            jurisdiction: only claims whose payout group is now in this jurisdiction.
            start_time: only claims created at or after this time.
            end_time: only claims created at or before this time.
            id: only the claim with this id.
            tx_hash: only claims with this hash of the transaction; case matters unless it is an
                EVM hash.
            address: only claims from this reward address; case matters unless it is an EVM
                address.
            asset_type: only claims of this asset.
            claim_schedule_id: only claims that this schedule started.
            customer_id: only records of this customer; a client may only name its own customer.
            updated_at_lt: only records last changed before this time.
            updated_at_lte: only records last changed at or before this time.
            updated_at_eq: only records last changed at this time.
            updated_at_gte: only records last changed at or after this time.
            updated_at_gt: only records last changed after this time.
            limit: items on a page, 1 to 1000; default 100.
            order: order by creation time; default DESC (DESC or ASC).
            page_cursor: next_page_cursor of the previous page; the filters must be the same.

        Raises:
            InvalidRequest: a filter is unknown or not valid; the cursor belongs to another
                list, or is damaged (``invalid-cursor``).
            Forbidden: a client named another customer (``customer-not-accessible``).
        """
        return await self._send(list_request("claims.list", locals()), Page[Claim])

    def iter(
        self, *, order: Order | None = None, limit: int = 1000, **filters: Unpack[ClaimFilters]
    ) -> AsyncIterator[Claim]:
        """Iterates over all claims that match.

        A page is fetched when its first item is needed.

        Args:
            order: order by creation time, newest first by default.
            limit: items on a page, 1 to 1000; it does not limit how many are returned.
            filters: those of `list`.

        Raises:
            InvalidRequest: a filter is unknown or not valid.
        """
        return self._walk("claims.list", Page[Claim], filters, ClaimFilters, order, limit)

    async def stream(
        self, columns: str | Sequence[str] | None = None, **filters: Unpack[ClaimFilters]
    ) -> Stream:
        """Returns all claims that match as Arrow columns.

        Args:
            columns: the columns; all of them by default.
            filters: those of `list`.

        Raises:
            InvalidRequest: a filter or column is unknown, or a filter is not valid.
        """
        return await self._stream("claims", columns, filters, ClaimFilters)

    async def put(
        self, record: Claim | Mapping[str, object], *, idempotency_key: Key | None = None
    ) -> Claim:
        """Stores one claim, as a load of one line would.

        Operator only. A newer claim replaces the stored one.

        Args:
            record: a Claim, or a mapping with id, payout_group_id, claim_type, onchain_status,
                amount and created_at.
            idempotency_key: repeating the call with the same key returns the first answer.

        Raises:
            InvalidRequest: an argument is not valid.
            Forbidden: the caller is not the operator (``insufficient-scope``).
            Conflict: the stored record has other content and the same or a later updated_at, or
                another created_at or another customer; the stored status cannot change to the new
                status (``illegal-transition``); the payout group belongs to another customer.
        """
        return await self._send(record_request("claims.put", record, idempotency_key), Claim)

    async def submit(
        self,
        id: Id,
        *,
        tx_hash: str,
        at: Timestamp | None = None,
        idempotency_key: Key | None = None,
    ) -> Claim:
        """Changes a claim from PENDING to SUBMITTED. Operator only.

        Args:
            id: identifies the record.
            tx_hash: hash of the transaction.
            at: when it was sent; default now.
            idempotency_key: repeating the call with the same key returns the first answer.

        Raises:
            InvalidRequest: an argument is not valid.
            Forbidden: the caller is not the operator (``insufficient-scope``).
            NotFound: no record has this id, or it belongs to another customer.
            Conflict: the claim is not PENDING (``illegal-transition``).
        """
        return await self._send(
            request(
                "claims.submit",
                query={"id": id},
                body={"tx_hash": tx_hash, "at": at},
                idempotency_key=idempotency_key,
            ),
            Claim,
        )

    async def confirm(
        self, id: Id, *, at: Timestamp | None = None, idempotency_key: Key | None = None
    ) -> Claim:
        """Changes a claim from SUBMITTED to CONFIRMED. Operator only.

        Args:
            id: identifies the record.
            at: when it was confirmed; default now.
            idempotency_key: repeating the call with the same key returns the first answer.

        Raises:
            InvalidRequest: an argument is not valid.
            Forbidden: the caller is not the operator (``insufficient-scope``).
            NotFound: no record has this id, or it belongs to another customer.
            Conflict: the claim is not SUBMITTED (``illegal-transition``).
        """
        return await self._send(
            request(
                "claims.confirm", query={"id": id}, body={"at": at}, idempotency_key=idempotency_key
            ),
            Claim,
        )

    async def fail(
        self, id: Id, *, error_message: str, idempotency_key: Key | None = None
    ) -> Claim:
        """Changes a claim from PENDING or SUBMITTED to FAILED. Operator only.

        Args:
            id: identifies the record.
            error_message: why it failed, at most 1024 characters.
            idempotency_key: repeating the call with the same key returns the first answer.

        Raises:
            InvalidRequest: an argument is not valid.
            Forbidden: the caller is not the operator (``insufficient-scope``).
            NotFound: no record has this id, or it belongs to another customer.
            Conflict: the claim is already CONFIRMED or FAILED (``illegal-transition``).
        """
        return await self._send(
            request(
                "claims.fail",
                query={"id": id},
                body={"error_message": error_message},
                idempotency_key=idempotency_key,
            ),
            Claim,
        )
