"""Tokens as other issuers make them by default, and the configurations of the documentation."""

from __future__ import annotations

import json
import re
import shlex
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from places import ROOT

for needed in ("joserfc", "httptools", "click"):
    pytest.importorskip(needed)

from external_issuer import Guest, a_key  # noqa: E402
from serving import serving  # noqa: E402

PAGE = ROOT / "docs" / "how-to" / "external-issuers.md"
if not PAGE.exists():
    pytest.skip("the source distribution carries no docs", allow_module_level=True)

BOOKS = "https://books.example"
TENANT = "11111111-2222-3333-4444-555555555555"
SCOPES = "rewards:read_claims rewards:read_payout_groups"


class Issuer(NamedTuple):
    """The header and the claims of a token of a client, beside the times and ids."""

    header: dict[str, str]
    claims: dict[str, Any]
    null: tuple[str, ...] = ()


JWT = {"alg": "RS256", "typ": "JWT"}
ISSUERS = {
    "Keycloak": Issuer(
        JWT,
        {
            "iss": "https://id.example/realms/main",
            "aud": [BOOKS, "account"],
            "sub": "f1f2f3f4-0000-4000-8000-000000000000",
            "typ": "Bearer",
            "azp": "reader",
            "acr": "1",
            "allowed-origins": ["/*"],
            "realm_access": {"roles": ["offline_access", "uma_authorization"]},
            "resource_access": {"account": {"roles": ["manage-account"]}},
            "scope": f"profile email {SCOPES}",
            "clientHost": "192.0.2.1",
            "email_verified": False,
            "preferred_username": "service-account-reader",
            "clientAddress": "192.0.2.1",
            "client_id": "reader",
            "customer": "acme",
        },
    ),
    "Auth0": Issuer(
        JWT,
        {
            "iss": "https://example.eu.auth0.com/",
            "sub": "aBcDeFgHiJkLmNoP@clients",
            "aud": BOOKS,
            "scope": SCOPES,
            "gty": "client-credentials",
            "azp": "aBcDeFgHiJkLmNoP",
            "https://books.example/customer": "acme",
        },
    ),
    "Entra ID": Issuer(
        JWT,
        {
            "aud": "66666666-7777-8888-9999-000000000000",
            "iss": f"https://login.microsoftonline.com/{TENANT}/v2.0",
            "aio": "opaque",
            "azp": "acme",
            "azpacr": "1",
            "oid": "f1f2f3f4-0000-4000-8000-000000000000",
            "rh": "opaque",
            "roles": SCOPES.split(),
            "sub": "f1f2f3f4-0000-4000-8000-000000000000",
            "tid": TENANT,
            "uti": "opaque",
            "ver": "2.0",
        },
    ),
    "IdentityServer": Issuer(
        {"alg": "RS256", "typ": "at+jwt"},
        {
            "iss": "https://id.example",
            "aud": BOOKS,
            "scope": SCOPES.split(),
            "client_id": "reader",
            "client_customer": "acme",
            "jti": "0A1B2C3D",
        },
    ),
    "Hydra": Issuer(
        JWT,
        {
            "aud": [BOOKS],
            "client_id": "acme",
            "ext": {},
            "iss": "https://id.example",
            "jti": "f1f2f3f4-0000-4000-8000-000000000000",
            "scp": SCOPES.split(),
            "sub": "acme",
        },
    ),
    "Rauthy": Issuer(
        {"alg": "EdDSA", "typ": "JWT"},
        {
            "iss": "https://id.example/auth/v1",
            "aud": "acme",
            "typ": "Bearer",
            "azp": "acme",
            "scope": SCOPES,
        },
        null=("sub",),
    ),
}


def commands() -> dict[str, list[str]]:
    """Returns the options of `serve` in each section of the page."""
    found = {}
    for section in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        command = re.search(r"```shell\n(comptroller serve (?:.*\\\n)*.*)\n```", section)
        if command:
            words = shlex.split(command[1].replace("\\\n", " "))
            found[section.partition("\n")[0]] = words[2:]
    return found


def test_the_page_has_a_configuration_of_each_issuer() -> None:
    assert commands().keys() == ISSUERS.keys()


@pytest.mark.parametrize("name", ISSUERS)
def test_the_configuration_of_the_page_accepts_the_tokens(tmp_path: Path, name: str) -> None:
    issuer = ISSUERS[name]
    key = a_key("Ed25519" if issuer.header["alg"] == "EdDSA" else "RS256")
    published = key.as_dict(private=False) | {"alg": issuer.header["alg"], "use": "sig"}
    (tmp_path / "keys.json").write_text(json.dumps({"keys": [published]}))
    now = int(time.time())
    claims = {"iat": now, "nbf": now, "exp": now + 300, **issuer.claims}
    token = Guest.raw_token(key, claims, issuer.header, null=issuer.null)
    words = commands()[name]
    words[words.index("--jwks") + 1] = "keys.json"
    with serving(*words, cwd=tmp_path) as server:
        bearer = {"Authorization": f"Bearer {token}"}
        for path, status in (("claims", 200), ("payout-groups", 200), ("addresses", 403)):
            answer = server.get(f"/rewards/{path}", headers=bearer)
            assert answer.status_code == status, answer.text
        foreign = {"customer_id": "other"}
        assert server.get("/rewards/claims", headers=bearer, params=foreign).status_code == 403
        _, _, log = server.end()
    lines = [json.loads(line) for line in log.splitlines() if '"/rewards/claims"' in line]
    client = issuer.claims.get("client_id") or issuer.claims["azp"]
    assert {(line["client_id"], line["customer"]) for line in lines} == {(client, "acme")}
