"""The files of the deployment guide: systemd units, the proxy, the backup, the alerts."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import comptroller
import pytest
from certificates import certificate
from command_line import GROUP, claim
from places import ROOT
from serving import Serving, httpx2, serving

FILES = ROOT / "docs" / "how-to" / "deployment"
ISSUER = "https://books.example"
NGINX = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")


def read(name: str) -> str:
    return (FILES / name).read_text(encoding="utf-8")


def settings(unit: str, name: str) -> list[str]:
    return re.findall(rf"^{name}=(.*)$", read(unit), re.MULTILINE)


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd")
def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    units = [path.name for path in FILES.iterdir() if path.suffix in {".service", ".timer"}]
    for name in units:
        program = re.sub(r"/opt/comptroller/\S+", "/bin/true", read(name))
        (tmp_path / name).write_text(program)
    checked = subprocess.run(
        ["systemd-analyze", "verify", *units], cwd=tmp_path, capture_output=True, text=True
    )
    assert (checked.returncode, checked.stderr) == (0, "")


def test_the_unit_starts_a_server(tmp_path: Path) -> None:
    (command,) = settings("comptroller.service", "ExecStart")
    program, serve, *words = command.split()
    assert (Path(program).name, serve) == ("comptroller", "serve")
    words[words.index("--port") + 1] = "0"
    with serving(*words, cwd=tmp_path) as server:
        assert server.get("/healthz").status_code == 200
        assert server.end()[0] == 0
    assert (tmp_path / "store.db").exists()


class Proxied:
    """A server behind nginx."""

    def __init__(self, server: Serving, address: str, certificate: Path) -> None:
        self.server = server
        self.address = address
        self.trusted = ssl.create_default_context(cafile=str(certificate))
        id, secret = server.credentials()
        self.transport = httpx2.HTTPTransport(verify=self.trusted)
        self.service = comptroller.connect(
            address, client_id=id, client_secret=secret, transport=self.transport
        )

    def get(self, path: str, **how: Any) -> Any:
        return httpx2.get(self.address + path, verify=self.trusted, **how)


@pytest.fixture
def proxied(tmp_path: Path) -> Iterator[Proxied]:
    if NGINX is None:
        pytest.skip("needs nginx")
    cert, key = certificate(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with serving("--empty", "--behind-proxy", "--issuer", ISSUER, cwd=tmp_path) as server:
        site = read("nginx.conf")
        for before, after in (
            ("listen 443", f"listen 127.0.0.1:{port}"),
            ("/etc/ssl/books.example/cert.pem", str(cert)),
            ("/etc/ssl/books.example/key.pem", str(key)),
            ("server 127.0.0.1:8080", f"server {server.address.removeprefix('http://')}"),
        ):
            assert before in site
            site = site.replace(before, after)
        kept = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        places = "".join(f"{name}_temp_path {tmp_path}/{name};\n" for name in kept)
        top = f"user root;\npid {tmp_path}/pid;\nerror_log {tmp_path}/errors;\nevents {{}}\n"
        whole = f"{top}http {{\naccess_log off;\n{places}{site}}}\n"
        (tmp_path / "nginx.conf").write_text(whole)
        command = [NGINX, "-e", str(tmp_path / "errors"), "-c", str(tmp_path / "nginx.conf")]
        subprocess.run(command, check=True, capture_output=True)  # it listens when this ends
        try:
            yield Proxied(server, f"https://127.0.0.1:{port}", cert)
        finally:
            subprocess.run([*command, "-s", "stop"], check=True, capture_output=True)


def test_clients_work_through_the_proxy(proxied: Proxied, tmp_path: Path) -> None:
    rows = [claim(f"claim-{number}", error_message="x" * 1000) for number in range(5000)]
    with proxied.service as service:
        result = service.load("claims", rows)
        assert (result.inserted, result.committed) == (5000, True)
        assert service.claims.list(limit=1000, payout_group_id=GROUP)[999].amount == 1.5
        long = ["r" * 120 + str(number) for number in range(100)]
        assert len(service.orchestrations.list(ref_id=long)) == 0
        assert service.export("claims", tmp_path / "claims.ndjson") == 5000
    assert proxied.get("/rewards/claims").status_code == 401
    _, _, log = proxied.server.end()
    assert '"peer":"127.0.0.1"' in log.replace(" ", "")


def test_the_proxy_hides_the_metrics_and_speaks_http_2(proxied: Proxied) -> None:
    assert proxied.get("/metrics").status_code == 404
    assert proxied.server.get("/metrics").status_code == 200
    port = int(proxied.address.rpartition(":")[2])
    proxied.trusted.set_alpn_protocols(["h2", "http/1.1"])
    with (
        socket.create_connection(("127.0.0.1", port)) as plain,
        proxied.trusted.wrap_socket(plain, server_hostname="127.0.0.1") as wrapped,
    ):
        assert wrapped.selected_alpn_protocol() == "h2"


def test_a_backup_restores_the_store(tmp_path: Path) -> None:
    store, copies, programs = tmp_path / "store.db", tmp_path / "copies", tmp_path / "bin"
    copies.mkdir()
    programs.mkdir()
    (programs / "comptroller").write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -m comptroller "$@"\n'
    )
    (programs / "comptroller").chmod(0o755)
    old = copies / "store-20200101T000000Z.db"
    old.touch()
    os.utime(old, (0, 0))
    with comptroller.open(store) as service:
        service.load("claims", [claim("claim-1")])
        subprocess.run(
            [FILES / "backup.sh", copies],
            env={
                **os.environ,
                "PATH": f"{programs}:{os.environ['PATH']}",
                "COMPTROLLER_DB": str(store),
            },
            check=True,
            capture_output=True,
        )
        before = list(service.claims.list())
    assert not old.exists()
    (copy,) = copies.glob("*.db")
    for path in tmp_path.glob("store.db*"):
        path.unlink()
    shutil.copy(copy, store)
    with comptroller.open(store) as restored:
        assert list(restored.claims.list()) == before


@pytest.mark.skipif(not shutil.which("promtool"), reason="needs promtool")
def test_prometheus_accepts_the_alerts() -> None:
    checked = subprocess.run(
        ["promtool", "check", "rules", FILES / "alerts.yml"], capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


# Each series, and the alerts that fire 12 hours later; `a+bxn` is a, then n steps of b an hour.
SERIES = [
    ("comptroller_store_free_bytes", "5e9+0x12", None),
    ("comptroller_store_free_bytes", "9e8+0x12", "ComptrollerRunsOutOfDisk"),
    ("comptroller_store_free_bytes", "100e9-5e9x12", "ComptrollerRunsOutOfDisk"),
    ("comptroller_last_backup_timestamp_seconds", f"{-17 * 3600}+0x12", None),
    ("comptroller_last_backup_timestamp_seconds", f"{-21 * 3600}+0x12", "ComptrollerBackupIsOld"),
    ("comptroller_tls_certificate_expiry_timestamp_seconds", f"{15 * 86400}+0x12", None),
    (
        "comptroller_tls_certificate_expiry_timestamp_seconds",
        f"{14 * 86400}+0x12",
        "ComptrollerCertificateExpires",
    ),
    (
        'probe_ssl_earliest_cert_expiry{job="comptroller-tls"}',
        f"{14 * 86400}+0x12",
        "ComptrollerCertificateExpires",
    ),
]


@pytest.mark.skipif(not shutil.which("promtool"), reason="needs promtool")
def test_alerts_fire_before_it_is_too_late(tmp_path: Path) -> None:
    names = ("ComptrollerRunsOutOfDisk", "ComptrollerBackupIsOld", "ComptrollerCertificateExpires")
    shutil.copy(FILES / "alerts.yml", tmp_path)
    tests = [
        {
            "interval": "1h",
            "input_series": [{"series": series, "values": values}],
            "promql_expr_test": [
                {
                    "expr": f'count(ALERTS{{alertname="{name}",alertstate="firing"}}) or vector(0)',
                    "eval_time": "12h",
                    "exp_samples": [{"labels": "{}", "value": int(name == fired)}],
                }
                for name in names
            ],
        }
        for series, values, fired in SERIES
    ]
    whole = {"rule_files": ["alerts.yml"], "evaluation_interval": "1h", "tests": tests}
    (tmp_path / "tests.yml").write_text(json.dumps(whole))  # JSON is YAML
    tested = subprocess.run(
        ["promtool", "test", "rules", "tests.yml"], cwd=tmp_path, capture_output=True, text=True
    )
    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_alerts_use_existing_metrics(tmp_path: Path) -> None:
    cert, key = certificate(tmp_path)
    trusted = ssl.create_default_context(cafile=str(cert))
    words = ("--tls-cert", str(cert), "--tls-key", str(key), "--backups", str(tmp_path))
    with serving("--empty", "--auth", "off", *words, cwd=tmp_path) as server:
        server.get("/rewards/claims", verify=trusted)
        page = server.get("/metrics", verify=trusted).text
        shown = set(re.findall(r"^(\w+)", page, re.MULTILINE))
    named = set(re.findall(r"\b(?:comptroller|process)_[a-z_]+", read("alerts.yml")))
    assert named
    assert named <= shown


def test_the_guides_show_every_file() -> None:
    pages = [FILES.parent / name for name in ("deploy.md", "postgresql.md")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    shown = re.findall(r"^```\{literalinclude\} deployment/(\S+)$", text, re.MULTILINE)
    assert sorted(shown) == sorted(path.name for path in FILES.iterdir())
