"""The log of a server: a line of JSON for each request, without secrets."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import comptroller
import pytest

pytest.importorskip("prometheus_client")
pytest.importorskip("httpx2")

from asgi_client import Asked
from comptroller.http import EveryoneIsOperator, app
from comptroller.http.log import Log
from serving import serving

CANARY = "canary-7f3a"
SOON_S = 30
SCOPE = {"type": "http", "method": "GET", "path": "/healthz", "query_string": b"", "headers": []}
ROUTE = "/v2/identity/identities/{id}"


def logged(stream: io.BytesIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


async def receive() -> dict[str, Any]:
    return {"type": "http.request"}


async def send(_message: Any) -> None:
    """Takes a part of the response."""


@contextmanager
def asked(service: comptroller.Service, stream: io.BytesIO) -> Iterator[Asked]:
    log = Log(stream)
    with Asked(app(service, authenticator=EveryoneIsOperator(), observers=(log,))) as ask:
        yield ask
    log.flush(SOON_S)


def test_the_lines_of_an_iteration_are_written_together(operator: comptroller.Service) -> None:
    stream = io.BytesIO()
    log = Log(stream)
    application = app(operator, authenticator=EveryoneIsOperator(), observers=(log,))

    async def answer_two() -> bytes:
        for _ in range(2):
            await application(SCOPE, receive, send)
        log.flush(SOON_S)
        early = stream.getvalue()
        await asyncio.sleep(0)
        log.flush(SOON_S)
        return early

    assert asyncio.run(answer_two()) == b""
    assert [line["route"] for line in logged(stream)] == ["/healthz", "/healthz"]


def test_a_request_is_a_line(operator: comptroller.Service) -> None:
    stream = io.BytesIO()
    before = datetime.now(UTC)
    with asked(operator, stream) as ask:
        ask("GET", "/v2/identity/identities/alice", headers={"X-Request-Id": "r-1"})
    (line,) = logged(stream)
    assert before <= datetime.fromisoformat(line.pop("time")) <= datetime.now(UTC)
    assert 0 < line.pop("milliseconds") < 60_000
    assert line == {
        "level": "info",
        "event": "request",
        "request_id": "r-1",
        "client_id": "operator",
        "customer": None,
        "operation": "identities.get",
        "method": "GET",
        "route": ROUTE,
        "status": 404,
        "error": "not-found",
        "peer": "127.0.0.1",
    }


@pytest.mark.parametrize(
    ("method", "path", "route", "status"),
    [
        ("GET", "/rewards/claims", "/rewards/claims", 200),
        ("HEAD", "/rewards/claims", "/rewards/claims", 200),
        ("PATCH", "/rewards/claims", "/rewards/claims", 405),
        ("GET", "/healthz", "/healthz", 200),
        ("GET", "/nowhere", None, 404),
        ("GET", "/rewards/claims?limit=0", "/rewards/claims", 400),
    ],
)
def test_every_request_has_its_line(
    operator: comptroller.Service, method: str, path: str, route: str | None, status: int
) -> None:
    stream = io.BytesIO()
    with asked(operator, stream) as ask:
        answer = ask(method, path)
    (line,) = logged(stream)
    assert (line["route"], line["status"], line["level"]) == (route, status, "info")
    assert line["request_id"] == answer.headers["x-request-id"]


def test_the_time_is_utc_in_rfc_3339_and_begins_the_line(operator: comptroller.Service) -> None:
    stream = io.BytesIO()
    with asked(operator, stream) as ask:
        ask("GET", "/healthz")
    assert stream.getvalue().startswith(b'{"time":"2')
    assert logged(stream)[0]["time"].endswith("Z")
    assert stream.getvalue().endswith(b"}\n")


def test_no_text_of_a_request_is_in_the_log(operator: comptroller.Service) -> None:
    stream = io.BytesIO()
    headers = {"Authorization": f"Bearer {CANARY}", "Cookie": CANARY, "Idempotency-Key": CANARY}
    headers |= {"User-Agent": CANARY, "X-Request-Id": f"{CANARY} unfit"}
    with asked(operator, stream) as ask:
        ask("PUT", "/operator/identity/identities", json={"id": CANARY}, headers=headers)
        ask("GET", f"/v2/identity/identities/{CANARY}?access_token={CANARY}", headers=headers)
        ask("GET", f"/{CANARY}", headers=headers)
        ask("POST", "/v2/identity/controls", content=CANARY, headers=headers)
    assert len(logged(stream)) == 4
    assert CANARY not in stream.getvalue().decode()


def test_the_line_of_a_request_without_a_token_is_short(operator: comptroller.Service) -> None:
    stream = io.BytesIO()
    longest = "/".join(["/v2/identity/identities", "x" * 12_000, "permits"])
    with asked(operator, stream) as ask:
        ask("GET", longest, headers={"X-Request-Id": "r" * 128, "X-Other": "x" * 3000})
        ask("GET", longest, headers={"X-Request-Id": "r" * 129})
    assert max(map(len, stream.getvalue().splitlines())) < 1024


def test_a_refused_upgrade_is_one_line(tmp_path: Path) -> None:
    with serving("--auth", "off", cwd=tmp_path) as server:
        upgrade = {"Connection": "Upgrade", "Upgrade": "websocket"}
        assert server.get("/healthz", headers=upgrade).status_code == 200
        _, _, log = server.end()
    events = [json.loads(line)["event"] for line in log.splitlines() if line.startswith("{")]
    assert [event for event in events if "server" not in event] == ["request"]


def test_a_server_error_has_the_level_error(operator: comptroller.Service) -> None:
    stream = io.BytesIO()
    with asked(operator, stream) as ask:
        operator.close()
        assert ask("GET", "/rewards/claims").status_code == 503
    assert logged(stream)[0]["level"] == "error"


def test_a_defect_is_logged_by_type_and_traceback_without_its_text() -> None:
    stream = io.BytesIO()
    log = Log(stream)
    handler = log.handler()
    logger = logging.Logger("comptroller.http.app")
    logger.addHandler(handler)
    try:
        raise LookupError(CANARY)
    except LookupError:
        logger.exception("request %s failed", "r-1")
    log.flush(SOON_S)
    (line,) = logged(stream)
    assert (line["level"], line["event"]) == ("error", "request r-1 failed")
    assert (line["logger"], line["exception"]) == ("comptroller.http.app", "LookupError")
    assert __file__ in line["trace"][-1]
    assert CANARY not in stream.getvalue().decode()


def test_the_servers_own_messages_are_lines_too() -> None:
    stream = io.BytesIO()
    logger = logging.Logger("any")
    log = Log(stream)
    logger.addHandler(log.handler())
    logger.debug("unheard")
    logger.warning("two\nlines of %s", "text")
    log.flush(SOON_S)
    (line,) = logged(stream)
    assert (line["level"], line["event"]) == ("warning", "two\nlines of text")


def test_the_log_goes_to_standard_error(
    operator: comptroller.Service, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    log = Log()
    with Asked(app(operator, authenticator=EveryoneIsOperator(), observers=(log,))) as ask:
        ask("GET", "/healthz")
    log.flush(SOON_S)
    out, err = capfdbinary.readouterr()
    assert out == b""
    assert json.loads(err)["route"] == "/healthz"


def test_unread_lines_are_dropped_and_counted(operator: comptroller.Service) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as reader, os.fdopen(writing, "wb") as stream:
        log = Log(stream)
        application = app(operator, authenticator=EveryoneIsOperator(), collectors=(log,))
        with Asked(application) as ask:
            line = b'{"event":"%s"}\n' % (b"x" * 1000)
            for _ in range(10_000):
                log.write(line)
            assert ask("GET", "/healthz").status_code == 200
            shown = ask("GET", "/metrics").text
        log.flush(0)
        dropped = float(re.search(r"^comptroller_log_lines_dropped_total (.+)$", shown, re.M)[1])  # type: ignore[index]
        assert 10_000 - 8192 - 1000 < dropped <= 10_000 - 8192
        # The lines that were not dropped are complete and in order when the log is read again.
        for _ in range(10_000 - int(dropped)):
            assert reader.readline() == line


def test_a_closed_log_or_a_full_disk_stops_nothing(operator: comptroller.Service) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as stream:
        log = Log(stream)
        log.write(b"{}\n")
        log.flush(SOON_S)
        (metric,) = log.collect()
    assert metric.samples[0].value == 1


def test_a_server_with_an_unread_log_continues(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "comptroller", "serve", "--empty", "--auth", "off", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    ) as process:
        try:
            assert process.stdout
            found = re.search(rb" at http://127.0.0.1:(\d+)$", process.stdout.readline().rstrip())
            assert found
            with socket.create_connection(("127.0.0.1", int(found[1])), timeout=SOON_S) as asking:
                for _ in range(2000):  # a pipe has room for a few hundred lines
                    asking.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    received = b""
                    while not received.endswith(b"}"):
                        received += asking.recv(65536)
            process.send_signal(signal.SIGTERM)
            assert process.wait(SOON_S) == 0
        finally:
            process.kill()


@pytest.mark.parametrize("options", [[], ["--workers", "2"]], ids=["alone", "workers"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_start_and_the_stop_are_lines(
    tmp_path: Path, options: list[str], number: signal.Signals
) -> None:
    with serving("--db", "store.db", *options, cwd=tmp_path) as server:
        assert server.get("/healthz").status_code == 200
        code, _, log = server.end(number)
        pid, address = server.process.pid, server.address
    assert code == 0
    first, *_, last = (json.loads(line) for line in log.splitlines())
    datetime.fromisoformat(first.pop("time"))
    assert first == {
        "level": "info",
        "event": "server started",
        "version": comptroller.__version__,
        "pid": pid,
        "address": address,
        "workers": 2 if options else 1,
        "store": "store.db",
    }
    assert (last["event"], last["pid"], last["signal"]) == ("server stopped", pid, number.name)
    assert 0 < last["seconds"] < 600
