"""Loads and exports over HTTP: rejected or interrupted requests leave nothing behind."""

from __future__ import annotations

import io
import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import comptroller
import pytest
from in_process import InProcess, Tokens
from lines import claim, control, identity, load

pytest.importorskip("httpx2")
pytest.importorskip("starlette")

import httpx2
from comptroller.http import app
from comptroller.http.loads_and_exports import LoadsAndExports
from guarded_server import LAST, running, status
from starlette import routing

LINE = (
    b'{"id":"c-%d","payout_group_id":"01900000-0000-7000-8000-0000000000aa","claim_type":'
    b'"CLAIM_ALL","amount":"1.5","onchain_status":"PENDING","created_at":"2026-01-01T00:00:00Z"}\n'
)
STALL = b""  # the transport in this process
NDJSON = {"content-type": "application/x-ndjson"}


def claims(count: int, first: int = 0) -> bytes:
    return b"".join(LINE % number for number in range(first, first + count))


class CoreClient:
    """Returns a client of an application, by default as the operator with all scopes."""

    def __init__(
        self, service: comptroller.Service, patience_s: float | None = None, mount: str = ""
    ) -> None:
        self.tokens = Tokens()
        resources = None if patience_s is None else self._impatient(service, patience_s)
        self.app = app(service, authenticator=self.tokens, resources=resources)
        mounted = routing.Router([routing.Mount(mount, self.app)]) if mount else self.app
        self.transport = InProcess(mounted)
        self.client = httpx2.Client(transport=self.transport, base_url="http://there" + mount)
        self.client.headers["authorization"] = f"Bearer {self.tokens.admit()}"

    def _impatient(self, service: comptroller.Service, patience_s: float) -> Any:
        # A pool of one thread, which a leaked export would block for all others.
        self.pool = ThreadPoolExecutor(1)
        bulk = LoadsAndExports(service.host, self.pool, lambda *_kept: None, patience_s)

        def known(answer: Callable[..., Any]) -> Callable[..., Any]:
            async def answered(exchange: Any) -> None:
                await answer(exchange, await self.tokens.caller(exchange))

            return answered

        return {
            "/operator/load/{kind}": {"POST": known(bulk.load)},
            "/operator/export/{kind}": {"GET": known(bulk.export)},
        }

    def stop(self) -> None:
        self.transport.on_loop(self.app.stop)

    def load(self, content: Any, kind: str = "claims", query: str = "", **headers: str) -> Any:
        path = f"/operator/load/{kind}{query}"
        return self.client.post(path, content=content, headers=NDJSON | headers)

    def export(self, path: str, **headers: str) -> Any:
        return self.client.get("/operator/export/" + path, headers=headers)


@pytest.fixture
def core_client(operator: comptroller.Service) -> Iterator[CoreClient]:
    opened = CoreClient(operator)
    with opened.client:
        yield opened


@pytest.fixture
def hasty(operator: comptroller.Service) -> Iterator[CoreClient]:
    """A service that waits at most 0.1 seconds for data."""
    opened = CoreClient(operator, 0.1)
    with opened.client, opened.pool:
        yield opened


def ids(operator: comptroller.Service) -> list[str]:
    return [each.id for each in operator.claims.iter()]


# ---- loads ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (claims(2), "application/x-ndjson"),
        (claims(2), "application/x-ndjson; charset=utf-8"),
        (claims(2), "application/octet-stream"),
        (b"[" + claims(2).replace(b"}\n{", b"},{") + b"]", "application/json"),
        (b'{"items":[' + claims(2).replace(b"}\n{", b"},{") + b"]}", "application/json"),
    ],
)
def test_a_body_is_loaded_and_every_line_counted(
    core_client: CoreClient, operator: comptroller.Service, body: bytes, kind: str
) -> None:
    answer = core_client.load(body, **{"content-type": kind})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    result = answer.json()
    assert (result["committed"], result["read"], result["inserted"]) == (True, 2, 2)
    assert sorted(ids(operator)) == ["c-0", "c-1"]


