"""Operations on controls."""

# Generated from the core's description by `make generate`; change the C++ declarations.

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Never, TypedDict, Unpack

from comptroller.arguments import Id, Texts, Timestamp
from comptroller.bulk.streams import Stream
from comptroller.operations.pages import Page
from comptroller.operations.resource import Resource, list_request, request
from comptroller.records import Control
from comptroller.values import (
    ControlType,
    Order,
    SetBy,
)


class ControlFilters(TypedDict, total=False):
    """The filters of controls.

    A record must match all of them, and of several values of one filter any.
    """

    identity_id: Id | None
    include_deleted: bool | None
    active_at: Timestamp | None
    type: ControlType | Iterable[ControlType] | None
    set_by: SetBy | Iterable[SetBy] | None
    reason_code: Texts | None
    customer_id: Id | None
    created_at_lt: Timestamp | None
    created_at_lte: Timestamp | None
    created_at_eq: Timestamp | None
    created_at_gte: Timestamp | None
    created_at_gt: Timestamp | None


class Controls(Resource):
    """The controls of a service.

    Each is a :class:`comptroller.records.Control`.
    """

    __slots__ = ()

    def get(self, id: Id) -> Control:
        """Returns one control, active or deleted.

        Args:
            id: identifies the record.

        Raises:
            NotFound: no record has this id, or it belongs to another customer.
        """
        return self._send(request("controls.get", query={"id": id}), Control)

    def list(
        self,
        *,
        identity_id: Id | None = None,
        include_deleted: bool | None = None,
        active_at: Timestamp | None = None,
        type: ControlType | Iterable[ControlType] | None = None,
        set_by: SetBy | Iterable[SetBy] | None = None,
        reason_code: Texts | None = None,
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
    ) -> Page[Control]:
        """Lists controls, by default active ones. Returns one page.

        Args:
            identity_id: of this identity.
            include_deleted: also deleted ones; default false.
            active_at: active at this time.
            type: of one of these types (SELL_ONLY, CLOSED, FROZEN or DORMANT).
            set_by: set by one of these (CLIENT or PROVIDER).
            reason_code: with one of these reason codes.
            customer_id: of this customer; a client may only name its own.
            created_at_lt: created before.
            created_at_lte: created before or at.
            created_at_eq: created at.
            created_at_gte: created at or after.
            created_at_gt: created after.
            limit: items on a page, 1 to 1000; default 100.
            order: order by creation time; default DESC (DESC or ASC).
            page_cursor: next_page_cursor of the page before, with the same filters.

        Raises:
            InvalidRequest: a filter is unknown or not valid; the cursor is of another list, or
                damaged (``invalid-cursor``).
            Forbidden: a client named a customer that is not its own
                (``customer-not-accessible``).
        """
        return self._send(list_request("controls.list", locals()), Page[Control])

    def iter(
        self, *, order: Order | None = None, limit: int = 1000, **filters: Unpack[ControlFilters]
    ) -> Iterator[Control]:
        """Iterates over all controls that match.

        A page is fetched when its first item is needed.

        Args:
            order: order by creation time, newest first by default.
            limit: items on a page, 1 to 1000.
            filters: those of `list`.

        Raises:
            InvalidRequest: a filter is unknown or not valid.
        """
        return self._walk("controls.list", Page[Control], filters, ControlFilters, order, limit)

    def stream(
        self, columns: str | Sequence[str] | None = None, **filters: Unpack[ControlFilters]
    ) -> Stream:
        """Returns all controls that match as Arrow columns.

        Args:
            columns: the columns; all of them by default.
            filters: those of `list`.

        Raises:
            InvalidRequest: a filter or column is unknown, or a filter is not valid.
        """
        return self._stream("controls", columns, filters, ControlFilters)

    def create(
        self,
        *,
        identity_id: Id,
        type: ControlType,
        reason_code: str,
        reason: str | None = None,
        is_overridable: bool | None = None,
        idempotency_key: Id | None = None,
    ) -> Control:
        """Creates a control, which restricts an identity.

        A control that a client creates can be deleted by a client.

        Args:
            identity_id: the identity to restrict.
            type: what to restrict the identity to; FROZEN is set by the operator only
                (SELL_ONLY, CLOSED, FROZEN or DORMANT).
            reason_code: coded reason in upper case, such as CUSTOMER_REQUEST.
            reason: reason in prose, at most 1024 characters.
            is_overridable: whether the client may delete it, default false; operator only.
            idempotency_key: repeating the call with the same key returns the first answer.

        Raises:
            InvalidRequest: an argument is not valid.
            Forbidden: a client set FROZEN (``control-type-not-permitted``).
            NotFound: there is no such identity.
            Conflict: a control of this type and setter is active; `existing` is its id.
        """
        return self._send(
            request(
                "controls.create",
                body={
                    "identity_id": identity_id,
                    "type": type,
                    "reason_code": reason_code,
                    "reason": reason,
                    "is_overridable": is_overridable,
                },
                idempotency_key=idempotency_key,
            ),
            Control,
        )

    def delete(
        self,
        control_id: Id,
        *,
        identity_id: Id | None = None,
        reason: str | None = None,
        idempotency_key: Id | None = None,
    ) -> Control:
        """Deletes a control, and returns it with deleted_at.

        Args:
            control_id: the control to delete.
            identity_id: the identity it must belong to.
            reason: why it is deleted, in prose, at most 1024 characters.
            idempotency_key: repeating the call with the same key returns the first answer.

        Raises:
            InvalidRequest: an argument is not valid.
            Forbidden: a client may not delete this control (``control-not-overridable``).
            NotFound: there is no such control, or it is another identity's.
            Conflict: the control is deleted already (``already-deleted``).
        """
        return self._send(
            request(
                "controls.delete",
                query={"control_id": control_id, "identity_id": identity_id, "reason": reason},
                idempotency_key=idempotency_key,
            ),
            Control,
        )
