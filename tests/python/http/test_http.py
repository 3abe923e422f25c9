"""The interface over HTTP: paths, methods, headers, envelopes and problems."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import comptroller
import pytest

pytest.importorskip("prometheus_client")
pytest.importorskip("httpx2")

import httpx2
from asgi_client import Asked
from comptroller import errors
from comptroller.http import EveryoneIsOperator, app, problems
from comptroller.routes import ROWS

EVM = "0x" + "ab" * 20
GROUP = {
    "ledger": "ETHEREUM",
    "asset_type": "ETH",
    "jurisdiction": "US",
    "name": "first",
    "claimer_address": EVM,
}
CLAIM = {
    "id": "c-1",
    "payout_group_id": "00000000-0000-4000-8000-000000000001",
    "claim_type": "CLAIM_ALL",
    "onchain_status": "PENDING",
    "amount": "1.50",
    "created_at": "2026-01-31T12:00:00Z",
}
ORDER = {"id": "o-1", "status": "COMPLETED", "created_at": "2026-01-31T12:00:00Z"}


def served(service: comptroller.Service, **options: object) -> app:
    return app(service, authenticator=EveryoneIsOperator(), **options)


@pytest.fixture
def ask(operator: comptroller.Service) -> Iterator[Asked]:
    with Asked(served(operator)) as asked:
        yield asked


@pytest.mark.parametrize("prefix", ["", "/v2"])
def test_the_reward_paths_exist_with_and_without_a_version(ask: Asked, prefix: str) -> None:
    group = ask("POST", f"{prefix}/rewards/payout-groups", json=GROUP).json()["group"]
    changed = ask("PUT", f"{prefix}/rewards/payout-groups/{group['id']}", json={"name": "second"})
    assert changed.json()["group"]["name"] == "second"
    given = {"ledger": "ETHEREUM", "address": EVM, "payout_group_id": group["id"]}
    made = ask("POST", f"{prefix}/rewards/addresses", json={"address": given}).json()["address"]
    named = {"address": {"id": made["id"], "name": "mine"}}
    put = ask("PUT", f"{prefix}/rewards/addresses/{made['id']}", json=named)
    assert put.json()["address"]["name"] == "mine"
    for path in (f"addresses/{made['id']}", f"payout-groups/{group['id']}"):
        (envelope,) = ask("GET", f"{prefix}/rewards/{path}").json().values()
        assert envelope["id"] in path
    for path in ("addresses", "payout-groups", "claims"):
        page = ask("GET", f"{prefix}/rewards/{path}").json()
        assert list(page) == ["items", "next_page_cursor"]


def test_a_control_is_created_listed_and_deleted(ask: Asked) -> None:
    ask("PUT", "/operator/identity/identities", json={"id": "alice"})
    given = {"identity_id": "alice", "type": "SELL_ONLY", "reason_code": "ASKED"}
    control = ask("POST", "/v2/identity/controls", json=given).json()
    permits = "/v2/identity/identities/alice/permits?action=BUY"
    assert ask("GET", permits).json() == {"permitted": False}
    listed = ask("GET", "/v2/identity/controls?identity_id=alice&type=FROZEN&type=SELL_ONLY")
    assert [each["id"] for each in listed.json()["items"]] == [control["id"]]
    deleted = ask("DELETE", f"/v2/identity/controls?control_id={control['id']}")
    assert deleted.json()["deleted_at"] is not None
    again = ask("DELETE", "/v2/identity/controls", json={"control_id": control["id"]})
    assert (again.status_code, again.json()["code"]) == (409, "already-deleted")
    assert ask("GET", permits).json() == {"permitted": True}


def test_the_operator_transitions_a_claim(ask: Asked) -> None:
    assert ask("PUT", "/operator/rewards/claims", json=CLAIM).json()["onchain_status"] == "PENDING"
    place = "/operator/rewards/claims/c-1/"
    assert ask("POST", place + "submit", json={"tx_hash": "0x1"}).status_code == 200
    assert ask("POST", place + "confirm").json()["onchain_status"] == "CONFIRMED"
    late = ask("POST", place + "fail", json={"error_message": "no"})
    assert (late.status_code, late.json()["code"]) == (409, "illegal-transition")


def test_orchestrations_have_two_names_until_one_is_dropped(
    operator: comptroller.Service,
) -> None:
    operator.orchestrations.put(ORDER)
    with Asked(served(operator, sunset=datetime(2027, 6, 30, tzinfo=UTC))) as ask:
        answer = ask("GET", "/v2/orchestration/orchestrations")
    assert answer.json()["orchestrations"] == answer.json()["items"] != []
    assert answer.headers["deprecation"].startswith("@")
    assert answer.headers["sunset"] == "Wed, 30 Jun 2027 00:00:00 GMT"
    with Asked(served(operator, drop_deprecated=True)) as ask:
        answer = ask("GET", "/v2/orchestration/orchestrations")
    assert list(answer.json()) == ["items", "next_page_cursor"]
    assert "deprecation" not in answer.headers


@pytest.mark.parametrize("id", ["a/b", "a%2Fb", "a?#", "..", "~"])
def test_an_id_may_contain_reserved_characters(ask: Asked, id: str) -> None:
    ask("PUT", "/operator/identity/identities", json={"id": id})
    encoded = "".join(f"%{byte:02X}" for byte in id.encode())
    assert ask("GET", f"/v2/identity/identities/{encoded}").json()["id"] == id


def test_a_write_with_a_key_is_executed_once(ask: Asked) -> None:
    key = {"Idempotency-Key": "k-1"}
    first = ask("POST", "/rewards/payout-groups", json=GROUP, headers=key)
    again = ask("POST", "/rewards/payout-groups", json=GROUP, headers=key)
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    other = ask("POST", "/rewards/payout-groups", json={**GROUP, "name": "x"}, headers=key)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency-key-reused")


REFUSED = [
    ("GET", "/rewards/claims?limit=0", {}, 400, "invalid-request"),
    ("GET", "/rewards/claims?page_cursor=x", {}, 400, "invalid-cursor"),
    ("GET", "/rewards/claims?chain=%FF", {}, 400, "invalid-request"),
    ("GET", "/rewards/claims?chain=1%zz", {}, 400, "invalid-request"),
    ("GET", "/rewards/claims?chain=%", {}, 400, "invalid-request"),
    ("GET", "/v2/identity/identities/1%zz", {}, 404, "not-found"),
    ("GET", "/rewards/claims", {"content": b"{}"}, 415, "unsupported-media-type"),
    ("GET", "/rewards/claims", {"json": {}}, 400, "invalid-request"),
    ("GET", "/rewards/claims/nobody", {}, 404, "not-found"),
    ("GET", "/rewards/addresses/no-uuid", {}, 404, "not-found"),
    ("GET", "/v2/identity/identities/%FF", {}, 404, "not-found"),
    ("GET", "/v1/rewards/claims", {}, 404, "not-found"),
    ("GET", "/rewards/claims/", {}, 404, "not-found"),
    ("POST", "/rewards/claims", {"json": {}}, 405, "method-not-allowed"),
    ("POST", "/healthz", {}, 405, "method-not-allowed"),
    ("POST", "/rewards/payout-groups", {"json": {}}, 400, "invalid-request"),
    ("POST", "/rewards/payout-groups?name=x", {"json": GROUP}, 400, "invalid-request"),
    (
        "POST",
        "/rewards/payout-groups",
        {"content": b"{", "headers": {"Content-Type": "application/json"}},
        400,
        "malformed-json",
    ),
    (
        "POST",
        "/rewards/payout-groups",
        {"content": b"{}", "headers": {"Content-Type": "application/json; charset=latin-1"}},
        415,
        "unsupported-media-type",
    ),
    ("POST", "/rewards/payout-groups", {"data": GROUP}, 415, "unsupported-media-type"),
    (
        "POST",
        "/rewards/payout-groups",
        {"content": b" " * ((1 << 20) + 1), "headers": {"Content-Type": "application/json"}},
        413,
        "content-too-large",
    ),
    (
        "POST",
        "/rewards/payout-groups",
        {"json": GROUP, "headers": [("Idempotency-Key", "a"), ("Idempotency-Key", "b")]},
        400,
        "invalid-request",
    ),
    (
        "POST",
        "/rewards/payout-groups",
        {"json": GROUP, "headers": {"Idempotency-Key": "x" * 256}},
        400,
        "invalid-request",
    ),
]


@pytest.mark.parametrize(("method", "path", "request_", "status", "code"), REFUSED)
def test_an_error_is_a_problem(
    ask: Asked, method: str, path: str, request_: dict[str, object], status: int, code: str
) -> None:
    answer = ask(method, path, **request_)
    problem = answer.json()
    assert (answer.status_code, problem["status"], problem["code"]) == (status, status, code)
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["type"] == f"/problems/{code}"
    assert problem["request_id"] == answer.headers["x-request-id"]
    assert problem["title"]
    assert problem["detail"]
    if status == 400 and code == "invalid-request" and "errors" in problem:
        assert all(set(error) == {"field", "message"} for error in problem["errors"])
    if status == 405:
        assert "allow" in answer.headers


def test_a_conflict_names_the_existing_record(ask: Asked) -> None:
    given = {"ledger": "ETHEREUM", "address": EVM}
    made = ask("POST", "/rewards/addresses", json=given).json()["address"]
    again = ask("POST", "/rewards/addresses", json=given)
    assert (again.status_code, again.json()["meta"]) == (409, {"existing": made["id"]})


def test_a_body_without_a_length_has_a_limit(ask: Asked) -> None:
    async def endless():
        while True:
            yield b" " * 65536

    headers = {"Content-Type": "application/json"}
    answer = ask("POST", "/rewards/payout-groups", content=endless(), headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (413, "content-too-large")


@pytest.mark.parametrize(
    ("given", "kept"),
    [("req-1.2:3", True), ("x" * 128, True), ("x" * 129, False), ("a b", False), ("", False)],
)
def test_a_request_has_an_id(ask: Asked, given: str, kept: bool) -> None:
    shown = ask("GET", "/healthz", headers={"X-Request-Id": given}).headers["x-request-id"]
    assert shown == given if kept else UUID(shown)


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/rewards/claims", "/nowhere"])
def test_head_is_get_without_the_body(ask: Asked, path: str) -> None:
    got, head = ask("GET", path), ask("HEAD", path)
    assert (head.status_code, head.content) == (got.status_code, b"")
    assert head.headers["content-length"] == got.headers["content-length"]


def test_every_response_forbids_caching_and_sniffing(ask: Asked) -> None:
    for path in ("/rewards/claims", "/nowhere", "/healthz"):
        headers = ask("GET", path).headers
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("accepted", "packed"),
    [
        ("gzip", True),
        ("GZIP", True),
        ("deflate, gzip;q=0.5", True),
        ("gzip;q=0", False),
        ("gzip; q=0.000", False),
        ("notgzip", False),
        ("identity", False),
    ],
)
def test_a_large_response_is_compressed_on_request(
    operator: comptroller.Service, ask: Asked, accepted: str, packed: bool
) -> None:
    lines = b"".join(json.dumps({**CLAIM, "id": f"c-{n}"}).encode() + b"\n" for n in range(200))
    operator.load("claims", io.BytesIO(lines))
    small = ask("GET", "/rewards/claims?limit=1", headers={"Accept-Encoding": accepted})
    assert "content-encoding" not in small.headers
    large = ask("GET", "/rewards/claims?limit=200", headers={"Accept-Encoding": accepted})
    assert (large.headers.get("content-encoding") == "gzip") == packed
    assert large.headers["vary"] == "accept-encoding"
    assert len(large.json()["items"]) == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Type": "application/json; charset=UTF-8"}, 200),
        ({"Content-Type": 'application/json; version=1; charset="utf-8"'}, 200),
        ({"Content-Type": "application/json; charset=latin-1"}, 415),
        ({"Content-Type": "application/json", "Content-Encoding": "identity"}, 200),
        ({"Content-Type": "application/json", "Content-Encoding": "gzip"}, 415),
    ],
)
def test_a_body_needs_its_media_type(ask: Asked, headers: dict[str, str], status: int) -> None:
    body = json.dumps(GROUP).encode()
    answer = ask("POST", "/rewards/payout-groups", content=body, headers=headers)
    assert answer.status_code == status


def test_a_long_list_blocks_no_other_request(operator: comptroller.Service) -> None:
    operator.load("claims", comptroller.sample("claims", rows=60_000, seed=1))
    application = served(operator)

    async def ask_both() -> None:
        transport = httpx2.ASGITransport(application)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            much = "/rewards/claims?chain=INK&jurisdiction=US&limit=1000"
            reading = asyncio.create_task(client.get(much))
            await asyncio.sleep(0)
            assert (await client.get("/healthz")).is_success
            assert not reading.done()
            assert (await reading).is_success

    asyncio.run(ask_both())


def test_loads_are_accepted_between_startup_and_shutdown(
    operator: comptroller.Service,
) -> None:
    application = served(operator)
    typed = {"Content-Type": "application/x-ndjson"}

    async def live() -> None:
        events: asyncio.Queue[dict[str, str]] = asyncio.Queue()
        replies: asyncio.Queue[dict[str, str]] = asyncio.Queue()
        transport = httpx2.ASGITransport(application)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            for _server in range(2):
                serving = asyncio.create_task(
                    application({"type": "lifespan"}, events.get, replies.put)
                )
                for word, status in (("startup", 200), ("shutdown", 503)):
                    await events.put({"type": f"lifespan.{word}"})
                    assert await replies.get() == {"type": f"lifespan.{word}.complete"}
                    load = await client.post("/operator/load/claims", headers=typed)
                    assert load.status_code == status
                await serving

    asyncio.run(live())


def test_every_route_answers_at_its_path(ask: Asked) -> None:
    for row in ROWS:
        path = row.path.replace("{id}", "nobody")
        answer = ask(row.method, path)
        assert answer.json().get("detail") != "there is nothing at this path", row
        assert answer.status_code in (200, 400, 404), row


def test_a_mounted_application_answers_below_its_mount(operator: comptroller.Service) -> None:
    from starlette.applications import Starlette
    from starlette.routing import Mount

    with Asked(Starlette(routes=[Mount("/api", app=served(operator))])) as ask:
        assert ask("GET", "/api/rewards/claims").json()["items"] == []
        assert ask("GET", "/rewards/claims").status_code == 404


def test_only_the_operators_service_can_be_served(acme: comptroller.Service) -> None:
    with pytest.raises(comptroller.InvalidRequest, match="opened as its operator"):
        served(acme)


@pytest.mark.parametrize("mount", ["/b\u00fc", "/b c", "/{tenant}", "/a,b/c"])
def test_a_mount_may_need_escapes(operator: comptroller.Service, mount: str) -> None:
    routing = pytest.importorskip("starlette.routing")
    prefix = mount.replace("{tenant}", "t\u00e9 1")
    with Asked(routing.Router([routing.Mount(mount, served(operator))])) as ask:
        for path in ("/rewards/claims", "/v2/identity/identities/none%2Fsuch"):
            expected = 200 if path == "/rewards/claims" else 404
            answer = ask("GET", prefix + path)
            assert answer.status_code == expected, path
            assert b"there is nothing at this path" not in answer.content
        assert ask("GET", answer.json()["type"]).status_code == 200
        assert ask("GET", prefix.replace(",", "%2C") + "/rewards/claims").status_code == 200
        assert b"there is nothing at this path" in ask("GET", prefix + "/x" * 5000).content


def test_a_websocket_is_refused(operator: comptroller.Service) -> None:
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "websocket", "path": "/rewards/claims", "headers": []}
    asyncio.run(served(operator)(scope, receive, send))
    assert sent == [{"type": "websocket.close"}]


@pytest.mark.parametrize(
    ("method", "override"),
    [
        *(("POST", "DELETE"), ("POST", "get"), ("POST", "HEAD"), ("POST", "")),
        *(("GET", "GET"), ("PUT", "GET"), ("DELETE", "GET"), ("HEAD", "GET")),
    ],
)
def test_other_overrides_of_the_method_are_refused(
    operator: comptroller.Service, method: str, override: str
) -> None:
    control = {"identity_id": "alice", "type": "CLOSED", "reason_code": "X"}
    operator.identities.put(id="alice")
    with Asked(served(operator)) as ask:
        headers = {"X-HTTP-Method-Override": override}
        answer = ask(method, "/operator/identity/controls", json=control, headers=headers)
        assert answer.status_code == 400
        if method != "HEAD":
            detail = answer.json()["detail"]
            assert detail == "x-http-method-override: only GET is supported, in a POST"
    assert not operator.controls.list().items


def test_a_wrong_media_type_names_the_accepted_ones(ask: Asked) -> None:
    answer = ask(
        "POST", "/rewards/payout-groups", content="{}", headers={"Content-Type": "text/plain"}
    )
    assert (answer.status_code, answer.headers["accept"]) == (415, "application/json")
    answer = ask("POST", "/operator/load/claims", content="", headers={"Content-Type": "text/csv"})
    assert answer.headers["accept"].startswith("application/x-ndjson, application/json")
    coded = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    answer = ask("POST", "/rewards/payout-groups", content="{}", headers=coded)
    assert (answer.status_code, answer.headers["accept-encoding"]) == (415, "identity")


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("orchestrations?created_at.after=2026-01-01T00:00:00Z", "did you mean created_at.gt"),
        ("orchestrations?created_at.before=2026-01-01T00:00:00Z", "did you mean created_at.lt"),
        ("orchestrations?cursor=x", "did you mean page_cursor?"),
        ("orchestrations?created_at.gte=2026-01-01T00:00:00+02:00", "; write + as %2B"),
    ],
)
def test_a_refused_parameter_has_the_right_suggestion(ask: Asked, query: str, why: str) -> None:
    answer = ask("GET", f"/v2/orchestration/{query}")
    assert answer.status_code == 400
    assert why in answer.json()["detail"]


def test_a_wrong_time_has_no_suggestion(ask: Asked) -> None:
    answer = ask("GET", "/rewards/claims?start_time=2026-01-01%2000:00")
    assert "%2B" not in answer.json()["detail"]


def test_a_key_in_use_has_a_time_to_retry() -> None:
    error = errors.error_for("idempotency-in-flight", 409, "")
    assert problems.headers(error) == [(b"retry-after", b"1")]
