"""Copying what a service elsewhere shows into a store that is here, again and again."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from comptroller.errors import Forbidden, NotFound
from comptroller.loading import LoadResult, Progress
from comptroller.records import Identity
from comptroller.remote.host import RemoteHost
from comptroller.service import Service

#: The order in which kinds are pulled: what others name comes first.
KINDS = (
    "identities",
    "controls",
    "payout-groups",
    "reward-addresses",
    "orchestrations",
    "claims",
    "balances",
)

# By kind: the filter and the statuses of what may still change, and the filter of a beginning.
_CHANGING = {
    "orchestrations": ("status", ("PENDING", "PROCESSING"), "created_at_gte"),
    "claims": ("statuses", ("PENDING", "SUBMITTED"), "start_time"),
}
# What follows from the controls is not loaded with the identity.
_KEPT = ("id", "customer_id", "ref_id", "metadata", "created_at", "updated_at")


def pull(
    source: Service,
    target: Service,
    kind: str,
    *,
    customer_id: str | None = None,
    afresh: bool = False,
    progress: Progress | None = None,
) -> LoadResult:
    """Loads the records of a kind that `source` shows into `target`; bad lines are in the result.

    Claims and orchestrations are read from the oldest one on that may still change here, or else
    from the newest, in their order: a pull that was interrupted goes on, and a later one brings
    what is new. What comes to be at the source with an older created_at is found only `afresh`. The
    other kinds are read whole.

    Args:
        source: whose records, as its caller is shown them.
        target: a store that was opened as its operator.
        kind: one of KINDS.
        customer_id: whose the records are that name no customer, and by whose it is told where to
            begin; ``default``, and everybody's, when left out.
        afresh: reads claims and orchestrations whole too.
        progress: as of `Service.load`.

    Raises what either service raises, with a `load_result` where something was kept.
    """
    begin = None if afresh else _begin(target, kind, customer_id)
    rows = _rows(source, kind, begin)
    return target.load(kind, rows, customer_id=customer_id, keep_going=True, progress=progress)


def is_shown(source: Service, kind: str) -> bool:
    """Whether the caller may read a kind there."""
    try:
        _noun(source, kind).list(limit=1)
    except (Forbidden, NotFound):
        return False
    return True


def customer_of(source: Service) -> str | None:
    """Whose client the caller is: as its token says, else the first record that tells; or None.

    Claims, groups, addresses and controls do not say it to a client.
    """
    if isinstance(source.host, RemoteHost) and (named := source.host.customer()):
        return named
    for kind in ("identities", "orchestrations"):
        if is_shown(source, kind):
            for record in _noun(source, kind).list(limit=1):
                customer_id: str = record.customer_id
                return customer_id
    return None


def _begin(target: Service, kind: str, customer_id: str | None) -> datetime | None:
    """The created_at of the first record that is read again."""
    if kind not in _CHANGING:
        return None
    name, statuses, _ = _CHANGING[kind]
    for order, filters in (("ASC", {name: statuses}), ("DESC", {})):
        here = _noun(target, kind).list(limit=1, order=order, customer_id=customer_id, **filters)
        for record in here:
            moment: datetime = record.created_at
            return moment
    return None


def _rows(source: Service, kind: str, begin: datetime | None) -> Iterator[Any]:
    filters: dict[str, Any] = {"include_deleted": True} if kind == "controls" else {}
    if begin is not None:
        filters[_CHANGING[kind][2]] = begin
    records = _noun(source, kind).iter(order="ASC", **filters)
    return map(_row, records) if kind == "identities" else records


def _row(identity: Identity) -> dict[str, Any]:
    return {name: getattr(identity, name) for name in _KEPT}


def _noun(service: Service, kind: str) -> Any:
    return getattr(service, kind.replace("-", "_"))