def test_options_are_those_of_the_load_command(
    core_client: CoreClient, operator: comptroller.Service
) -> None:
    body = claims(2) + b"no\n"
    assert not core_client.load(body).json()["committed"]
    assert not core_client.load(body, query="?keep_going=false&dry_run=true").json()["committed"]
    assert ids(operator) == []
    result = core_client.load(body, query="?keep_going=true&customer_id=acme").json()
    assert (result["inserted"], result["rejected"]) == (2, 1)
    assert result["rejections"][0]["line"] == 3
    assert {each.customer_id for each in operator.claims.iter()} == {"acme"}


def test_the_journal_records_the_input_and_the_mapping_as_given(
    core_client: CoreClient, operator: comptroller.Service
) -> None:
    query = "?input=m%C3%A4rz.ndjson&mapping=%7B%22sheet%22:%20%22all%22%7D"
    assert core_client.load(claims(2), query=query).json()["committed"]
    batch = operator.journal.list()[-1].batch
    assert batch is not None
    assert (batch["input"], batch["mapping"]) == ("m\u00e4rz.ndjson", '{"sheet": "all"}')
    assert operator.journal.verify().ok


def test_a_line_has_a_limit_and_the_body_has_none(core_client: CoreClient) -> None:
    def pieces() -> Iterator[bytes]:
        yield LINE % 1
        for _ in range(40):
            yield b" " * (1 << 18)
        yield b"\n"
        yield LINE % 2

    result = core_client.load(pieces(), query="?keep_going=true").json()
    assert (result["read"], result["inserted"], result["rejected"]) == (3, 2, 1)
    assert result["rejections"][0]["line"] == 2


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("?keep_going=yes", "keep_going"),
        ("?dry_run=1", "dry_run"),
        ("?dry_run=", "dry_run"),
        ("?keep_goin=true", "keep_goin"),
        ("?dry_run=true&dry_run=true", "query"),
        ("?format=csv", "format"),
        ("?customer_id=", "customer_id"),
        ("?customer_id=%FF", "query"),
        ("?input=", "input"),
        ("?input=" + "a" * 256, "input"),
        ("?input=a%00b", "input"),
        ("?input=a%0A%1B%5B31m", "input"),
        ("?mapping=%7B%22a%22:1,%22a%22:2%7D", "mapping"),
        ("?mapping=%5B%7B%22b%22:%7B%22a%22:1,%22a%22:2%7D%7D%5D", "mapping"),
        ("?mapping=tz", "mapping"),
        ("?mapping=" + "[" * 5000, "mapping"),
    ],
)
def test_an_unknown_option_is_refused(core_client: CoreClient, query: str, field: str) -> None:
    answer = core_client.load(claims(1), query=query)
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == field


def test_a_load_is_refused_with_an_idempotency_key(
    core_client: CoreClient, operator: comptroller.Service
) -> None:
    answer = core_client.load(claims(1), **NDJSON, **{"idempotency-key": "k"})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == "Idempotency-Key"
    assert ids(operator) == []


# Reads that the core does not dispatch, and what they do not accept.
NOT_ACCEPTED: list[tuple[str, dict[str, Any], str]] = [
    ("?foo=1", {}, "foo: is not known"),
    ("", {"json": {}}, "this operation takes no body"),
    ("", {"headers": {"idempotency-key": "k"}}, "Idempotency-Key: is only for writes"),
]


@pytest.mark.parametrize("path", ["/v2/journal/checkpoint", "/operator/export/claims"])
@pytest.mark.parametrize(("query", "sent", "detail"), NOT_ACCEPTED)
def test_a_read_outside_the_core_is_as_strict(
    core_client: CoreClient, path: str, query: str, sent: dict[str, Any], detail: str
) -> None:
    answer = core_client.client.request("GET", path + query, **sent)
    assert answer.status_code == 400
    assert answer.json()["code"] == "invalid-request"
    assert detail in answer.json()["detail"]


