"""The stop of a server: what does not delay it, and how it answers what it could not finish."""

from __future__ import annotations

import asyncio
import fcntl
import http.client
import json
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import comptroller
import pytest
from busy_process import busy
from receiver import Received, Receiver
from serving import Serving, serving
from slow_exports import connect, exporting

pytest.importorskip("httptools")

from comptroller.http.server.connection import Connection
from comptroller.http.server.server import END_WITHIN_S, Server
from guarded_server import rest, status

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


JSON = {"Content-Type": "application/json"}
NDJSON = {"Content-Type": "application/x-ndjson"}
GROUPS = "/rewards/payout-groups"
WRITES = 100


def group(number: int) -> tuple[str, dict[str, str]]:
    """Returns the body and the headers of a request that creates a payout group."""
    members = {
        "ledger": "ETHEREUM",
        "asset_type": "ETH",
        "jurisdiction": "CH",
        "name": f"group {number}",
        "claimer_address": f"0x{number:040x}",
    }
    return json.dumps(members), {**JSON, "Idempotency-Key": f"key-{number}"}


@contextmanager
def locked(store_path: Path) -> Iterator[None]:
    """Holds the lock of a store, as another program that writes."""
    with Path(f"{store_path}-lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def accepted(server: Serving) -> http.client.HTTPConnection:
    """Returns a connection that the server has accepted."""
    place = urlsplit(server.address)
    connected = http.client.HTTPConnection(place.hostname or "", place.port, timeout=30)
    connected.request("GET", "/healthz")
    connected.getresponse().read()
    return connected


def refused(connected: http.client.HTTPConnection) -> tuple[int, str, str | None]:
    """Returns the status and the code of an error response, and its Retry-After."""
    with closing(connected):
        answer = connected.getresponse()
        return answer.status, json.load(answer)["code"], answer.getheader("Retry-After")


#: Equal signals that are pending are one signal. After a second one the server does not wait.
AT_ONCE = (signal.SIGTERM, signal.SIGINT)


def stop(server: Serving, signals: Iterable[signal.Signals]) -> None:
    """Sends signals to a server that has received all requests."""
    assert server.get("/healthz").status_code == 200
    for number in signals:
        server.process.send_signal(number)


@pytest.mark.parametrize(
    "signals", [AT_ONCE, pytest.param([signal.SIGTERM], marks=pytest.mark.slow)], ids=["2", "1"]
)
def test_a_write_that_may_be_stored_later_is_not_refused(
    store_path: Path, signals: Iterable[signal.Signals]
) -> None:
    """With the same key it can be repeated: then it is stored once."""
    options = ("--db", str(store_path), "--auth", "off")
    with serving(*options, cwd=store_path.parent) as server:
        writers = [accepted(server) for _ in range(WRITES)]
        with locked(store_path):
            for number, writer in enumerate(writers):
                writer.request("POST", GROUPS, *group(number))
            stop(server, signals)
            answers = {refused(writer) for writer in writers}
        assert server.process.wait(30) == 0
    assert answers == {(504, "outcome-unknown", None)}
    with serving(*options, cwd=store_path.parent) as server:
        for number in range(WRITES):
            body, headers = group(number)
            answer = server.ask("POST", GROUPS, content=body, headers=headers)
            assert answer.status_code == 200, answer.text
    with comptroller.open(store_path) as svc:
        names = [each.name for each in svc.payout_groups.iter()]
    assert sorted(names) == sorted(f"group {number}" for number in range(WRITES))


LOAD = "/operator/load/identities"
LINE = '{"id":"alice","created_at":"2026-01-31T12:00:00Z"}'


@pytest.mark.parametrize(
    ("query", "expected"),
    [("", (504, "outcome-unknown", None)), ("?dry_run=true", (503, "unavailable", "1"))],
)
def test_a_load_that_may_be_stored_later_is_not_refused(
    store_path: Path, query: str, expected: object
) -> None:
    with serving("--db", str(store_path), "--auth", "off", cwd=store_path.parent) as server:
        loader = accepted(server)
        with locked(store_path):
            loader.request("POST", LOAD + query, LINE, NDJSON)
            stop(server, AT_ONCE)
            assert refused(loader) == expected
        assert server.process.wait(30) == 0


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_request_that_was_not_executed_may_be_repeated(store_path: Path, method: str) -> None:
    with serving("--db", str(store_path), "--auth", "off", cwd=store_path.parent) as server:
        incomplete = accepted(server)
        incomplete.request(method, GROUPS, headers={**JSON, "Content-Length": "100"})
        stop(server, AT_ONCE)
        assert refused(incomplete) == (503, "unavailable", "1")
        assert server.process.wait(30) == 0


def test_a_collector_that_blocks_does_not_delay_the_stop(store_path: Path) -> None:
    with busy(store_path, "single") as server, server.occupy("/metrics") as waiting:
        server.send_signal(signal.SIGTERM)
        answer = rest(waiting)
        code, _, log = server.ended()
    assert status(answer) == 503
    assert b"the metrics were not collected within 5 s" in answer
    assert log == b""
    assert code == 0


def test_a_connection_that_is_accepted_during_the_stop_does_not_delay_it() -> None:
    async def stop() -> tuple[bytes, float]:
        server = Server(None, None, None, 10)  # type: ignore[arg-type]
        loop = asyncio.get_running_loop()
        listening = await loop.create_server(lambda: Connection(server), "127.0.0.1", 0)
        async with listening:
            server.stop(is_waiting=True)
            began = loop.time()
            reader, writer = await asyncio.open_connection(*listening.sockets[0].getsockname())
            async with asyncio.timeout(30):
                received = await reader.read()
            await server.wait()
            seconds = loop.time() - began
            writer.close()
        return received, seconds

    received, seconds = asyncio.run(stop())
    assert received == b""
    assert seconds < END_WITHIN_S
