"""Operations on identities."""

# Generated from the core's description by `make generate`; change the C++ declarations.

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Never, TypedDict, Unpack

from comptroller.arguments import Id, Key, Texts, Timestamp
from comptroller.bulk.streams import Stream
from comptroller.operations.pages import Page
from comptroller.operations.resource import Resource, list_request, request
from comptroller.records import Identity, Permission
from comptroller.values import (
    Action,
    ControlType,
    Order,
)


class IdentityFilters(TypedDict, total=False):
    """The filters of identities.

    A record must match all of them, and of several values of one filter any.
    """

    control_types: ControlType | Iterable[str] | None
    control_reason_codes: Texts | None
    ref_id: str | None
    customer_id: Id | None
    created_at_lt: Timestamp | None
    created_at_lte: Timestamp | None
    created_at_eq: Timestamp | None
    created_at_gte: Timestamp | None
    created_at_gt: Timestamp | None


class Identities(Resource):
    """The identities of a service.

    Each is a :class:`comptroller.records.Identity`.
    """

    __slots__ = ()

    def get(self, id: Id) -> Identity:
        """Returns one identity with its active controls.

        Args:
            id: identifies the record.

        Raises:
            NotFound: no record has this id, or it belongs to another customer.
        """
        return self._send(request("identities.get", query={"id": id}), Identity)

    def list(
        self,
        *,
        control_types: ControlType | Iterable[str] | None = None,
        control_reason_codes: Texts | None = None,
        ref_id: str | None = None,
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
    ) -> Page[Identity]:
        """Lists identities with their active controls. Returns one page.

        Args:
            control_types: only identities with an active control of one of these types
                (SELL_ONLY, CLOSED, FROZEN or DORMANT).
            control_reason_codes: only identities with an active control of one of these reason
                codes.
            ref_id: only identities with this reference id.
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
        return self._send(list_request("identities.list", locals()), Page[Identity])

    def iter(
        self, *, order: Order | None = None, limit: int = 1000, **filters: Unpack[IdentityFilters]
    ) -> Iterator[Identity]:
        """Iterates over all identities that match.

        A page is fetched when its first item is needed.

        Args:
            order: order by creation time, newest first by default.
            limit: items on a page, 1 to 1000; it does not limit how many are returned.
            filters: those of `list`.

        Raises:
            InvalidRequest: a filter is unknown or not valid.
        """
        return self._walk("identities.list", Page[Identity], filters, IdentityFilters, order, limit)

    def stream(
        self, columns: str | Sequence[str] | None = None, **filters: Unpack[IdentityFilters]
    ) -> Stream:
        """Returns all identities that match as Arrow columns.

        Args:
            columns: the columns; all of them by default.
            filters: those of `list`.

        Raises:
            InvalidRequest: a filter or column is unknown, or a filter is not valid.
        """
        return self._stream("identities", columns, filters, IdentityFilters)

    def update(
        self,
        id: Id,
        *,
        user_disabled: bool | None = None,
        admin_disabled: bool | None = None,
        metadata: Mapping[str, str] | None = None,
        idempotency_key: Key | None = None,
    ) -> Identity:
        """Sets the metadata or the deprecated booleans of an identity.

        Omitted members keep their values.

        Args:
            id: identifies the record.
            user_disabled: true creates a client's SELL_ONLY control, false deletes it;
                deprecated.
            admin_disabled: true creates an enforced SELL_ONLY control of the operator, false
                deletes it; operator only; deprecated.
            metadata: replaces the stored metadata; at most 50 keys.
            idempotency_key: repeating the call with the same key returns the first answer.

        Raises:
            InvalidRequest: an argument is not valid.
            Forbidden: a client set admin_disabled (``control-not-overridable``).
            NotFound: no record has this id, or it belongs to another customer.
            Conflict: a control of that type and setter with another is_overridable is active.
        """
        return self._send(
            request(
                "identities.update",
                query={"id": id},
                body={
                    "user_disabled": user_disabled,
                    "admin_disabled": admin_disabled,
                    "metadata": metadata,
                },
                idempotency_key=idempotency_key,
            ),
            Identity,
        )

    def put(
        self,
        *,
        id: Id,
        customer_id: Id | None = None,
        ref_id: str | None = None,
        metadata: Mapping[str, str] | None = None,
        user_disabled: bool | None = None,
        admin_disabled: bool | None = None,
        idempotency_key: Key | None = None,
    ) -> Identity:
        """Creates an identity, or sets the given members of an existing one.

        Operator only.

        Args:
            id: identifies the record.
            customer_id: the customer it belongs to; default of a new identity: `default`.
            ref_id: reference id given by the client.
            metadata: replaces the stored metadata; at most 50 keys.
            user_disabled: true creates a client's SELL_ONLY control, false deletes it;
                deprecated.
            admin_disabled: true creates an enforced SELL_ONLY control of the operator, false
                deletes it; operator only; deprecated.
            idempotency_key: repeating the call with the same key returns the first answer.

        Raises:
            InvalidRequest: an argument is not valid.
            Forbidden: the caller is not the operator (``insufficient-scope``).
            Conflict: the identity belongs to another customer, or a control of that type and
                setter with another is_overridable is active.
        """
        return self._send(
            request(
                "identities.put",
                body={
                    "id": id,
                    "customer_id": customer_id,
                    "ref_id": ref_id,
                    "metadata": metadata,
                    "user_disabled": user_disabled,
                    "admin_disabled": admin_disabled,
                },
                idempotency_key=idempotency_key,
            ),
            Identity,
        )

    def permits(self, id: Id, action: Action, *, at: Timestamp | None = None) -> bool:
        """Returns whether the active controls permit an action.

        Args:
            id: identifies the record.
            action: the action to check (BUY, SELL, DEPOSIT or WITHDRAW).
            at: checks the controls that were active at this time; default: now.

        Raises:
            InvalidRequest: an argument is not valid.
            NotFound: no record has this id, or it belongs to another customer.
        """
        answer = self._send(
            request("identities.permits", query={"id": id, "action": action, "at": at}), Permission
        )
        return answer.permitted
