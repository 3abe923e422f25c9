"""Operations on controls."""

# Generated from the core's description by `make generate`; change the C++ declarations.

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Never, TypedDict, Unpack

from comptroller.arguments import Id, Key, Texts, Timestamp
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
    type: ControlType | Iterable[str] | None
    set_by: SetBy | Iterable[str] | None
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
        type: ControlType | Iterable[str] | None = None,
        set_by: SetBy | Iterable[str] | None = None,
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
        """Lists controls, by default only active controls. Returns one page.

        Args:
            identity_id: only controls of this identity.
            include_deleted: whether to include deleted controls; default false.
            active_at: only controls active at this time.
            type: only controls of one of these types (SELL_ONLY, CLOSED, FROZEN or DORMANT).
            set_by: only controls set by one of these setters (CLIENT or PROVIDER).
            reason_code: only controls with one of these reason codes.
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
        return self._send(list_request("controls.list", locals()), Page[Control])

    def iter(
        self, *, order: Order | None = None, limit: int = 1000, **filters: Unpack[ControlFilters]
    ) -> Iterator[Control]:
        """Iterates over all controls that match.

        A page is fetched when its first item is needed.

        Args:
            order: order by creation time, newest first by default.
            limit: items on a page, 1 to 1000; it does not limit how many are returned.
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
        idempotency_key: Key | None = None,
    ) -> Control:
        """Creates a control, which restricts an identity.

        Clients can delete a control that a client created.

        Args:
            identity_id: the identity to restrict.
            type: type of the restriction; only the operator can set FROZEN (SELL_ONLY, CLOSED,
                FROZEN or DORMANT).
            reason_code: coded reason in upper case, such as CUSTOMER_REQUEST.
            reason: reason in prose, at most 1024 characters.
            is_overridable: whether a client may delete it; operator only; default false.
            idempotency_key: repeating the call with the same key returns the first answer.

        Raises:
            InvalidRequest: an argument is not valid.
            Forbidden: a client set FROZEN (``control-type-not-permitted``).
            NotFound: the identity does not exist.
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
        idempotency_key: Key | None = None,
    ) -> Control:
        """Deletes a control, and returns it with deleted_at.

        Args:
            control_id: the control to delete.
            identity_id: the identity it must belong to.
            reason: reason for the deletion in prose, at most 1024 characters.
            idempotency_key: repeating the call with the same key returns the first answer.

        Raises:
            InvalidRequest: an argument is not valid.
            Forbidden: a client may not delete this control (``control-not-overridable``).
            NotFound: the control does not exist, or it belongs to another identity.
            Conflict: the control is already deleted (``already-deleted``).
        """
        return self._send(
            request(
                "controls.delete",
                query={"control_id": control_id, "identity_id": identity_id, "reason": reason},
                idempotency_key=idempotency_key,
            ),
            Control,
        )
