"""The routes of the HTTP interface: the operation of each method and path."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from comptroller.route_table import ROUTES

#: The token endpoint of a server that issues its own tokens.
TOKEN_PATH = "/oauth2/token"

#: The checkpoint of the journal, which is signed with a key beside the store.
CHECKPOINT_PATH = "/v2/journal/checkpoint"

#: A POST with this header and the value GET is a GET whose query is the form in the body. Clients
#: use it for filters that are too long for a URL.
METHOD_OVERRIDE = "x-http-method-override"
FORM = "application/x-www-form-urlencoded"

#: The maximum size of a body in bytes, except that of a load.
LARGEST_BODY = 1 << 20


class Row(NamedTuple):
    """An operation at a path; `envelope` is the member of the response that has the record."""

    method: str
    path: str
    operation: str
    envelope: str | None = None

    @property
    def names_id(self) -> bool:
        """Whether the path contains the id of the record."""
        return "{id}" in self.path

    @property
    def is_operators(self) -> bool:
        """Whether only the operator may call it."""
        return self.path.startswith("/operator/")


#: The routes of all operations.
ROWS = tuple(Row(*route) for route in ROUTES)


def paths() -> Iterator[tuple[str, dict[str, Row]]]:
    """Yields each path once, with its rows by method."""
    by_path: dict[str, dict[str, Row]] = {}
    for row in ROWS:
        by_path.setdefault(row.path, {})[row.method] = row
    yield from by_path.items()
