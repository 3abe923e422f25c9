"""Error responses of a remote service become exceptions of comptroller."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import comptroller
import pytest

pytest.importorskip("httpx2")

import httpx2
from comptroller import errors
from fake_remote import BASE, CLAIM, LOST, NEW_ADDRESS, Elsewhere, openapi, page


@pytest.mark.parametrize(
    ("status", "expected", "kind", "code", "detail"),
    [
        (
            400,
            {"code": "ledger-mismatch", "detail": "no"},
            "InvalidRequest",
            "ledger-mismatch",
            "no",
        ),
        (400, {"message": "bad filter"}, "InvalidRequest", "invalid-request", "bad filter"),
        (400, {"code": 7, "detail": "x"}, "InvalidRequest", "invalid-request", "x"),
        (401, {}, "Unauthenticated", "unauthenticated", "GET https://elsewhere.test"),
        (401, {"error": "invalid_token"}, "Unauthenticated", "unauthenticated", "invalid_token"),
        (403, "<html>", "Forbidden", "insufficient-scope", "returned status 403"),
        (404, b"", "NotFound", "not-found", "returned status 404"),
        (405, {}, "Error", "method-not-allowed", ""),
        (409, {"code": "quite-new", "detail": "?"}, "Conflict", "quite-new", "?"),
        (409, {}, "Conflict", "already-exists", ""),
        (413, {}, "InvalidRequest", "content-too-large", ""),
        (422, {}, "InvalidRequest", "invalid-request", ""),
        (429, {"code": "rate-limited"}, "RateLimited", "rate-limited", ""),
        (500, {"detail": "a defect"}, "Error", "internal", "a defect"),
        (501, {}, "Unsupported", "unsupported", ""),
        (502, "<html>bad gateway", "Unavailable", "unavailable", "returned status 502"),
        (503, {"code": "unavailable", "detail": "full"}, "Unavailable", "unavailable", "full"),
        (504, {}, "Unavailable", "unavailable", ""),
    ],
)
def test_an_error_follows_its_problem_or_its_status(
    status: int, expected: Any, kind: str, code: str, detail: str
) -> None:
    form = "content" if isinstance(expected, (bytes, str)) else "json"
    answer = httpx2.Response(status, **{form: expected})
    with pytest.raises(comptroller.Error) as refused:
        Elsewhere(answer).connect(attempts=1).claims.list(chain="canary")
    assert type(refused.value) is getattr(errors, kind)
    assert refused.value.code == code
    assert detail in refused.value.detail
    assert "canary" not in str(refused.value)  # nor any other part of a query


def test_a_problem_names_fields_and_the_existing_record() -> None:
    expected = {
        "code": "already-exists",
        "detail": "it is there",
        "errors": [{"field": "address.name", "message": "no"}, {"field": 1}, "x"],
        "meta": {"existing": "a-1"},
    }
    with pytest.raises(errors.Conflict) as refused:
        Elsewhere(httpx2.Response(409, json=expected)).connect().reward_addresses.create(
            **NEW_ADDRESS
        )
    assert refused.value.errors == [("name", "no")]  # as given
    assert refused.value.existing == "a-1"


def test_an_interrupted_load_reports_the_stored_lines() -> None:
    account = {"committed": True, "read": 7, "inserted": 7, "updated": 0, "unchanged": 0}
    expected = {
        "code": "unavailable",
        "meta": {"load_result": {**account, "rejected": 0, "blank": 0}},
    }
    there = Elsewhere(httpx2.Response(503, json=expected))
    with pytest.raises(errors.Unavailable) as ended:
        there.connect().load("claims", [], keep_going=True)
    assert vars(ended.value)["load_result"].inserted == 7
    assert len(there.requests) == 1  # a load is not retried


def load(there: Elsewhere) -> object:
    return there.connect().load("claims", [], keep_going=True)


def load_async(there: Elsewhere) -> object:
    return asyncio.run(there.connect_async().load("claims", [], keep_going=True))


each_client = pytest.mark.parametrize("load", [load, load_async], ids=["blocking", "asyncio"])


@each_client
@pytest.mark.parametrize(
    ("head", "status", "code", "kind"),
    [
        # With progress, the head of the response precedes the outcome.
        (200, 504, "outcome-unknown", "OutcomeUnknown"),
        (200, 504, "unavailable", "OutcomeUnknown"),
        (200, 500, "outcome-unknown", "OutcomeUnknown"),
        (200, 503, "unavailable", "Unavailable"),
        (200, 409, "already-exists", "Conflict"),
        (504, 504, "outcome-unknown", "OutcomeUnknown"),
        (503, 503, "outcome-unknown", "OutcomeUnknown"),
        (503, 503, "unavailable", "Unavailable"),
    ],
)
def test_a_load_ends_as_the_problem_says_whatever_the_head_says(
    load: Callable[[Elsewhere], object], head: int, status: int, code: str, kind: str
) -> None:
    account = {"committed": True, "read": 7, "inserted": 7, "updated": 0, "unchanged": 0}
    problem = {
        "status": status,
        "code": code,
        "detail": "lost",
        "request_id": "r-1",
        "errors": [{"field": "f", "message": "no"}],
        "meta": {"load_result": {**account, "rejected": 0, "blank": 0}},
    }
    content = b"   " + json.dumps(problem).encode()
    there = Elsewhere(httpx2.Response(head, content=content))
    with pytest.raises(comptroller.Error, match="lost") as ended:
        load(there)
    error = ended.value
    is_unknown = kind == "OutcomeUnknown"
    assert type(error) is getattr(errors, kind)
    assert (error.code, error.status) == (
        ("outcome-unknown", 504) if is_unknown else (code, status)
    )
    assert ("the write may have been executed" in error.detail) == is_unknown
    assert (error.errors, error.request_id) == ([("f", "no")], "r-1")
    assert vars(error)["load_result"].inserted == 7
    assert len(there.requests) == 1


@each_client
@pytest.mark.parametrize("content", [b"", b"    "])
def test_a_load_whose_response_ends_before_the_result_has_an_unknown_outcome(
    load: Callable[[Elsewhere], object], content: bytes
) -> None:
    """HTTP/1.0 does not tell a lost connection from the end of the response."""
    with pytest.raises(errors.OutcomeUnknown, match="ends before the result"):
        load(Elsewhere(httpx2.Response(200, content=content)))


def test_an_unknown_outcome_names_the_fields_of_the_last_attempt() -> None:
    problem = {"code": "invalid-request", "errors": [{"field": "address.name", "message": "no"}]}
    listed = openapi(("POST", "/rewards/addresses"))
    there = Elsewhere(LOST, httpx2.Response(422, json=problem), openapi=listed)
    with pytest.raises(errors.OutcomeUnknown, match="may have been executed") as refused:
        there.connect().reward_addresses.create(**NEW_ADDRESS)
    assert refused.value.errors == [("name", "no")]


def test_a_load_with_an_invalid_response_is_refused() -> None:
    with pytest.raises(errors.Unusable, match="not its result"):
        Elsewhere(page()).connect().load("claims", [])


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(status: int) -> None:
    there = Elsewhere(httpx2.Response(status, headers={"location": "https://evil.test/?a=b"}))
    with pytest.raises(errors.Unusable, match=r"redirects to https://evil\.test/") as refused:
        there.connect(token="canary").claims.list()
    assert len(there.requests) == 1
    assert "canary" not in str(refused.value)


@pytest.mark.parametrize("status", [300, 302, 304, 308])
def test_a_redirect_without_a_target_is_refused(status: int) -> None:
    with pytest.raises(errors.Unusable, match="redirects without a target"):
        Elsewhere(httpx2.Response(status)).connect().claims.list()


@pytest.mark.parametrize("result", [None, 5, {}, {"read": "many"}])
def test_an_invalid_load_result_of_an_error_is_ignored(result: Any) -> None:
    body = {"code": "unavailable", "detail": "full", "meta": {"load_result": result}}
    there = Elsewhere(httpx2.Response(503, json=body))
    with pytest.raises(errors.Unavailable, match="full") as refused:
        there.connect(attempts=1).load("claims", [])
    assert "load_result" not in vars(refused.value)


@pytest.mark.parametrize(
    ("name", "value"), [("HTTP_PROXY", "garbage://"), ("SSL_CERT_FILE", "/nowhere.pem")]
)
def test_unusable_settings_of_the_environment_are_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    for connect in (comptroller.connect, comptroller.connect_async):
        with pytest.raises(errors.Unusable, match=name):
            connect("https://there.test")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 429, 500, 501, 502, 503, 504])
def test_an_error_keeps_the_id_of_its_request(status: int) -> None:
    header = {"x-request-id": "of-the-header"}
    expected = {"request_id": "of-the-document"}
    for document, wanted in ((expected, "of-the-document"), ({}, "of-the-header")):
        answer = httpx2.Response(status, json=document, headers=header)
        with pytest.raises(comptroller.Error) as refused:
            Elsewhere(answer).connect(attempts=1).claims.list()
        assert refused.value.request_id == wanted
    with pytest.raises(comptroller.Error) as refused:
        Elsewhere(httpx2.Response(status)).connect(attempts=1).claims.list()
    assert refused.value.request_id is None


def test_an_error_of_an_enveloped_body_keeps_its_message() -> None:
    expected = {"code": "rate-limited", "errors": [{"field": "address.name", "message": "is long"}]}
    header = {"x-request-id": "one", "retry-after": "40"}
    there = Elsewhere(httpx2.Response(429, json=expected, headers=header)).connect(attempts=1)
    with pytest.raises(comptroller.RateLimited) as refused:
        there.reward_addresses.create(**NEW_ADDRESS)
    assert refused.value.errors == [("name", "is long")]
    assert (refused.value.request_id, refused.value.retry_after) == ("one", 40)


def test_a_remote_closed_store_is_unavailable() -> None:
    answer = httpx2.Response(503, json={"code": "closed"}, headers={"retry-after": "0"})
    there = Elsewhere(answer, page())
    assert list(there.connect().claims.iter()) == []


def test_a_remote_read_only_store_is_read_only() -> None:
    answer = httpx2.Response(403, json={"code": "read-only", "detail": "no"})
    with pytest.raises(errors.ReadOnly):
        Elsewhere(answer).connect().identities.put(id="alice")


@pytest.mark.parametrize(
    "failure",
    [
        httpx2.ConnectError("[Errno 111] Connection refused"),
        httpx2.ReadTimeout(""),
        httpx2.RemoteProtocolError("Server disconnected without sending a response."),
        httpx2.DecodingError("incorrect header check"),
    ],
)
def test_an_unreachable_service_is_unavailable(failure: Exception) -> None:
    with pytest.raises(errors.Unavailable, match=r"https://elsewhere\.test/api/v3/rewards/claims"):
        Elsewhere(failure).connect(token="t").claims.list()


def test_an_invalid_url_is_an_invalid_request() -> None:
    with pytest.raises(errors.InvalidRequest, match="too long"):
        Elsewhere(page()).connect().orchestrations.get("x" * 100_000)


def test_long_filters_are_sent_as_a_form_and_retried_as_a_read() -> None:
    there = Elsewhere(LOST, page())
    there.connect().orchestrations.list(ref_id=["x" * 128] * 100)
    assert [(each.method, each.url.query) for each in there.requests] == [("POST", b"")] * 2
    assert {each.headers["x-http-method-override"] for each in there.requests} == {"GET"}


def test_a_closed_remote_service_raises_closed() -> None:
    there = Elsewhere(page())
    with there.connect() as service:
        service.claims.list()
        assert repr(service) == f"<Service {BASE}>"
    service.close()
    with pytest.raises(errors.Closed, match="closed"):
        service.claims.list()
    assert len(there.requests) == 1


def test_a_forked_child_is_refused() -> None:
    service = Elsewhere(page()).connect()
    child = os.fork()
    if child == 0:
        try:
            service.claims.list()
        except errors.Closed:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert service.claims.list().items == []


def test_backup_and_check_are_unsupported() -> None:
    service = Elsewhere(page()).connect()
    for work in (service.check, lambda: service.backup("copy.db")):
        with pytest.raises(errors.Unsupported, match="a remote store cannot be"):
            work()


def paged(request: httpx2.Request) -> httpx2.Response:
    """Returns pages for a client; the operator's paths do not exist."""
    if "/operator/" in request.url.path:
        return httpx2.Response(404)
    return page(CLAIM | {"amount": "2", "customer_id": "theirs", "newer": "x"})


def test_a_client_reads_page_by_page(tmp_path: Any) -> None:
    arrow = pytest.importorskip("pyarrow")
    service = Elsewhere(claims=paged, balances=paged).connect()
    table = arrow.table(service.claims.stream(["id", "amount"]))
    assert table.to_pylist() == [{"id": "c-1", "amount": Decimal(2)}]
    assert service.export("claims", tmp_path / "claims.csv", "csv") == 1
    assert "theirs" not in (tmp_path / "claims.csv").read_text()


def test_a_record_that_cannot_be_copied_is_an_error() -> None:
    def worse(request: httpx2.Request) -> httpx2.Response:
        answer = paged(request)
        return (
            page(CLAIM, CLAIM | {"id": "2", "onchain_status": "NEW"})
            if answer.is_success
            else answer
        )

    service = Elsewhere(claims=worse, balances=worse).connect()
    with pytest.raises(errors.Unusable, match="line 2: onchain_status"):
        service.claims.stream()
