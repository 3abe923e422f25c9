"""created_by and deleted_by of the operator, over every interface that writes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import comptroller
import pytest
from command_line import Run, lines
from external_issuer import Guest, Place, a_key
from lines import identity, load, refused
from on_loopback import SECRET, Start, register, start  # noqa: F401
from test_short_operations import APPLICATION, CORE, Client, httpx2, known, token_of

NAME = "Ada Lovelace"
CONTROLS = "/operator/identity/controls"
CLOSURE = {"identity_id": "alice", "type": "CLOSED", "reason_code": "X"}

OpenAs = Callable[..., comptroller.Service]


@pytest.fixture
def alice(operator: comptroller.Service) -> str:
    return operator.identities.put(id="alice", customer_id="acme").id


def actors(service: comptroller.Service) -> list[tuple[str | None, str | None]]:
    found = service.controls.list(include_deleted=True, order="ASC")
    return [(control.created_by, control.deleted_by) for control in found]


def test_the_actor_of_a_store_in_this_process_creates_and_deletes(
    open_as: OpenAs, alice: str
) -> None:
    ada = open_as(actor=NAME)
    made = ada.controls.create(**CLOSURE)
    assert open_as(actor="Grace").controls.delete(made.id).deleted_by == "Grace"
    ada.identities.update(alice, user_disabled=True)
    ada.identities.update(alice, user_disabled=False)
    ada.identities.put(id=alice, admin_disabled=True)
    load(ada, "identities", identity(id="bob", user_disabled=True))
    assert actors(ada) == [(NAME, "Grace"), (NAME, NAME), (NAME, None), (NAME, None)]
    assert f"operator {NAME!r}" in repr(ada)


def test_without_an_actor_it_is_operator(open_as: OpenAs, alice: str) -> None:
    made = open_as(client_id="desk-7").controls.create(**CLOSURE)
    assert made.created_by == "operator"


@pytest.mark.parametrize(
    "actor", ["", "x" * 129, "a\nb", "a\x7fb", "\u202eadmin", "zero\u200bwidth", ["a"]]
)
def test_an_actor_is_a_short_printable_text(tmp_path: Path, actor: Any) -> None:
    with refused("invalid-request", 400) as caught:
        comptroller.open(tmp_path / "new.db", actor=actor)
    assert [error.field for error in caught.value.errors] == ["actor"]
    assert not (tmp_path / "new.db").exists()


@pytest.mark.parametrize("actor", ["x" * 128, "Zoë", "operator:desk", "a b"])
def test_every_other_actor_is_stored_as_given(open_as: OpenAs, alice: str, actor: str) -> None:
    assert open_as(actor=actor).controls.create(**CLOSURE).created_by == actor


def test_a_client_has_no_actor(open_as: OpenAs) -> None:
    with refused("invalid-request", 400) as caught:
        open_as(customer="acme", actor=NAME)
    assert [error.field for error in caught.value.errors] == ["actor"]
    assert "client_id" in str(caught.value)


def test_exports_and_loads_preserve_the_actors(open_as: OpenAs, alice: str, tmp_path: Path) -> None:
    ada = open_as(actor=NAME)
    ada.controls.delete(ada.controls.create(**CLOSURE).id)
    for kind in ("identities", "controls"):
        ada.export(kind, tmp_path / f"{kind}.ndjson")
    with comptroller.open(tmp_path / "copy.db", actor="another") as copy:
        for kind in ("identities", "controls"):
            copy.load(kind, tmp_path / f"{kind}.ndjson")
        assert actors(copy) == [(NAME, NAME)]


def test_the_history_report_shows_the_actor(open_as: OpenAs, alice: str) -> None:
    ada = open_as(actor=NAME)
    ada.controls.delete(ada.controls.create(**CLOSURE).id)
    rows = ada.reports.history(alice).to_dicts()
    assert {row["actor"] for row in rows if row["record"] == "control"} == {NAME}


@pytest.fixture(params=[CORE, APPLICATION], ids=["core", "application"])
def asked(
    request: pytest.FixtureRequest,
    store_path: Path,
    alice: str,
    start: Start,  # noqa: F811
) -> Iterator[Callable[..., Any]]:
    """Sends a request of a client of the operator; returns the JSON of the response."""
    with ExitStack() as stack:
        address = stack.enter_context(start(store_path))

        def ask(client_id: str, *how: Any) -> Any:
            name = register(store_path, client_id, None, None)
            client = stack.enter_context(
                closing(Client(address, token_of(address, name), request.param))
            )
            return json.loads(known(client).ask(*how).partition(b"\r\n\r\n")[2])

        yield ask


def test_over_http_it_is_the_client_of_the_operator(asked: Callable[..., Any]) -> None:
    made = asked("desk", "POST", CONTROLS, json.dumps(CLOSURE).encode())
    assert made["created_by"] == "operator:desk"
    lifted = asked("night", "DELETE", f"{CONTROLS}?control_id={made['id']}")
    assert (lifted["created_by"], lifted["deleted_by"]) == ("operator:desk", "operator:night")


def test_a_load_over_http_names_the_client(
    asked: Callable[..., Any], operator: comptroller.Service
) -> None:
    bob = {"id": "bob", "created_at": "2026-01-01T00:00:00Z", "admin_disabled": True}
    how = ("POST", "/operator/load/identities", json.dumps(bob).encode())
    assert asked("desk", *how)["inserted"] == 1
    assert actors(operator) == [("operator:desk", None)]


def test_idempotency_keys_are_shared_by_the_clients_of_the_operator(
    asked: Callable[..., Any], operator: comptroller.Service
) -> None:
    how = ("POST", CONTROLS, json.dumps(CLOSURE).encode(), "Idempotency-Key: one")
    first, second = asked("desk", *how), asked("night", *how)
    assert first == second
    assert actors(operator) == [("operator:desk", None)]


def test_a_remote_service_names_its_client(
    store_path: Path,
    alice: str,
    start: Start,  # noqa: F811
) -> None:
    name = register(store_path, "desk", None, None)
    how: dict[str, Any] = {"client_id": name, "client_secret": SECRET}
    with start(store_path) as address, comptroller.connect(address, **how) as desk:
        desk.controls.delete(desk.controls.create(**CLOSURE).id)
        assert actors(desk) == [("operator:desk", "operator:desk")]


def test_without_authentication_it_is_operator(
    store_path: Path,
    alice: str,
    start: Start,  # noqa: F811
) -> None:
    with start(store_path, "--auth", "off") as address:
        assert httpx2.post(address + CONTROLS, json=CLOSURE).json()["created_by"] == "operator"


OPERATORS: list[tuple[dict[str, Any], str]] = [
    ({}, "operator:reader"),
    ({"client_id": None}, "operator:someone"),
    ({"client_id": "x" * 119}, "operator:" + "x" * 119),
    ({"client_id": "operator"}, "operator:operator"),
]


@pytest.mark.parametrize(("claims", "actor"), OPERATORS)
def test_a_token_of_another_issuer_names_its_client(
    guest: Guest, place: Place, alice: str, claims: dict[str, Any], actor: str
) -> None:
    key = a_key()
    place.publish(key)
    all_claims = {"customer": None, "operator": True, "scope": "operator:write", **claims}
    answer = guest.post(guest.token(key, **all_claims), CONTROLS, CLOSURE)
    assert answer.json()["created_by"] == actor


def loaded_by(run: Run, *words: str, before: tuple[str, ...] = ()) -> list[Any]:
    given = lines({"id": "bob", "created_at": "2026-01-01T00:00:00Z", "user_disabled": True})
    ended = run(*before, "load", "identities", "-", "--db", "made.db", *words, given=given)
    assert (ended.code, ended.err) == (0, "")
    with comptroller.open("made.db") as service:
        return actors(service)


def test_the_command_line_names_the_actor(run: Run) -> None:
    assert loaded_by(run, "--actor", NAME) == [(NAME, None)]


def test_the_actor_may_be_named_before_the_command(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPTROLLER_ACTOR", "another")
    assert loaded_by(run, before=("--actor", NAME)) == [(NAME, None)]


def test_an_environment_variable_names_the_actor(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPTROLLER_ACTOR", NAME)
    assert loaded_by(run) == [(NAME, None)]


def test_a_loaded_folder_names_the_actor(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    line = {"id": "bob", "created_at": "2026-01-01T00:00:00Z", "user_disabled": True}
    (folder / "identities.ndjson").write_bytes(lines(line))
    assert run("load", str(folder), "--db", "made.db", "--actor", NAME).code == 0
    with comptroller.open("made.db") as service:
        assert actors(service) == [(NAME, None)]


def test_a_command_of_webhooks_names_the_actor_in_the_journal(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    comptroller.open("made.db").close()
    monkeypatch.setenv("COMPTROLLER_ACTOR", NAME)
    assert run("webhooks", "create", "https://example.com/hooks", "--db", "made.db").code == 0
    with comptroller.open("made.db") as service:
        assert service.journal.list(resource="webhooks")[-1].actor == NAME
    assert "the actor in the journal" in run("webhooks", "create", "--help").out


def test_the_command_line_refuses_an_invalid_actor(run: Run) -> None:
    ended = run("load", "identities", "-", "--db", "new.db", "--actor", "a\nb", given=b"")
    assert ended.code == 1
    assert "actor" in ended.err
    assert not Path("new.db").exists()
    ended = run("--actor", "x", "load", "identities", "-", "--actor", "y")
    assert (ended.code, "--actor x and --actor y differ" in ended.err) == (2, True)
    ended = run("--actor", "x", "check")
    assert (ended.code, "check has no option --actor" in ended.err) == (2, True)
