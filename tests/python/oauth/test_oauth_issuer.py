"""Tokens of an external issuer: which are accepted, and for whom."""

from __future__ import annotations

import json
from typing import Any

import comptroller
import pytest
from external_issuer import Guest, Place, a_key
from joserfc.jwk import OKPKey


@pytest.mark.parametrize("kind", ["Ed25519", "ES256", "RS256", "PS256"])
def test_the_usual_algorithms_are_accepted(guest: Guest, place: Place, kind: str) -> None:
    key = a_key(kind)
    place.publish(a_key("ES256", "another"), key)
    assert guest.show(guest.token(key, kind)).status_code == 200


def test_only_configured_algorithms_are_accepted(
    operator: comptroller.Service, place: Place
) -> None:
    usual, rare = a_key("ES256"), a_key("ES384", "k2")
    place.publish(usual, rare)
    guest = Guest(operator, place.url)
    assert guest.show(guest.token(rare, "ES384")).status_code == 401
    guest = Guest(operator, place.url, algorithms=["ES384"])
    assert guest.show(guest.token(rare, "ES384")).status_code == 200
    assert guest.show(guest.token(usual, "ES256")).status_code == 401


@pytest.mark.parametrize(
    "algorithms", [[], ["none"], ["HS256"], ["Ed25519", "HS512"], ["EdDSA", ""]]
)
def test_symmetric_algorithms_cannot_be_configured(
    operator: comptroller.Service, algorithms: list[str]
) -> None:
    with pytest.raises(comptroller.InvalidRequest, match="algorithms"):
        Guest(operator, "keys.json", algorithms=algorithms)


@pytest.mark.parametrize(
    ("more", "status"), [({}, 200), ({"alg": "PS256"}, 401), ({"use": "enc"}, 503)]
)
def test_a_key_is_for_its_own_algorithm_and_use(
    guest: Guest, place: Place, more: dict[str, str], status: int
) -> None:
    key = a_key("RS256")
    place.body = json.dumps({"keys": [key.as_dict(private=False) | more]}).encode()
    assert guest.show(guest.token(key, "RS256")).status_code == status


def test_a_weak_key_is_not_used(guest: Guest, place: Place) -> None:
    place.publish(a_key())
    weak = json.loads(place.body)["keys"] + [
        {"kty": "RSA", "kid": "k2", "n": "wQ" * 80, "e": "AQAB"}
    ]
    place.body = json.dumps({"keys": weak}).encode()
    assert (
        guest.show(guest.token(a_key("RS256", "k2"), "RS256"))
        .headers["www-authenticate"]
        .endswith('"the token is signed with an unknown key"')
    )


SCOPES = [
    # claims, status of the claims list, of the operator's balances list
    ({}, 200, 403),
    ({"scope": None}, 403, 403),
    ({"scope": "openid"}, 403, 403),
    ({"scope": None, "scp": ["rewards:read_claims", "x"]}, 200, 403),
    ({"scope": None, "scp": "rewards:read_claims x"}, 200, 403),
    ({"scope": ["rewards:read_claims", "x"]}, 200, 403),
    ({"scope": [], "scp": "rewards:read_claims"}, 200, 403),
    ({"scope": ["x"], "scp": "rewards:read_claims"}, 403, 403),
    ({"customer": None, "operator": True}, 200, 200),
    ({"customer": None, "operator": True, "scope": "rewards:read_claims"}, 403, 403),
    ({"operator": False}, 200, 403),
    ({"client_id": None}, 200, 403),
    ({"sub": None}, 200, 403),
    ({"client_id": None, "sub": None, "azp": "reader"}, 200, 403),
    ({"client_id": None, "sub": None, "appid": "reader"}, 200, 403),
]


@pytest.mark.parametrize(("claims", "status", "operators"), SCOPES)
def test_known_scopes_are_granted(
    guest: Guest, place: Place, claims: dict[str, Any], status: int, operators: int
) -> None:
    key = a_key()
    place.publish(key)
    token = guest.token(key, **claims)
    assert guest.show(token).status_code == status
    assert guest.show(token, "/operator/rewards/balances").status_code == operators


