"""comptroller: identity controls, orchestrations and rewards, in a file of your own.

>>> import comptroller
>>> with comptroller.open(":memory:") as svc:
...     svc.identities.put(id="alice").status
'APPROVED'

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

# The form type checkers know without importing typing, which would double the time this takes.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from comptroller.bulk.loading import LoadResult, Rejection
    from comptroller.bulk.pulling import pull
    from comptroller.bulk.sampling import sample
    from comptroller.bulk.streams import Stream
    from comptroller.errors import (
        Closed,
        Conflict,
        Error,
        FieldError,
        Forbidden,
        InvalidRequest,
        MissingExtra,
        NotFound,
        OutcomeUnknown,
        RateLimited,
        ReadOnly,
        Unauthenticated,
        Unavailable,
        Unsupported,
        Unusable,
    )
    from comptroller.local import open  # noqa: A004
    from comptroller.operations.pages import Page
    from comptroller.records import (
        Balance,
        Claim,
        Control,
        Identity,
        Orchestration,
        PayoutGroup,
        RewardAddress,
    )
    from comptroller.remote import connect, connect_async
    from comptroller.remote.async_service import AsyncService
    from comptroller.service import Service

    __version__: str

__all__ = [
    "AsyncService",
    "Balance",
    "Claim",
    "Closed",
    "Conflict",
    "Control",
    "Error",
    "FieldError",
    "Forbidden",
    "Identity",
    "InvalidRequest",
    "LoadResult",
    "MissingExtra",
    "NotFound",
    "Orchestration",
    "OutcomeUnknown",
    "Page",
    "PayoutGroup",
    "RateLimited",
    "ReadOnly",
    "Rejection",
    "RewardAddress",
    "Service",
    "Stream",
    "Unauthenticated",
    "Unavailable",
    "Unsupported",
    "Unusable",
    "__version__",
    "connect",
    "connect_async",
    "open",
    "pull",
    "sample",
]

_HOMES = {
    "remote.async_service": ("AsyncService",),
    "errors": (
        "Closed",
        "Conflict",
        "Error",
        "FieldError",
        "Forbidden",
        "InvalidRequest",
        "MissingExtra",
        "NotFound",
        "OutcomeUnknown",
        "RateLimited",
        "ReadOnly",
        "Unauthenticated",
        "Unavailable",
        "Unsupported",
        "Unusable",
    ),
    "bulk.loading": ("LoadResult", "Rejection"),
    "local": ("open",),
    "operations.pages": ("Page",),
    "records": (
        "Balance",
        "Claim",
        "Control",
        "Identity",
        "Orchestration",
        "PayoutGroup",
        "RewardAddress",
    ),
    "remote": ("connect", "connect_async"),
    "bulk.pulling": ("pull",),
    "bulk.sampling": ("sample",),
    "service": ("Service",),
    "bulk.streams": ("Stream",),
}
_ROOMS = ("errors", "records")


def _load(name: str) -> object:
    from importlib import import_module

    if name == "__version__":
        from importlib.metadata import version

        value: object = version("comptroller")
    elif name in _ROOMS:
        return import_module(f"comptroller.{name}")
    else:
        home = next((home for home, names in _HOMES.items() if name in names), None)
        if home is None:
            raise AttributeError(f"module 'comptroller' has no attribute {name!r}")
        value = getattr(import_module(f"comptroller.{home}"), name)
    globals()[name] = value
    return value


if not TYPE_CHECKING:  # to a type checker every name would be known then
    __getattr__ = _load


def __dir__() -> list[str]:
    return [*__all__, *_ROOMS]
