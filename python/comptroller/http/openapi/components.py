"""What the operations of the document refer to, and how they do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from comptroller import description, routes
from comptroller.http.openapi import schemas, tokens
from comptroller.http.openapi.schemas import Schema

#: Who tells callers apart: this server by tokens of its own, another issuer, or nobody.
Authority = Literal["local", "jwks", "off"]

_SCHEMES: dict[Authority, str] = {"local": "oauth2", "jwks": "bearer"}
_OF_CALLERS = frozenset({401, 403, 429})

_PARAMETERS: dict[str, Schema] = {
    "X-Request-Id": {
        "description": "Names the request in answers and logs. An unfit one is replaced; fit is "
        "`[A-Za-z0-9._:/+=@-]{1,128}`.",
        "schema": {"type": "string"},
    },
    "Idempotency-Key": {
        "description": "The same request under the same key within 24 hours is done once.",
        "schema": {"type": "string", "pattern": "^[!-~]([ -~]{0,253}[!-~])?$"},
    },
}
_HEADERS = {
    "X-Request-Id": "The request's id, as sent or made here.",
    "Idempotent-Replayed": "`true` where this is the first answer again.",
    "Deprecation": "Since when `orchestrations` is deprecated (RFC 9745).",
    "Sunset": "When `orchestrations` will be gone (RFC 8594).",
    "WWW-Authenticate": "What credentials are needed (RFC 6750).",
    "Retry-After": "Whole seconds after which to ask again.",
}


def components(authority: Authority, *, drop_deprecated: bool) -> dict[str, Any]:
    """Everything that is referred to."""
    every = schemas.components() | {"Problem": _problem_schema()}
    if not drop_deprecated:
        page = every["OrchestrationPage"]
        page["properties"]["orchestrations"] = page["properties"]["items"] | {"deprecated": True}
    if authority == "local":
        every |= tokens.SCHEMAS
    return {
        "schemas": every,
        "parameters": {
            name: {"name": name, "in": "header", **said} for name, said in _PARAMETERS.items()
        },
        "headers": {
            name: {"description": said, "schema": {"type": "string"}}
            for name, said in _HEADERS.items()
        },
        "responses": dict(_refusals()),
        "securitySchemes": _security_schemes(authority),
    }


def header_parameters(*names: str) -> list[Schema]:
    """Headers of a request, by name."""
    return [{"$ref": f"#/components/parameters/{name}"} for name in ("X-Request-Id", *names)]


def headers(*names: str) -> Schema:
    """Headers of an answer, by name."""
    return {
        name: {"$ref": f"#/components/headers/{name}"} for name in sorted({"X-Request-Id", *names})
    }


def refusals(statuses: Iterable[int], authority: Authority) -> Schema:
    """The refusals of these statuses, and of those that any operation has."""
    every = {*statuses, 400, 500, 503, *_OF_CALLERS}
    if authority == "off":
        every -= _OF_CALLERS  # every caller is the operator
    return {str(s): {"$ref": f"#/components/responses/Problem{s}"} for s in sorted(every)}


def security(scopes: Iterable[str], authority: Authority) -> list[Schema]:
    """The need of one of these scopes."""
    scheme = _SCHEMES.get(authority)
    return [] if scheme is None else [{scheme: [scope]} for scope in scopes]


def _security_schemes(authority: Authority) -> dict[str, Schema]:
    if authority == "local":
        # Beside the document, wherever that is mounted.
        beside = routes.TOKEN_PATH.removeprefix("/")
        flow = {"tokenUrl": beside, "scopes": description.described()["scopes"]}
        return {
            "oauth2": {"type": "oauth2", "flows": {"clientCredentials": flow}},
            **tokens.SECURITY_SCHEMES,
        }
    if authority == "jwks":
        return {"bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}}
    return {}


def _problem_schema() -> Schema:
    """A refusal (RFC 9457)."""
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
                "description": "what was wrong, where, and what is allowed",
            },
            "code": {"enum": [problem["code"] for problem in description.described()["problems"]]},
            "request_id": text,
            "errors": {"type": "array", "items": fault, "description": "each refused member"},
            "meta": {
                "type": "object",
                "properties": {
                    "existing": {"type": "string", "description": "id of the record already there"},
                    "load_result": schemas.reference("LoadResult"),
                },
            },
        },
        "required": ["type", "title", "status", "detail", "code", "request_id"],
    }


# Of an installation and of a client: no operation is answered with them.
_NO_ANSWERS = frozenset({501, 504})


def _refusals() -> Iterator[tuple[str, Schema]]:
    """The refusals by status, each with the codes that have it."""
    codes: dict[int, list[str]] = {}
    for problem in description.described()["problems"]:
        if problem["status"] not in _NO_ANSWERS:
            codes.setdefault(problem["status"], []).append(problem["code"])
    special = {401: ["WWW-Authenticate"], 403: ["WWW-Authenticate"]}
    special |= {429: ["Retry-After"], 503: ["Retry-After"]}
    for status, names in codes.items():
        yield (
            f"Problem{status}",
            {
                "description": ", ".join(f"`{name}`" for name in names),
                "headers": headers(*special.get(status, [])),
                "content": {"application/problem+json": {"schema": schemas.reference("Problem")}},
            },
        )
