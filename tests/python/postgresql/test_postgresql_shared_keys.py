"""The keys in the state folders of a database, of which it registers the first ones."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path
from typing import cast

import comptroller
import pytest
from command_line import GOOD, Run
from comptroller.http import EveryoneIsOperator, app
from comptroller.journal.shared_keys import share_keys
from comptroller.local import LocalHost
from postgresql_server import Connection, Server
from serving import serving

pytest.importorskip("joserfc")

_LACKS = "the state folder lacks the key of the other programs of this database"
_LACKS_WEBHOOKS = (
    "the state folder lacks the key for webhooks of the other programs of this database"
)
_ANOTHER = "the state folder has another key for checkpoints of the journal than the other programs"
_HOOK = "https://hooks.example.com"


def _documents(address: str) -> set[str]:
    """Returns the names of the keys and documents that a database has."""
    with closing(Connection(address)) as connection:
        names = {str(name) for (name,) in connection.execute("SELECT name FROM secrets")}
    return names & {"clients", "keys", "journal key", "webhook key fingerprint"}


_REGISTERED = {"journal key", "webhook key fingerprint"}


@pytest.fixture
def new_address(server: Server, store_path: str) -> str:
    """The address of an empty database without a store."""
    name = store_path.partition("@/")[2].partition("?")[0] + "_new"
    return server.create(name)


def test_a_refused_server_does_not_stop_the_right_ones(
    run: Run, tmp_path: Path, new_address: str
) -> None:
    """The keys of the copy are those of the database, before the first server has started."""
    run("load", "claims", "-", "--db", "s.db", given=GOOD)
    run("keys", "rotate", "--db", "s.db")
    copied = run("copy", "s.db", new_address, "--with-keys", "--state", "right")
    assert copied.code == 0, copied.err
    assert _documents(new_address) == {"keys"} | _REGISTERED
    for auth in ("local", "off"):
        words = ("serve", "--port", "0", "--auth", auth, "--db", new_address, "--state", "wrong")
        refused = run(*words)
        assert refused.code == 1
        assert _LACKS in refused.err
        assert "copy the state folder of one of them" in refused.err
        assert list((tmp_path / "wrong").iterdir()) == []
    with serving("--state", str(tmp_path / "right"), cwd=tmp_path, db=new_address) as server:
        assert server.get("/readyz").status_code == 200


@pytest.mark.parametrize(
    "words",
    [
        "serve --port 0",
        "serve --port 0 --no-webhooks",
        "serve --port 0 --no-webhooks --auth off",
        "journal checkpoint",
        "keys rotate",
        "deliver",
    ],
)
def test_a_folder_without_the_key_of_webhooks_is_refused(
    run: Run, store_path: str, tmp_path: Path, words: str
) -> None:
    """Nothing is encrypted with a new key of the folder, for which the others lack the key."""
    right = ("--db", store_path, "--state", "right")
    assert run("journal", "key", *right).code == 0
    part = tmp_path / "part"
    part.mkdir(mode=0o700)
    shutil.copy(tmp_path / "right" / "store.journal-key", part)
    refused = run(*words.split(), "--db", store_path, "--state", "part")
    assert refused.code == 1
    assert _LACKS_WEBHOOKS in refused.err
    assert "copy the state folder of one of them" in refused.err
    assert [each.name for each in part.iterdir()] == ["store.journal-key"]
    assert _documents(store_path) == _REGISTERED
    rotated = run("keys", "rotate", *right)
    assert rotated.code == 0, rotated.err


def test_a_server_that_is_refused_for_another_reason_registers_nothing(
    run: Run, store_path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "proxy.example")
    words = ("serve", "--port", "0", "--db", store_path, "--state", "wrong")
    issuer = ["--issuer", "https://books.example"]
    for wrong, message in (
        (["--issuer", "http://books.example"], "issuer: must be an https URL"),
        ([*issuer, "--behind-proxy"], "FORWARDED_ALLOW_IPS: "),
    ):
        refused = run(*words, *wrong)
        assert refused.code == 1
        assert message in refused.err
        assert _documents(store_path) == set()


def test_a_server_registers_the_key_of_webhooks_that_it_does_not_deliver(
    store_path: str, tmp_path: Path
) -> None:
    words = ("--no-webhooks", "--auth", "off", "--state", str(tmp_path / "right"))
    with serving(*words, cwd=tmp_path, db=store_path):
        assert _documents(store_path) == _REGISTERED


def test_an_application_registers_the_key_whose_secrets_it_shows(
    store_path: str, tmp_path: Path
) -> None:
    with (
        comptroller.open(store_path, state=tmp_path / "right") as right,
        comptroller.open(store_path, state=tmp_path / "wrong") as wrong,
    ):
        app(right, authenticator=EveryoneIsOperator())
        assert _documents(store_path) == _REGISTERED
        with pytest.raises(comptroller.Unusable, match=_LACKS):
            app(wrong, authenticator=EveryoneIsOperator())
        assert list((tmp_path / "wrong").iterdir()) == []


# Commands that use a key of the state folder; ID is that of a webhook.
USING = [
    "journal checkpoint",
    "journal key",
    "evidence --identity alice --out evidence",
    "webhooks secret ID",
    "webhooks rotate ID",
    "webhooks test ID",
    "keys rotate",
]


@pytest.mark.parametrize("command", USING)
def test_the_first_use_of_a_key_registers_it(
    run: Run, store_path: str, tmp_path: Path, command: str
) -> None:
    with comptroller.open(store_path) as svc:
        svc.identities.put(id="alice")
        webhook = svc.webhooks.create(url=_HOOK).id
    words = [webhook if word == "ID" else word for word in command.split()]
    words += ["--db", store_path, "--state"]
    used = run(*words, "right")
    assert used.code == 0, used.err
    assert _documents(store_path) >= _REGISTERED
    refused = run(*words, "wrong")
    assert refused.code == 1
    assert _LACKS in refused.err or "store.seal-key is missing" in refused.err
    assert list((tmp_path / "wrong").iterdir()) == []
    shutil.rmtree(tmp_path / "evidence", ignore_errors=True)
    again = run(*words, "right")
    assert again.code == 0, again.err
    if words[:2] in (["journal", "key"], ["webhooks", "secret"]):
        assert again.out == used.out


def test_another_key_is_refused_and_signs_no_export(
    run: Run, store_path: str, tmp_path: Path
) -> None:
    run("journal", "key", "--db", "other.db")
    run("load", "claims", "-", "--db", "other.db", given=GOOD)
    run("journal", "key", "--db", "other.db")
    (tmp_path / "wrong").mkdir(mode=0o700)
    shutil.copy(tmp_path / "other.db.journal-key", tmp_path / "wrong" / "store.journal-key")
    words = ("journal", "checkpoint", "--db", store_path, "--state")
    signer = run(*words, "right").out.split()[0]
    refused = run(*words, "wrong")
    assert refused.code == 1
    assert _ANOTHER in refused.err
    export = ("export", "claims", "x.ndjson", "--db", store_path, "--json", "--state")
    assert run(*export, "right").json["journal"]["checkpoint"].split()[0] == signer
    assert run(*export, "wrong").json["journal"]["checkpoint"] is None


def test_a_service_that_is_read_only_makes_no_key(store_path: str, tmp_path: Path) -> None:
    state = tmp_path / "state"
    with (
        comptroller.open(store_path, state=state, read_only=True) as reader,
        comptroller.open(store_path, state=state) as svc,
    ):
        with pytest.raises(comptroller.Unusable, match="has no key for checkpoints yet"):
            reader.journal.key()
        assert list(state.iterdir()) == []
        assert svc.journal.key() == reader.journal.key()


def test_of_two_folders_at_once_one_is_registered(store_path: str, tmp_path: Path) -> None:
    with (
        comptroller.open(store_path, state=tmp_path / "one") as one,
        comptroller.open(store_path, state=tmp_path / "two") as two,
    ):
        share_keys(cast("LocalHost", one.host))
        for use in (two.journal.key, lambda: share_keys(cast("LocalHost", two.host))):
            with pytest.raises(comptroller.Unusable, match=_LACKS):
                use()


def test_registered_keys_are_used_while_another_connection_writes(
    store_path: str, tmp_path: Path
) -> None:
    """They are only read, so that a checkpoint and a secret do not wait for a load."""
    with (
        comptroller.open(store_path, state=tmp_path / "state") as svc,
        closing(Connection(store_path)) as other,
    ):
        webhook = svc.webhooks.create(url=_HOOK).id
        before = svc.journal.checkpoint(), svc.webhooks.secret(webhook)
        for lock in (
            "SELECT only_row FROM journal_writer FOR UPDATE",
            "LOCK TABLE journal_writer IN SHARE ROW EXCLUSIVE MODE",
        ):
            other.execute("BEGIN")
            other.execute(lock)
            assert (svc.journal.checkpoint(), svc.webhooks.secret(webhook)) == before
            other.execute("ROLLBACK")


def test_a_lost_state_folder_is_replaced(run: Run, store_path: str, tmp_path: Path) -> None:
    """By the statement of docs/how-to/postgresql.md."""
    with comptroller.open(store_path) as svc:
        webhook = svc.webhooks.create(url=_HOOK).id
    secret = ("webhooks", "secret", webhook, "--db", store_path, "--state")
    run("keys", "rotate", "--db", store_path, "--state", "lost")
    before = run(*secret, "lost").out
    with closing(Connection(store_path)) as connection:
        connection.execute(
            "DELETE FROM secrets WHERE name IN ('journal key', 'webhook key fingerprint', 'keys')"
        )
    with serving("--state", str(tmp_path / "new"), cwd=tmp_path, db=store_path) as server:
        assert server.get("/readyz").status_code == 200
    after = run(*secret, "new")
    assert after.code == 0, after.err
    assert after.out != before
    assert run("keys", "rotate", "--db", store_path, "--state", "new").code == 0


def test_a_client_of_a_database_gets_a_checkpoint_of_the_registered_key(
    store_path: str, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    with (
        comptroller.open(store_path, state=state) as svc,
        comptroller.open(
            store_path, customer="acme", scopes=["journal:read"], state=state
        ) as client,
    ):
        assert client.journal.key() == svc.journal.key()


def test_a_copy_replaces_no_key_of_another_store(
    run: Run, store_path: str, tmp_path: Path, new_address: str
) -> None:
    run("journal", "key", "--db", store_path, "--state", "taken")
    before = (tmp_path / "taken" / "store.journal-key").read_bytes()
    run("load", "claims", "-", "--db", "s.db", given=GOOD)
    run("journal", "key", "--db", "s.db")
    refused = run("copy", "s.db", new_address, "--with-keys", "--state", "taken")
    assert refused.code == 1
    assert "store.journal-key is of another store; name a new folder" in refused.err
    assert (tmp_path / "taken" / "store.journal-key").read_bytes() == before
    assert run("copy", "s.db", new_address).code == 0  # nothing was copied before
