"""What can go wrong, as one tree.

::

    Error                    any refusal; the ones below by their status
    ├── InvalidRequest       400, 413, 415, 422: what was asked is not valid
    ├── Unauthenticated      401: no valid credentials
    ├── Forbidden            403: a scope, a customer or a kind of control that is not yours
    ├── NotFound             404: no such record (a foreign one is answered like an unknown one)
    ├── Conflict             409: it is already there, already gone, or may not move that way
    └── Unavailable          503: the store cannot answer: closed, full disk, unreadable file

``code`` says precisely which refusal it is, in the words of specification 7's problem codes
(``"control-not-overridable"``, ``"invalid-cursor"``, ...).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class FieldError(NamedTuple):
    """One member or argument that was refused, and why; `field` is a path such as ``a.b``."""

    field: str
    message: str


class Error(Exception):
    """A refusal. Nothing was stored.

    But where it ends a load that keeps going, batches before it may have been: it then has a
    ``load_result``, which is their :class:`comptroller.LoadResult`. And of a write from afar it is
    not known once an attempt at it got no answer; then it is Unavailable, and the detail says so.

    Attributes:
        code: which refusal, one of a small fixed list of words.
        status: the HTTP status it would be answered with.
        detail: one sentence for a person: what was wrong, where, and what is allowed.
        errors: one :class:`FieldError` for each member or argument that was refused.
        existing: on a conflict, the id of your record that is already there, else ``None``.
    """

    def __init__(
        self,
        code: str,
        status: int,
        detail: str,
        errors: Iterable[tuple[str, str]] = (),
        existing: str | None = None,
    ) -> None:
        self.code = code
        self.status = status
        self.detail = detail
        self.errors = [FieldError(field, message) for field, message in errors]
        self.existing = existing
        # The base class pickles its arguments, so it is given all of them.
        super().__init__(code, status, detail, self.errors, existing)

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


class Unavailable(Error):
    """The store cannot answer now (503)."""


_LONGEST_REPEATED = 80
_BY_STATUS: dict[int, type[Error]] = {
    400: InvalidRequest,
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    413: InvalidRequest,
    415: InvalidRequest,
    422: InvalidRequest,
    503: Unavailable,
}


def make(
    code: str,
    status: int,
    detail: str,
    errors: Iterable[tuple[str, str]] = (),
    existing: str | None = None,
) -> Error:
    """The exception for a problem code; its class follows from the status."""
    return _BY_STATUS.get(status, Error)(code, status, detail, errors, existing)


def shorten(text: str) -> str:
    """What a caller gave, as a message may repeat it: 80 characters at most, and dots behind."""
    return text if len(text) <= _LONGEST_REPEATED else text[:_LONGEST_REPEATED] + "..."


def invalid(field: str, message: str) -> InvalidRequest:
    """The refusal of one argument; the detail repeats it, so that a reader of either learns all."""
    name = shorten(field)
    return InvalidRequest("invalid-request", 400, f"{name}: {message}", [(name, message)])


def unavailable(detail: str) -> Unavailable:
    """The refusal of a service that cannot do it here and now."""
    return Unavailable("unavailable", 503, detail)
