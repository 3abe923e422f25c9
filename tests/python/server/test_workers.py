"""`comptroller serve --workers`: several processes on one port and one store."""

from __future__ import annotations

import http.client
import json
import os
import re
import resource
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import comptroller
import pytest
from certificates import certificate
from serving import serving

for needed in ("click", "rich", "httptools", "joserfc"):
    pytest.importorskip(needed)
httpx2 = pytest.importorskip("httpx2")

from comptroller.http.shared_metrics import SharedMetrics  # noqa: E402
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram  # noqa: E402
from prometheus_client.metrics_core import Metric  # noqa: E402
from prometheus_client.registry import Collector  # noqa: E402
from workers import (  # noqa: E402
    IDENTITY,
    LIST,
    MANY,
    ask,
    connection,
    connections,
    lists,
    metrics,
    pids,
    two_workers,
    until,
    wait_for_end,
)


def ended(*words: str, cwd: Path) -> tuple[int, str]:
    """Returns the exit code and standard error of a server that does not start."""
    done = subprocess.run(
        [sys.executable, "-m", "comptroller", "serve", "--workers", "2", *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stderr


def test_all_workers_answer(tmp_path: Path) -> None:
    with two_workers("--empty", "--auth", "off", cwd=tmp_path) as server:
        until(lambda: len(pids(server)) == 2)
        before = metrics(server)
        of_each = [("process_open_fds", str(pid)) for pid in pids(server)]
        with connections(server):

            def grown() -> list[float]:
                now = metrics(server)
                return [now[key] - before[key] for key in of_each]

            until(lambda: sum(grown()) >= MANY and min(grown()) > 0)
        assert server.end()[0] == 0


def test_a_write_through_any_worker_is_visible_to_all(tmp_path: Path) -> None:
    with (
        two_workers("--auth", "off", cwd=tmp_path) as server,
        connections(server) as opened,
        ThreadPoolExecutor(8) as pool,
    ):
        ids = [f"i-{number}" for number in range(MANY)]
        written = pool.map(
            lambda through, name: ask(through, "PUT", IDENTITY, {"id": name})[0], opened, ids
        )
        assert set(written) == {200}
        for through in opened:
            for id in (ids[0], ids[-1]):
                assert ask(through, "GET", f"/v2/identity/identities/{id}")[0] == 200
        assert server.end()[0] == 0
    with comptroller.open(tmp_path / "store.db", read_only=True) as svc:
        assert all(svc.identities.get(id) for id in ids)
        assert svc.check()["ok"]


def test_tokens_of_one_worker_are_accepted_by_all(tmp_path: Path) -> None:
    with two_workers("--sample", "100", cwd=tmp_path) as server:
        token = httpx2.post(
            server.address + "/oauth2/token",
            data={"grant_type": "client_credentials"},
            auth=server.credentials(),
        ).json()["access_token"]
        bearer = {"Authorization": f"Bearer {token}"}
        for _ in range(MANY):
            answer = server.get(f"{LIST}?limit=1000", headers=bearer)
            assert len(answer.json()["items"]) == 100
        assert server.end()[0] == 0


def test_a_killed_worker_is_replaced_and_no_other_request_fails(tmp_path: Path) -> None:
    with two_workers("--empty", "--auth", "off", cwd=tmp_path) as server:
        until(lambda: len(pids(server)) == 2)
        before = pids(server)
        victim = min(before)
        with connections(server) as opened:
            os.kill(victim, signal.SIGKILL)
            wait_for_end({victim})
            # Connections of the other worker stay open; new ones are all answered.
            answered = 0
            for through in opened:
                try:
                    answered += ask(through, "GET", LIST)[0] == 200
                except (http.client.HTTPException, OSError):
                    continue
            assert 0 < answered < MANY
            for _ in range(MANY):
                assert server.get(LIST).status_code == 200
        until(lambda: len(pids(server)) == 2 and victim not in pids(server))
        code, _, log = server.end()
    assert code == 0
    (line,) = [json.loads(line) for line in log.splitlines() if "ended by" in line]
    assert line["event"].endswith(f"(process {victim}) ended by signal 9 and is replaced now")


@pytest.mark.skipif(sys.platform != "linux", reason="limits another process")
def test_a_worker_that_cannot_be_started_is_started_again(tmp_path: Path) -> None:
    with two_workers("--empty", "--auth", "off", cwd=tmp_path) as server:
        until(lambda: len(pids(server)) == 2)
        killed = min(pids(server))
        supervisor = server.process.pid
        limits = resource.prlimit(supervisor, resource.RLIMIT_NOFILE)
        resource.prlimit(supervisor, resource.RLIMIT_NOFILE, (3, limits[1]))
        os.kill(killed, signal.SIGKILL)
        until(lambda: "cannot be started" in server.log.read_text())
        assert server.get("/healthz").status_code == 200
        resource.prlimit(supervisor, resource.RLIMIT_NOFILE, limits)
        until(lambda: len(pids(server) - {killed}) == 2)
        assert server.end()[0] == 0


def test_a_worker_that_repeatedly_ends_soon_is_replaced_after_a_pause(tmp_path: Path) -> None:
    with two_workers("--empty", "--auth", "off", cwd=tmp_path) as server:
        until(lambda: len(pids(server)) == 2)
        (kept, victim) = sorted(pids(server))
        for _ in range(3):
            os.kill(victim, signal.SIGKILL)
            wait_for_end({victim})
            # During a long pause the other worker gets the connections.
            for _ in range(MANY):
                assert server.get(LIST).status_code == 200
            gone = victim
            until(lambda gone=gone: len(pids(server) - {kept, gone}) == 1)
            (victim,) = pids(server) - {kept}
        code, _, log = server.end()
    assert code == 0
    assert re.findall(r"is replaced ([^\"]+)", log) == ["now", "in 0.5 s", "in 1 s"]


def test_metrics_are_summed_and_never_decrease(tmp_path: Path) -> None:
    with two_workers("--empty", "--auth", "off", cwd=tmp_path) as server:
        until(lambda: len(pids(server)) == 2)
        for _ in range(MANY):
            server.get(LIST)
        until(lambda: lists(server) == MANY)
        victim = min(pids(server))
        os.kill(victim, signal.SIGKILL)
        wait_for_end({victim})

        def is_replaced() -> bool:
            assert lists(server) == MANY
            now = pids(server)
            return len(now) == 2 and victim not in now

        until(is_replaced)
        last: dict[tuple[str, ...], float] = {}
        for _ in range(MANY):
            server.get(LIST)
            now = metrics(server)
            for key, value in last.items():
                if key[0].endswith(("_total", "_count", "_bucket", "_sum")):
                    assert now[key] >= value, key
            last = now
        until(lambda: lists(server) == 2 * MANY)
        assert server.end()[0] == 0


def test_answered_writes_are_there_after_a_stop(tmp_path: Path) -> None:
    with two_workers("--auth", "off", cwd=tmp_path) as server:
        enough: set[str] = set()

        def write(writer: int) -> list[str]:
            answered = []
            through = connection(server)
            try:
                while True:
                    id = f"w-{writer}-{len(answered)}"
                    if ask(through, "PUT", IDENTITY, {"id": id})[0] != 200:
                        break
                    answered.append(id)
                    if len(answered) == 20:
                        enough.add(id)
            except (http.client.HTTPException, OSError):
                pass
            finally:
                through.close()
            return answered

        with ThreadPoolExecutor(8) as pool:
            writing = [pool.submit(write, number) for number in range(8)]
            until(lambda: len(enough) == 8)
            code, _, _ = server.end()
            answered = [id for each in writing for id in each.result()]
    assert code == 0
    with comptroller.open(tmp_path / "store.db", read_only=True) as svc:
        assert all(svc.identities.get(id) for id in answered)
        assert svc.check()["ok"]


def test_a_second_signal_ends_the_wait(tmp_path: Path) -> None:
    with (
        two_workers("--empty", "--auth", "off", cwd=tmp_path) as server,
        ExitStack() as closing,
    ):
        for _ in range(MANY):  # requests that are never complete
            through = connection(server)
            closing.callback(through.close)
            through.putrequest("PUT", IDENTITY)
            through.putheader("Content-Type", "application/json")
            through.putheader("Content-Length", "100")
            through.endheaders(b"{")
        assert server.get("/healthz").status_code == 200
        began = time.monotonic()
        server.process.send_signal(signal.SIGINT)

        def is_closed() -> bool:
            try:
                server.get("/healthz")
            except httpx2.TransportError:
                return True
            return False

        until(is_closed)
        assert server.process.poll() is None
        assert server.end(signal.SIGINT)[0] == 0
        assert time.monotonic() - began < 6


@pytest.mark.skipif(sys.platform != "linux", reason="waits on a process that is no child")
def test_workers_stop_after_their_supervisor_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with two_workers("--auth", "off", cwd=tmp_path) as server:
        until(lambda: len(pids(server)) == 2)
        workers = pids(server)
        with connections(server):
            server.process.kill()
            wait_for_end(workers)
        place = urlsplit(server.address)
        with socket.socket() as bound:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind((place.hostname, place.port))
    assert list(tmp_path.glob("comptroller-*")) == []


def test_a_worker_may_get_sigterm_twice(tmp_path: Path) -> None:
    """A service manager may send it to every process."""
    with two_workers("--empty", "--auth", "off", cwd=tmp_path) as server:
        until(lambda: len(pids(server)) == 2)
        workers = pids(server)
        through = connection(server)
        through.putrequest("PUT", IDENTITY)
        through.putheader("Content-Type", "application/json")
        through.putheader("Content-Length", "13")
        through.endheaders(b"{")
        assert server.get("/healthz").status_code == 200
        server.process.send_signal(signal.SIGTERM)
        for pid in workers:
            os.kill(pid, signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            server.process.wait(1)
        through.send(b'"id":"late"}')
        assert through.getresponse().status == 200
        through.close()
        assert server.process.wait(30) == 0


def test_sighup_reaches_all_workers(tmp_path: Path) -> None:
    cert, key = certificate(tmp_path)
    words = ("--empty", "--tls-cert", str(cert), "--tls-key", str(key))
    with two_workers(*words, cwd=tmp_path) as server:
        place = urlsplit(server.address)
        assert place.hostname
        assert place.port
        at = place.hostname, place.port
        before = ssl.get_server_certificate(at)
        renewed = tmp_path / "renewed"
        renewed.mkdir()
        for new, old in zip(certificate(renewed), (cert, key), strict=True):
            new.replace(old)
        server.process.send_signal(signal.SIGHUP)
        until(lambda: all(ssl.get_server_certificate(at) != before for _ in range(MANY)))
        assert server.end()[0] == 0


def test_it_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    with two_workers("--sample", "100", "--auth", "off", cwd=tmp_path) as server:
        assert len(server.get(f"{LIST}?limit=1000").json()["items"]) == 100
        assert server.end()[0] == 0
    assert list(temporary.iterdir()) == []
    assert list(tmp_path.iterdir()) == [temporary]


def test_every_line_of_the_log_is_complete(tmp_path: Path) -> None:
    with (
        two_workers("--empty", "--auth", "off", cwd=tmp_path) as server,
        connections(server) as opened,
        ThreadPoolExecutor(MANY) as pool,
    ):
        list(pool.map(lambda through: [ask(through, "GET", LIST) for _ in range(50)], opened))
        code, _, log = server.end()
    assert code == 0
    lines = [json.loads(line) for line in log.splitlines() if not line.startswith("warning: ")]
    assert sum(line.get("operation") == "claims.list" for line in lines) == 50 * MANY


@pytest.mark.parametrize("before", ["1", "2"])
def test_a_port_in_use_is_refused(tmp_path: Path, before: str) -> None:
    with serving("--empty", "--workers", before, cwd=tmp_path) as server:
        port = str(urlsplit(server.address).port)
        code, err = ended("--empty", "--port", port, cwd=tmp_path)
        assert code == 1
        assert f"cannot listen on 127.0.0.1 port {port}: Address already in use" in err


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        ("--db /nowhere/store.db", 1, "unusable"),
        ("--empty --issuer nobody", 1, "issuer: must be an https URL"),
        ("--db :memory:", 2, "--workers needs a store in a file"),
        ("--empty --workers 0", 2, "--workers"),
    ],
)
def test_a_failed_first_start_is_reported_once(
    tmp_path: Path, words: str, code: int, expected: str
) -> None:
    found, err = ended("--port", "0", *words.split(), cwd=tmp_path)
    assert found == code
    assert err.count(expected) >= 1
    assert err.count("comptroller: ") == (code == 1)


def test_a_replacement_continues_the_counts_of_a_worker(tmp_path: Path) -> None:
    def shared(number: int, count: int) -> SharedMetrics:
        registry = CollectorRegistry()
        Counter("done", "d", ["of"], registry=registry).labels(str(number)).inc(count)
        Counter("both", "b", registry=registry).inc(count)
        Histogram("took", "t", buckets=[1], registry=registry).observe(count)
        Gauge("size", "s", registry=registry).set(7)
        return SharedMetrics(registry, tmp_path, number)

    for number, count in ((0, 1), (1, 2), (0, 4), (0, 8)):
        metrics = shared(number, count)
        with metrics.publishing():
            text = metrics.text().decode().splitlines()
    for line in (
        'done_total{of="0"} 13.0',
        'done_total{of="1"} 2.0',
        "both_total 15.0",
        'took_bucket{le="1.0"} 1.0',
        'took_bucket{le="+Inf"} 4.0',
        "took_sum 15.0",
        "size 7.0",
    ):
        assert line in text


def test_a_collector_that_blocks_delays_a_worker_only_briefly(tmp_path: Path) -> None:
    may_end = threading.Event()
    blocked_s = 30

    class Blocked(Collector):
        def collect(self) -> Iterator[Metric]:
            may_end.wait(blocked_s)
            return iter(())

    began = time.monotonic()
    with SharedMetrics(Blocked(), tmp_path, 0).publishing():
        pass
    assert time.monotonic() - began < blocked_s / 2
    may_end.set()


def test_metrics_of_a_worker_that_are_old_are_not_shown(tmp_path: Path) -> None:
    registry = CollectorRegistry()
    Gauge("size", "s", registry=registry).set(7)
    metrics = SharedMetrics(registry, tmp_path, 0)
    with metrics.publishing():
        pass
    assert "size 7.0" in metrics.text().decode()
    for age_s, is_shown in ((50, True), (70, False)):
        published_at = time.time() - age_s
        os.utime(tmp_path / "0.json", (published_at, published_at))
        if is_shown:
            assert "size 7.0" in metrics.text().decode()
        else:
            with pytest.raises(comptroller.Unavailable, match="not collected for a minute"):
                metrics.text()
