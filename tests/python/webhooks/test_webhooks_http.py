"""Webhooks over HTTP, and their delivery by a server."""

from __future__ import annotations

import asyncio
from pathlib import Path

import comptroller
import pytest
from receiver import Receiver, process
from serving import serving
from test_delivery import until

CUSTOMER_URL = "https://hooks.example.com/"


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_server_delivers(tmp_path: Path, workers: str) -> None:
    words = ("--empty", "--auth", "off", "--workers", workers)
    with (
        Receiver() as receiver,
        serving(*words, cwd=tmp_path) as server,
        comptroller.connect(server.address, token="none") as svc,
    ):
        made = svc.webhooks.create(url=receiver.url, idempotency_key="k")
        assert svc.webhooks.create(url=receiver.url, idempotency_key="k") == made
        assert svc.webhooks.list() == (made,)
        svc.identities.put(id="alice", customer_id="acme")
        svc.identities.put(id="bob", customer_id="acme")
        assert {each.event["data"]["id"] for each in receiver.take(2)} == {"alice", "bob"}
        assert svc.webhooks.secret(made.id).secret.startswith("whsec_")
        assert svc.webhooks.deliveries(made.id) == ()
        paused = svc.webhooks.update(made.id, status="PAUSED")
        assert paused.status == "PAUSED"
        shown = server.get("/metrics").text
        assert 'comptroller_webhook_attempts_total{outcome="failed"} 0.0' in shown
        assert svc.webhooks.delete(made.id).id == made.id
        code, _, log = server.end()
    assert code == 0, log
    assert len(receiver.received) == 2


def test_a_server_without_webhooks_delivers_none(tmp_path: Path) -> None:
    with (
        Receiver() as receiver,
        serving("--empty", "--auth", "off", "--no-webhooks", cwd=tmp_path) as server,
        comptroller.connect(server.address, token="none") as svc,
    ):
        made = svc.webhooks.create(url=receiver.url)
        svc.webhooks.test(made.id)
        server.end()
    assert receiver.received == []


@pytest.mark.parametrize("words", [("--no-webhooks",), ("--no-webhooks", "--workers", "2")])
def test_a_server_shows_what_another_process_paused(tmp_path: Path, words: tuple[str, ...]) -> None:
    store = tmp_path / "store.db"
    with (
        Receiver(lambda _: 410) as receiver,
        comptroller.open(store) as svc,
        serving("--db", str(store), "--auth", "off", *words, cwd=tmp_path) as server,
        process(store),
    ):
        assert "comptroller_webhooks_paused 0.0" in server.get("/metrics").text
        made = svc.webhooks.create(url=receiver.url)
        svc.webhooks.create(url=CUSTOMER_URL, customer_id="acme")
        svc.identities.put(id="alice")
        until(lambda: svc.webhooks.get(made.id).status == "PAUSED")
        until(lambda: "comptroller_webhooks_paused 1.0" in server.get("/metrics").text)
        svc.webhooks.update(made.id, status="ACTIVE")
        svc.webhooks.delete(made.id)
        until(lambda: "comptroller_webhooks_paused 0.0" in server.get("/metrics").text)


def test_the_paths_of_the_specification(tmp_path: Path) -> None:
    with serving("--empty", "--auth", "off", cwd=tmp_path) as server:
        made = server.ask(
            "POST", "/v2/webhooks", json={"url": CUSTOMER_URL, "customer_id": "acme"}
        ).json()
        path = f"/v2/webhooks/{made['id']}"
        assert server.get("/v2/webhooks?customer_id=acme").json() == {"items": [made]}
        assert server.get(path).json() == made
        assert server.ask("PUT", path, json={"status": "PAUSED"}).json()["status"] == "PAUSED"
        assert set(server.get(f"{path}/secret").json()) == {"secret", "public_key"}
        assert server.ask("POST", f"{path}/rotate").status_code == 200
        assert "previous_until" in server.get(f"{path}/secret").json()
        assert server.ask("POST", f"{path}/test").json()["event_type"] == "webhook.test"
        assert len(server.get(f"{path}/deliveries").json()["items"]) == 1
        assert server.ask("POST", f"{path}/replay", json={"since": "2026-01-01"}).status_code == 200
        assert server.ask("DELETE", path).json()["id"] == made["id"]
        assert server.get(path).status_code == 404
        refused = server.ask("POST", "/v2/webhooks", json={"url": "ftp://x"})
        assert refused.json()["errors"][0]["field"] == "url"


def test_coroutines(tmp_path: Path) -> None:
    async def work(address: str) -> None:
        async with comptroller.connect_async(address, token="none") as svc:
            made = await svc.webhooks.create(url=CUSTOMER_URL, event_types="claim.*")
            assert await svc.webhooks.list() == (made,)
            assert (await svc.webhooks.test(made.id)).attempts == 0
            assert (await svc.webhooks.delete(made.id)) == made

    with serving("--empty", "--auth", "off", cwd=tmp_path) as server:
        asyncio.run(work(server.address))
