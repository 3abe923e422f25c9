"""Operations on orchestrations."""

# Generated from the core's description by `make generate`; change the C++ declarations.

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Never, TypedDict, Unpack

from comptroller.arguments import Id, Ids, Key, Texts, Timestamp
from comptroller.bulk.streams import Stream
from comptroller.operations.pages import Page
from comptroller.operations.resource import Resource, list_request, record_request, request
from comptroller.records import Orchestration
from comptroller.values import (
    Order,
)


class OrchestrationFilters(TypedDict, total=False):
    """The filters of orchestrations.

    A record must match all of them, and of several values of one filter any.
    """

    orchestration_rule_id: Ids | None
    source_asset: Texts | None
    destination_asset: Texts | None
    status: Texts | None
    orchestration_id: Ids | None
    profile_id: Ids | None
    ref_id: Texts | None
    customer_id: Id | None
    created_at_lt: Timestamp | None
    created_at_lte: Timestamp | None
    created_at_eq: Timestamp | None
    created_at_gte: Timestamp | None
    created_at_gt: Timestamp | None


class Orchestrations(Resource):
    """The orchestrations of a service.

    Each is a :class:`comptroller.records.Orchestration`.
    """

    __slots__ = ()

    def get(self, id: Id) -> Orchestration:
        """Returns one orchestration.

        Args:
            id: identifies the record.

        Raises:
            NotFound: no record has this id, or it belongs to another customer.
        """
        return self._send(request("orchestrations.get", query={"id": id}), Orchestration)

    def list(
        self,
        *,
        orchestration_rule_id: Ids | None = None,
        source_asset: Texts | None = None,
        destination_asset: Texts | None = None,
        status: Texts | None = None,
        orchestration_id: Ids | None = None,
        profile_id: Ids | None = None,
        ref_id: Texts | None = None,
        customer_id: Id | None = None,
        created_at_lt: Timestamp | None = None,
        created_at_lte: Timestamp | None = None,
        created_at_eq: Timestamp | None = None,
        created_at_gte: Timestamp | None = None,
        created_at_gt: Timestamp | None = None,
        limit: int | None = None,
        order: Order | None = None,
        page_cursor: str | None = None,
        **unknown: Never,
    ) -> Page[Orchestration]:
        """Lists orchestrations. Returns one page.

        Args:
            orchestration_rule_id: only orchestrations initiated by one of these rules.
            source_asset: only orchestrations with one of these source assets.
            destination_asset: only orchestrations with one of these destination assets.
            status: only orchestrations with one of these statuses.
            orchestration_id: only orchestrations with one of these ids.
            profile_id: only orchestrations that belong, or move value, to one of these
                profiles.
            ref_id: only orchestrations with one of these reference ids.
            customer_id: only records of this customer; a client may only name its own customer.
            created_at_lt: only records created before this time.
            created_at_lte: only records created at or before this time.
            created_at_eq: only records created at this time.
            created_at_gte: only records created at or after this time.
            created_at_gt: only records created after this time.
            limit: items on a page, 1 to 1000; default 100.
            order: order by creation time; default DESC (DESC or ASC).
            page_cursor: next_page_cursor of the previous page; the filters must be the same.

        Raises:
            InvalidRequest: a filter is unknown or not valid; the cursor belongs to another
                list, or is damaged (``invalid-cursor``).
            Forbidden: a client named another customer (``customer-not-accessible``).
        """
        return self._send(list_request("orchestrations.list", locals()), Page[Orchestration])

    def iter(
        self,
        *,
        order: Order | None = None,
        limit: int = 1000,
        **filters: Unpack[OrchestrationFilters],
    ) -> Iterator[Orchestration]:
        """Iterates over all orchestrations that match.

        A page is fetched when its first item is needed.

        Args:
            order: order by creation time, newest first by default.
            limit: items on a page, 1 to 1000; it does not limit how many are returned.
            filters: those of `list`.

        Raises:
            InvalidRequest: a filter is unknown or not valid.
        """
        return self._walk(
            "orchestrations.list", Page[Orchestration], filters, OrchestrationFilters, order, limit
        )

    def stream(
        self, columns: str | Sequence[str] | None = None, **filters: Unpack[OrchestrationFilters]
    ) -> Stream:
        """Returns all orchestrations that match as Arrow columns.

        Args:
            columns: the columns; all of them by default.
            filters: those of `list`.

        Raises:
            InvalidRequest: a filter or column is unknown, or a filter is not valid.
        """
        return self._stream("orchestrations", columns, filters, OrchestrationFilters)

    def put(
        self, record: Orchestration | Mapping[str, object], *, idempotency_key: Key | None = None
    ) -> Orchestration:
        """Stores one orchestration, as a load of one line would.

        Operator only. A newer orchestration replaces the stored one.

        Args:
            record: a Orchestration, or a mapping with id, status and created_at.
            idempotency_key: repeating the call with the same key returns the first answer.

        Raises:
            InvalidRequest: an argument is not valid.
            Forbidden: the caller is not the operator (``insufficient-scope``).
            Conflict: the stored record has other content and the same or a later updated_at, or
                another created_at or another customer.
        """
        return self._send(
            record_request("orchestrations.put", record, idempotency_key), Orchestration
        )
