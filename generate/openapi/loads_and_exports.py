"""Loads and exports in the OpenAPI document."""

from __future__ import annotations

from comptroller import description
from comptroller.values import KINDS

from openapi import schemas
from openapi.components import (
    header_parameters,
    headers,
    refusals,
    security,
)
from openapi.operations import parameter
from openapi.schemas import Schema, reference

TAG = "bulk"

_PAGING = frozenset({"limit", "order", "page_cursor"})
# Only the default media type, because generated clients cannot choose among several.
_LOADED = "application/x-ndjson"
_EXPORTED = {"ndjson": "application/x-ndjson", "csv": "text/csv"}
_KIND = {"name": "kind", "in": "path", "required": True, "schema": {"enum": list(KINDS)}}
# No schema, because an invalid line is rejected in the result, not by the request.
_RECORDS = {
    "description": "NDJSON, a JSON array of records or a saved list response; of any length."
}
_OPTIONS = {
    "customer_id": ("the customer of records that name none", reference("Id")),
    "keep_going": ("stores the valid lines if others are rejected", {"type": "boolean"}),
    "dry_run": ("stores nothing; counts what a load would do", {"type": "boolean"}),
    "format": (
        "`ndjson`: each line is a record; by default the first bytes determine the format",
        {"enum": ["ndjson"]},
    ),
    "input": (
        "the name of the file, which the journal records as given",
        {"type": "string", "minLength": 1, "maxLength": 255, "pattern": schemas.TEXT_PATTERN},
    ),
    "mapping": (
        "how the file became these records, as JSON text; the journal records it, with a space for"
        " each line break",
        {"type": "string", "contentMediaType": "application/json"},
    ),
}
# RFC 7240.
_PREFER = {
    "name": "Prefer",
    "in": "header",
    "description": "With `progress`, the response to a load of more than 0.2 s has status 200, and "
    "white space during the load, then the result or a problem document.",
    "schema": {"type": "string"},
}
_APPLIED = {
    "description": "`progress`, if the response began before the end of the load.",
    "schema": {"type": "string"},
}


def paths() -> dict[str, Schema]:
    """Returns the paths of loads and exports."""
    return {
        "/operator/load/{kind}": {"post": _load()},
        # A path for each kind, because each kind has its own filters.
        **{f"/operator/export/{kind}": {"get": _export(kind)} for kind in KINDS},
    }


def _load() -> Schema:
    options = [
        {"name": name, "in": "query", "description": doc, "schema": schema}
        for name, (doc, schema) in _OPTIONS.items()
    ]
    return {
        "operationId": "load",
        "tags": [TAG],
        "summary": "Loads records of a kind; returns the outcome of every line.",
        "parameters": [_KIND, *options, _PREFER, *header_parameters()],
        "requestBody": {"required": True, "content": {_LOADED: {"schema": _RECORDS}}},
        "responses": {
            "200": {
                "description": "The result of the load, also if nothing was stored.",
                "headers": headers() | {"Preference-Applied": _APPLIED},
                "content": {"application/json": {"schema": reference("LoadResult")}},
            },
            **refusals([404, 415, 504]),
        },
        "security": security(["operator:write"]),
    }


def _export(kind: str) -> Schema:
    format = {
        "name": "format",
        "in": "query",
        "schema": {"enum": list(_EXPORTED), "default": "ndjson"},
    }
    name = kind.replace("-", "_")
    listing = description.operations()[name + ".list"]
    filters = [
        parameter(_of_export(field), "query")
        for field in schemas.fields(listing.request)
        if field.name not in _PAGING
    ]
    return {
        "operationId": f"export_{name}",
        "tags": [TAG],
        "summary": f"Exports all {name.replace('_', ' ')} that match the filters.",
        "parameters": [format, *filters, *header_parameters()],
        "responses": {
            "200": {
                "description": "One record on each line.",
                "headers": headers(),
                "content": {m: {"schema": {"type": "string"}} for m in _EXPORTED.values()},
            },
            **refusals([]),
        },
        "security": security(["operator:read"]),
    }


def _of_export(field: schemas.Field) -> schemas.Field:
    """Returns the filter of a list as that of an export, which also has deleted controls."""
    if field.name != "include_deleted":
        return field
    return field._replace(default="true", doc=field.doc.replace("default false", "default true"))
