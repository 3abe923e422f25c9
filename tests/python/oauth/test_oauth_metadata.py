"""The metadata of the authorization server: RFC 8414, RFC 7517."""

from __future__ import annotations

import re
from pathlib import Path

import comptroller
import pytest
from asgi_client import Asked
from comptroller.http import app
from comptroller.http.oauth.authority import JWKS_PATH, METADATA_PATH, local_authority
from comptroller.routes import TOKEN_PATH
from places import ROOT
from starlette.routing import Mount, Router
from token_server import ISSUER, Served

DOCS = ROOT / "docs" / "how-to" / "mount.md"


def test_the_metadata_has_the_other_urls(served: Served) -> None:
    answer = served.ask("GET", METADATA_PATH)
    metadata = answer.json()
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert metadata["issuer"] == ISSUER
    assert metadata["token_endpoint"] == ISSUER + TOKEN_PATH
    assert metadata["jwks_uri"] == ISSUER + JWKS_PATH
    assert metadata["grant_types_supported"] == ["client_credentials"]
    assert metadata["response_types_supported"] == []
    assert len(metadata["scopes_supported"]) == 16
    assert served.ask("POST", METADATA_PATH).headers["allow"].startswith("GET")


def test_the_published_keys_are_public(served: Served) -> None:
    key_set = served.ask("GET", JWKS_PATH).json()
    assert [key.keys() for key in key_set["keys"]] == [{"kty", "crv", "x", "kid", "alg", "use"}]
    assert {key["alg"] for key in key_set["keys"]} == {"Ed25519"}


def test_the_metadata_of_a_mounted_application_leads_to_it(
    store_path: Path, operator: comptroller.Service
) -> None:
    if not DOCS.exists():
        pytest.skip("the source distribution carries no docs")
    shown = DOCS.read_text(encoding="utf-8")
    issuer, path = (
        re.search(pattern, shown)[1]  # type: ignore[index]
        for pattern in (r'local_authority\(.*issuer="(.*)"\)', r'api\.mount\(\s*"(.*?)"')
    )
    authority = local_authority(str(store_path), issuer=issuer)
    resources = authority.resources
    application = app(operator, authenticator=authority.authenticator, resources=resources)
    with Asked(Router([Mount(path, application)])) as ask:
        metadata = ask("GET", path + METADATA_PATH).json()
        assert ask("POST", metadata["token_endpoint"]).status_code == 400
        assert ask("GET", metadata["jwks_uri"]).json()["keys"]
