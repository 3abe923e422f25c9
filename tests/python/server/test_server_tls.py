"""The limits of the server for TLS handshake and shutdown."""

from __future__ import annotations

import re
import signal
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("httptools")
pytest.importorskip("cryptography")

from certificates import certificate
from guarded_server import LAST, LIST, Running, rest, running, status

SOON_S = 0.5


@pytest.fixture(scope="module")
def impatient_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server with short time limits for TLS."""
    folder = tmp_path_factory.mktemp("tls")
    with running(folder / "store.db", SOON_S, *certificate(folder)) as server:
        yield server


def encrypted(connected: socket.socket) -> ssl.SSLSocket:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context.wrap_socket(connected)


HELLO = bytes.fromhex("16030100c8010000c40303")


@pytest.mark.parametrize("sent", [b"", HELLO, LIST], ids=["silent", "half a hello", "no TLS"])
def test_a_missing_handshake_times_out(impatient_server: Running, sent: bytes) -> None:
    began = time.monotonic()
    assert b"HTTP" not in impatient_server.answer(sent)
    assert time.monotonic() - began < SOON_S + 5


def test_a_missing_request_times_out_after_the_handshake(impatient_server: Running) -> None:
    began = time.monotonic()
    with impatient_server.connection() as connected, encrypted(connected) as secured:
        assert status(rest(secured)) == 408
    assert time.monotonic() - began < SOON_S + 5


def test_a_request_over_tls_is_answered(impatient_server: Running) -> None:
    with impatient_server.connection() as connected, encrypted(connected) as secured:
        secured.sendall(LAST)
        head, _, body = rest(secured).partition(b"\r\n\r\n")
    assert status(head) == 200
    assert body.startswith(b'{"items":[]')


def shown(server: Running) -> bytes | None:
    """Returns the certificate that the server presents to a new connection."""
    with server.connection() as connected, encrypted(connected) as secured:
        return secured.getpeercert(binary_form=True)


def days_left(server: Running) -> float:
    """Returns the days until the certificate expires, according to the metrics."""
    with server.connection() as connected, encrypted(connected) as secured:
        secured.sendall(b"GET /metrics HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
        page = rest(secured).decode()
    found = re.search(r"^comptroller_tls_certificate_expiry_timestamp_seconds (\S+)", page, re.M)
    assert found
    return (float(found[1]) - time.time()) / 86400


def test_metrics_show_when_the_certificate_in_use_expires(tmp_path: Path) -> None:
    files = certificate(tmp_path, days=30)
    with running(tmp_path / "store.db", 10, *files) as server:
        assert 29 < days_left(server) <= 30
        certificate(tmp_path, days=90)
        server.process.send_signal(signal.SIGHUP)
        ends = time.monotonic() + 30
        while days_left(server) <= 30:  # the page of metrics is up to a second old
            assert time.monotonic() < ends
        assert 89 < days_left(server) <= 90
        key = files[1].read_bytes()
        certificate(tmp_path, days=5)
        files[1].write_bytes(key)
        server.process.send_signal(signal.SIGHUP)
        assert server.has_logged("the certificate was not reloaded")
        assert 89 < days_left(server) <= 90


def test_metrics_show_the_first_expiry_of_a_chain(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    files, issuer = certificate(tmp_path, days=30), certificate(other, days=5)
    files[0].write_bytes(files[0].read_bytes() + issuer[0].read_bytes())
    with running(tmp_path / "store.db", 10, *files) as server:
        assert 4 < days_left(server) <= 5


def test_a_renewed_certificate_is_used_after_a_signal(tmp_path: Path) -> None:
    files = certificate(tmp_path)
    with running(tmp_path / "store.db", 10, *files) as server:
        before = shown(server)
        with server.connection() as connected, encrypted(connected) as kept:
            certificate(tmp_path)
            assert shown(server) == before
            server.process.send_signal(signal.SIGHUP)
            ends = time.monotonic() + 30
            while (renewed := shown(server)) == before:
                assert time.monotonic() < ends
            kept.sendall(LAST)
            assert status(rest(kept)) == 200
        assert renewed == ssl.PEM_cert_to_DER_cert(files[0].read_text())


def test_a_certificate_that_does_not_match_its_key_is_not_used(tmp_path: Path) -> None:
    files = certificate(tmp_path)
    with running(tmp_path / "store.db", 10, *files) as server:
        before = shown(server)
        key = files[1].read_bytes()
        certificate(tmp_path)
        files[1].write_bytes(key)
        server.process.send_signal(signal.SIGHUP)
        assert server.has_logged("the certificate was not reloaded")
        assert shown(server) == before