@pytest.mark.parametrize(
    ("method", "path", "headers", "status", "code"),
    [
        ("POST", "load/claim", NDJSON, 404, "not-found"),
        ("POST", "load/payout_groups", NDJSON, 404, "not-found"),
        ("GET", "export/claim", {}, 404, "not-found"),
        ("GET", "export/claims%2Fx", {}, 404, "not-found"),
        ("GET", "load/claims", {}, 405, "method-not-allowed"),
        ("POST", "export/claims", NDJSON, 405, "method-not-allowed"),
        ("POST", "load/claims", {}, 415, "unsupported-media-type"),
        ("POST", "load/claims", {"content-type": "text/csv"}, 415, "unsupported-media-type"),
        (
            "POST",
            "load/claims",
            {"content-type": "application/x-ndjson; charset=latin-1"},
            415,
            "unsupported-media-type",
        ),
        ("GET", "export/claims?colour=red", {}, 400, "invalid-request"),
        ("GET", "export/claims?limit=1", {}, 400, "invalid-request"),
        ("GET", "export/claims?statuses=NONE", {}, 400, "invalid-request"),
        ("GET", "export/claims?format=xml", {}, 400, "invalid-request"),
        ("GET", "export/claims?format=csv&format=csv", {}, 400, "invalid-request"),
    ],
)
def test_an_invalid_request_is_a_problem(
    core_client: CoreClient, method: str, path: str, headers: dict[str, str], status: int, code: str
) -> None:
    body = claims(1) if method == "POST" else None
    answer = core_client.client.request(method, f"/operator/{path}", headers=headers, content=body)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == code


@pytest.mark.parametrize(
    ("method", "path", "needed", "other"),
    [
        ("POST", "load/claims", "operator:write", "operator:read"),
        ("GET", "export/claims", "operator:read", "operator:write"),
    ],
)
def test_load_and_export_need_their_scopes(
    core_client: CoreClient, method: str, path: str, needed: str, other: str
) -> None:
    def asked(token: str) -> Any:
        headers = NDJSON | {"authorization": f"Bearer {token}"}
        body = claims(1) if method == "POST" else None
        return core_client.client.request(
            method, f"/operator/{path}", headers=headers, content=body
        )

    assert asked(core_client.tokens.admit(scopes=[needed])).status_code == 200
    for token in (
        core_client.tokens.admit(scopes=[other]),
        core_client.tokens.admit(customer="acme"),
    ):
        answer = asked(token)
        assert (answer.status_code, answer.json()["code"]) == (403, "insufficient-scope")
        challenge = f'Bearer error="insufficient_scope", scope="{needed}"'
        assert answer.headers["www-authenticate"] == challenge
    assert asked("stranger").status_code == 401


@pytest.mark.parametrize("sent", [[STALL], [claims(10), STALL], [claims(10)[:-30], STALL]])
def test_an_interrupted_body_is_rolled_back(
    hasty: CoreClient, operator: comptroller.Service, sent: list[bytes]
) -> None:
    answer = hasty.load(sent)
    assert answer.status_code == 503
    assert answer.json()["detail"] == "no data received for 0.1 seconds"
    assert ids(operator) == []
    assert operator.claims.put(claim()).id  # the store is not locked
    assert hasty.load(claims(1)).json()["inserted"] == 1


def test_committed_batches_are_reported(operator: comptroller.Service) -> None:
    body = claims(300_000)
    core_client = CoreClient(operator, mount="/books")

    def stop_after_the_first() -> None:
        while not operator.claims.list(limit=1):
            assert not answer.done()
        core_client.stop()

    with core_client.client, ThreadPoolExecutor(1) as elsewhere:
        answer = elsewhere.submit(core_client.load, body, query="?keep_going=true")
        stop_after_the_first()
    refusal = answer.result()
    assert refusal.status_code == 503
    assert refusal.headers["content-type"] == "application/problem+json"
    assert int(refusal.headers["retry-after"]) >= 1
    result = refusal.json()["meta"]["load_result"]
    assert (result["committed"], result["inserted"]) == (True, result["read"])
    assert 0 < result["inserted"] < 300_000
    assert len(ids(operator)) == result["inserted"]
    assert refusal.json()["type"] == "/books/problems/unavailable"


def test_a_slow_sender_blocks_no_other_load(
    core_client: CoreClient, operator: comptroller.Service
) -> None:
    def slowly() -> Iterator[bytes]:
        yield claims(10)
        assert operator.claims.put(claim(id="mine")).id == "mine"
        assert core_client.load(claims(1, 20)).json()["inserted"] == 1
        yield claims(10, 10)

    assert core_client.load(slowly()).json()["inserted"] == 20
    assert len(ids(operator)) == 22


