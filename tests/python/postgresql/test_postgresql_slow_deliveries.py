"""The delivery of webhooks while the database does not answer."""

from __future__ import annotations

import asyncio
import threading

import comptroller
import pytest
from postgresql_proxy import Batch, Proxy
from postgresql_server import Server

pytest.importorskip("httpx2")

from comptroller.webhooks.delivering import Deliverer
from comptroller.webhooks.endpoint import Counts
from comptroller.webhooks.sending import Sender

_HOLD_AT_MOST_S = 10


def test_the_loop_of_deliveries_does_not_wait_for_the_database(
    server: Server, store_path: str
) -> None:
    """Otherwise no delivery goes on meanwhile, and the lease ends."""
    is_holding, held, released = threading.Event(), threading.Event(), threading.Event()
    in_time: list[bool] = []

    def before(_batch: Batch) -> bool:
        if is_holding.is_set():
            held.set()
            in_time.append(released.wait(_HOLD_AT_MOST_S))
        return True

    async def deliver(svc: comptroller.Service) -> None:
        stopping = asyncio.Event()
        deliverer = Deliverer(svc.host.store, Sender(), Counts())
        is_holding.set()
        running = asyncio.create_task(deliverer.run(stopping))
        await asyncio.to_thread(held.wait)
        released.set()  # by the loop, so it runs while the request is held
        stopping.set()
        await running

    database = store_path.partition("@/")[2].partition("?")[0]
    with Proxy(server, before) as proxy, comptroller.open(proxy.server.address(database)) as svc:
        asyncio.run(deliver(svc))
    assert in_time
    assert all(in_time)
