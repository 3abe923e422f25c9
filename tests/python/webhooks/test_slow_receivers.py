"""Receivers that answer late, slowly or without end."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from socketserver import StreamRequestHandler, ThreadingTCPServer

import comptroller
import pytest
from receiver import Received, Receiver, delivering
from webhook_cases import claim, outcome, until

pytest.importorskip("httpx2")


def test_a_slow_receiver_delays_no_other(svc: comptroller.Service) -> None:
    released = threading.Event()

    def slow(_received: Received) -> int:
        released.wait(30)
        return 200

    with Receiver(slow) as stuck, Receiver() as quick, delivering(svc):
        svc.webhooks.create(url=stuck.url)
        svc.webhooks.create(url=quick.url)
        svc.load("claims", [claim(number) for number in range(300)])
        quick.take(300)
        assert stuck.received == []
        released.set()
        stuck.take(300)


def test_a_receiver_that_does_not_answer_in_time_failed(svc: comptroller.Service) -> None:
    released = threading.Event()
    with (
        Receiver(lambda _: 200 if released.wait(30) else 500) as receiver,
        delivering(svc, timeout_s=0.2, retry_s=lambda _: 3600.0),
    ):
        made = svc.webhooks.create(url=receiver.url)
        svc.webhooks.test(made.id)
        delivery = outcome(svc, made.id)
        released.set()
    assert "did not answer within 0.2 seconds" in (delivery.last_error or "")


@contextmanager
def endless_receiver(
    head: bytes, piece: bytes, pause_s: float
) -> Iterator[tuple[str, Counter[str]]]:
    """Yields the URL of a receiver whose answers have no end, and counts what it does."""
    counts: Counter[str] = Counter()

    class Handler(StreamRequestHandler):
        def handle(self) -> None:
            self.connection.recv(65536)
            counts["requests"] += 1
            with suppress(OSError):
                self.wfile.write(head)
                while not released.is_set():
                    counts["bytes"] += self.wfile.write(piece)
                    released.wait(pause_s)
            counts["closed"] += 1

    released = threading.Event()
    with ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/hooks", counts
        finally:
            released.set()
            server.shutdown()


_HEAD = b"HTTP/1.1 200 OK\r\n"
_CHUNKED = _HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        (_HEAD + b"\r\n", b"x" * 4096),
        (_HEAD + b"Content-Length: 1000000000000\r\n\r\n", b"x" * 4096),
        (_CHUNKED, b"1000\r\n" + b"x" * 4096 + b"\r\n"),
    ],
    ids=["no length", "huge length", "chunked"],
)
def test_an_answer_without_end_is_not_read_to_its_end(
    svc: comptroller.Service, head: bytes, piece: bytes
) -> None:
    """The status was 200, so the event was delivered; the connection is closed."""
    with endless_receiver(head, piece, 0) as (url, counts), delivering(svc):
        made = svc.webhooks.create(url=url)
        svc.webhooks.test(made.id)
        delivery = outcome(svc, made.id)
        until(lambda: counts["closed"] == 1)
    assert delivery.last_error is None
    assert counts["requests"] == 1
    assert counts["bytes"] < 16 << 20  # 64 KiB, and what the buffers of the sockets hold


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        (_CHUNKED, b"1\r\nx\r\n"),
        (b"HTTP/1.1 200 OK\r\n", b"X-More: 1\r\n"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    ],
    ids=["body", "head", "interim responses"],
)
def test_a_slow_answer_without_end_has_the_time_limit(
    svc: comptroller.Service, head: bytes, piece: bytes
) -> None:
    """Each piece arrives soon after the other; the time limit is that of the whole attempt."""
    with (
        endless_receiver(head, piece, 0.02) as (url, counts),
        Receiver() as quick,
        delivering(svc, timeout_s=1.0, retry_s=lambda _: 3600.0),
    ):
        made = svc.webhooks.create(url=url)
        svc.webhooks.create(url=quick.url)
        svc.webhooks.test(made.id)
        svc.identities.put(id="alice")
        quick.take(1)
        delivery = outcome(svc, made.id)
        until(lambda: counts["closed"] == counts["requests"] > 0)
    assert "did not answer within 1 seconds" in (delivery.last_error or "")
