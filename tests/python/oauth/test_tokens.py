"""Access tokens: their claims, and rejection for any single fault."""

from __future__ import annotations

import base64
import hmac
import json
from typing import Any

import pytest
from comptroller.http.oauth import keys
from comptroller.http.oauth.authority import JWKS_PATH
from hypothesis import given, strategies as st
from joserfc import jwt
from joserfc.jwk import ECKey, OKPKey
from token_server import ISSUER, Known, Served

Members = dict[str, Any]


@pytest.fixture(scope="module")
def key(served: Served) -> OKPKey:
    """Returns the server's signing key."""
    return keys.read(keys.file_of(str(served.store))).signing


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def part(token: str, number: int) -> Members:
    text = token.split(".")[number]
    members: Members = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    return members


def sign(key: Any, header: Members, claims: Members) -> str:
    """Returns a validly signed token with this header and these claims."""
    first = encoded(json.dumps(header).encode()) + "." + encoded(json.dumps(claims).encode())
    return first + "." + encoded(key.get_op_key("sign").sign(first.encode()))


def test_a_token_has_the_claims_of_rfc_9068(served: Served, known: Known, key: OKPKey) -> None:
    token = served.token(known, scope="rewards:read_claims")
    assert part(token, 0) == {"alg": "Ed25519", "typ": "at+jwt", "kid": key.kid}
    claims = part(token, 1)
    assert claims.pop("jti")
    now = int(served.clock())
    assert claims == {
        "iss": ISSUER,
        "sub": known.id,
        "client_id": known.id,
        "aud": ISSUER,
        "iat": now,
        "exp": now + 3600,
        "scope": "rewards:read_claims",
        "customer": "acme",
    }
    operators = part(served.token(served.register("ops", None)), 1)
    assert operators["operator"] is True
    assert "customer" not in operators
    assert part(served.token(known), 1)["jti"] != part(served.token(known), 1)["jti"]


def test_the_published_keys_verify_a_token(served: Served, known: Known) -> None:
    published = served.ask("GET", JWKS_PATH).json()["keys"][0]
    public = OKPKey.import_key(published)
    assert jwt.decode(served.token(known), public, algorithms=["Ed25519"]).claims["sub"] == known.id


# One fault each: its name, changes of header and claims, and the message.
FAULTS: list[tuple[str, Members, Members, str]] = [
    ("alg", {"alg": "ES256"}, {}, "the algorithm of the token is not accepted"),
    ("alg EdDSA", {"alg": "EdDSA"}, {}, "the algorithm of the token is not accepted"),
    ("alg no text", {"alg": ["Ed25519"]}, {}, "the algorithm of the token is not accepted"),
    ("typ", {"typ": "JWT"}, {}, "the token is not of type at+jwt"),
    ("typ missing", {"typ": None}, {}, "the token is not of type at+jwt"),
    ("typ id token", {"typ": "id+jwt"}, {}, "the token is not of type at+jwt"),
    ("kid", {"kid": "unknown"}, {}, "the token is signed with an unknown key"),
    ("kid missing", {"kid": None}, {}, "the token does not say which key signed it"),
    ("crit", {"crit": ["exp"]}, {}, "the header of the token is not understood"),
    ("b64", {"b64": False, "crit": ["b64"]}, {}, "the header of the token is not understood"),
    ("iss", {}, {"iss": "https://elsewhere.example"}, "the token is of another issuer"),
    ("iss slash", {}, {"iss": ISSUER + "/"}, "the token is of another issuer"),
    ("aud", {}, {"aud": "https://elsewhere.example"}, "the token is for another audience"),
    ("aud list", {}, {"aud": ["https://elsewhere.example"]}, "the token is for another audience"),
    ("aud empty", {}, {"aud": []}, "the token is for another audience"),
    ("exp", {}, {"exp": -3600}, "the token has expired"),
    ("exp missing", {}, {"exp": None}, "the claims of the token are malformed"),
    ("exp text", {}, {"exp": "9999999999"}, "the claims of the token are malformed"),
    ("exp true", {}, {"exp": True}, "the claims of the token are malformed"),
    ("nbf", {}, {"nbf": 60}, "the token is not valid yet"),
    ("iat", {}, {"iat": 60}, "the token is not valid yet"),
    ("customer", {}, {"customer": "globex"}, "the client of the token is revoked"),
    ("operator", {}, {"operator": True}, "the token must name either a customer or the operator"),
    ("nobody", {}, {"customer": None}, "the token must name either a customer or the operator"),
    ("client", {}, {"client_id": "another"}, "the client of the token is revoked"),
]


def forged(
    served: Served, known: Known, header: Members, claims: Members
) -> tuple[Members, Members]:
    """Returns the claims of a valid token with changes, times relative to now, without None."""
    token = served.token(known)
    moments = {
        name: int(served.clock()) + value
        for name, value in claims.items()
        if name in ("exp", "nbf", "iat") and type(value) is int
    }
    parts = [part(token, 0) | header, part(token, 1) | claims | moments]
    one, other = ({name: it for name, it in each.items() if it is not None} for each in parts)
    return one, other


def is_refused(answer: Any, why: str) -> None:
    assert answer.status_code == 401
    challenge = f'Bearer error="invalid_token", error_description="{why}"'
    assert answer.headers["www-authenticate"] == challenge
    assert answer.json()["code"] == "unauthenticated"


