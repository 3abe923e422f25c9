"""Controls: what restricts an identity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Never, Unpack

from comptroller.arguments import Id, Moment, Words
from comptroller.operations.noun import CreatedFilters, Noun
from comptroller.pages import Page
from comptroller.records import Control
from comptroller.streams import Stream


class ControlFilters(CreatedFilters, total=False):
    """The filters of controls; all must hold, values within one are alternatives."""

    identity_id: Id | None
    include_deleted: bool | None
    active_at: Moment | None
    type: Words | None
    set_by: Words | None
    reason_code: Words | None


class Controls(Noun):
    """Restrictions on identities. Specification 2.1, 3.1 and 4.1."""

    __slots__ = ()

    def get(self, id: Id) -> Control:
        """One control, active or deleted. Specification 2.1.

        Raises:
            NotFound: there is none of that id, or it is another customer's.
        """
        return self._ask("controls.get", Control, {"id": id})

    def list(
        self,
        *,
        identity_id: Id | None = None,
        include_deleted: bool | None = None,
        active_at: Moment | None = None,
        type: Words | None = None,
        set_by: Words | None = None,
        reason_code: Words | None = None,
        customer_id: str | None = None,
        created_at_lt: Moment | None = None,
        created_at_lte: Moment | None = None,
        created_at_eq: Moment | None = None,
        created_at_gte: Moment | None = None,
        created_at_gt: Moment | None = None,
        limit: int | None = None,
        order: str | None = None,
        page_cursor: str | None = None,
        **unknown: Never,
    ) -> Page[Control]:
        """One page of controls by created_at. Specification 4.1.

        Args:
            identity_id: of this identity; of all when left out.
            include_deleted: deleted ones too; only active ones when left out.
            active_at: those in force at that moment.
            type: SELL_ONLY, CLOSED, FROZEN or DORMANT; several are alternatives.
            set_by: CLIENT or PROVIDER.
            reason_code: one or several.
            customer_id: another customer than one's own only for the operator.
            created_at_lt: created before this time; `_lte`, `_eq`, `_gte`, `_gt` likewise.
            limit: items on the page, 1 to 1000; 100 when left out.
            order: DESC (newest first, the default) or ASC.
            page_cursor: `next_page_cursor` of the page before, with the same filters.

        Raises:
            InvalidRequest: an unknown or malformed filter, or a cursor of another list.
            Forbidden: a customer that is not one's own.
        """
        return self._page("controls.list", Control, locals())

    def iter(
        self, *, order: str | None = None, limit: int = 1000, **filters: Unpack[ControlFilters]
    ) -> Iterator[Control]:
        """Every control that `list` with these filters would give, `limit` a page, as wanted."""
        return self._walk("controls.list", Control, filters, ControlFilters, order, limit)

    def stream(
        self, columns: str | Sequence[str] | None = None, **filters: Unpack[ControlFilters]
    ) -> Stream:
        """All controls that pass the filters of `list`, as Arrow columns."""
        return self._stream("controls", columns, filters, ControlFilters)

    def create(
        self,
        *,
        identity_id: Id,
        type: str,
        reason_code: str,
        reason: str | None = None,
        is_overridable: bool | None = None,
        idempotency_key: Id | None = None,
    ) -> Control:
        """Restricts an identity. Specification 3.1 and 4.1.

        Args:
            identity_id: whom.
            type: SELL_ONLY, CLOSED or DORMANT; for the operator FROZEN too.
            reason_code: an upper-case word, such as CUSTOMER_REQUEST.
            reason: in words, at most 1024 characters.
            is_overridable: for the operator: whether the client may delete it (False if left out).
            idempotency_key: asking again with it gives the first answer.

        Raises:
            InvalidRequest: a type outside the four, a malformed member.
            Forbidden: a client asked for FROZEN (``control-type-not-permitted``).
            NotFound: there is no such identity.
            Conflict: one of that type and setter is active; `existing` is its id.
        """
        members = {
            "identity_id": identity_id,
            "type": type,
            "reason_code": reason_code,
            "reason": reason,
            "is_overridable": is_overridable,
        }
        return self._ask("controls.create", Control, body=members, idempotency_key=idempotency_key)

    def delete(
        self,
        control_id: Id,
        *,
        identity_id: Id | None = None,
        reason: str | None = None,
        idempotency_key: Id | None = None,
    ) -> Control:
        """Lifts a control, and gives it back with deleted_at. Specification 3.1 and 4.1.

        `identity_id`, where given, must be the control's own.

        Raises:
            NotFound: there is no such control.
            Forbidden: it is not overridable (``control-not-overridable``).
            Conflict: it is already deleted (``already-deleted``).
        """
        query = {"control_id": control_id, "identity_id": identity_id, "reason": reason}
        return self._ask("controls.delete", Control, query, idempotency_key=idempotency_key)
