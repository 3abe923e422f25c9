"""The files of keys and clients beside a store: permissions, damage and rotation."""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import comptroller
import pytest
from command_line import Run
from comptroller.http.oauth import clients, keys
from comptroller.http.oauth.authority import JWKS_PATH, local_authority
from comptroller.secret_file import SecretFile
from token_server import ISSUER, Served


@pytest.fixture
def served(store_path: Path, operator: comptroller.Service) -> Served:
    return Served(store_path, operator)


@pytest.fixture
def no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("no_umask")
def test_secret_files_are_private(
    served: Served, registry: SecretFile, key_file: SecretFile
) -> None:
    known = served.register()
    made = {registry.path, key_file.path}
    assert {path.name for path in made} == {"store.db.clients", "store.db.keys"}
    clients.rotate(registry, known.id)
    keys.rotate(key_file, served.clock())
    for path in (*made, *(path.with_name(path.name + "-lock") for path in made)):
        assert mode(path) == 0o600, path
    assert not list(registry.path.parent.glob("*.part"))


@pytest.mark.parametrize("permissions", [0o640, 0o604, 0o620, 0o660, 0o644])
@pytest.mark.parametrize("name", [".keys", ".clients"])
def test_files_that_other_users_may_read_are_refused(
    served: Served, name: str, permissions: int
) -> None:
    served.register()
    path = Path(f"{served.store}{name}")
    path.chmod(permissions)
    with pytest.raises(comptroller.Unusable) as refused:
        local_authority(str(served.store), issuer=ISSUER)
    assert f"chmod 600 {path}" in refused.value.detail
    path.chmod(0o600)
    local_authority(str(served.store), issuer=ISSUER)


def damaged_keys(data: bytes) -> Iterator[bytes]:
    entry = json.loads(data)["keys"][0]
    yield b""
    yield data[:-10]
    yield b"[]"
    yield b'{"keys":[]}'
    yield b"\xff\x00"
    for changed in (
        {"x": entry["d"]},
        {"d": entry["d"][:-2]},
        {"d": "!"},
        {"alg": "ES256"},
        {"crv": "Ed448"},
        {"kty": "EC"},
    ):
        yield json.dumps({"keys": [entry | changed]}).encode()
    yield json.dumps({"keys": [entry, entry]}).encode()
    yield json.dumps({"keys": [{name: it for name, it in entry.items() if name != "d"}]}).encode()


def test_damaged_keys_are_refused_and_unchanged(served: Served, key_file: SecretFile) -> None:
    secret = json.loads(key_file.path.read_bytes())["keys"][0]["d"]
    for damaged in damaged_keys(key_file.path.read_bytes()):
        key_file.path.write_bytes(damaged)
        for use in (
            lambda: local_authority(str(served.store), issuer=ISSUER),
            lambda: keys.rotate(key_file, 0),
        ):
            with pytest.raises(comptroller.Unusable) as refused:
                use()
            assert str(key_file.path) in refused.value.detail
            assert "restore a backup of it" in refused.value.detail
            assert secret not in str(refused.value)
        assert key_file.path.read_bytes() == damaged


@pytest.mark.parametrize(
    "change",
    [
        lambda entries: entries[0].pop("client_id"),
        lambda entries: entries[0].update(customer=""),
        lambda entries: entries[0].update(scopes=["unheard:of"]),
        lambda entries: entries[0].update(secret="x"),
        lambda entries: entries[0]["secret"].update(n=1000),
        lambda entries: entries[0]["secret"].update(n=2**40),
        lambda entries: entries[0]["secret"].update(salt="!"),
        lambda entries: entries.append(1),
    ],
)
def test_damaged_clients_are_refused(
    served: Served, registry: SecretFile, change: Callable[[Any], object]
) -> None:
    served.register()
    entries = json.loads(registry.path.read_bytes())
    change(entries)
    registry.path.write_text(json.dumps(entries))
    with pytest.raises(comptroller.Unusable, match=r"store\.db\.clients is damaged"):
        clients.read(registry)


def test_clients_in_another_encoding_are_refused(served: Served, registry: SecretFile) -> None:
    """As an editor writes them that does not use UTF-8."""
    served.register()
    entries = json.loads(registry.path.read_bytes())
    entries[0]["name"] = "Zürich"
    registry.path.write_bytes(json.dumps(entries, ensure_ascii=False).encode("latin-1"))
    with pytest.raises(comptroller.Unusable, match=r"store\.db\.clients is damaged"):
        clients.read(registry)


def test_a_folder_or_pipe_is_refused(store_path: Path, key_file: SecretFile) -> None:
    os.mkfifo(key_file.path, 0o600)
    with pytest.raises(comptroller.Unusable, match="is not a file"):
        local_authority(str(store_path), issuer=ISSUER)
    key_file.path.unlink()
    key_file.path.mkdir()
    with pytest.raises(comptroller.Unusable, match=r"store\.db\.keys cannot be read"):
        local_authority(str(store_path), issuer=ISSUER)


def test_links_to_a_store_share_one_file(store_path: Path, registry: SecretFile) -> None:
    link = store_path.with_name("link.db")
    link.symlink_to(store_path)
    assert clients.file_of(str(link)).path == registry.path