@pytest.mark.parametrize(
    ("header", "claims", "why"),
    [fault[1:] for fault in FAULTS],
    ids=[fault[0] for fault in FAULTS],
)
def test_one_fault_is_rejected(
    served: Served, known: Known, key: OKPKey, header: Members, claims: Members, why: str
) -> None:
    is_refused(served.show(sign(key, *forged(served, known, header, claims))), why)


@pytest.mark.parametrize(
    ("header", "claims"),
    [
        ({}, {}),
        ({"typ": "AT+JWT"}, {}),
        ({"typ": "application/at+jwt"}, {}),
        ({"x-new": 1}, {}),
        ({}, {"aud": ["https://elsewhere.example", ISSUER]}),
        ({}, {"exp": -9}),
        ({}, {"nbf": 9, "iat": 9}),
        ({}, {"new": {"a": [1]}}),
    ],
)
def test_a_harmless_difference_is_accepted(
    served: Served, known: Known, key: OKPKey, header: Members, claims: Members
) -> None:
    assert served.show(sign(key, *forged(served, known, header, claims))).status_code == 200


def test_the_signature_is_verified(served: Served, known: Known) -> None:
    first, middle, last = served.token(known).split(".")
    for place in (0, len(last) // 2, len(last) - 2):
        other = "A" if last[place] != "A" else "B"
        flipped = last[:place] + other + last[place + 1 :]
        is_refused(
            served.show(f"{first}.{middle}.{flipped}"), "the signature of the token is wrong"
        )
    is_refused(served.show(f"{first}.{middle}."), "the signature of the token is wrong")
    claims = encoded(json.dumps(part(f"{first}.{middle}", 1) | {"customer": "globex"}).encode())
    is_refused(served.show(f"{first}.{claims}.{last}"), "the signature of the token is wrong")


def test_an_unsigned_token_is_refused(served: Served, known: Known) -> None:
    header, claims = forged(served, known, {"alg": "none"}, {})
    token = f"{encoded(json.dumps(header).encode())}.{encoded(json.dumps(claims).encode())}."
    is_refused(served.show(token), "the algorithm of the token is not accepted")


def test_a_public_key_is_not_used_as_a_shared_secret(
    served: Served, known: Known, key: OKPKey
) -> None:
    header, claims = forged(served, known, {"alg": "HS256"}, {})
    for secret in (str(key.as_dict(private=False)["x"]), key.as_pem(private=False).decode()):
        first = ".".join(encoded(json.dumps(each).encode()) for each in (header, claims))
        signature = hmac.digest(secret.encode(), first.encode(), "sha256")
        token = f"{first}.{encoded(signature)}"
        is_refused(served.show(token), "the algorithm of the token is not accepted")


def test_a_key_in_the_token_is_not_used(served: Served, known: Known, key: OKPKey) -> None:
    own = OKPKey.generate_key("Ed25519", {"kid": "own", "alg": "Ed25519"})
    # If the URL were fetched, the error would be another.
    place = "http://127.0.0.1:9/keys"
    for brought in ({"jwk": own.as_dict(private=False)}, {"jku": place}, {"x5u": place}):
        header, claims = forged(served, known, {"kid": "own", **brought}, {})
        is_refused(
            served.show(sign(own, header, claims)), "the token is signed with an unknown key"
        )
        header["kid"] = key.kid
        is_refused(served.show(sign(own, header, claims)), "the signature of the token is wrong")


def test_another_type_of_key_is_not_accepted(served: Served, known: Known) -> None:
    own = ECKey.generate_key("P-256", {"kid": "own"})
    header, claims = forged(served, known, {"alg": "ES256", "kid": "own"}, {})
    token = jwt.encode(header, claims, own, algorithms=["ES256"])
    is_refused(served.show(token), "the algorithm of the token is not accepted")


@given(st.binary(max_size=40), st.binary(max_size=40), st.binary(max_size=10))
def test_malformed_tokens_are_refused(
    served: Served, known: Known, key: OKPKey, header: bytes, payload: bytes, signature: bytes
) -> None:
    token = ".".join(map(encoded, (header, payload, signature)))
    assert served.show(token).status_code == 401


@given(
    st.sampled_from(["alg", "typ", "kid", "crit", "b64", "jku", "jwk", "x5c"]),
    st.sampled_from(["iss", "aud", "exp", "nbf", "iat", "sub", "client_id", "scope", "scp"]),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
        ),
        max_leaves=4,
    ),
)
def test_a_signed_member_of_any_type_gives_no_failure(
    served: Served, known: Known, key: OKPKey, parameter: str, claim: str, value: Any
) -> None:
    header, claims = forged(served, known, {}, {})
    for token in (
        sign(key, header | {parameter: value}, claims),
        sign(key, header, claims | {claim: value}),
    ):
        assert served.show(token).status_code in (200, 401, 403)


@pytest.mark.parametrize(
    "payload", [b"[" * 3000, b"{}", b"[]", b"null", b"1", b"", b"\xff", b'{"exp":1e999}']
)
def test_a_signed_payload_without_claims_is_refused(
    served: Served, key: OKPKey, payload: bytes
) -> None:
    header = json.dumps({"alg": "Ed25519", "typ": "at+jwt", "kid": key.kid}).encode()
    first = f"{encoded(header)}.{encoded(payload)}"
    token = first + "." + encoded(key.get_op_key("sign").sign(first.encode()))
    is_refused(served.show(token), "the claims of the token are malformed")
