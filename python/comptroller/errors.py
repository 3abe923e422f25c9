"""The exceptions, one class for each way to react.

::

    Error                    the base class; also 405 and a defect of the service (500)
    ├── InvalidRequest       400, 413, 415, 422: change the request
    ├── Unauthenticated      401: get valid credentials
    ├── Forbidden            403: the caller lacks a scope, or access to a customer or control
    ├── NotFound             404: no such record, or it belongs to another customer
    ├── Conflict             409: the current state of the records does not allow the request
    ├── RateLimited          429: try again after `retry_after` seconds
    ├── Unavailable          503: a temporary cause (busy, full disk, no connection); try again
    ├── OutcomeUnknown       504: a write that may have been executed; read before you repeat it
    ├── Unusable             500: a store or a file that fails until someone repairs it
    │   ├── Closed           503: the Service was closed, or inherited by a forked process
    │   └── ReadOnly         403: the store was opened read-only
    └── Unsupported          501: the Service or the installation can never do it
        └── MissingExtra     501: an optional package is not installed; also an ImportError

``code`` names the error precisely (``"control-not-overridable"``, ``"invalid-cursor"``, ...).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, NamedTuple


class FieldError(NamedTuple):
    """An invalid member or argument, and the reason; `field` is a path such as ``a.b``."""

    field: str
    message: str


class Error(Exception):
    """The base class of all errors. A failed operation stored nothing, with two exceptions.

    If an error ends a load after a commit (of a batch of `keep_going`), it has a ``load_result``,
    the :class:`comptroller.LoadResult` of the committed lines. A write that raises OutcomeUnknown
    may have been executed.

    Attributes:
        code: the error code, one of a fixed set of values.
        status: the HTTP status of this code.
        detail: one sentence for a person: where the error is, what is wrong, what is accepted.
        errors: one :class:`FieldError` for each invalid member or argument.
        existing: on a conflict, the id of your record that exists already, else ``None``.
        retry_after: seconds to wait before the next attempt, if the service named them.
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
        # Exception pickles the arguments of its constructor, so it gets all of them.
        super().__init__(code, status, detail, self.errors, existing, retry_after, request_id)

    def __str__(self) -> str:
        unsaid = [f"{field}: {why}" for field, why in self.errors if why not in self.detail]
        return f"{self.code}: " + "; ".join([self.detail, *unsaid])


class InvalidRequest(Error):
    """The request itself is not valid (400, 413, 415, 422)."""


class Unauthenticated(Error):
    """No valid credentials (401)."""


class Forbidden(Error):
    """The credentials are valid, but do not permit the request (403)."""


class NotFound(Error):
    """The record does not exist, or the caller has no access to it (404)."""


class Conflict(Error):
    """The request is valid, but the current state of the records does not allow it (409)."""


class RateLimited(Error):
    """The client sends more requests than the operator allows (429).

    `retry_after` is the number of seconds to wait, if the server names one.
    """


class Unavailable(Error):
    """The service cannot answer now, but may later (503): busy, full disk, no connection."""


class OutcomeUnknown(Error):
    """A write was sent to a server, but its response did not arrive (504).

    The server may have executed it. Repeat it with the same idempotency key, or read the record
    first.
    """


class Unusable(Error):
    """A store, a file or a response cannot be used (500); another attempt would fail too.

    Examples: a damaged store, a store of a newer version, a path without permission.
    """


class Closed(Unusable):
    """The Service was closed, or inherited by a forked process (503).

    Open a new one. A forked process may open only stores that were not open before the fork.
    """


class ReadOnly(Unusable):
    """The store was opened read-only (403)."""


class Unsupported(Error):
    """The Service or the installation can never do it (501)."""


class MissingExtra(Unsupported, ImportError):
    """An optional package is not installed (501); the detail says what to install."""


_MAX_QUOTED = 80
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


def error_for(
    code: str,
    status: int,
    detail: str,
    errors: Iterable[tuple[str, str]] = (),
    existing: str | None = None,
    retry_after: float | None = None,
    request_id: str | None = None,
) -> Error:
    """Returns the exception for an error code; the code or else the status decides its class."""
    kind = _BY_CODE.get(code) or _BY_STATUS.get(status, Error)
    return kind(code, status, detail, errors, existing, retry_after, request_id)


def shorten(text: str) -> str:
    """Cuts a caller's text for a message: at most 80 characters, then dots."""
    return text if len(text) <= _MAX_QUOTED else text[:_MAX_QUOTED] + "..."


def invalid(field: str, message: str) -> InvalidRequest:
    """Returns the error of one invalid argument, stated in `detail` and in `errors`."""
    name = shorten(field)
    return InvalidRequest("invalid-request", 400, f"{name}: {message}", [(name, message)])


def unavailable(detail: str) -> Unavailable:
    """Returns the error of a temporary failure."""
    return Unavailable("unavailable", 503, detail)


def unusable(detail: str) -> Unusable:
    """Returns the error of a store, a file or a response that cannot be used."""
    return Unusable("unusable", 500, detail)


def unsupported(detail: str) -> Unsupported:
    """Returns the error of an operation that this Service cannot do."""
    return Unsupported("unsupported", 501, detail)


def closed(detail: str = "the service is closed") -> Closed:
    """Returns the error of a Service that was closed, or inherited by a forked process."""
    return Closed("closed", 503, detail)


def missing_extra(purpose: str, *modules: str, extra: str = "") -> MissingExtra:
    """Returns the error that `purpose` needs `modules`, which the extra `extra` may install."""
    what = f'comptroller with its extra "{extra}"' if extra else "it"
    needed = ", ".join(modules)
    which = "which is" if len(modules) == 1 else "which are"
    error = MissingExtra(
        "unsupported", 501, f"{purpose} needs {needed}, {which} not installed; install {what}"
    )
    error.name = modules[0]
    return error


def require(module: str, purpose: str, extra: str = "") -> Any:
    """Imports an optional module. Raises MissingExtra, which names what to install."""
    try:
        return import_in_thread(module)
    except ImportError as error:
        raise missing_extra(purpose, module, extra=extra) from error


def import_in_thread(module: str) -> Any:
    """Returns a module, which it imports in a thread: Ctrl-C takes effect after the import.

    An exception of a signal handler within an import can break a library until the process ends.
    Within the native module of DuckDB it aborts the process.
    """
    from importlib import import_module

    if module in sys.modules:
        return import_module(module)
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as thread:
        try:
            importing = thread.submit(import_module, module)
        except RuntimeError:  # the interpreter exits, and begins no thread
            return import_module(module)
        return importing.result()


def from_os_error(error: OSError, detail: str) -> Error:
    """Returns the error for an OSError: Unavailable if the cause is temporary, else Unusable."""
    from comptroller import _core

    is_temporary = error.errno is not None and _core.is_temporary(error.errno)
    return unavailable(detail) if is_temporary else unusable(detail)
