"""comptroller: identity controls, orchestrations and rewards in a local SQLite file.

>>> import comptroller
>>> with comptroller.open(":memory:") as svc:
...     svc.identities.put(id="alice").status
'APPROVED'

Importing the package is fast, because each name is imported at its first use.
"""

from __future__ import annotations

# Type checkers accept this in place of typing.TYPE_CHECKING; importing typing would double the time
# of `import comptroller`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from comptroller.bulk.loading import LoadResult
    from comptroller.bulk.pulling import pull
    from comptroller.bulk.rejections import Rejection, RejectionGroup
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
    "RejectionGroup",
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

_NAMES_BY_MODULE = {
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
    "bulk.loading": ("LoadResult",),
    "bulk.rejections": ("Rejection", "RejectionGroup"),
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
_SUBMODULES = ("errors", "records")


def _load(name: str) -> object:
    from importlib import import_module

    if name == "__version__":
        from importlib.metadata import version

        value: object = version("comptroller")
    elif name in _SUBMODULES:
        return import_module(f"comptroller.{name}")
    else:
        module = next((path for path, names in _NAMES_BY_MODULE.items() if name in names), None)
        if module is None:
            raise AttributeError(f"module 'comptroller' has no attribute {name!r}")
        value = getattr(import_module(f"comptroller.{module}"), name)
    globals()[name] = value
    return value


if not TYPE_CHECKING:  # with __getattr__, a type checker would accept any name
    __getattr__ = _load


def __dir__() -> list[str]:
    return [*__all__, *_SUBMODULES]
