"""The token endpoint in the OpenAPI document (RFC 6749)."""

from __future__ import annotations

from comptroller.routes import TOKEN_PATH

from openapi.schemas import Schema, reference

TAG = "tokens"

_TEXT: Schema = {"type": "string"}
_SCOPE: Schema = {"type": "string", "description": "scopes, separated by spaces"}

SECURITY_SCHEMES: dict[str, Schema] = {
    "client": {"type": "http", "scheme": "basic", "description": "client_secret_basic"}
}
SCHEMAS: dict[str, Schema] = {
    "TokenRequest": {
        "type": "object",
        "properties": {
            "grant_type": {"enum": ["client_credentials"]},
            "scope": _SCOPE | {"examples": ["rewards:read_claims"]},
            "client_id": _TEXT | {"description": "client_secret_post, instead of Authorization"},
            "client_secret": _TEXT | {"format": "password"},
        },
        "required": ["grant_type"],
    },
    "Token": {
        "type": "object",
        "properties": {
            "access_token": _TEXT,
            "token_type": {"enum": ["Bearer"]},
            "expires_in": {"type": "integer", "description": "seconds"},
            "scope": _SCOPE,
        },
        "required": ["access_token", "token_type", "expires_in", "scope"],
    },
    "TokenError": {
        "type": "object",
        "properties": {
            "error": {
                "enum": [
                    "invalid_request",
                    "invalid_client",
                    "unauthorized_client",
                    "unsupported_grant_type",
                    "invalid_scope",
                ]
            },
            "error_description": _TEXT,
        },
        "required": ["error"],
    },
}


def paths() -> dict[str, Schema]:
    """Returns the path of the token endpoint."""
    form = {"application/x-www-form-urlencoded": {"schema": reference("TokenRequest")}}
    return {
        TOKEN_PATH: {
            "post": {
                "operationId": "token",
                "tags": [TAG],
                "summary": "Issues an access token for client credentials.",
                "requestBody": {"required": True, "content": form},
                "responses": {
                    "200": _answer("A token that is valid for at most an hour.", "Token"),
                    "400": _answer("The request is invalid.", "TokenError"),
                    "401": _answer("The client credentials are invalid.", "TokenError"),
                    "413": _answer("The form is larger than 4 KiB.", "TokenError"),
                    "500": {"$ref": "#/components/responses/Problem500"},
                    "503": {"$ref": "#/components/responses/Problem503"},
                },
                "security": [{"client": []}, {}],
            }
        }
    }


def _answer(what: str, schema: str) -> Schema:
    return {
        "description": what,
        "content": {"application/json": {"schema": reference(schema)}},
    }