@pytest.mark.parametrize("sent", [b"", claims(10)])
def test_a_disconnected_sender_leaves_nothing(
    core_client: CoreClient, operator: comptroller.Service, sent: bytes
) -> None:
    def leaving() -> Iterator[bytes]:
        if sent:
            yield sent
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        core_client.load(leaving())
    assert operator.claims.put(claim(id="mine")).id == "mine"
    assert ids(operator) == ["mine"]


def test_a_stopping_server_rolls_loads_back(
    core_client: CoreClient, operator: comptroller.Service
) -> None:
    def stopped_meanwhile() -> Iterator[bytes]:
        yield claims(10)
        core_client.stop()
        yield claims(10, 10)
        yield STALL

    for body in (stopped_meanwhile(), claims(1)):
        answer = core_client.load(body)
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
        assert "stopping" in answer.json()["detail"]
        assert int(answer.headers["retry-after"]) >= 1
    assert ids(operator) == []


# ---- exports -------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["ndjson", "csv"])
@pytest.mark.parametrize("count", [0, 3, 20_000])
def test_an_export_equals_that_of_the_service(
    core_client: CoreClient, operator: comptroller.Service, tmp_path: Path, format: str, count: int
) -> None:
    assert core_client.load(claims(count)).json()["inserted"] == count
    operator.export("claims", tmp_path / "claims", format)
    answer = core_client.export(f"claims?format={format}")
    assert answer.status_code == 200
    types = {"ndjson": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}
    assert answer.headers["content-type"] == types[format]
    assert answer.content == (tmp_path / "claims").read_bytes()
    head = core_client.client.head(f"/operator/export/claims?format={format}")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == types[format]


def test_an_export_takes_the_filters_of_the_list(
    core_client: CoreClient, operator: comptroller.Service
) -> None:
    load(operator, "claims", claim(id="1"), claim(id="2", onchain_status="FAILED"))
    for query, found in {
        "statuses=FAILED": ["2"],
        "statuses=FAILED&statuses=PENDING": ["1", "2"],
        "chain=INK": [],
        "start_time=2026-01-01T00:00:00%2B00:00": ["1", "2"],
    }.items():
        lines = core_client.export(f"claims?{query}").text.splitlines()
        assert [json.loads(line)["id"] for line in lines] == found, query


def test_deleted_controls_are_exported_by_default(
    core_client: CoreClient, operator: comptroller.Service
) -> None:
    load(operator, "identities", identity(id="alice"))
    lifted = control(identity_id="alice", deleted_at="2026-02-01T00:00:00Z")
    load(operator, "controls", lifted)
    assert core_client.export("controls").json()["id"] == lifted["id"]
    assert core_client.export("controls?include_deleted=true").json()["id"] == lifted["id"]
    assert core_client.export("controls?include_deleted=false").content == b""


def test_a_disconnected_reader_frees_the_thread(hasty: CoreClient) -> None:
    hasty.load(claims(50_000))
    for _ in range(3):
        with hasty.client.stream("GET", "/operator/export/claims") as answer:
            assert next(answer.iter_raw())
    assert len(hasty.export("claims?statuses=FAILED").content) == 0


def test_a_stalled_reader_is_disconnected(hasty: CoreClient) -> None:
    hasty.load(claims(50_000))
    with hasty.client.stream("GET", "/operator/export/claims") as answer:
        pieces = answer.iter_raw()
        assert next(pieces)
        threading.Event().wait(1)
        with pytest.raises(httpx2.RemoteProtocolError):
            list(pieces)
    assert hasty.export("claims?statuses=FAILED").status_code == 200


def test_an_export_that_fails_in_the_middle_has_no_end(store_path: Path) -> None:
    with comptroller.open(store_path) as svc:
        assert svc.load("claims", io.BytesIO(claims(8000))).committed
    with closing(sqlite3.connect(store_path)) as damaging, damaging:
        damaging.execute("UPDATE claims SET onchain_status = 99 WHERE id = 'c-7999'")
    with running(store_path, 10) as server:
        received = server.answer(LAST.replace(b"/rewards/claims", b"/operator/export/claims"))
    assert status(received) == 200
    assert b'"c-4000"' in received
    assert not received.endswith(b"0\r\n\r\n")
