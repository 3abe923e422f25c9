"""A server of a database: what does not wait for it, and its private files."""

from __future__ import annotations

import shutil
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import comptroller
import pytest
from command_line import Run
from comptroller.local import LocalHost
from lines import claim, load
from postgresql_server import Connection, Server
from serving import Serving, serving

httpx2 = pytest.importorskip("httpx2")
pytest.importorskip("joserfc")

from comptroller.http.oauth import clients  # noqa: E402
from comptroller.http.oauth.authority import JWKS_PATH  # noqa: E402

CLAIMS = "/rewards/claims"
IDENTITIES = "/v2/identity/identities"
#: The threads in which a server reads a database.
_READERS = 16


def test_a_server_answers_while_reads_wait_for_the_database(
    store_path: str, tmp_path: Path
) -> None:
    with comptroller.open(store_path) as svc:
        load(svc, "claims", claim(id="c"))
    words = ("--auth", "off", "--state", str(tmp_path / "state"))
    with (
        serving(*words, cwd=tmp_path, db=store_path) as server,
        closing(Connection(store_path)) as other,
        ThreadPoolExecutor(_READERS + 1) as threads,
    ):
        other.execute("BEGIN")
        other.execute("LOCK TABLE claims IN ACCESS EXCLUSIVE MODE")
        waiting = [threads.submit(server.get, CLAIMS)]
        _wait_for_locks(store_path, waiting)
        for path in ("/healthz", IDENTITIES):
            assert server.get(path).status_code == 200
        waiting += [threads.submit(server.get, CLAIMS) for _ in range(_READERS - 1)]
        _wait_for_locks(store_path, waiting)
        last = threads.submit(server.get, CLAIMS)  # no thread is left for it
        for path in ("/healthz", "/readyz"):
            assert server.get(path).status_code == 200
        assert not any(each.done() for each in (*waiting, last))
        other.execute("COMMIT")
        for each in (*waiting, last):
            assert [claim["id"] for claim in each.result().json()["items"]] == ["c"]


def _wait_for_locks(address: str, waiting: list[Future[Any]]) -> None:
    """Waits until each request waits for a lock; raises what ends one before."""
    with closing(Connection(address)) as connection:
        while len(connection.execute(_WAITING_SESSIONS)) < len(waiting):
            for each in waiting:
                assert not each.done(), each.result().text


_WAITING_SESSIONS = (
    "SELECT pid FROM pg_locks WHERE NOT granted AND database ="
    " (SELECT oid FROM pg_database WHERE datname = current_database())"
)


@pytest.mark.parametrize("auth", ["off", "local"])
def test_no_answer_shows_where_the_database_is(
    run: Run, own_server: Server, tmp_path: Path, auth: str
) -> None:
    """The log has what answers leave out, such as the host, the user and the database."""
    address = own_server.create("hidden_books")
    words = ("--auth", auth, "--state", str(tmp_path / "state"))
    group = {
        "ledger": "ETHEREUM",
        "asset_type": "ETH",
        "jurisdiction": "CH",
        "name": "North",
        "claimer_address": "0x0000000000000000000000000000000000000001",
    }
    with serving(*words, cwd=tmp_path, db=address) as server:
        headers = {}
        if auth == "local":
            client = run("clients", "add", "desk", "--operator", "--db", address, "--json").json
            names = ("client_id", "client_secret")
            form = {"grant_type": "client_credentials", **{name: client[name] for name in names}}
            token = server.ask("POST", "/oauth2/token", data=form).json()["access_token"]
            headers = {"authorization": f"Bearer {token}"}
        assert server.get(CLAIMS, headers=headers).status_code == 200
        own_server.stop()
        load = {"headers": {**headers, "content-type": "application/x-ndjson"}, "content": b"{}"}
        answers = [
            server.ask("PUT", f"/operator{IDENTITIES[3:]}", json={"id": "a"}, headers=headers),
            server.ask("POST", "/rewards/payout-groups", json=group, headers=headers),
            server.get(CLAIMS, headers=headers),
            server.get("/operator/export/claims", headers=headers),
            server.ask("POST", "/operator/load/claims", **load),
            server.get("/v2/journal/checkpoint", headers=headers),
            server.get("/readyz"),
        ]
        for answer in answers:
            assert answer.status_code in (503, 504), answer.text
            assert "retry-after" in answer.headers or answer.status_code == 504
        shown = "".join(f"{answer.headers} {answer.text}" for answer in answers)
        log = server.end()[2]
    assert "the database cannot be reached; try again later" in answers[-1].json()["detail"]
    for secret in (str(own_server.folder), "socket", "hidden_books", "comptroller@"):
        assert secret not in shown
    assert str(own_server.folder) in log
    assert answers[-1].json()["request_id"] in log


