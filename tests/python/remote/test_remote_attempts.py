"""The client retries requests where that is safe, up to a limit."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import comptroller
import pytest

pytest.importorskip("httpx2")

import httpx2
from comptroller import errors
from fake_remote import GROUP, LOST, NEW_GROUP, UUID, Elsewhere, answer, ok, openapi, page, tokens

REFUSED = httpx2.ConnectError("connection refused")
SLOW = httpx2.ReadTimeout("")
UNKNOWN = answer(504, "outcome-unknown")
LISTED = openapi(("POST", "/rewards/payout-groups"), ("PUT", "/rewards/payout-groups/{group_id}"))


def read(service: comptroller.Service) -> Any:
    return service.claims.list()


def create(service: comptroller.Service) -> Any:
    return service.payout_groups.create(**NEW_GROUP)


def update(service: comptroller.Service) -> Any:
    return service.payout_groups.update(UUID, name="n", idempotency_key="mine")


def observe(service: comptroller.Service) -> Any:
    return service.payout_groups.observe(UUID, rate_id="r")


PASSING = [LOST, REFUSED, SLOW, answer(429), answer(502), answer(503), answer(504)]
LASTING = [answer(status) for status in (400, 403, 404, 409, 422, 500, 501)]


@pytest.mark.parametrize("failure", PASSING)
@pytest.mark.parametrize("ask", [read, create, update])
def test_a_temporary_failure_is_retried(failure: Any, ask: Callable[..., Any]) -> None:
    good = page() if ask is read else ok(GROUP)
    there = Elsewhere(failure, failure, good, openapi=LISTED)
    ask(there.connect())
    asked = [request for request in there.requests if "openapi" not in request.url.path]
    assert len(asked) == 3
    assert 0.25 <= there.clock.sleeps[0] <= 0.5 <= there.clock.sleeps[1] <= 1
    (key,) = {request.headers.get("idempotency-key") for request in asked}
    if ask is read:
        assert key is None
        assert len(there.requests) == 3
    else:
        assert key == "mine" if ask is update else len(key or "") == 36
        assert len({request.content for request in asked}) == 1


@pytest.mark.parametrize("failure", LASTING)
@pytest.mark.parametrize("ask", [read, create])
def test_a_permanent_failure_is_not_retried(failure: Any, ask: Callable[..., Any]) -> None:
    there = Elsewhere(failure, openapi=LISTED)
    with pytest.raises(comptroller.Error):
        ask(there.connect())
    assert len(there.requests) == 1
    assert there.clock.sleeps == []


@pytest.mark.parametrize(
    ("ask", "document"),
    [
        (observe, LISTED),
        (create, openapi(("GET", "/rewards/payout-groups"))),
        (create, openapi()),
        (create, lambda _request: answer(404)),
        (create, lambda _request: ok([])),
        (create, lambda _request: httpx2.Response(200, content=b"<html>")),
        (create, lambda _request: ok({"paths": {"/rewards/payout-groups": {"post": None}}})),
    ],
)
@pytest.mark.parametrize("failure", [LOST, UNKNOWN, answer(503)])
def test_a_write_without_a_key_is_not_retried(
    ask: Callable[..., Any], document: Callable[..., Any], failure: Any
) -> None:
    there = Elsewhere(failure, openapi=document)
    service = there.connect()
    for _ in range(2):
        with pytest.raises(
            errors.OutcomeUnknown if failure in (LOST, UNKNOWN) else errors.Unavailable
        ):
            ask(service)
    assert [path for path in there.paths() if path == "/openapi.json"] == ["/openapi.json"]
    assert len(there.requests) == 3


def test_the_document_may_declare_the_header_inline_and_for_a_path() -> None:
    key = {"name": "idempotency-key", "in": "header"}
    document = {"paths": {"/rewards/payout-groups": {"parameters": [key], "post": {}}}}
    there = Elsewhere(LOST, ok(GROUP), openapi=lambda _request: ok(document))
    assert create(there.connect()).id == UUID


@pytest.mark.parametrize("failure", [LOST, *(answer(n) for n in (401, 403, 429, 500, 503))])
def test_an_unavailable_document_is_fetched_again(failure: Any) -> None:
    document = failure
    there = Elsewhere(LOST, LOST, ok(GROUP), openapi=lambda _request: document)
    service = there.connect()
    with pytest.raises(errors.OutcomeUnknown, match="may have been executed"):
        create(service)
    document = LISTED(None)
    assert create(service).id == UUID


@pytest.mark.parametrize(
    "last",
    [
        REFUSED,
        answer(429, "rate-limited"),
        answer(503, "unavailable"),
        answer(409, "idempotency-in-flight"),
        answer(409, "already-exists"),
        answer(401, "unauthenticated"),
        answer(404),
    ],
)
@pytest.mark.parametrize("first", [LOST, SLOW, answer(502), answer(504)])
def test_a_write_without_a_response_has_an_unknown_outcome(first: Any, last: Any) -> None:
    there = Elsewhere(first, last, openapi=LISTED)
    with pytest.raises(errors.OutcomeUnknown, match="the write may have been executed"):
        create(there.connect())
    with pytest.raises(comptroller.Error) as refused:
        read(Elsewhere(first, last).connect())
    assert "may have been executed" not in refused.value.detail


@pytest.mark.parametrize(
    "failure",
    [
        REFUSED,
        httpx2.ConnectError("[Errno -2] Name or service not known"),
        httpx2.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED]"),
        httpx2.ConnectTimeout(""),
        httpx2.ProxyError("407 Proxy Authentication Required"),
        httpx2.PoolTimeout(""),
        httpx2.LocalProtocolError("Illegal header value"),
    ],
)
def test_a_write_that_was_not_sent_has_a_known_outcome(failure: Exception) -> None:
    there = Elsewhere(failure, openapi=LISTED)
    for ask in (create, observe):  # with and without retries
        with pytest.raises(errors.Unavailable) as refused:
            ask(there.connect())
        assert "may have been executed" not in refused.value.detail


@pytest.mark.parametrize("failure", [LOST, SLOW, UNKNOWN, httpx2.WriteError("broken pipe")])
def test_a_load_without_a_response_has_an_unknown_outcome(failure: Any) -> None:
    with pytest.raises(errors.OutcomeUnknown) as refused:
        Elsewhere(failure).connect().load("claims", [])
    assert (refused.value.code, refused.value.status) == ("outcome-unknown", 504)


def test_the_outcome_stays_unknown_if_the_next_token_fails() -> None:
    issue = tokens("t-1", expires_in=0.1)  # the token expires during the first pause
    issued = [issue, lambda _request: answer(401)]
    there = Elsewhere(LOST, openapi=LISTED, token=lambda request: issued.pop(0)(request))
    service = there.connect(client_id="a", client_secret="b")
    with pytest.raises(errors.OutcomeUnknown, match="the write may have been executed"):
        update(service)


def test_an_attempt_in_flight_is_waited_for() -> None:
    in_flight = answer(409, "idempotency-in-flight")
    there = Elsewhere(LOST, in_flight, in_flight, ok(GROUP), openapi=LISTED)
    assert create(there.connect()).id == UUID
    there = Elsewhere(in_flight, ok(GROUP), openapi=LISTED)
    with pytest.raises(errors.Conflict):  # a key of another caller
        update(there.connect())


@pytest.mark.parametrize("attempts", [1, 2, 4, 7])
def test_attempts_are_limited(attempts: int) -> None:
    there = Elsewhere(answer(503, "unavailable"))
    with pytest.raises(errors.Unavailable):
        read(there.connect(attempts=attempts))
    assert len(there.requests) == attempts
    assert len(there.clock.sleeps) == attempts - 1
    assert all(sleep <= 30 for sleep in there.clock.sleeps)


@pytest.mark.parametrize(
    ("given", "least", "most"),
    [
        ("7", 7, 7),
        ("0", 0, 0),
        ("30", 30, 30),
        ("-1", 0.25, 0.5),
        ("1.5", 0.25, 0.5),
        ("soon", 0.25, 0.5),
        ("Sat, 31 Jan 1970 12:00:00 GMT", 0, 0),
    ],
)
def test_retry_after_sets_the_pause(given: str, least: float, most: float) -> None:
    there = Elsewhere(answer(503, retry_after=given), page())
    read(there.connect())
    (slept,) = there.clock.sleeps
    assert least <= slept <= most


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("31", "31 s"),
        ("86400", "86,400 s"),
        pytest.param("9" * 5000, "1,000,000,000 s", id="long"),
        ("Sat, 31 Jan 2070 12:00:00 GMT", " s"),
    ],
)
def test_a_long_retry_after_is_not_waited_for_and_is_in_the_error(
    status: int, given: str, expected: str
) -> None:
    there = Elsewhere(answer(status, retry_after=given))
    with pytest.raises(comptroller.Error) as refused:
        read(there.connect())
    assert refused.value.status == status
    assert re.search(f"try again in [0-9,]*{expected}$", refused.value.detail)
    assert (refused.value.retry_after or 0) > 30
    assert isinstance(refused.value, errors.RateLimited if status == 429 else errors.Unavailable)
    assert len(there.requests) == 1


def test_retry_after_may_be_a_date() -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)
    there = Elsewhere(answer(429, retry_after=soon), page())
    read(there.connect())
    (slept,) = there.clock.sleeps
    assert 5 < slept <= 20
