"""The components of the OpenAPI document, and references to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from comptroller import description, routes

from openapi import schemas, tokens
from openapi.schemas import Schema

# Of every operation.
_REFUSALS = frozenset({400, 401, 403, 429, 500, 503})

_PARAMETERS: dict[str, Schema] = {
    "X-Request-Id": {
        "description": "Identifies the request in responses and logs. A value that does not match "
        "`[A-Za-z0-9._:/+=@-]{1,128}` is replaced.",
        "schema": {"type": "string"},
    },
    "Idempotency-Key": {
        "description": "The same request with the same key is executed once within 24 hours.",
        "schema": {"type": "string", "pattern": "^[!-~]([ -~]{0,253}[!-~])?$"},
    },
}
_HEADERS = {
    "X-Request-Id": "The id of the request, as sent or generated.",
    "Idempotent-Replayed": "`true` if this is a repetition of the first response.",
    "Deprecation": "When `orchestrations` was deprecated (RFC 9745).",
    "Sunset": "When `orchestrations` will be removed (RFC 8594).",
    "WWW-Authenticate": "The required credentials (RFC 6750).",
    "Retry-After": "Whole seconds to wait before the next attempt.",
    "Accept": "The accepted media types (RFC 9110 section 15.5.16).",
    "Accept-Encoding": "The accepted content codings (RFC 9110 section 15.5.16).",
}


def components() -> dict[str, Any]:
    """Returns all components of the document."""
    every = schemas.components() | {"Problem": _problem_schema()} | tokens.SCHEMAS
    page = every["OrchestrationPage"]
    page["properties"]["orchestrations"] = page["properties"]["items"] | {"deprecated": True}
    return {
        "schemas": every,
        "parameters": {
            name: {"name": name, "in": "header", **rest} for name, rest in _PARAMETERS.items()
        },
        "headers": {
            name: {"description": text, "schema": {"type": "string"}}
            for name, text in _HEADERS.items()
        },
        "responses": dict(_refusals()),
        "securitySchemes": _security_schemes(),
    }


def header_parameters(*names: str) -> list[Schema]:
    """Returns references to request headers."""
    return [{"$ref": f"#/components/parameters/{name}"} for name in ("X-Request-Id", *names)]


def headers(*names: str) -> Schema:
    """Returns references to response headers."""
    return {
        name: {"$ref": f"#/components/headers/{name}"} for name in sorted({"X-Request-Id", *names})
    }


def refusals(statuses: Iterable[int]) -> Schema:
    """Returns the error responses of these statuses, and of those that every operation has."""
    every = sorted(_REFUSALS.union(statuses))
    return {str(s): {"$ref": f"#/components/responses/Problem{s}"} for s in every}


def security(scopes: Iterable[str]) -> list[Schema]:
    """Returns the security requirement for one of these scopes."""
    return [{"oauth2": [scope]} for scope in scopes]


def _security_schemes() -> dict[str, Schema]:
    # A relative URL, because the application may be mounted at any path.
    beside = routes.TOKEN_PATH.removeprefix("/")
    flow = {"tokenUrl": beside, "scopes": description.core_description()["scopes"]}
    return {
        "oauth2": {"type": "oauth2", "flows": {"clientCredentials": flow}},
        **tokens.SECURITY_SCHEMES,
    }


def _problem_schema() -> Schema:
    """Returns the schema of a problem document (RFC 9457)."""
    text = {"type": "string"}
    fault = {"type": "object", "properties": {"field": text, "message": text}}
    return {
        "type": "object",
        "properties": {
            "type": {
                "type": "string",
                "format": "uri-reference",
                "examples": ["/problems/not-found"],
            },
            "title": text,
            "status": {"type": "integer"},
            "detail": {
                "type": "string",
                "description": "where the error is, what is wrong, and what is accepted",
            },
            "code": {"enum": list(description.problems())},
            "request_id": text,
            "errors": {"type": "array", "items": fault, "description": "each invalid member"},
            "meta": {
                "type": "object",
                "properties": {
                    "existing": {"type": "string", "description": "id of the existing record"},
                    "load_result": schemas.reference("LoadResult"),
                },
            },
        },
        "required": ["type", "title", "status", "detail", "code", "request_id"],
    }


# Statuses of errors that only Python callers get.
_NO_ANSWERS = frozenset({501})


def _refusals() -> Iterator[tuple[str, Schema]]:
    """Yields an error response for each status, with its codes."""
    codes: dict[int, list[str]] = {}
    for code, problem in description.problems().items():
        if problem["status"] not in _NO_ANSWERS:
            codes.setdefault(problem["status"], []).append(code)
    special = {401: ["WWW-Authenticate"], 403: ["WWW-Authenticate"]}
    special |= {409: ["Retry-After"], 429: ["Retry-After"], 503: ["Retry-After"]}
    special |= {415: ["Accept", "Accept-Encoding"]}
    for status, names in codes.items():
        yield (
            f"Problem{status}",
            {
                "description": ", ".join(f"`{name}`" for name in names),
                "headers": headers(*special.get(status, [])),
                "content": {"application/problem+json": {"schema": schemas.reference("Problem")}},
            },
        )
