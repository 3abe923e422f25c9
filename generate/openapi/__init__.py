"""The OpenAPI 3.1 document, from the core's description and the route table."""

from __future__ import annotations

from typing import Any

from comptroller import routes

from openapi import checkpoints, components, loads_and_exports, operations, tokens

_ABOUT = """\
Identity controls, orchestrations, payout groups, reward addresses and reward claims.

Every path with GET also accepts HEAD. A write with an `Idempotency-Key` is executed once; repeating
it returns the first response. To read the next page of a list, repeat the request with
`next_page_cursor` and the same filters. The paths of rewards exist with and without `/v2`.

The head of a request may have at most 16 KiB and 64 fields (414, 431). Send longer filters as a
form: a POST with `X-HTTP-Method-Override: GET`, without a query string, and with the parameters in
a body of `application/x-www-form-urlencoded` gets the response of the GET.
"""


def document() -> dict[str, Any]:
    """Returns the document of a server that issues its own tokens, without its version."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "comptroller",
            "description": _ABOUT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "."}],
        "tags": [{"name": tag} for tag in _tags()],
        "paths": _paths(),
        "components": components.components(),
    }


def _tags() -> list[str]:
    resources = dict.fromkeys(operations.tag(row.operation) for row in routes.ROWS)
    return [*resources, loads_and_exports.TAG, tokens.TAG]


def _paths() -> dict[str, Any]:
    paths: dict[str, Any] = {
        path: {method.lower(): operations.operation(row) for method, row in rows.items()}
        for path, rows in routes.paths()
    }
    return paths | checkpoints.paths() | loads_and_exports.paths() | tokens.paths()
