"""Clients: valid names and customers, revocation, and the secrecy of their secrets."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import comptroller
import pytest
from command_line import Ended, Run
from comptroller.http.oauth import clients, keys
from comptroller.http.oauth.authority import JWKS_PATH
from comptroller.secret_file import SecretFile
from token_server import Known, Served

pytest.importorskip("click")
pytest.importorskip("rich")


@pytest.fixture
def served(store_path: Path, operator: comptroller.Service) -> Served:
    return Served(store_path, operator)


# ---- clients -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("Acme Rewards, nightly", "acme-rewards-nightly-"),
        ("operator", "operator-"),
        ("日本", "client-"),
        ("x" * 128, "x" * 40 + "-"),
        ("--", "client-"),
    ],
)
def test_a_client_id_is_readable(registry: SecretFile, name: str, begins: str) -> None:
    client, _secret = clients.add(registry, name, "acme", None)
    assert client.client_id.removeprefix(begins).isalnum()
    assert clients.read(registry) == {client.client_id: client}


@pytest.mark.parametrize(
    ("name", "customer", "scopes", "field"),
    [
        ("", "acme", None, "name"),
        ("x" * 129, "acme", None, "name"),
        ("a\nb", "acme", None, "name"),
        ("a\x1b[2J", "acme", None, "name"),
        ("a", "", None, "customer"),
        ("a", "a b", None, "customer"),
        ("a", "acme", ["operator:read"], "scopes"),
        ("a", "acme", ["rewards:read_claim"], "scopes"),
        ("a", None, ["rewards:read_claims"], "scopes"),
    ],
)
def test_an_invalid_client_is_refused(
    registry: SecretFile, name: str, customer: str | None, scopes: list[str] | None, field: str
) -> None:
    with pytest.raises(comptroller.InvalidRequest) as refused:
        clients.add(registry, name, customer, scopes)
    assert [error.field for error in refused.value.errors] == [field]
    assert not registry.path.exists()


def test_of_simultaneous_clients_of_one_name_one_is_added(registry: SecretFile) -> None:
    def add(_: int) -> str:
        try:
            return clients.add(registry, "job", None, None)[0].client_id
        except comptroller.InvalidRequest as error:
            return str(error.existing)

    with ThreadPoolExecutor(8) as threads:
        ids = set(threads.map(add, range(8)))
    assert list(clients.read(registry)) == list(ids)


def test_a_revoked_client_is_rejected_within_a_second(served: Served, registry: SecretFile) -> None:
    gone, stays = served.register("gone"), served.register("stays")
    tokens = [served.token(each) for each in (gone, stays)]
    assert [served.show(token).status_code for token in tokens] == [200, 200]
    client = clients.revoke(registry, gone.id)
    served.clock.go(1)
    answer = served.show(tokens[0])
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == (
        'Bearer error="invalid_token", error_description="the client of the token is revoked"'
    )
    assert served.ask_token(gone).status_code == 401
    assert served.show(tokens[1]).status_code == 200
    assert clients.revoke(registry, gone.id) == client
    with pytest.raises(comptroller.InvalidRequest, match="is revoked"):
        clients.rotate(registry, gone.id)


def test_a_removed_client_is_rejected(served: Served, registry: SecretFile) -> None:
    known = served.register()
    token = served.token(known)
    assert served.show(token).status_code == 200
    registry.path.unlink()
    served.clock.go(1)
    assert served.show(token).status_code == 401
    assert served.ask_token(known).status_code == 401


def test_a_new_secret_replaces_the_old_one(served: Served, registry: SecretFile) -> None:
    known = served.register()
    token = served.token(known)
    client, secret = clients.rotate(registry, known.id)
    served.clock.go(1)
    assert served.ask_token(known).status_code == 401
    assert served.ask_token(Known(client.client_id, secret)).status_code == 200
    assert served.show(token).status_code == 200


@pytest.mark.parametrize("change", [clients.rotate, clients.revoke])
def test_an_unknown_client_is_not_found(
    registry: SecretFile, change: Callable[[SecretFile, str], object]
) -> None:
    with pytest.raises(comptroller.NotFound):
        change(registry, "nobody")


@pytest.mark.parametrize("name", [".keys", ".clients"])
def test_unusable_files_reject_everybody_and_are_not_shown(
    served: Served, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    known = served.register()
    token = served.token(known)
    path = Path(f"{served.store}{name}")
    path.chmod(0o644)
    served.clock.go(1)
    for answer in (served.show(token), served.ask_token(known)):
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert path.name not in answer.text
    assert served.ask("GET", "/healthz").status_code == 200
    assert f"chmod 600 {path}" in caplog.text
    path.chmod(0o600)
    served.clock.go(1)
    assert served.show(token).status_code == 200


# ---- secrets -------------------------------------------------------------------------------------


def test_secrets_are_in_no_file_log_or_name(
    served: Served,
    registry: SecretFile,
    key_file: SecretFile,
    caplog: pytest.LogCaptureFixture,
    operator: comptroller.Service,
) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.WARNING, "httpx2")  # the peer, which logs the requests
    known = served.register(customer=None)
    client, second = clients.rotate(registry, known.id)
    served.clock.go(1)
    answers = [served.ask_token(known), served.ask_token(Known(known.id, second))]
    token = answers[1].json()["access_token"]
    body = {"id": "canary", "ref_id": "x"}
    headers = {"Authorization": f"Bearer {token}"}
    answers.append(served.ask("PUT", "/operator/identity/identities", json=body, headers=headers))
    assert [answer.status_code for answer in answers] == [401, 200, 200]
    flipped = token[:-4] + ("AAAA" if token[-4:] != "AAAA" else "BBBB")
    answers += [served.show(flipped), served.show(token, "/v2/identity/identities/nobody")]
    served.ask("GET", f"/rewards/claims?access_token={token}")
    private = json.loads(key_file.path.read_bytes())["keys"][0]["d"]
    operator.close()
    secret = [known.secret, second, token, token.split(".")[2], flipped.split(".")[2], private]
    for path in served.store.parent.iterdir():
        if path != key_file.path:
            held = path.read_bytes()
            assert not [each for each in secret if each.encode() in held], path
    texts = [caplog.text, repr(client), repr(client.secret), repr(clients.read(registry))]
    texts += [repr(keys.read(key_file)), repr(served.authority)]
    texts += [answer.text for answer in answers if answer is not answers[1]]
    for text in texts:
        assert not [each for each in secret if each in text]
    assert repr(client.secret.digest) not in repr(client)


def test_a_secret_is_compared_in_constant_time(
    registry: SecretFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its scrypt hash, and by a function that takes the same time wherever they differ."""
    client, secret = clients.add(registry, "a", "acme", None)
    compared: list[tuple[bytes, bytes]] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return hmac.compare_digest(one, other)

    monkeypatch.setattr(clients, "hmac", SimpleNamespace(compare_digest=compare))
    assert client.secret.matches(secret)
    for wrong in ("", secret[:-1], secret + "x", secret.swapcase()):
        assert not client.secret.matches(wrong)
    assert not clients.SecretHash.unmatchable().matches(secret)
    cost = {"n": client.secret.n, "r": client.secret.r, "p": client.secret.p}
    expected = hashlib.scrypt(secret.encode(), salt=client.secret.salt, dklen=32, **cost)
    assert compared[0] == (expected, expected)
    assert len(compared) == 6
    assert {len(digest) for pair in compared for digest in pair} == {32}


