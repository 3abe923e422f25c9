"""Identities, and what the controls in force permit them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Never, Unpack

import msgspec

from comptroller.arguments import Id, Moment, Words
from comptroller.operations.noun import CreatedFilters, Noun
from comptroller.pages import Page
from comptroller.records import Identity
from comptroller.streams import Stream


class IdentityFilters(CreatedFilters, total=False):
    """The filters of identities; all must hold, values within one are alternatives."""

    control_types: Words | None
    control_reason_codes: Words | None
    ref_id: str | None


class Permission(msgspec.Struct, frozen=True):
    """Whether an action is permitted."""

    permitted: bool


class Identities(Noun):
    """Identities, with the controls in force on them. Specification 1, 2.1 and 3.1."""

    __slots__ = ()

    def get(self, id: Id) -> Identity:
        """One identity with its active controls. Specification 1.

        Raises:
            NotFound: there is none of that id, or it is another customer's.
        """
        return self._ask("identities.get", Identity, {"id": id})

    def list(
        self,
        *,
        control_types: Words | None = None,
        control_reason_codes: Words | None = None,
        ref_id: str | None = None,
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
    ) -> Page[Identity]:
        """One page of identities by created_at. Specification 1.

        Args:
            control_types: any active control is of one of these types.
            control_reason_codes: any active control has one of these reason codes.
            ref_id: the reference the customer gave.
            customer_id: another customer than one's own only for the operator.
            created_at_lt: created before this time; `_lte`, `_eq`, `_gte`, `_gt` likewise.
            limit: items on the page, 1 to 1000; 100 when left out.
            order: DESC (newest first, the default) or ASC.
            page_cursor: `next_page_cursor` of the page before, with the same filters.

        Raises:
            InvalidRequest: an unknown or malformed filter, or a cursor of another list.
            Forbidden: a customer that is not one's own.
        """
        return self._page("identities.list", Identity, locals())

    def iter(
        self, *, order: str | None = None, limit: int = 1000, **filters: Unpack[IdentityFilters]
    ) -> Iterator[Identity]:
        """Every identity that `list` with these filters would give, `limit` a page, as wanted."""
        return self._walk("identities.list", Identity, filters, IdentityFilters, order, limit)

    def stream(
        self, columns: str | Sequence[str] | None = None, **filters: Unpack[IdentityFilters]
    ) -> Stream:
        """All identities that pass the filters of `list`, as Arrow columns."""
        return self._stream("identities", columns, filters, IdentityFilters)

    def update(
        self,
        id: Id,
        *,
        user_disabled: bool | None = None,
        admin_disabled: bool | None = None,
        metadata: Mapping[str, str] | None = None,
        idempotency_key: Id | None = None,
    ) -> Identity:
        """Sets what is given; the deprecated flags make or delete their control. Specification 3.1.

        Raises:
            NotFound: there is no such identity.
            Forbidden: a client named admin_disabled, which only the operator sets.
            Conflict: a control of that type and setter stands that the flag does not mean.
        """
        members = {
            "user_disabled": user_disabled,
            "admin_disabled": admin_disabled,
            "metadata": metadata,
        }
        return self._ask("identities.update", Identity, {"id": id}, members, idempotency_key)

    def put(
        self,
        *,
        id: Id,
        customer_id: str | None = None,
        ref_id: str | None = None,
        metadata: Mapping[str, str] | None = None,
        user_disabled: bool | None = None,
        admin_disabled: bool | None = None,
        idempotency_key: Id | None = None,
    ) -> Identity:
        """Makes the identity (of customer ``default`` if none is named), or sets what is given.

        For the operator. Flags act as in `update`. Specification 3.1.

        Raises:
            Forbidden: asked by a client.
            Conflict: the identity is another customer's, or a control stands in a flag's way.
        """
        members = {
            "id": id,
            "customer_id": customer_id,
            "ref_id": ref_id,
            "metadata": metadata,
            "user_disabled": user_disabled,
            "admin_disabled": admin_disabled,
        }
        return self._ask("identities.put", Identity, body=members, idempotency_key=idempotency_key)

    def permits(self, id: Id, action: str, *, at: Moment | None = None) -> bool:
        """Whether the controls in force permit an action. Specification 2.1.

        Args:
            id: the identity.
            action: BUY, SELL, DEPOSIT or WITHDRAW.
            at: as of this past moment; now when left out.

        Raises:
            NotFound: there is no such identity.
        """
        query = {"id": id, "action": action, "at": at}
        return self._ask("identities.permits", Permission, query).permitted
