"""The client fetches access tokens, and uses each until shortly before it expires."""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qs

import comptroller
import pytest

pytest.importorskip("httpx2")

import httpx2
from comptroller import errors
from fake_remote import BASE, GROUP, LOST, UUID, Elsewhere, answer, ok, page, tokens

CLIENT = {"client_id": "me", "client_secret": "canary"}


def read(service: comptroller.Service) -> Any:
    return service.claims.list()


def observe(service: comptroller.Service) -> Any:
    return service.payout_groups.observe(UUID, rate_id="r")


def shown(there: Elsewhere) -> list[str]:
    """Returns the credentials of all requests, in order."""
    return [request.headers.get("authorization", "") for request in there.requests]


def test_a_token_is_requested_according_to_rfc_6749() -> None:
    there = Elsewhere(page(), token=tokens("t-1"))
    service = there.connect(client_id="a b", client_secret="p:%+ü", scopes=["x:1", "x:2"])
    read(service)
    first, second = there.requests
    assert str(first.url) == f"{BASE}/oauth2/token"
    assert first.method == "POST"
    assert first.headers["content-type"] == "application/x-www-form-urlencoded"
    pair = base64.b64decode(first.headers["authorization"].removeprefix("Basic "))
    assert pair == b"a+b:p%3A%25%2B%C3%BC"
    form = {"grant_type": ["client_credentials"], "scope": ["x:1 x:2"]}
    assert parse_qs(first.content.decode()) == form
    assert second.headers["authorization"] == "Bearer t-1"


def test_the_token_endpoint_may_be_another_server() -> None:
    there = Elsewhere(page(), issue=tokens("t-1"))
    read(there.connect(token_url="https://issuer.test/issue", **CLIENT))
    assert [str(request.url) for request in there.requests] == [
        "https://issuer.test/issue",
        f"{BASE}/rewards/claims",
    ]


@pytest.mark.parametrize(
    ("lifetime", "kept_s"),
    [(3600, 3540), (120, 60), (61, 30.5), (10, 5), ("3600", 3540), (None, 10**9)],
)
def test_a_token_is_used_until_shortly_before_it_expires(lifetime: Any, kept_s: float) -> None:
    there = Elsewhere(page(), token=tokens("t-1", "t-2", expires_in=lifetime))
    service = there.connect(**CLIENT)
    for moment in (0, kept_s - 0.1, kept_s):
        there.clock.moment = moment
        read(service)
    used = [text for text in shown(there) if text.startswith("Bearer")]
    assert used == ["Bearer t-1"] * 2 + ["Bearer t-1" if lifetime is None else "Bearer t-2"]


@pytest.mark.parametrize("ask", [read, observe])
def test_a_rejected_token_is_replaced_once(ask: Callable[..., Any]) -> None:
    good = page() if ask is read else ok(GROUP)
    there = Elsewhere(answer(401), good, token=tokens("t-1", "t-2"))
    ask(there.connect(**CLIENT))
    assert shown(there)[1::2] == ["Bearer t-1", "Bearer t-2"]
    there = Elsewhere(answer(401), token=tokens("t-1", "t-2", "t-3"))
    with pytest.raises(errors.Unauthenticated):
        ask(there.connect(**CLIENT))
    assert shown(there)[1::2] == ["Bearer t-1", "Bearer t-2"]


def test_a_given_token_is_used_unchanged() -> None:
    there = Elsewhere(answer(401))
    with pytest.raises(errors.Unauthenticated):
        read(there.connect(token="canary"))
    assert shown(there) == ["Bearer canary"]


def test_one_thread_fetches_a_token_for_all() -> None:
    begun = threading.Barrier(8)
    there = Elsewhere(page(), token=tokens("t-1"))
    service = there.connect(**CLIENT)

    def at_once(_: int) -> None:
        begun.wait()
        read(service)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(at_once, range(8)))
    assert len(there.requests) == 9