# ---- on the command line -------------------------------------------------------------------------


@pytest.fixture
def at_store(run: Run, store_path: Path) -> Run:
    """Runs a command on the test's store."""

    def running(*words: str) -> Ended:
        ended: Ended = run(*words, "--db", str(store_path))
        return ended

    return running


def test_a_client_is_added_listed_rotated_and_revoked(at_store: Run, served: Served) -> None:
    added = at_store("clients", "add", "Nightly job", "--customer", "acme", "--json").json
    assert added.keys() == {"client_id", "client_secret", "customer_id", "scopes"}
    assert (added["customer_id"], len(added["scopes"])) == ("acme", 13)
    served.clock.go(1)
    first = Known(added["client_id"], added["client_secret"])
    token = served.token(first)
    second = Known(
        first.id, at_store("clients", "rotate", first.id, "--json").json["client_secret"]
    )
    served.clock.go(1)
    assert [served.ask_token(each).status_code for each in (first, second)] == [401, 200]
    [listed] = at_store("clients", "list", "--json").json["clients"]
    assert (listed["client_id"], listed["name"]) == (first.id, "Nightly job")
    assert (listed["customer_id"], listed["revoked_at"]) == ("acme", None)
    ended = at_store("clients", "revoke", first.id)
    assert ended.out == f"{first.id} and its tokens are revoked\n"
    served.clock.go(1)
    assert served.show(token).status_code == 401
    assert at_store("clients", "list", "--json").json["clients"][0]["revoked_at"].endswith("Z")


def test_a_secret_is_shown_once(at_store: Run) -> None:
    ended = at_store("clients", "add", "ops", "--operator", "--scope", "operator:read")
    fields = dict(line.split(maxsplit=1) for line in ended.out.splitlines()[:4])
    assert fields.keys() == {"client_id", "client_secret", "customer_id", "scopes"}
    assert (fields["customer_id"], fields["scopes"]) == ("(operator)", "operator:read")
    assert len(fields["client_secret"]) == 43
    assert "cannot be shown again" in ended.out
    for words in (["list"], ["list", "--json"], ["revoke", fields["client_id"], "--json"]):
        ended = at_store("clients", *words)
        assert ended.code == 0
        assert fields["client_id"] in ended.out
        assert fields["client_secret"] not in ended.out + ended.err


