"""comptroller: identity controls, orchestrations and rewards in an SQLite file or PostgreSQL.

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
    from comptroller.bulk.loading import LoadResult as LoadResult
    from comptroller.bulk.pulling import pull as pull
    from comptroller.bulk.rejections import Rejection as Rejection, RejectionGroup as RejectionGroup
    from comptroller.bulk.sampling import sample as sample
    from comptroller.bulk.streams import Stream as Stream
    from comptroller.errors import (
        Closed as Closed,
        Conflict as Conflict,
        Error as Error,
        FieldError as FieldError,
        Forbidden as Forbidden,
        InvalidRequest as InvalidRequest,
        MissingExtra as MissingExtra,
        NotFound as NotFound,
        OutcomeUnknown as OutcomeUnknown,
        RateLimited as RateLimited,
        ReadOnly as ReadOnly,
        Unauthenticated as Unauthenticated,
        Unavailable as Unavailable,
        Unsupported as Unsupported,
        Unusable as Unusable,
    )
    from comptroller.local import open as open  # noqa: A004
    from comptroller.operations.pages import Page as Page
    from comptroller.records import (
        Balance as Balance,
        Claim as Claim,
        Control as Control,
        Identity as Identity,
        Orchestration as Orchestration,
        PayoutGroup as PayoutGroup,
        RewardAddress as RewardAddress,
    )
    from comptroller.remote import connect as connect, connect_async as connect_async
    from comptroller.remote.async_service import AsyncService as AsyncService
    from comptroller.service import Service as Service

    __version__: str

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
# Not `open`, which a star import would put in the place of the built-in function, and no name that
# an extra has.
__all__ = [
    "__version__",
    *(
        name
        for names in _NAMES_BY_MODULE.values()
        for name in names
        if name not in ("open", "AsyncService")
    ),
]


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
        try:
            value = getattr(import_module(f"comptroller.{module}"), name)
        except ModuleNotFoundError as error:  # hasattr() and inspect expect an AttributeError
            raise AttributeError(
                f"comptroller.{name} needs {error.name}, which is not installed; "
                "pip install 'comptroller[client]'"
            ) from error
    globals()[name] = value
    return value


if not TYPE_CHECKING:  # with __getattr__, a type checker would accept any name
    __getattr__ = _load


def __dir__() -> list[str]:
    return sorted([*__all__, "AsyncService", "open", *_SUBMODULES])
