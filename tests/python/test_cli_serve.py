"""The command that serves: what it refuses to do, what it says, and how it ends."""

from __future__ import annotations

import json
import signal
import ssl
from pathlib import Path

import comptroller
import pytest
from command_line import Run
from serving import serving

for needed in ("click", "rich", "uvicorn", "starlette", "joserfc", "structlog"):
    pytest.importorskip(needed)
httpx2 = pytest.importorskip("httpx2")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--db a.db --empty", "one of --db, --empty and --sample"),
        ("--empty --sample 5", "one of --db, --empty and --sample"),
        ("--tls-cert store.db", "go together"),
        ("--auth jwks --issuer https://a", "needs --audience, --jwks too"),
        ("--port 70000", "--port"),
        ("--auth none", "--auth"),
        ("--rate 0", "--rate"),
        ("--sunset tomorrow", "--sunset"),
    ],
)
def test_options_that_make_no_sense_are_a_usage_error(
    run: Run, tmp_path: Path, words: str, told: str
) -> None:
    comptroller.open(tmp_path / "store.db").close()
    ended = run("serve", *words.split())
    assert ended.code == 2
    assert told in ended.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--host 0.0.0.0", "--host: 0.0.0.0 can be reached from elsewhere"),
        ("--host ::", "--host: :: can be reached from elsewhere"),
        ("--host books.example", "--host: books.example can be reached from elsewhere"),
        ("--host 0.0.0.0 --auth off --behind-proxy", "--auth: off is for this machine alone"),
        ("--db /nowhere/store.db", "unavailable"),
        ("--issuer nobody", "issuer: must be an http or https URL"),
    ],
)
def test_it_does_not_start_where_that_would_be_unsafe_or_in_vain(
    run: Run, words: str, told: str
) -> None:
    ended = run("serve", *words.split())
    assert ended.code == 1
    assert told in ended.err


def test_a_signing_key_that_others_may_read_is_not_used(run: Run, tmp_path: Path) -> None:
    comptroller.open(tmp_path / "store.db").close()
    (tmp_path / "store.db.keys").write_text("{}")
    (tmp_path / "store.db.keys").chmod(0o644)
    ended = run("serve", "--db", "store.db")
    assert ended.code == 1
    assert "store.db.keys holds secrets" in ended.err


def test_it_says_what_it_serves_and_ends_when_told(tmp_path: Path) -> None:
    with serving("--auth", "off", cwd=tmp_path) as server:
        assert "serves store.db at http://127.0.0.1:" in server.said
        assert "auth: none" in server.said
        assert server.get("/rewards/claims").json()["items"] == []
        code, _, err = server.end()
    assert code == 0
    assert "acts as the operator" in err
    with comptroller.open(tmp_path / "store.db", read_only=True) as svc:
        assert svc.check()["ok"]


def test_every_request_is_a_line_of_the_log(tmp_path: Path) -> None:
    with serving("--empty", "--auth", "off", cwd=tmp_path) as server:
        server.get("/rewards/claims?chain=secret", headers={"X-Request-Id": "r-1"})
        _, _, err = server.end(signal.SIGINT)
    (line,) = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
    assert (line["request_id"], line["operation"], line["status"]) == ("r-1", "claims.list", 200)
    assert "secret" not in err


def test_a_client_that_was_added_gets_a_token(run: Run, tmp_path: Path) -> None:
    comptroller.open(tmp_path / "store.db").close()
    added = run("clients", "add", "reports", "--customer", "acme", "--db", "store.db", "--json")
    known = added.json
    with serving(cwd=tmp_path) as server:
        answer = httpx2.post(
            server.address + "/oauth2/token",
            data={"grant_type": "client_credentials", "scope": "rewards:read_claims"},
            auth=(known["client_id"], known["client_secret"]),
        )
        bearer = {"Authorization": f"Bearer {answer.json()['access_token']}"}
        assert server.get("/rewards/claims", headers=bearer).status_code == 200
        refused = server.get("/rewards/addresses", headers=bearer)
        assert refused.status_code == 403
        assert 'scope="rewards:read_monitoring_address"' in refused.headers["www-authenticate"]
        assert server.get("/rewards/claims").headers["www-authenticate"] == "Bearer"
        _, _, err = server.end()
    assert known["client_secret"] not in err
    assert answer.json()["access_token"] not in err
    assert (tmp_path / "store.db.keys").stat().st_mode & 0o777 == 0o600


def test_a_temporary_store_comes_with_a_client(tmp_path: Path) -> None:
    with serving("--sample", "100", cwd=tmp_path) as server:
        token = httpx2.post(
            server.address + "/oauth2/token",
            data={"grant_type": "client_credentials"},
            auth=server.credentials(),
        ).json()["access_token"]
        answer = server.get(
            "/rewards/claims?limit=1000", headers={"Authorization": f"Bearer {token}"}
        )
        assert len(answer.json()["items"]) == 100
        assert server.end()[0] == 0
    assert list(tmp_path.iterdir()) == []


def test_what_is_deprecated_can_be_left_out(tmp_path: Path) -> None:
    place = "/v2/orchestration/orchestrations"
    with serving("--empty", "--auth", "off", "--sunset", "2027-06-30", cwd=tmp_path) as server:
        assert server.get(place).headers["sunset"] == "Wed, 30 Jun 2027 00:00:00 GMT"
    with serving("--empty", "--auth", "off", "--drop-deprecated", cwd=tmp_path) as server:
        assert "orchestrations" not in server.get(place).json()


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate of this machine for itself, and its key."""
    from datetime import UTC, datetime, timedelta
    from ipaddress import ip_address

    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "here")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.now(UTC) - timedelta(days=1))
        .not_valid_after(datetime.now(UTC) + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .sign(key, None)
    )
    files = folder / "cert.pem", folder / "key.pem"
    files[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return files


def test_under_tls_it_can_be_reached_from_elsewhere(tmp_path: Path) -> None:
    cert, key = certificate(tmp_path)
    words = ("--host", "0.0.0.0", "--empty", "--tls-cert", str(cert), "--tls-key", str(key))
    with serving(*words, cwd=tmp_path) as server:
        address = server.address.replace("0.0.0.0", "127.0.0.1")
        assert address.startswith("https://")
        context = ssl.create_default_context(cafile=str(cert))
        assert httpx2.get(f"{address}/healthz", verify=context).status_code == 200
        assert httpx2.get(f"{address}/rewards/claims", verify=context).status_code == 401
        assert server.end()[0] == 0