def test_a_second_client_of_the_same_name_is_refused_until_the_first_is_revoked(
    at_store: Run, registry: SecretFile, store_path: Path
) -> None:
    add = ("clients", "add", "job", "--operator")
    first = at_store(*add, "--json").json["client_id"]
    second = at_store(*add)
    assert (second.code, second.out) == (1, "")
    assert f"name: client {first} has this name; " in second.err
    assert f"comptroller clients rotate {first} --db {store_path}\n" in second.err
    assert list(clients.read(registry)) == [first]
    at_store("clients", "revoke", first)
    assert at_store(*add).code == 0


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (["clients", "add", "a"], 2, "either --customer ID or --operator"),
        (["clients", "add", "a", "--customer", "b", "--operator"], 2, "either --customer ID"),
        (["clients", "add", "a", "--customer", "b c"], 1, "customer: "),
        (["clients", "add", "a", "--operator", "--scope", "x"], 1, "scopes: "),
        (["clients", "add", "", "--operator"], 1, "name: must be 1 to 128"),
        (["clients", "rotate", "nobody"], 1, "not-found: there is no client_id nobody"),
        (["clients", "revoke", "nobody"], 1, "not-found: there is no client_id nobody"),
        (["clients", "list", "nobody"], 2, "unexpected extra argument"),
    ],
)
def test_invalid_arguments_are_reported(
    at_store: Run, words: list[str], code: int, expected: str
) -> None:
    ended = at_store(*words)
    assert (ended.code, ended.out) == (code, "")
    assert expected in ended.err


@pytest.mark.parametrize(
    "words",
    [
        ["clients", "add", "a", "--operator"],
        ["clients", "list"],
        ["clients", "rotate", "a"],
        ["clients", "revoke", "a"],
        ["keys", "rotate"],
    ],
)
def test_clients_need_a_store(run: Run, tmp_path: Path, words: list[str]) -> None:
    ended = run(*words, "--db", "none.db")
    assert (ended.code, ended.out) == (1, "")
    assert "there is no store none.db" in ended.err
    assert list(tmp_path.iterdir()) == []


def test_keys_are_rotated(at_store: Run, served: Served) -> None:
    served.clock.now = time.time()
    token = served.token(served.register())
    ended = at_store("keys", "rotate", "--json")
    assert ended.code == 0
    [retired] = ended.json["retired"]
    assert retired["until"].endswith("Z")
    served.clock.go(1)
    published_keys = served.ask("GET", JWKS_PATH).json()["keys"]
    assert [key["kid"] for key in published_keys] == [ended.json["kid"], retired["kid"]]
    assert served.show(token).status_code == 200
    again = at_store("keys", "rotate").out.splitlines()
    assert again[0].endswith(" signs from now on")
    assert len(again) == 3


def test_a_hostile_name_cannot_control_the_terminal(at_store: Run, registry: SecretFile) -> None:
    clients.add(registry, "plain", "acme", None)
    entries = json.loads(registry.path.read_bytes())
    entries[0]["name"] = "\x1b[2J"
    registry.path.write_text(json.dumps(entries))
    for words in (["list"], ["list", "--json"]):
        ended = at_store("clients", *words)
        assert ended.code == 0
        assert "\x1b" not in ended.out
    entries[0]["client_id"] = "\x1b[2J"
    registry.path.write_text(json.dumps(entries))
    ended = at_store("clients", "list")
    assert ended.code == 1
    assert "\x1b" not in ended.out + ended.err


def test_a_list_fits_a_terminal(at_store: Run, registry: SecretFile) -> None:
    clients.add(registry, "nightly reconciliation", "northgate", None)
    clients.add(registry, "ops", None, ["operator:read"])
    lines = at_store("clients", "list").out.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[1:3] for line in lines[2:]] == [["northgate", "all"], ["(operator)", "1"]]


@pytest.mark.parametrize(
    "words",
    [
        ["clients", "add", "desk", "--operator"],
        ["clients", "list"],
        ["keys", "rotate"],
    ],
)
@pytest.mark.parametrize("content", ["a letter, not a store\n" * 100, "SQLite format 3\0" * 40])
def test_a_file_that_is_not_a_store_gets_no_clients(
    run: Run, tmp_path: Path, words: list[str], content: str
) -> None:
    (tmp_path / "letter").write_text(content)
    ended = run(*words, "--db", "letter")
    assert ended.code == 1
    assert ended.err.startswith("comptroller: unusable: ")
    assert [file.name for file in tmp_path.iterdir()] == ["letter"]
    assert (tmp_path / "letter").read_text() == content
