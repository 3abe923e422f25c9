"""The OpenAPI 3.1 document of a server.

`openapi.json` is that of a server that issues its own tokens; `make generate` writes it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec

import comptroller
from comptroller.routes import TOKEN_PATH

#: The issuer of accepted tokens: this server, another issuer, or none (no authentication).
Authority = Literal["local", "jwks", "off"]

_SCHEMES: dict[Authority, dict[str, Any]] = {
    "jwks": {"bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
    "off": {},
}
# Of requests of a caller who is not known, has too few scopes, or sends too many requests.
_REFUSALS_OF_CALLERS = ("401", "403", "429")


def document(authority: Authority = "local", *, drop_deprecated: bool = False) -> bytes:
    """Returns the OpenAPI document as JSON.

    Args:
        authority: how the server authenticates callers.
        drop_deprecated: whether the server omits the deprecated member of the orchestration list.
    """
    document = msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes())
    document["info"]["version"] = comptroller.__version__
    schemas = document["components"]["schemas"]
    if drop_deprecated:
        del schemas["OrchestrationPage"]["properties"]["orchestrations"]
    if authority != "local":
        _drop_tokens(document, schemas)
        document["components"]["securitySchemes"] = _SCHEMES[authority]
        for methods in document["paths"].values():
            for operation in methods.values():
                _authenticate(operation, authority)
    return msgspec.json.encode(document)


def _drop_tokens(document: dict[str, Any], schemas: dict[str, Any]) -> None:
    del document["paths"][TOKEN_PATH]
    document["tags"] = [tag for tag in document["tags"] if tag["name"] != "tokens"]
    for name in ("TokenRequest", "Token", "TokenError"):
        del schemas[name]


def _authenticate(operation: dict[str, Any], authority: Authority) -> None:
    """Describes the credentials of callers, or that every caller is the operator."""
    if authority == "off":
        operation["security"] = []
        for status in _REFUSALS_OF_CALLERS:
            operation["responses"].pop(status, None)
    else:
        operation["security"] = [{"bearer": need["oauth2"]} for need in operation["security"]]