NOBODY = [
    {"customer": None},
    {"customer": None, "operator": "true"},
    {"customer": None, "operator": 1},
    {"operator": True},
    {"customer": ["acme"]},
    {"customer": ""},
    {"customer": "a b"},
    {"customer": "x" * 129},
    {"client_id": "operator"},
    {"client_id": "operator:reader"},
    {"customer": None, "operator": True, "client_id": "x" * 120},
    {"client_id": "a\nb"},
    {"client_id": "x" * 129},
    {"client_id": None, "sub": None},
    {"client_id": None, "azp": "a\nb"},
    {"scope": [1]},
    {"scope": {"rewards:read_claims": True}},
    {"typ": "ID"},
    {"typ": "Refresh"},
]


@pytest.mark.parametrize("claims", NOBODY)
def test_a_token_without_a_customer_or_operator_is_refused(
    guest: Guest, place: Place, claims: dict[str, Any]
) -> None:
    key = a_key()
    place.publish(key)
    answer = guest.show(guest.token(key, **claims))
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith('Bearer error="invalid_token"')


def test_the_claims_have_the_configured_names(operator: comptroller.Service, place: Place) -> None:
    key = a_key()
    place.publish(key)
    guest = Guest(operator, place.url, customer_claim="https://x/tenant", operator_claim="admin")
    tokens = [
        guest.token(key, **claims)
        for claims in (
            {"customer": None, "https://x/tenant": "acme"},
            {"customer": None, "admin": True, "scope": "operator:read"},
            {},
            {"customer": None, "operator": True},
        )
    ]
    assert [guest.show(token).status_code for token in tokens] == [200, 200, 401, 401]


@pytest.mark.parametrize("configured", [["EdDSA"], ["Ed25519"], ["EdDSA", "ES256"]])
@pytest.mark.parametrize("published", ["EdDSA", "Ed25519", None])
def test_ed25519_has_two_names(
    operator: comptroller.Service, place: Place, configured: list[str], published: str | None
) -> None:
    key = a_key()
    entry = key.as_dict(private=False) | ({"alg": published} if published else {})
    place.body = json.dumps({"keys": [entry]}).encode()
    guest = Guest(operator, place.url, algorithms=configured)
    for algorithm in ("EdDSA", "Ed25519"):
        assert guest.show(guest.token(key, algorithm)).status_code == 200, algorithm


def test_eddsa_is_not_ed448(operator: comptroller.Service, place: Place) -> None:
    key = OKPKey.generate_key("Ed448", {"kid": "k1"})
    place.publish(key)
    guest = Guest(operator, place.url, algorithms=["EdDSA"])
    assert guest.show(guest.token(key, "EdDSA")).status_code == 401
    assert guest.show(guest.token(key, "Ed448")).status_code == 401


@pytest.mark.parametrize("type", ["JWT", "jwt", "at+jwt", None])
def test_other_types_are_accepted_if_configured(
    operator: comptroller.Service, place: Place, type: str | None
) -> None:
    key = a_key()
    place.publish(key)
    header = {"alg": "Ed25519"} | ({"typ": type} if type else {})
    strict, lenient = (Guest(operator, place.url, **how) for how in ({}, {"token_type": "any"}))
    claims = strict.claims()
    is_access_token = type == "at+jwt"
    assert strict.show(strict.raw_token(key, claims, header)).status_code == (
        200 if is_access_token else 401
    )
    assert lenient.show(lenient.raw_token(key, claims, header)).status_code == 200
    for other in ("ID", "Refresh"):  # as Keycloak and Rauthy mark other tokens
        marked = lenient.raw_token(key, {**claims, "typ": other}, header)
        assert lenient.show(marked).status_code == 401


def test_the_scopes_are_in_the_configured_claim(
    operator: comptroller.Service, place: Place
) -> None:
    key = a_key()
    place.publish(key)
    guest = Guest(operator, place.url, scope_claim="roles")
    expected = [
        (["rewards:read_claims"], 200),
        ("rewards:read_claims", 200),
        (None, 403),
        (7, 401),
    ]
    for roles, status in expected:
        assert guest.show(guest.token(key, roles=roles)).status_code == status, roles
