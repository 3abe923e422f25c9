"""What does not delay the stop of a server: clients that read slowly, receivers of webhooks."""

from __future__ import annotations

import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import comptroller
import pytest
from receiver import Received, Receiver
from serving import serving
from slow_exports import connect, exporting

pytest.importorskip("httptools")

#: What a busy machine adds to a limit.
LATE_S = 3.0


@pytest.mark.slow
def test_a_client_that_reads_nothing_is_cut_off_after_3_seconds(store_path: Path) -> None:
    with exporting(store_path) as (server, _):
        began = time.monotonic()
        code, _, log = server.end()
        seconds = time.monotonic() - began
    assert code == 0
    assert "the client did not read the response" in log
    assert seconds < 3 + LATE_S


@pytest.mark.slow
def test_a_client_that_reads_slowly_gets_the_whole_response(store_path: Path) -> None:
    with exporting(store_path) as (server, connected), ThreadPoolExecutor(1) as other:
        end = other.submit(server.end)
        began = time.monotonic()
        pause = threading.Event()
        while time.monotonic() - began < 4:
            for _ in range(16):
                assert connected.recv(1 << 14)
            pause.wait(0.1)
        last = b""
        while read := connected.recv(1 << 20):
            last = (last + read)[-5:]
        code, _, _ = end.result()
    assert last == b"0\r\n\r\n"
    assert code == 0


@pytest.mark.slow
def test_webhooks_end_while_the_last_requests_are_answered(store_path: Path) -> None:
    """Else their limits would add up, and the system would end the process with exit code 1."""
    is_over = threading.Event()

    def answer_late(_received: Received) -> int:
        has_arrived.set()
        is_over.wait(60)
        return 204

    has_arrived = threading.Event()
    put = (
        b"PUT /operator/identity/identities HTTP/1.1\r\nHost: localhost\r\n"
        b"Content-Type: application/json\r\nContent-Length: 14\r\n\r\n{"
    )
    with (
        Receiver(answer_late) as receiver,
        serving("--db", str(store_path), "--auth", "off", cwd=store_path.parent) as server,
    ):
        with comptroller.open(store_path) as svc:
            svc.webhooks.create(url=receiver.url)
            svc.identities.put(id="alice")
        assert has_arrived.wait(30)
        with connect(server, put):  # its body does not arrive
            assert server.get("/healthz").status_code == 200
            code, _, log = server.end(signal.SIGTERM)
        is_over.set()
    assert "did not end in time" not in log
    assert code == 0
