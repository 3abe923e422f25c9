"""The limits of the server: slow, oversized and ambiguous requests; and its stop."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import comptroller
import pytest

pytest.importorskip("httptools")

from comptroller.http.server.connection import IDLE_S, Connection
from comptroller.http.server.server import Server
from guarded_server import LAST, LIST, Running, rest, running, status

SOON_S = 0.3
IN_FLIGHT = 64
POST = (
    b"POST /rewards/payout-groups HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n\r\n"
)


@pytest.fixture(scope="module")
def impatient_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server with short time limits."""
    with running(tmp_path_factory.mktemp("impatient_server") / "store.db", SOON_S) as server:
        yield server


@pytest.fixture
def default_server(store_path: Path) -> Iterator[Running]:
    """A server with the default time limits."""
    with running(store_path, 10) as server:
        yield server


@pytest.mark.parametrize(
    "sent",
    [b"", b"GET /hea", LIST[:-2], POST % 10, POST % 10 + b"{", POST % 200_000 + b" " * 100_000],
    ids=["silent", "in the line", "in the head", "no body", "in the body", "in a large body"],
)
def test_an_incomplete_request_times_out(impatient_server: Running, sent: bytes) -> None:
    began = time.monotonic()
    assert status(impatient_server.answer(sent)) == 408
    assert SOON_S * 0.9 < time.monotonic() - began < SOON_S + 5


def test_a_slow_request_gets_no_more_time(impatient_server: Running) -> None:
    began = time.monotonic()
    with impatient_server.connection() as connected:

        def drip() -> None:
            try:
                while True:
                    connected.sendall(b"x" * 10)
                    threading.Event().wait(0.02)
            except OSError:
                pass

        connected.sendall(POST % 1_000_000)
        dripping = threading.Thread(target=drip)
        dripping.start()
        received = rest(connected)
    dripping.join()
    assert received == b"" or status(received) == 408
    assert time.monotonic() - began < SOON_S + 5


def ask_for_list(connected: socket.socket) -> None:
    """Sends a request, and receives its response."""
    connected.sendall(LIST)
    received = b""
    while not received.endswith(b"}"):
        received += connected.recv(65536)


def test_empty_lines_between_requests_do_not_extend_the_deadline(impatient_server: Running) -> None:
    began = time.monotonic()
    with impatient_server.connection() as connected:
        ask_for_list(connected)
        connected.sendall(b"\r\n")
        assert status(rest(connected)) == 408
    assert time.monotonic() - began < SOON_S + 5


def test_a_body_that_stops_times_out_on_a_used_connection(impatient_server: Running) -> None:
    began = time.monotonic()
    with impatient_server.connection() as connected:
        ask_for_list(connected)
        connected.sendall(CHUNKED[: CHUNKED.index(b"{}")])
        assert status(rest(connected)) == 408
    assert time.monotonic() - began < SOON_S + 5


CHUNKED = POST.replace(b"Content-Length: %d", b"Transfer-Encoding: chunked") + b"2\r\n{}\r\n0\r\n"


@pytest.mark.parametrize(
    "trailer", [b"X: " + b"y" * 1_000_000, b"X: y\r\n" * 100_000], ids=["long", "many"]
)
def test_trailers_have_a_limit(impatient_server: Running, trailer: bytes) -> None:
    began = time.monotonic()
    received = impatient_server.answer(CHUNKED, trailer)
    assert received == b"" or status(received) in (400, 431)
    assert time.monotonic() - began < SOON_S + 5


def test_trailers_are_ignored(impatient_server: Running) -> None:
    trailers = b"X-Request-Id: smuggled\r\nHost: elsewhere\r\n\r\n"
    with impatient_server.connection() as connected:
        connected.sendall(CHUNKED + trailers)
        received = connected.recv(65536)
        assert status(received) == 400  # the group lacks members
        assert b"smuggled" not in received
        connected.sendall(LAST)
        assert status(rest(connected)) == 200


def test_a_client_that_reads_nothing_is_disconnected(impatient_server: Running) -> None:
    script = b"GET /docs/swagger_bundle.js HTTP/1.1\r\nHost: here\r\n\r\n"
    with impatient_server.connection() as connected:
        connected.sendall(script * 40)
        assert impatient_server.has_logged("did not read the response")
        assert len(rest(connected)) < 40 << 20  # each response is more than a megabyte


