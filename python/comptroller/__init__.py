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
    from comptroller.async_service import AsyncService
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
    from comptroller.loading import LoadResult, Rejection
    from comptroller.local import open  # noqa: A004
    from comptroller.pages import Page
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
    from comptroller.sampling import sample
    from comptroller.service import Service
    from comptroller.streams import Stream

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
    "sample",
]

_HOMES = {
    "async_service": ("AsyncService",),
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
    "loading": ("LoadResult", "Rejection"),
    "local": ("open",),
    "pages": ("Page",),
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
    "sampling": ("sample",),
    "service": ("Service",),
    "streams": ("Stream",),
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
