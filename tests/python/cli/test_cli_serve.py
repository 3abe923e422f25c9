"""The command serve: rejected options, its output, and how it stops."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import ssl
import subprocess
import sys
import termios
import time
from pathlib import Path

import comptroller
import pytest
from certificates import certificate
from command_line import Run
from serving import serving

for needed in ("click", "rich", "httptools", "joserfc"):
    pytest.importorskip(needed)
httpx2 = pytest.importorskip("httpx2")

from comptroller.http.oauth.authority import METADATA_PATH  # noqa: E402


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--db a.db --empty", "one of --db, --empty and --sample"),
        ("--empty --sample 5", "one of --db, --empty and --sample"),
        ("--tls-cert store.db", "or neither"),
        ("--auth jwks --issuer https://a", "also needs --audience, --jwks"),
        ("--port 70000", "--port"),
        ("--auth none", "--auth"),
        ("--rate 0", "--rate"),
        ("--leeway 61", "--leeway"),
        ("--leeway -1", "--leeway"),
        ("--jwks https://a/keys", "--auth local does not accept --jwks"),
        ("--algorithm ES256", "--auth local does not accept --algorithm"),
        (
            "--customer-claim a --operator-claim b",
            "--auth local does not accept --customer-claim, --operator-claim",
        ),
        (
            "--auth off --issuer https://a --rate 5 --leeway 10 --jwks k",
            "--auth off does not accept --issuer, --rate, --leeway, --jwks",
        ),
        ("--drop-deprecated --sunset 2027-06-30", "exclude each other"),
        ("--sunset tomorrow", "--sunset"),
        ("--leeway nan", "--leeway: nan is not a finite number"),
        ("--rate nan", "--rate: nan is not a finite number"),
        ("--rate inf", "--rate: inf is not a finite number"),
        ("--issuer=", "--issuer is empty; give a value, or leave it out"),
        ("--audience=", "--audience is empty"),
        ("--host=", "--host is empty"),
        ("--backups=", "--backups is empty"),
        ("--empty --state folder", "--state is the folder of a database"),
    ],
)
def test_conflicting_options_are_a_usage_error(
    run: Run, tmp_path: Path, words: str, expected: str
) -> None:
    comptroller.open(tmp_path / "store.db").close()
    ended = run("serve", *words.split())
    assert ended.code == 2
    assert expected in ended.err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--host 0.0.0.0", "--host: other machines can reach 0.0.0.0"),
        ("--host ::", "--host: other machines can reach ::"),
        ("--host books.example", "--host: other machines can reach books.example"),
        ("--host 0.0.0.0 --auth off --behind-proxy", "--auth: off is only for this machine"),
        ("--auth off --behind-proxy", "--auth: off is only for this machine"),
        ("--host 0.0.0.0 --behind-proxy", "--issuer: missing; give the URL"),
        ("--behind-proxy", "--issuer: missing; give the URL"),
        ("--behind-proxy --issuer http://books.example", "issuer: must be an https URL"),
        ("--db /nowhere/store.db", "unusable"),
        ("--issuer nobody", "issuer: must be an https URL"),
        ("--tls-cert no.pem --tls-key no.pem", "--tls-cert no.pem and --tls-key no.pem cannot be"),
        (
            "--auth jwks --issuer i --audience a --jwks no.json",
            "no.json cannot be used for the keys",
        ),
        (
            "--auth jwks --issuer i --audience a --jwks https://a/keys --algorithm HS256",
            "algorithms: must be some of",
        ),
    ],
)
def test_an_unsafe_or_unusable_configuration_is_refused(
    run: Run, tmp_path: Path, words: str, expected: str
) -> None:
    (tmp_path / "no.pem").touch()
    ended = run("serve", "--port", "0", *words.split())
    assert ended.code == 1
    assert expected in ended.err


def test_a_signing_key_that_other_users_may_read_is_refused(run: Run, tmp_path: Path) -> None:
    comptroller.open(tmp_path / "store.db").close()
    (tmp_path / "store.db.keys").write_text("{}")
    (tmp_path / "store.db.keys").chmod(0o644)
    ended = run("serve", "--port", "0", "--db", "store.db")
    assert ended.code == 1
    assert "store.db.keys holds secrets" in ended.err


def test_it_prints_its_address_and_stops_on_a_signal(tmp_path: Path) -> None:
    with serving("--auth", "off", cwd=tmp_path) as server:
        assert "serves store.db at http://127.0.0.1:" in server.output
        assert "auth: none" in server.output
        assert server.get("/rewards/claims").json()["items"] == []
        for host, status in (("evil.example", 400), ("127.0.0.1.evil", 400), ("localhost:1", 200)):
            assert server.get("/rewards/claims", headers={"Host": host}).status_code == status
        code, _, err = server.end()
    assert code == 0
    assert "acts as the operator" in err
    with comptroller.open(tmp_path / "store.db", read_only=True) as svc:
        assert svc.check()["ok"]


def test_every_request_is_a_line_of_the_log(tmp_path: Path) -> None:
    with serving("--empty", "--auth", "off", cwd=tmp_path) as server:
        server.get("/rewards/claims?chain=secret", headers={"X-Request-Id": "r-1"})
        _, _, err = server.end(signal.SIGINT)
    lines = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
    (line,) = (line for line in lines if line["event"] == "request")
    assert (line["request_id"], line["operation"], line["status"]) == ("r-1", "claims.list", 200)
    assert "secret" not in err


def test_an_added_client_gets_a_token(run: Run, tmp_path: Path) -> None:
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


def test_tokens_of_an_external_issuer_are_verified_as_configured(tmp_path: Path) -> None:
    from joserfc import jwt
    from joserfc.jwk import ECKey

    key = ECKey.generate_key("P-384", {"kid": "k1"})
    (tmp_path / "keys.json").write_text(json.dumps({"keys": [key.as_dict(private=False)]}))
    ended_at = int(time.time()) - 30
    claims = {"iss": "i", "aud": "a", "sub": "s", "tenant": "acme", "scope": "rewards:read_claims"}
    header = {"alg": "ES384", "typ": "at+jwt", "kid": "k1"}
    token = jwt.encode(header, {**claims, "exp": ended_at}, key, algorithms=["ES384"])
    words = "--empty --auth jwks --issuer i --audience a --jwks keys.json --customer-claim tenant"
    more = "--algorithm ES256 --algorithm ES384 --leeway 60"
    with serving(*words.split(), *more.split(), cwd=tmp_path) as server:
        bearer = {"Authorization": f"Bearer {token}"}
        assert server.get("/rewards/claims", headers=bearer).status_code == 200


@pytest.mark.parametrize("word", ["--empty", "--sample=5"])
def test_a_temporary_store_needs_no_state_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    """A database that the environment names is not opened."""
    monkeypatch.setenv("COMPTROLLER_STATE", str(tmp_path / "state"))
    address = "postgresql://nowhere.invalid/books"
    with serving(word, cwd=tmp_path, db=address) as server:
        assert server.get("/readyz").status_code == 200
        assert server.end()[0] == 0
    assert list(tmp_path.iterdir()) == []


def test_a_temporary_store_excludes_one_that_is_named_before_the_command(run: Run) -> None:
    ended = run("--db", "a.db", "serve", "--empty")
    assert ended.code == 2
    assert "one of --db, --empty and --sample" in ended.err


def test_a_proxy_of_ipv4_is_trusted_by_a_server_for_ipv6(tmp_path: Path) -> None:
    words = ("--behind-proxy", "--issuer", "https://books.example", "--host", "::", "--empty")
    with serving(*words, cwd=tmp_path) as server:
        port = server.address.rpartition(":")[2]
        for headers in ({"X-Forwarded-For": "203.0.113.9"}, {}):
            address = f"http://127.0.0.1:{port}/rewards/claims"
            assert httpx2.get(address, headers=headers).status_code == 401
        _, _, err = server.end()
    lines = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
    peers = [line["peer"] for line in lines if line["event"] == "request"]
    assert peers == ["203.0.113.9", "127.0.0.1"]


def test_a_worker_that_no_server_starts_says_so(run: Run) -> None:
    for assignment in ("x", "{}", "\udcff"):
        ended = run("worker", assignment)
        assert ended.code == 2
        assert "`serve --workers` runs this command" in ended.err


def test_a_temporary_store_has_a_client(tmp_path: Path) -> None:
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


def test_deprecated_members_can_be_omitted(tmp_path: Path) -> None:
    place = "/v2/orchestration/orchestrations"
    with serving("--empty", "--auth", "off", "--sunset", "2027-06-30", cwd=tmp_path) as server:
        assert server.get(place).headers["sunset"] == "Wed, 30 Jun 2027 00:00:00 GMT"
    with serving("--empty", "--auth", "off", "--drop-deprecated", cwd=tmp_path) as server:
        assert "orchestrations" not in server.get(place).json()


def test_with_tls_other_machines_can_reach_it(tmp_path: Path) -> None:
    cert, key = certificate(tmp_path)
    listening = ("--host", "0.0.0.0", "--issuer", "https://books.example", "--empty")
    words = (*listening, "--tls-cert", str(cert), "--tls-key", str(key))
    with serving(*words, cwd=tmp_path) as server:
        address = server.address.replace("0.0.0.0", "127.0.0.1")
        assert address.startswith("https://")
        context = ssl.create_default_context(cafile=str(cert))
        assert httpx2.get(f"{address}/healthz", verify=context).status_code == 200
        assert httpx2.get(f"{address}/rewards/claims", verify=context).status_code == 401
        metadata = httpx2.get(f"{address}{METADATA_PATH}", verify=context).json()
        assert metadata["token_endpoint"] == "https://books.example/oauth2/token"
        assert server.end()[0] == 0


def test_sighup_reloads_and_does_not_stop_it(tmp_path: Path) -> None:
    with serving("--empty", cwd=tmp_path) as server:
        server.process.send_signal(signal.SIGHUP)
        assert server.get("/readyz").status_code == 200
        assert server.end()[0] == 0


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_server_stops_with_its_terminal(tmp_path: Path, workers: str) -> None:
    ours, theirs = os.openpty()
    words = ("--empty", "--port", "0", "--workers", workers)
    with subprocess.Popen(
        [sys.executable, "-m", "comptroller", "serve", *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        # A new pseudo-terminal, as a terminal window has.
        preexec_fn=lambda: (os.setsid(), fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)),
    ) as process:
        try:
            os.close(theirs)
            assert process.stdout
            assert b"serves" in process.stdout.readline()
            process.send_signal(signal.SIGHUP)
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.5)
            os.close(ours)
            assert process.wait(30) == 0
        finally:
            process.kill()