def test_a_client_that_reads_slowly_is_not_taken_for_one_that_reads_nothing(
    store_path: Path,
) -> None:
    """Although the system would hold megabytes for it, and accept no more for long."""
    script = b"GET /docs/swagger_bundle.js HTTP/1.1\r\nHost: here\r\n\r\n"
    patience_s = 2.0
    with running(store_path, patience_s) as server, server.connection() as connected:
        connected.sendall(script * 20 + LAST)
        received, pause = bytearray(), threading.Event()
        ends = time.monotonic() + 3 * patience_s
        while time.monotonic() < ends:
            received += connected.recv(32 << 10)
            pause.wait(0.1)
        received += rest(connected)
    assert received.count(b"HTTP/1.1 200") == 21


def test_a_request_that_arrived_while_the_process_was_paused_is_answered(
    default_server: Running,
) -> None:
    """Although its connection seems to have been idle for too long."""
    with default_server.connection() as connected:
        connected.sendall(LIST)
        assert connected.recv(1 << 16).startswith(b"HTTP/1.1 200")
        default_server.process.send_signal(signal.SIGSTOP)
        connected.sendall(LAST)
        threading.Event().wait(IDLE_S + 1)
        default_server.process.send_signal(signal.SIGCONT)
        assert status(rest(connected)) == 200


def test_a_slow_reader_gets_the_complete_response(impatient_server: Running) -> None:
    script = b"GET /docs/swagger_bundle.js HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n"
    whole = impatient_server.answer(script)
    with impatient_server.connection() as connected:
        connected.sendall(script)
        received = bytearray()
        pause = threading.Event()
        while piece := connected.recv(64 << 10):
            received += piece
            pause.wait(SOON_S / 20)
    assert received.partition(b"\r\n\r\n")[2] == whole.partition(b"\r\n\r\n")[2]


def test_a_used_connection_stays_open(impatient_server: Running) -> None:
    with impatient_server.connection() as connected:
        ends = time.monotonic() + 2 * SOON_S
        while time.monotonic() < ends:
            connected.sendall(LIST)
            received = b""
            while not received.endswith(b"}"):
                received += connected.recv(65536)
            assert status(received) == 200


CODED = (
    b"POST /rewards/payout-groups HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: %s\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
)


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b"GET /healthz HTTP/1.1\r\n\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"GET /healthz HTTP/1.1\nHost: a\n\n", 400),
        (b"hello\r\n\r\n", 400),
        (
            b"POST /rewards/addresses HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400,
        ),
        (CODED % b"gzip, chunked", 501),
        (CODED % b"chunked, chunked", 400),
        (CODED % b"gzip\r\nTransfer-Encoding: chunked", 501),
        (CODED % b"gzip", 400),
        (b"GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"CONNECT here:443 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414),
        (b"GET /?" + b"x" * 1_000_000, 414),
        (b"\r\n" * 10_000, 431),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 20_000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 64 + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 1_000_000, 431),
    ],
    ids=[
        *("no host", "two hosts", "bare line feeds", "no request", "two lengths"),
        *("coded", "chunked twice", "two codings", "not chunked", "not ASCII", "CONNECT"),
        *("long line", "endless line", "line ends", "long field", "many fields", "endless field"),
    ],
)
def test_an_invalid_request_is_refused_and_the_connection_closed(
    impatient_server: Running, sent: bytes, expected: int
) -> None:
    received = impatient_server.answer(sent)
    # A reset may arrive before the response if the client keeps sending.
    if received or len(sent) < 100_000:
        assert status(received) == expected
        assert b"connection: close" in received
    if received:
        head, _, body = received.partition(b"\r\n\r\n")
        problem = json.loads(body)
        assert b"content-type: application/problem+json" in head
        assert (problem["status"], problem["code"]) == (expected, "invalid-request")
        if expected in (414, 431):
            assert "16,384 bytes" in problem["detail"]
        assert problem["request_id"].encode() in head


