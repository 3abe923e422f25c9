"""The routes of the interface: which operation each method of a path is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from comptroller.route_table import ROUTES

#: Where a server of this interface gives tokens of its own.
TOKEN_PATH = "/oauth2/token"

#: A POST with this header and the value GET is the GET whose query is the form in its body: for
#: filters that are too long for a URL.
METHOD_OVERRIDE = "x-http-method-override"
FORM = "application/x-www-form-urlencoded"


class Row(NamedTuple):
    """An operation at a path; `envelope` is the member that holds the record in its answer."""

    method: str
    path: str
    operation: str
    envelope: str | None = None

    @property
    def names_id(self) -> bool:
        """Whether a segment of the path is the id of the record."""
        return "{id}" in self.path

    @property
    def is_operators(self) -> bool:
        """Whether a client may not call it, whatever its scopes."""
        return self.path.startswith("/operator/")


#: Every operation at its paths.
ROWS = tuple(Row(*route) for route in ROUTES)


def paths() -> Iterator[tuple[str, dict[str, Row]]]:
    """Each path once, with its rows by method."""
    by_path: dict[str, dict[str, Row]] = {}
    for row in ROWS:
        by_path.setdefault(row.path, {})[row.method] = row
    yield from by_path.items()