def test_an_answer_of_unknown_outcome_does_not_quote_the_database(
    store_path: str, tmp_path: Path
) -> None:
    """The database ends the connection at the commit."""
    comptroller.open(store_path).close()
    with closing(Connection(store_path)) as session:
        session.execute(
            "CREATE FUNCTION end_backend() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN"
            " PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END'"
        )
        session.execute(
            "CREATE CONSTRAINT TRIGGER ends AFTER INSERT ON identities DEFERRABLE INITIALLY"
            " DEFERRED FOR EACH ROW EXECUTE FUNCTION end_backend()"
        )
    with serving("--auth", "off", cwd=tmp_path, db=store_path) as server:
        answer = server.ask("PUT", f"/operator{IDENTITIES[3:]}", json={"id": "a"})
        _code, _out, log = server.end()
    assert answer.json()["code"] == "outcome-unknown"
    assert answer.json()["detail"] == (
        "the connection to the database was lost; the write may have been executed: repeat it with "
        "the same Idempotency-Key, or read the record first"
    )
    assert "the connection to the database was lost: " in log


def _connect(server: Serving, client: dict[str, str]) -> comptroller.Service:
    return comptroller.connect(
        server.address,
        client_id=client["client_id"],
        client_secret=client["client_secret"],
        transport=httpx2.HTTPTransport(),
    )


def _signer(service: comptroller.Service) -> str:
    """Returns the name of the key that signs the checkpoints of a server."""
    return service.journal.checkpoint().split()[0]


def test_servers_share_clients_and_keys(run: Run, store_path: str, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    with serving("--state", str(first), cwd=tmp_path, db=store_path) as server:
        assert {path.name for path in first.iterdir() if "lock" not in path.name} == {
            "store.seal-key",
            "store.journal-key",
            "store.webhook-key",
        }
        shutil.copytree(first, second)
        client = run("clients", "add", "desk", "--operator", "--db", store_path, "--json").json
        with _connect(server, client) as remote:
            remote.identities.put(id="alice")
            signers = {_signer(remote)}
        with (
            serving("--state", str(second), cwd=tmp_path, db=store_path) as other,
            _connect(other, client) as remote,
        ):
            assert remote.identities.list()[0].id == "alice"
            keys = [each.get(JWKS_PATH).json() for each in (server, other)]
            assert keys[0] == keys[1]
            signers.add(_signer(remote))
    assert len(signers) == 1
    stored = _secrets(store_path)
    assert b"desk" in stored["clients"]
    assert client["client_secret"].encode() not in stored["clients"]
    assert b'"d"' not in stored["keys"]


def test_a_server_without_the_key_of_the_others_does_not_start(
    run: Run, store_path: str, tmp_path: Path
) -> None:
    rotate = ("keys", "rotate", "--db", store_path, "--state")
    assert run(*rotate, "first").code == 0
    refused = run(*rotate, "second")
    assert refused.code == 1
    assert "second/store.seal-key is missing; copy this file" in refused.err
    for name in ("store.journal-key", "store.webhook-key"):
        shutil.copy(tmp_path / "first" / name, tmp_path / "second")
    (tmp_path / "second" / "store.seal-key").write_bytes(bytes(32))
    (tmp_path / "second" / "store.seal-key").chmod(0o600)
    refused = run("serve", "--port", "0", "--db", store_path, "--state", "second")
    assert refused.code == 1
    assert "second/store.seal-key did not encrypt the keys in" in refused.err


def test_a_server_with_another_key_for_checkpoints_does_not_start(
    run: Run, store_path: str, tmp_path: Path
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    with serving("--state", str(first), cwd=tmp_path, db=store_path):
        pass
    shutil.copytree(first, second)
    (second / "store.journal-key").unlink()
    refused = run("serve", "--port", "0", "--db", store_path, "--state", str(second))
    assert refused.code == 1
    assert "the state folder lacks the key of the other programs of this database" in refused.err
    assert not (second / "store.journal-key").exists()
    with serving("--state", str(first), cwd=tmp_path, db=store_path) as server:
        assert server.get("/readyz").status_code == 200


def test_a_change_of_clients_is_refused_if_another_process_made_one(
    store_path: str,
) -> None:
    with comptroller.open(store_path) as one, comptroller.open(store_path) as two:
        ours, theirs = (clients.shared_of(cast("LocalHost", svc.host)) for svc in (one, two))
        assert ours.read() is None
        clients.add(theirs, "first", None, None)
        with pytest.raises(comptroller.Unavailable, match="another process changed the clients"):
            ours.write(b"[]")
        clients.add(ours, "second", None, None)
        assert [each.name for each in clients.read(theirs).values()] == ["first", "second"]


def _secrets(address: str) -> dict[str, bytes]:
    """Returns the documents of a database; the first byte of a value tells its type."""
    with closing(Connection(address)) as connection:
        rows = connection.execute("SELECT name, encode(value, 'hex') FROM secrets")
    return {str(name): bytes.fromhex(str(value))[1:] for name, value in rows}