def test_a_refused_request_is_counted_and_logged(default_server: Running) -> None:
    refused = default_server.answer(b"GET /healthz HTTP/1.1\r\n\r\n")
    metrics = default_server.answer(
        b"GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    )
    counter = b'comptroller_requests_total{method="other",route="none",status="400"} 1.0'
    assert counter in metrics
    assert b'comptroller_request_seconds_count{route="none"}' not in metrics  # it has no duration
    request_id = refused.partition(b"x-request-id: ")[2].partition(b"\r\n")[0].decode()
    assert default_server.has_logged(f"request {request_id} was answered with 400: Host is missing")


def test_a_chunked_body_is_accepted_in_any_case(impatient_server: Running) -> None:
    answer = impatient_server.answer(
        (CODED % b"Chunked").replace(b"a\r\n", b"a\r\nConnection: close\r\n", 1)
    )
    assert b"/problems/invalid-request" in answer  # the group lacks members
    assert b"name: " in answer


UPGRADE = b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"


def test_an_upgrade_is_ignored(impatient_server: Running) -> None:
    received = impatient_server.answer(UPGRADE * 3 + LAST)
    assert received.count(b"HTTP/1.1 200 OK") == 4


def test_a_rejected_head_request_has_no_body(impatient_server: Running) -> None:
    received = impatient_server.answer(b"HEAD /" + b"x" * 20_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n")
    assert status(received) == 414
    assert received.endswith(b"\r\n\r\n")


def test_the_largest_permitted_head_is_accepted(impatient_server: Running) -> None:
    fields = b"".join(b"X-%d: %s\r\n" % (n, b"y" * 200) for n in range(62))
    sent = b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" + fields + b"\r\n"
    assert status(impatient_server.answer(sent)) == 200


def test_a_large_body_is_refused_before_it_is_sent(default_server: Running) -> None:
    with default_server.connection() as connected:
        connected.sendall(POST % (1 << 30))
        assert status(connected.recv(65536)) == 413


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_server_after_requests_in_flight(
    default_server: Running, store_path: Path, number: signal.Signals
) -> None:
    group = {"ledger": "ETHEREUM", "asset_type": "ETH", "jurisdiction": "US"}
    group["claimer_address"] = "0x" + "ab" * 20
    names = [f"group {number}" for number in range(IN_FLIGHT)]
    bodies = [json.dumps(group | {"name": name}).encode() for name in names]
    with ExitStack() as opened:
        idle, *busy = (
            opened.enter_context(default_server.connection()) for _ in range(1 + IN_FLIGHT)
        )
        for connected, body in zip(busy, bodies, strict=True):
            connected.sendall(POST % len(body) + body[:-9])
        default_server.answer(LAST)
        default_server.process.send_signal(number)
        assert rest(idle) == b""
        for connected, body in zip(busy, bodies, strict=True):
            connected.sendall(body[-9:])
        answers = [rest(connected) for connected in busy]
    assert [status(answer) for answer in answers] == [200] * IN_FLIGHT
    groups = [json.loads(answer.partition(b"\r\n\r\n")[2])["group"] for answer in answers]
    assert [group["name"] for group in groups] == names
    assert default_server.ended() == (0, "ended")
    with comptroller.open(store_path) as svc:
        assert [svc.payout_groups.get(group["id"]).name for group in groups] == names


LOAD = (
    b"POST /operator/load/identities HTTP/1.1\r\nHost: here\r\n"
    b"Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
)
LINE = b'{"id":"alice","created_at":"2026-01-31T12:00:00Z"}\n'


def test_an_incomplete_load_is_refused_at_the_stop(
    default_server: Running, store_path: Path
) -> None:
    with default_server.connection() as busy:
        busy.sendall(LOAD + b"%x\r\n%s\r\n" % (len(LINE), LINE))
        default_server.answer(LAST)
        default_server.process.send_signal(signal.SIGTERM)
        answer = rest(busy)
    assert status(answer) == 503
    assert b'"code":"unavailable"' in answer
    assert default_server.ended() == (0, "ended")
    with comptroller.open(store_path) as svc:
        assert not svc.identities.list().items


@pytest.mark.slow
def test_a_missing_body_does_not_delay_the_stop(default_server: Running) -> None:
    with default_server.connection() as busy:
        busy.sendall(POST % 100)
        default_server.answer(LAST)
        default_server.process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        assert status(rest(busy)) == 503
    assert default_server.ended() == (0, "ended")
    assert time.monotonic() - began < 10


def test_answered_writes_before_a_signal_are_stored(
    default_server: Running, store_path: Path
) -> None:
    put = b"PUT /operator/identity/identities HTTP/1.1\r\nHost: here\r\n"
    typed = put + b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
    answered: set[str] = set()

    def write(writer: int) -> None:
        with default_server.connection() as connected:
            for number in range(1_000_000):
                body = b'{"id":"%d-%d"}' % (writer, number)
                try:
                    connected.sendall(typed % (len(body), body))
                    if b" 200 OK" not in connected.recv(65536):
                        return
                except OSError:
                    return
                answered.add(f"{writer}-{number}")

    writers = [threading.Thread(target=write, args=(writer,)) for writer in range(16)]
    for writer in writers:
        writer.start()
    while len(answered) < 200:
        assert any(writer.is_alive() for writer in writers)
    default_server.process.send_signal(signal.SIGTERM)
    for writer in writers:
        writer.join()
    assert default_server.ended() == (0, "ended")
    with comptroller.open(store_path) as svc:
        assert answered <= {each.id for each in svc.identities.iter()}


def test_a_second_signal_stops_the_server_immediately(default_server: Running) -> None:
    with default_server.connection() as busy:
        busy.sendall(POST % 100)
        default_server.answer(LAST)
        default_server.process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        while default_server.is_listening():
            assert time.monotonic() - began < 5
        default_server.process.send_signal(signal.SIGTERM)
        assert default_server.ended() == (0, "ended")
        assert time.monotonic() - began < 5


def test_an_address_in_use_is_named() -> None:
    from comptroller.http.server import serving

    with serving.listen("127.0.0.1", 0) as bound:
        bound.listen()
        port = bound.getsockname()[1]
        with pytest.raises(comptroller.Unusable, match=f"cannot listen on .* port {port}"):
            serving.listen("127.0.0.1", port)


UPGRADING_HEADERS = (
    b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
)


def test_an_upgrade_is_ignored_and_its_body_read(impatient_server: Running) -> None:
    body = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    for framed in (
        b"Content-Length: %d\r\n\r\n%b" % (len(body), body),
        b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(body), body),
    ):
        head = b"POST /v2/identity/controls HTTP/1.1\r\nHost: x\r\n" + UPGRADING_HEADERS
        received = impatient_server.answer(head + framed + LAST)
        assert [int(each) for each in re.findall(rb"HTTP/1\.1 (\d{3}) ", received)] == [415, 200]


def test_a_load_with_an_upgrade_is_read(impatient_server: Running) -> None:
    body = b'{"bad":1}\n'
    received = impatient_server.answer(
        b"POST /operator/load/claims HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\n"
        + UPGRADING_HEADERS
        + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
        + LAST
    )
    assert b'"read":1' in received


@pytest.mark.parametrize("at", range(1, 6))
def test_a_request_after_an_upgrade_in_pieces_is_answered(
    impatient_server: Running, at: int
) -> None:
    head = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
    received = impatient_server.answer(head[:-at], head[-at:] + LAST[:-at], LAST[-at:])
    assert received.count(b"HTTP/1.1 200 OK") == 2


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b"GET /healthz#part HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET /healthz?a#part HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET /healthz HTTP/2.0\r\nHost: a\r\n\r\n", 505),
        (b"CONNECT /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}", 400),
        (b"GET /healthz HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\nHost: user@a\r\n\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\nHost: a:b\r\n\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
        (CODED[:-2] % b"chunked" + b"X: " + b"y" * 20_000 + b"\r\n\r\n", 431),
    ],
)
def test_what_http_1_1_does_not_permit_is_refused(
    impatient_server: Running, sent: bytes, expected: int
) -> None:
    received = impatient_server.answer(sent)
    assert status(received) == expected
    assert received.count(b"HTTP/1.1 ") == 1
    assert b"\r\ndate: " in received


