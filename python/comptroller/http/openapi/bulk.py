"""Loads and exports in the document."""

from __future__ import annotations

from comptroller import description
from comptroller.http.openapi import schemas
from comptroller.http.openapi.components import (
    Authority,
    header_parameters,
    headers,
    refusals,
    security,
)
from comptroller.http.openapi.operations import parameter
from comptroller.http.openapi.schemas import Schema, reference
from comptroller.values import KINDS

TAG = "bulk"

_PAGING = frozenset({"limit", "order", "page_cursor"})
# The one of the types that is sent by default: generated clients cannot choose among several.
_LOADED = "application/x-ndjson"
_EXPORTED = {"ndjson": "application/x-ndjson", "csv": "text/csv"}
_KIND = {"name": "kind", "in": "path", "required": True, "schema": {"enum": list(KINDS)}}
# Whatever else comes is a rejected line in the account.
_RECORDS = {
    "description": "A record a line, a JSON array of records or a saved list answer; of any length."
}
_OPTIONS = {
    "customer_id": ("whose the records are that name no customer", reference("Id")),
    "keep_going": ("keeps the good lines where others are rejected", {"type": "boolean"}),
    "dry_run": ("keeps nothing, and counts what would have been", {"type": "boolean"}),
}
# RFC 7240.
_PREFER = {
    "name": "Prefer",
    "in": "header",
    "description": "With `progress`, a load of more than 0.2 s is answered with white space while "
    "it is at work, then with its account or, under 200 too, with the problem that refused it.",
    "schema": {"type": "string"},
}
_APPLIED = {
    "description": "`progress`, where the answer began before the load had ended.",
    "schema": {"type": "string"},
}


def paths(authority: Authority) -> dict[str, Schema]:
    """The paths of what is done in bulk."""
    return {
        "/operator/load/{kind}": {"post": _load(authority)},
        # A path for each kind: its filters are its own.
        **{f"/operator/export/{kind}": {"get": _export(kind, authority)} for kind in KINDS},
    }


def _load(authority: Authority) -> Schema:
    options = [
        {"name": name, "in": "query", "description": doc, "schema": schema}
        for name, (doc, schema) in _OPTIONS.items()
    ]
    return {
        "operationId": "load",
        "tags": [TAG],
        "summary": "Loads records of a kind, accounting for every line.",
        "parameters": [_KIND, *options, _PREFER, *header_parameters()],
        "requestBody": {"required": True, "content": {_LOADED: {"schema": _RECORDS}}},
        "responses": {
            "200": {
                "description": "The account of the load, also of one that kept nothing.",
                "headers": headers() | {"Preference-Applied": _APPLIED},
                "content": {"application/json": {"schema": reference("LoadResult")}},
            },
            **refusals([404, 415], authority),
        },
        "security": security(["operator:write"], authority),
    }


def _export(kind: str, authority: Authority) -> Schema:
    format = {
        "name": "format",
        "in": "query",
        "schema": {"enum": list(_EXPORTED), "default": "ndjson"},
    }
    name = kind.replace("-", "_")
    listing = description.operations()[name + ".list"]
    filters = [
        parameter(field, "query")
        for field in schemas.fields(listing.request)
        if field.name not in _PAGING
    ]
    return {
        "operationId": f"export_{name}",
        "tags": [TAG],
        "summary": f"All {name.replace('_', ' ')} that pass the filters of their list.",
        "parameters": [format, *filters, *header_parameters()],
        "responses": {
            "200": {
                "description": "A record a line.",
                "headers": headers(),
                "content": {m: {"schema": {"type": "string"}} for m in _EXPORTED.values()},
            },
            **refusals([], authority),
        },
        "security": security(["operator:read"], authority),
    }
