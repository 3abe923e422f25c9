"""The OpenAPI 3.1 document, generated from the core's description and the route table."""

from __future__ import annotations

from typing import Any

import msgspec

import comptroller
from comptroller import routes
from comptroller.http.openapi import components, loads_and_exports, operations, tokens
from comptroller.http.openapi.components import Authority

__all__ = ["Authority", "document"]

_ABOUT = """\
Identity controls, orchestrations, payout groups, reward addresses and reward claims.

Every path with GET also accepts HEAD. A write with an `Idempotency-Key` is executed once; repeating
it returns the first response. To read the next page of a list, repeat the request with
`next_page_cursor` and the same filters. The paths of rewards exist with and without `/v2`.

The head of a request may have at most 16 KiB and 64 fields (414, 431). Send longer filters as a
form: a POST with `X-HTTP-Method-Override: GET`, without a query string, and with the parameters in
a body of `application/x-www-form-urlencoded` gets the response of the GET.
"""


def document(authority: Authority = "local", *, drop_deprecated: bool = False) -> bytes:
    """Returns the OpenAPI document as JSON.

    Args:
        authority: how the server authenticates callers.
        drop_deprecated: whether the server omits the deprecated member of the orchestration list.
    """
    document = {
        "openapi": "3.1.0",
        "info": {
            "title": "comptroller",
            "version": comptroller.__version__,
            "description": _ABOUT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "."}],
        "tags": [{"name": tag} for tag in _tags(authority)],
        "paths": _paths(authority),
        "components": components.components(authority, drop_deprecated=drop_deprecated),
    }
    return msgspec.json.encode(document)


def _tags(authority: Authority) -> list[str]:
    resources = dict.fromkeys(operations.tag(row.operation) for row in routes.ROWS)
    return [*resources, loads_and_exports.TAG, *([tokens.TAG] if authority == "local" else [])]


def _paths(authority: Authority) -> dict[str, Any]:
    paths: dict[str, Any] = {
        path: {method.lower(): operations.operation(row, authority) for method, row in rows.items()}
        for path, rows in routes.paths()
    }
    paths |= loads_and_exports.paths(authority)
    return paths | tokens.paths() if authority == "local" else paths