@pytest.mark.parametrize("name", [b"Connection", b"proxy-connection", b"X"])
def test_only_http_1_1_keeps_a_connection_open(impatient_server: Running, name: bytes) -> None:
    head = b"GET /healthz HTTP/%s\r\nHost: a\r\n" + name + b": keep-alive\r\n\r\n"
    old = impatient_server.answer(head % b"1.0" + LAST)
    assert status(old) == 200
    assert old.count(b"HTTP/1.1 ") == old.count(b"connection: close") == 1
    assert status(impatient_server.answer(head % b"2.0")) == 505
    assert impatient_server.answer(head % b"1.1" + LAST).count(b"HTTP/1.1 200 OK") == 2


def test_a_refusal_after_a_head_request_has_its_body(impatient_server: Running) -> None:
    head = b"HEAD /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
    assert impatient_server.answer(head + b"FOO / HTTP/1.1\r\n\r\n").endswith(b"}")


def test_white_space_after_a_value_is_not_part_of_it(impatient_server: Running) -> None:
    head = b"POST /nowhere HTTP/1.1\r\nHost: a\r\nConnection: close \t\r\nContent-Length: 2 \t\r\n"
    assert status(impatient_server.answer(head + b"\r\n{}")) == 404


PUT = (
    b"PUT /operator/identity/identities HTTP/1.1\r\nHost: here\r\n"
    b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
)
STORED = b'{"id":"stored"}'
PUT_STORED = PUT % (len(STORED), STORED)
CITY = '{"id":"stored","ref_id":"Zürich"}'


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (PUT_STORED + b"garbage\r\n\r\n", [200, 400]),
        (PUT_STORED + b"GET /healthz HTTP/1.1\r\n\r\n", [200, 400]),
        (PUT_STORED + b"GET /healthz HTTP/1.1\r\n\r\n" + LAST, [200, 400]),
        (PUT_STORED + b"\0", [200, 400]),
        (PUT % (len(CITY), CITY.encode()), [400, 400]),
        (PUT_STORED.replace(b"here", b"here\r\nConnection: close") + b"garbage", [200]),
        (LIST + PUT_STORED + b"garbage", [200, 200, 400]),
    ],
    ids=["garbage", "no host", "more", "a byte", "characters", "the last", "the third"],
)
def test_a_request_is_answered_although_invalid_bytes_follow_it(
    default_server: Running, store_path: Path, sent: bytes, expected: list[int]
) -> None:
    received = default_server.answer(sent)
    answers = received.split(b"HTTP/1.1 ")[1:]
    assert [int(answer[:3]) for answer in answers] == expected
    first_write = answers[1 if sent.startswith(LIST) else 0]
    if expected[0] == 400:
        assert b'"code":"malformed-json"' in first_write
    else:
        assert b'"id":"stored"' in first_write
    # A client that does not expect the rejection ends the connection.
    assert b"connection: close" in first_write
    default_server.process.send_signal(signal.SIGTERM)
    _, log = default_server.process.communicate(timeout=30)
    assert log.count("was answered with 400") == (expected[-1] == 400)
    with comptroller.open(store_path) as svc:
        ids = [each.id for each in svc.identities.iter()]
    assert ids == (["stored"] if 200 in expected else [])


