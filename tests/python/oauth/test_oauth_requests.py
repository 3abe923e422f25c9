"""RFC 6750: the responses to requests with a valid, an invalid or no token."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import comptroller
import pytest
from comptroller.http.oauth.authority import local_authority
from comptroller.http.oauth.rate import Rate
from token_server import ISSUER, LIST, Clock, Known, Served

INVALID_TOKEN = 'Bearer error="invalid_token", error_description="the token is malformed"'
INVALID_REQUEST = 'Bearer error="invalid_request"'


@pytest.fixture(scope="module")
def known(served: Served) -> Known:
    return served.register(scopes=["rewards:read_claims", "rewards:read_payout_groups"])


@pytest.fixture(scope="module")
def good(served: Served, known: Known) -> str:
    return served.token(known)


REFUSED = [
    # Authorization, query, status, code, challenge
    (None, "", 401, "unauthenticated", "Bearer"),
    ("", "", 401, "unauthenticated", "Bearer"),
    ("Basic {good}", "", 401, "unauthenticated", "Bearer"),
    ("Bearer{good}", "", 401, "unauthenticated", "Bearer"),
    ("{good}", "", 401, "unauthenticated", "Bearer"),
    ("Bearer", "", 400, "invalid-request", INVALID_REQUEST),
    ("Bearer ", "", 400, "invalid-request", INVALID_REQUEST),
    ("bearer =", "", 400, "invalid-request", INVALID_REQUEST),
    ("Bearer {good} {good}", "", 400, "invalid-request", INVALID_REQUEST),
    ("Bearer {good},x=1", "", 400, "invalid-request", INVALID_REQUEST),
    ('Bearer "{good}"', "", 400, "invalid-request", INVALID_REQUEST),
    ("Bearer \xe9", "", 400, "invalid-request", INVALID_REQUEST),
    (None, "?access_token={good}", 400, "invalid-request", INVALID_REQUEST),
    (None, "?limit=1&%61ccess%5Ftoken=x", 400, "invalid-request", INVALID_REQUEST),
    (None, "?access_token", 400, "invalid-request", INVALID_REQUEST),
    ("Bearer {good}", "?access_token={good}", 400, "invalid-request", INVALID_REQUEST),
    ("Bearer x", "", 401, "unauthenticated", INVALID_TOKEN),
    ("Bearer a.b.c", "", 401, "unauthenticated", INVALID_TOKEN),
    ("Bearer {good}.", "", 401, "unauthenticated", INVALID_TOKEN),
    (
        "Bearer " + "a" * 8193,
        "",
        401,
        "unauthenticated",
        INVALID_TOKEN.replace("malformed", "too long"),
    ),
]


@pytest.mark.parametrize(("header", "query", "status", "code", "challenge"), REFUSED)
def test_an_invalid_token_is_refused(
    served: Served,
    good: str,
    header: str | None,
    query: str,
    status: int,
    code: str,
    challenge: str,
) -> None:
    given = (
        [] if header is None else [(b"authorization", header.format(good=good).encode("latin1"))]
    )
    answer = served.ask("GET", LIST + query.format(good=good), headers=given)
    assert (answer.status_code, answer.headers.get_list("www-authenticate")) == (
        status,
        [challenge],
    )
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["cache-control"] == "no-store"
    assert (answer.json()["code"], answer.json()["status"]) == (code, status)
    assert good not in answer.text


@pytest.mark.parametrize("scheme", ["Bearer ", "bearer ", "BEARER ", "Bearer   "])
def test_a_valid_token_is_accepted(served: Served, good: str, scheme: str) -> None:
    answer = served.ask("GET", LIST, headers={"Authorization": scheme + good})
    assert answer.status_code == 200
    assert "www-authenticate" not in answer.headers


@pytest.mark.parametrize("query", ["?limit=1", "?id=access_token", "?id=%61"])
def test_the_text_access_token_may_be_a_value(served: Served, good: str, query: str) -> None:
    assert served.show(good, LIST + query).status_code == 200


def test_a_missing_scope_is_named(served: Served, good: str) -> None:
    answer = served.show(good, "/rewards/addresses")
    assert answer.status_code == 403
    assert answer.headers["www-authenticate"] == (
        'Bearer error="insufficient_scope", scope="rewards:read_monitoring_address"'
    )
    assert answer.json()["code"] == "insufficient-scope"


def test_authentication_precedes_validation(served: Served) -> None:
    answer = served.ask("POST", "/rewards/addresses?nonsense=%ff", content=b"{", headers={})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"


# ---- the limit of a client -----------------------------------------------------------------------


def test_a_request_above_the_limit_gets_retry_after(
    open_as: Callable[..., comptroller.Service], store_path: Path
) -> None:
    served = Served(store_path, open_as(), rate=0.5)
    one, other = (served.token(served.register(name)) for name in ("one", "other"))
    assert served.show(one).status_code == 200
    answer = served.show(one)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "2")
    assert answer.json()["code"] == "rate-limited"
    assert served.show(other).status_code == 200
    served.clock.go(1)
    assert served.show(one).headers["retry-after"] == "1"
    served.clock.go(1)
    assert served.show(one).status_code == 200


@pytest.mark.parametrize("rate", [0, -1, float("nan"), float("inf")])
def test_an_invalid_rate_is_refused(served: Served, rate: float) -> None:
    with pytest.raises(comptroller.InvalidRequest):
        local_authority(str(served.store), issuer=ISSUER, rate=rate)


def test_two_tokens_in_two_headers_are_refused(served: Served, good: str) -> None:
    twice = [(b"authorization", f"Bearer {good}".encode())] * 2
    answer = served.ask("GET", LIST, headers=twice)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (400, INVALID_REQUEST)


def test_a_clock_that_is_set_back_blocks_nobody() -> None:
    clock = Clock()
    rate = Rate(1, clock)
    assert [rate.wait_s("a") for _ in range(3)] == [0, 0, 1]
    clock.go(-1000)
    assert rate.wait_s("a") == 1
    clock.go(1)
    assert rate.wait_s("a") == 0


def test_a_limit_stores_a_bounded_number_of_clients() -> None:
    rate = Rate(0.1, Clock())
    assert rate.wait_s("first") == 0
    assert rate.wait_s("first") == 10
    for number in range(10_000):
        assert rate.wait_s(str(number)) == 0
    assert rate.wait_s("first") == 0
