"""What can go wrong, as one tree. What to do follows from the class.

::

    Error                    any refusal; also 405 and a defect of the service (500)
    ├── InvalidRequest       400, 413, 415, 422: change the request
    ├── Unauthenticated      401: get valid credentials
    ├── Forbidden            403: a scope, a customer or a kind of control that is not yours
    ├── NotFound             404: no such record (a foreign one is answered like an unknown one)
    ├── Conflict             409: the present state does not allow it
    ├── RateLimited          429: try again after `retry_after` seconds
    ├── Unavailable          503: may pass (busy, full disk, no connection); try again
    ├── OutcomeUnknown       504: a write that may have been executed; look before you repeat it
    ├── Unusable             500: a store or a file that cannot be used until someone mends that
    │   ├── Closed           503: the Service was closed, or carried into a forked process
    │   └── ReadOnly         403: the store was opened read-only
    └── Unsupported          501: not possible here, now and later
        └── MissingExtra     501: an optional package is not installed; also an ImportError

``code`` says precisely which refusal it is (``"control-not-overridable"``, ``"invalid-cursor"``,
...).
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from typing import Any, NamedTuple


class FieldError(NamedTuple):
    """One member or argument that was refused, and why; `field` is a path such as ``a.b``."""

    field: str
    message: str


class Error(Exception):
    """A refusal. Nothing was stored, except as stated here.

    If an error ends a load after something was committed (batches of `keep_going`), it has a
    ``load_result``, the :class:`comptroller.LoadResult` of what was kept. OutcomeUnknown marks the
    writes that may have been executed.

    Attributes:
        code: which refusal, one of a fixed set of values.
        status: the HTTP status of this code.
        detail: one sentence for a person: what was wrong, where, and what is accepted.
        errors: one :class:`FieldError` for each member or argument that was refused.
        existing: on a conflict, the id of your record that exists already, else ``None``.
        retry_after: seconds after which the service allows another attempt, if it said so.
        request_id: the id under which a server logged the request; ``None`` without a server.
    """

    def __init__(
        self,
        code: str,
        status: int,
        detail: str,
        errors: Iterable[tuple[str, str]] = (),
        existing: str | None = None,
        retry_after: float | None = None,
        request_id: str | None = None,
    ) -> None:
        self.code = code
        self.status = status
        self.detail = detail
        self.errors = [FieldError(field, message) for field, message in errors]
        self.existing = existing
        self.retry_after = retry_after
        self.request_id = request_id
        # The base class pickles its arguments, so it is given all of them.
        super().__init__(code, status, detail, self.errors, existing, retry_after, request_id)

    def __str__(self) -> str:
        unsaid = [f"{field}: {why}" for field, why in self.errors if why not in self.detail]
        return f"{self.code}: " + "; ".join([self.detail, *unsaid])


class InvalidRequest(Error):
    """The request itself is not valid (400, 413, 415, 422)."""


class Unauthenticated(Error):
    """No valid credentials (401)."""


class Forbidden(Error):
    """Valid credentials that do not reach this far (403)."""


class NotFound(Error):
    """No such record for this caller (404)."""


class Conflict(Error):
    """The request is valid, the present state does not allow it (409)."""


class RateLimited(Error):
    """The client asks more often than the operator allows (429).

    `retry_after` is the number of seconds to wait, if the server names one.
    """


class Unavailable(Error):
    """The service cannot answer now, but may later (503): busy, full disk, no connection."""


class OutcomeUnknown(Error):
    """A write that reached a server, whose answer did not come back (504).

    It may have been executed. Repeat it under the same idempotency key, or read the record first.
    """


class Unusable(Error):
    """A store, a file or an answer that cannot be used as it is (500); another attempt fails too.

    Such as a damaged store, one of a newer version, a path without permission.
    """


class Closed(Unusable):
    """The Service was closed, or was carried into a forked process: open another (503)."""


class ReadOnly(Unusable):
    """The store was opened read-only (403)."""


class Unsupported(Error):
    """Not possible with this Service or installation, now and later (501)."""


class MissingExtra(Unsupported, ImportError):
    """An optional package is not installed (501); the detail says what to install."""


_LONGEST_REPEATED = 80
_BY_CODE: dict[str, type[Error]] = {
    "closed": Closed,
    "outcome-unknown": OutcomeUnknown,
    "read-only": ReadOnly,
    "unsupported": Unsupported,
    "unusable": Unusable,
}
_BY_STATUS: dict[int, type[Error]] = {
    400: InvalidRequest,
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    413: InvalidRequest,
    415: InvalidRequest,
    422: InvalidRequest,
    429: RateLimited,
    501: Unsupported,
    503: Unavailable,
}
# As in Error::of_system of the core.
_PASSING = frozenset(
    {
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EFBIG,
        errno.EIO,
        errno.ENOMEM,
        errno.EMFILE,
        errno.ENFILE,
        errno.EAGAIN,
        errno.EBUSY,
        errno.EINTR,
        errno.ESTALE,
        errno.ETIMEDOUT,
    }
)


def make(
    code: str,
    status: int,
    detail: str,
    errors: Iterable[tuple[str, str]] = (),
    existing: str | None = None,
    retry_after: float | None = None,
    request_id: str | None = None,
) -> Error:
    """The exception for a problem code; its class follows from the code, else from the status."""
    kind = _BY_CODE.get(code) or _BY_STATUS.get(status, Error)
    return kind(code, status, detail, errors, existing, retry_after, request_id)


def shorten(text: str) -> str:
    """What a caller gave, as a message may repeat it: 80 characters at most, and dots behind."""
    return text if len(text) <= _LONGEST_REPEATED else text[:_LONGEST_REPEATED] + "..."


def invalid(field: str, message: str) -> InvalidRequest:
    """The refusal of one argument; the detail repeats it, so that a reader of either learns all."""
    name = shorten(field)
    return InvalidRequest("invalid-request", 400, f"{name}: {message}", [(name, message)])


def unavailable(detail: str) -> Unavailable:
    """The refusal of what may pass."""
    return Unavailable("unavailable", 503, detail)


def unusable(detail: str) -> Unusable:
    """The refusal of a store, a file or an answer that will not be better the next time."""
    return Unusable("unusable", 500, detail)


def unsupported(detail: str) -> Unsupported:
    """The refusal of what is not possible here."""
    return Unsupported("unsupported", 501, detail)


def closed(detail: str = "the service is closed") -> Closed:
    """The refusal of a Service that was closed, or carried into a forked process."""
    return Closed("closed", 503, detail)


def missing_extra(module: str, purpose: str, extra: str = "") -> MissingExtra:
    """The refusal of `purpose`, which needs `module`, by itself or of an extra of this package."""
    what = f'comptroller with its extra "{extra}"' if extra else "it"
    error = MissingExtra(
        "unsupported", 501, f"{purpose} needs {module}, which is not installed; install {what}"
    )
    error.name = module
    return error


def require(module: str, purpose: str, extra: str = "") -> Any:
    """The optional module. Raises MissingExtra, which says what to install, if it is missing."""
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError as error:
        raise missing_extra(module, purpose, extra) from error


def of_system(error: OSError, detail: str) -> Error:
    """The refusal of what the system refused: Unavailable if the cause may pass, else Unusable."""
    return unavailable(detail) if error.errno in _PASSING else unusable(detail)