def test_a_rejected_head_request_has_no_body_after_another(default_server: Running) -> None:
    received = default_server.answer(PUT_STORED + b"HEAD /healthz HTTP/1.1\r\n\r\n")
    assert received.count(b"HTTP/1.1 ") == 2
    assert received.endswith(b"\r\n\r\n")


def test_a_body_that_becomes_invalid_during_the_response_ends_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The response to the invalid request must not continue that to the same request."""

    async def application(_scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"progress", "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass

    async def request() -> bytes:
        server = Server(application, None, None, 10)  # type: ignore[arg-type]
        loop = asyncio.get_running_loop()
        listening = await loop.create_server(lambda: Connection(server), "127.0.0.1", 0)
        async with listening, asyncio.timeout(30):
            reader, writer = await asyncio.open_connection(*listening.sockets[0].getsockname())
            writer.write(LOAD)
            received = await reader.readuntil(b"progress\r\n")
            writer.write(b"invalid\r\n")
            received += await reader.read()
            writer.close()
            await server.wait()
        return received

    received = asyncio.run(request())
    assert received.count(b"HTTP/1.1 ") == 1
    assert received.endswith(b"progress\r\n")
    (record,) = caplog.records
    assert record.message.startswith("a connection was closed during a response: malformed HTTP")


def test_a_request_that_waited_for_another_has_as_much_time_as_any() -> None:
    async def request() -> bytes:
        server = Server(application, None, None, 10)  # type: ignore[arg-type]
        loop = asyncio.get_running_loop()
        listening = await loop.create_server(lambda: Connection(server), "127.0.0.1", 0)
        async with listening, asyncio.timeout(30):
            reader, writer = await asyncio.open_connection(*listening.sockets[0].getsockname())
            writer.write(PUT_STORED + LAST)
            await has_begun.wait()
            (connection,) = server.connections
            connection.sweep(loop.time() + IDLE_S + 1)
            may_end.set()
            received = await reader.read()
            writer.close()
        return received

    async def application(scope: Any, _receive: Any, send: Any) -> None:
        if scope["method"] == "GET":
            has_begun.set()
            await may_end.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body"})

    has_begun, may_end = asyncio.Event(), asyncio.Event()
    assert asyncio.run(request()).count(b"HTTP/1.1 200") == 2