@pytest.mark.parametrize(
    ("body", "status", "kind", "detail"),
    [
        ({"error": "invalid_client"}, 401, "Unauthenticated", "invalid_client"),
        (
            {"error": "invalid_scope", "error_description": "not yours"},
            400,
            "InvalidRequest",
            "invalid_scope: not yours",
        ),
        ({}, 404, "NotFound", f"POST {BASE}/oauth2/token returned status 404"),
        ({}, 503, "Unavailable", "returned status 503"),
        ({"access_token": "t", "token_type": "mac"}, 200, "Unusable", "no bearer token"),
        ({"access_token": "canary\n"}, 200, "Unusable", "no bearer token"),
        ({"access_token": 7}, 200, "Unusable", "no bearer token"),
        ({}, 200, "Unusable", "no bearer token"),
    ],
)
def test_a_client_without_a_token_gets_the_error(
    body: Any, status: int, kind: str, detail: str
) -> None:
    there = Elsewhere(page(), token=lambda _request: httpx2.Response(status, json=body))
    with pytest.raises(comptroller.Error) as refused:
        read(there.connect(**CLIENT))
    assert type(refused.value) is getattr(errors, kind)
    assert detail in refused.value.detail
    assert not any("claims" in path for path in there.paths())


def test_a_temporary_failure_of_the_token_endpoint_is_retried() -> None:
    left = [LOST, answer(503, retry_after="3"), tokens("t-1")(None)]

    def issued(_request: httpx2.Request) -> httpx2.Response:
        outcome = left.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    there = Elsewhere(page(), token=issued)
    read(there.connect(**CLIENT))
    assert there.clock.sleeps[1:] == [3]


def test_a_failed_token_request_leaves_the_outcome_of_a_write_known() -> None:
    there = Elsewhere(ok(GROUP), token=lambda _request: answer(504))
    with pytest.raises(errors.Unavailable) as refused:
        observe(there.connect(**CLIENT))
    assert "may have been executed" not in refused.value.detail


CLEAR = "http://elsewhere.test"


@pytest.mark.parametrize(
    ("base_url", "given", "field"),
    [
        (CLEAR, CLIENT, "base_url"),
        (CLEAR, {"token": "canary"}, "base_url"),
        (CLEAR, CLIENT | {"token_url": BASE + "/token"}, "base_url"),
        (BASE, CLIENT | {"token_url": CLEAR + "/token"}, "token_url"),
        ("http://127.0.0.1.elsewhere.test", CLIENT, "base_url"),
        ("http://10.0.0.1:8080", CLIENT, "base_url"),
        ("http://[2001:db8::1]", CLIENT, "base_url"),
    ],
)
def test_credentials_are_not_sent_over_plain_http_by_default(
    base_url: str, given: Any, field: str
) -> None:
    with pytest.raises(errors.InvalidRequest, match="unencrypted") as refused:
        comptroller.connect(base_url, **given)
    assert refused.value.errors[0].field == field
    assert "canary" not in str(refused.value)
    there = Elsewhere(page(), token=tokens("t-1"))
    read(there.connect(base_url, allow_http=True, **given))


@pytest.mark.parametrize(
    ("base_url", "given"),
    [
        (CLEAR, {}),
        ("http://localhost:8080", CLIENT),
        ("http://127.0.0.1", CLIENT),
        ("http://127.8.9.10", {"token": "t"}),
        ("http://[::1]:8080/api", CLIENT),
        (BASE, {"token": "t"}),
    ],
)
def test_local_requests_and_those_without_secrets_may_use_plain_http(
    base_url: str, given: Any
) -> None:
    there = Elsewhere(page(), token=tokens("t-1"))
    read(there.connect(base_url, **given))


@pytest.mark.parametrize("failure", [LOST, answer(400), answer(503)])
def test_no_error_shows_a_secret_or_a_token(failure: Any) -> None:
    def leaking(_request: httpx2.Request) -> httpx2.Response:
        if isinstance(failure, Exception):
            raise failure
        return failure

    for pages in ({"token": leaking}, {"token": tokens("canary")}):
        service = Elsewhere(failure, **pages).connect(attempts=1, **CLIENT)
        with pytest.raises(comptroller.Error) as refused:
            read(service)
        assert "canary" not in repr(refused.value) + str(refused.value) + repr(service)