def test_links_beside_a_key_file_keep_their_targets(
    store_path: Path, key_file: SecretFile, tmp_path: Path
) -> None:
    precious, missing = tmp_path / "precious", tmp_path / "missing"
    precious.write_text("mine")
    for name in (".part", ".tmp", "-journal"):
        Path(f"{key_file.path}{name}").symlink_to(precious)
    keys.rotate(key_file, 0.0)
    assert precious.read_text() == "mine"
    assert not key_file.path.is_symlink()
    registry = clients.file_of(str(store_path))
    Path(f"{registry.path}-lock").symlink_to(missing)
    with pytest.raises(comptroller.Unusable, match="-lock cannot be opened"):
        clients.add(registry, "a", "acme", None)
    assert not missing.exists()


def test_concurrent_changes_are_all_stored(registry: SecretFile, key_file: SecretFile) -> None:
    with ThreadPoolExecutor(8) as threads:
        added = list(threads.map(lambda n: clients.add(registry, f"n{n}", "acme", None), range(8)))
        made = list(threads.map(lambda _: keys.open_or_make(key_file).signing.kid, range(8)))
    assert clients.read(registry).keys() == {client.client_id for client, _ in added}
    assert len(set(made)) == 1


# ---- signing keys --------------------------------------------------------------------------------


def test_tokens_outlive_the_server(served: Served, operator: comptroller.Service) -> None:
    token = served.token(served.register())
    again = Served(served.store, operator)
    assert again.show(token).status_code == 200


def test_a_retired_key_verifies_until_its_tokens_expire(
    served: Served, key_file: SecretFile
) -> None:
    known = served.register()

    def published() -> list[str]:
        return [key["kid"] for key in served.ask("GET", JWKS_PATH).json()["keys"]]

    def shown(token: str) -> int:
        status: int = served.show(token).status_code
        return status

    [old] = published()
    before = served.token(known)
    new = keys.rotate(key_file, served.clock()).signing.kid
    entries = json.loads(key_file.path.read_bytes())["keys"]
    assert ["d" in entry for entry in entries] == [True, False]
    # A token that a server signs before it reads the file again.
    late = served.token(known)
    served.clock.go(1)
    assert published() == [new, old]
    after = served.token(known)
    assert [shown(token) for token in (before, late, after)] == [200] * 3
    served.clock.go(3597)
    assert [shown(token) for token in (before, late, after)] == [200] * 3
    served.clock.go(62)
    assert published() == [new]
    keys.rotate(key_file, served.clock())
    assert len(json.loads(key_file.path.read_bytes())["keys"]) == 2


def test_a_removed_key_ends_its_tokens(served: Served, key_file: SecretFile) -> None:
    token = served.token(served.register())
    assert served.show(token).status_code == 200
    key_file.path.unlink()
    keys.open_or_make(key_file)
    served.clock.go(1)
    assert served.show(token).status_code == 401


def test_fresh_reads_a_change_immediately(served: Served) -> None:
    known = served.register()
    token = served.token(known)
    assert served.show(token).status_code == 200
    clients.revoke(clients.file_of(str(served.store)), known.id)
    assert served.show(token).status_code == 200
    served.authority.reload()
    ends = time.monotonic() + 30
    while served.show(token).status_code == 200:
        assert time.monotonic() < ends
    assert served.show(token).status_code == 401


def test_rotating_creates_the_first_key(key_file: SecretFile) -> None:
    made = keys.rotate(key_file, 0)
    assert (made.retired, keys.open_or_make(key_file).signing.kid) == ((), made.signing.kid)


def test_a_second_server_accepts_new_keys_and_clients_immediately(
    served: Served, operator: comptroller.Service, key_file: SecretFile
) -> None:
    twin = Served(served.store, operator)
    assert twin.show(served.token(served.register("new"))).status_code == 200
    keys.rotate(key_file, served.clock())
    served.clock.go(1)
    assert twin.show(served.token(served.register("newer"))).status_code == 200


@pytest.mark.usefixtures("no_umask")
@pytest.mark.parametrize("with_keys", [False, True])
def test_a_backup_has_the_secrets_only_on_request(
    run: Run, tmp_path: Path, with_keys: bool
) -> None:
    with comptroller.open(tmp_path / "store.db") as svc:
        svc.webhooks.secret(svc.webhooks.create(url="https://example.org/hooks").id)
        svc.journal.checkpoint()
    run("clients", "add", "desk", "--operator", "--db", "store.db")
    run("keys", "rotate", "--db", "store.db")
    words = ["--with-keys"] if with_keys else []
    ended = run("backup", "copy.db", "--db", "store.db", "--json", *words)
    assert ended.code == 0
    assert len(ended.json["secrets"]) == (4 if with_keys else 0)
    for ending in (".keys", ".clients", ".journal-key", ".webhook-key"):
        original, copy = (tmp_path / f"{name}.db{ending}" for name in ("store", "copy"))
        assert original.exists()
        assert copy.exists() == with_keys
        if with_keys:
            assert copy.read_bytes() == original.read_bytes()
            assert mode(copy) == 0o600
