"""The journal over HTTP: entries, proofs and checkpoints, for the operator and for clients."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import comptroller
import pytest
from asgi_client import Asked
from comptroller.http import EveryoneIsOperator, app
from comptroller.journal import JournalEntry
from in_process import open_as  # noqa: F401
from test_changes import furnish
from test_journal import verify_proof

Opener = Callable[..., comptroller.Service]
READS = ["journal:read"]


@pytest.fixture
def here(store_path: Path) -> Any:
    """The furnished store, opened in this process."""
    with comptroller.open(store_path) as svc:
        furnish(svc)
        yield svc


def test_the_operator_reads_the_journal_of_a_server(
    here: comptroller.Service,
    open_as: Opener,  # noqa: F811
) -> None:
    there = open_as()
    entries = there.journal.list()
    assert entries == here.journal.list()
    assert there.journal.list(resource="controls", after=2) == entries[3:4]
    assert there.journal.list(id="claim-9") == entries[-1:]
    assert there.journal.list(limit=3) == entries[:3]
    assert there.journal.list(limit=0) == []
    assert [*there.journal.iter(limit=2)] == entries
    proof = there.journal.prove(3)
    assert proof == here.journal.prove(3)
    assert verify_proof(proof)
    assert there.journal.key() == here.journal.key()
    assert here.journal.verify(there.journal.checkpoint(), there.journal.key()).ok


def test_a_filter_visits_few_entries_on_a_page(operator: comptroller.Service) -> None:
    for number in range(3):
        operator.identities.put(id="alice", metadata={"number": str(number)})
    assert operator.journal.list(id="alice", after=2, limit=5) == operator.journal.list()[3:]
    assert operator.journal.list(after=10**18) == []


def test_a_client_sees_the_entries_of_its_customer(
    here: comptroller.Service,
    open_as: Opener,  # noqa: F811
) -> None:
    acme = open_as(customer="acme", scopes=READS)
    own: list[JournalEntry] = [each for each in here.journal.list() if each.customer_id == "acme"]
    assert len(own) == 3
    assert acme.journal.list() == own
    assert acme.journal.list(resource="controls") == own[1:]
    assert acme.journal.list(id="alice") == own[:1]
    assert verify_proof(acme.journal.prove(own[0].sequence))
    assert acme.journal.checkpoint().startswith("comptroller-")


#: Requests of a client of another customer, which has no entry.
NOTHING: list[Callable[[comptroller.Service], list[Any]]] = [
    lambda svc: svc.journal.list(),
    lambda svc: svc.journal.list(id="alice"),
    lambda svc: svc.journal.list(id="claim-9"),
    lambda svc: svc.journal.list(resource="claims"),
    lambda svc: [*svc.changes.iter()],
    lambda svc: [*svc.changes.iter(resources="claims")],
    lambda svc: [*svc.changes.iter(customer_id="initech")],
]


@pytest.mark.parametrize("read", NOTHING)
def test_a_client_of_another_customer_sees_nothing(
    here: comptroller.Service,
    open_as: Opener,  # noqa: F811
    read: Callable[[comptroller.Service], list[Any]],
) -> None:
    scopes = [*READS, "changes:read", "rewards:read_claims", "identity:read_identity"]
    assert read(open_as(customer="initech", scopes=scopes)) == []
    assert here.journal.list()


def test_an_entry_of_another_customer_is_as_one_that_does_not_exist(
    here: comptroller.Service,
    open_as: Opener,  # noqa: F811
) -> None:
    acme = open_as(customer="acme", scopes=READS)
    size = len(here.journal.list())
    for sequence in (0, 4, size - 1, size, 10**18):  # a batch, one of globex, none
        with pytest.raises(comptroller.NotFound) as refused:
            acme.journal.prove(sequence)
        assert refused.value.detail == f"there is no entry {sequence}; the journal has {size}"


@pytest.mark.parametrize("scopes", [None, ["changes:read"], []])
def test_a_client_needs_the_scope_of_the_journal(
    here: comptroller.Service,
    open_as: Opener,  # noqa: F811
    scopes: list[str] | None,
) -> None:
    client = open_as(customer="acme", scopes=scopes)
    for read in (
        client.journal.list,
        lambda: client.journal.prove(1),
        client.journal.checkpoint,
        client.journal.key,
    ):
        with pytest.raises(comptroller.Forbidden):
            read()
    with comptroller.open(here.host.path or "", customer="acme", scopes=scopes) as local:
        for read in (local.journal.list, local.journal.checkpoint, local.journal.verify):
            with pytest.raises(comptroller.Forbidden):
                read()


def test_a_remote_load_has_its_input_and_mapping(
    here: comptroller.Service,
    open_as: Opener,  # noqa: F811
    tmp_path: Path,
) -> None:
    there = open_as()
    path = tmp_path / "März\n1.csv"
    path.write_text("Name;created_at\nanna;2026-03-01\n")
    options: dict[str, Any] = {"rename": {"Name": "id"}, "separator": ";"}
    batches = []
    for svc in (there, here):
        assert svc.load("identities", path, tz="UTC", **options).committed
        batches.append(here.journal.list()[-1].batch or {})
        path.write_text(path.read_text().replace("anna", "bertha"))
    for batch in batches:
        assert batch["input"] == "März?1.csv"
        assert json.loads(batch["mapping"]) == {**options, "tz": "UTC"}


_LOADED = b'{"id":"anna","created_at":"2026-03-01T00:00:00Z"}\n'


def _load_with(svc: comptroller.Service, mapping: str) -> tuple[int, str]:
    """Loads an identity; returns the status and the code of a problem."""
    typed = {"Content-Type": "application/x-ndjson"}
    with Asked(app(svc, authenticator=EveryoneIsOperator())) as ask:
        answer = ask(
            "POST",
            "/operator/load/identities",
            params={"mapping": mapping},
            headers=typed,
            content=_LOADED,
        )
    return answer.status_code, answer.json().get("code", "")


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"rename": {"Name": "id"}, "tz": "UTC"}, indent=2),
        json.dumps({"separator": "\t"}, indent="\t"),
        '{"separator":\r\n";"}\n',
    ],
)
def test_a_mapping_is_json_of_several_lines(here: comptroller.Service, text: str) -> None:
    assert _load_with(here, text) == (200, "")
    stored = (here.journal.list()[-1].batch or {})["mapping"]
    assert json.loads(stored) == json.loads(text)
    assert stored.isprintable()


@pytest.mark.parametrize("text", ['{"a":"b\nc"}', "{", "NaN", '{"a":1,"a":2}', "[" * 5000])
def test_a_mapping_that_is_not_json_is_refused(here: comptroller.Service, text: str) -> None:
    assert _load_with(here, text) == (400, "invalid-request")


def test_a_deeply_nested_mapping_is_no_failure_of_the_server(here: comptroller.Service) -> None:
    """The two decoders of it do not have the same limit."""
    for depth in range(900, 1010, 5):
        status, _ = _load_with(here, "[" * depth + "]" * depth)
        assert status in (200, 400), depth


def test_a_mapping_too_long_for_a_request_has_its_digest(
    here: comptroller.Service,
    open_as: Opener,  # noqa: F811
    tmp_path: Path,
) -> None:
    path = tmp_path / "identities.csv"
    column = "x" * 9000
    path.write_text(f"{column},created_at\nanna,2026-03-01T00:00:00Z\n")
    assert open_as().load("identities", path, rename={column: "id"}).committed
    batch = here.journal.list()[-1].batch or {}
    text = json.dumps({"rename": {column: "id"}}, separators=(",", ":"))
    assert json.loads(batch["mapping"]) == {"sha256": hashlib.sha256(text.encode()).hexdigest()}
