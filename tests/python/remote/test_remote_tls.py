"""Connections over TLS that no further attempt could open."""

from __future__ import annotations

import ssl
from pathlib import Path

import comptroller
import pytest

pytest.importorskip("httpx2")

import httpx2
from certificates import certificate
from guarded_server import running


class NoRetry:
    """A clock on which nobody sleeps."""

    def now(self) -> float:
        return 0.0

    def sleep(self, seconds: float) -> None:
        raise AssertionError("it was retried")


@pytest.mark.parametrize(
    ("has_certificate", "remedy"), [(True, "SSL_CERT_FILE"), (False, "http://")]
)
def test_a_lasting_failure_of_tls_is_not_retried(
    tmp_path: Path, has_certificate: bool, remedy: str
) -> None:
    files = certificate(tmp_path) if has_certificate else ()
    with (
        running(tmp_path / "store.db", 10, *files) as server,
        comptroller.connect(f"https://127.0.0.1:{server.port}", clock=NoRetry()) as service,
        pytest.raises(comptroller.Unusable, match=remedy),
    ):
        service.claims.list()


def test_the_certificate_of_an_authority_is_trusted_by_a_transport(tmp_path: Path) -> None:
    files = certificate(tmp_path)
    trusting = ssl.create_default_context(cafile=str(files[0]))
    with (
        running(tmp_path / "store.db", 10, *files) as server,
        comptroller.connect(
            f"https://127.0.0.1:{server.port}", transport=httpx2.HTTPTransport(verify=trusting)
        ) as service,
    ):
        assert service.claims.list().items == []


def test_the_certificate_of_an_authority_is_trusted_by_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(files[0]))
    with (
        running(tmp_path / "store.db", 10, *files) as server,
        comptroller.connect(f"https://127.0.0.1:{server.port}") as service,
    ):
        assert service.claims.list().items == []
