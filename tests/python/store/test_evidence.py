"""Evidence: a folder that proves who changed records, checked without the store."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import comptroller
import msgspec
import pytest
from comptroller import _core
from lines import address, at, balance, claim, group, identity, load, orchestration

serialization = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")

GROUP = "01900000-0000-7000-8000-0000000000aa"
ADDRESS = "01900000-0000-7000-8000-0000000000bb"


def furnish(path: Path) -> None:
    """Writes an identity and a group by operations and loads, among records of others."""
    with comptroller.open(path, actor="operator:desk") as svc:
        svc.identities.put(id="alice", customer_id="acme")
        svc.identities.put(id="bob", customer_id="acme")
        control = svc.controls.create(identity_id="alice", type="FROZEN", reason_code="COURT")
        svc.controls.delete(control.id, reason="lifted")
        svc.identities.update(id="alice", user_disabled=True)
        svc.controls.create(identity_id="bob", type="SELL_ONLY", reason_code="REVIEW")
        moved = orchestration(identity_id="alice", customer_id="acme", id="moved")
        load(svc, "orchestrations", orchestration(), moved, orchestration())
        load(svc, "payout-groups", group(id=GROUP), group())
        load(svc, "reward-addresses", address(id=ADDRESS, payout_group_id=GROUP), address())
        load(svc, "balances", balance(address_id=ADDRESS), balance(address_id=ADDRESS, at=at(9)))
        rows = [claim(id=f"c-{number}", payout_group_id=GROUP) for number in range(7)]
        load(svc, "claims", claim(), *rows, claim())
        load(svc, "claims", {**rows[3], "amount": "77.5", "updated_at": at(days=9)})


def load_file(svc: comptroller.Service, path: Path, line: dict[str, Any], **options: Any) -> None:
    """Loads a claim from a file."""
    path.write_bytes(msgspec.json.encode(line))
    assert svc.load("claims", path, **options).committed


@pytest.fixture
def store(store_path: Path) -> Path:
    furnish(store_path)
    return store_path


@pytest.fixture
def written(store: Path, tmp_path: Path) -> Path:
    """The evidence of alice."""
    with comptroller.open(store) as svc:
        svc.evidence(tmp_path / "alice", identity="alice")
    return tmp_path / "alice"


def lines(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_text().split("\n") if line]


def ancestor(content: str, index: int, size: int, proof: list[str]) -> str:
    """Returns the root of a proof, by the recursion of RFC 9162, section 2.1.3.1."""

    def node(index: int, size: int, proof: list[str]) -> bytes:
        if size == 1:
            assert not proof
            return hashlib.sha256(b"\0" + content.encode()).digest()
        half = 1 << ((size - 1).bit_length() - 1)
        sibling = bytes.fromhex(proof[-1])
        if index < half:
            return hashlib.sha256(b"\1" + node(index, half, proof[:-1]) + sibling).digest()
        rest = node(index - half, size - half, proof[:-1])
        return hashlib.sha256(b"\1" + sibling + rest).digest()

    return node(index, size, proof).hex()


def verified(folder: Path) -> dict[tuple[str, int], Any]:
    """Verifies a folder by another implementation than check.py; returns the records."""
    key, note = (folder / "key.txt").read_text().strip(), (folder / "checkpoint.txt").read_text()
    text, signatures = note.split("\n\n")
    public = base64.b64decode(key.split("+", 2)[2])[1:]
    signature = base64.b64decode(signatures.split(" ")[2])[4:]
    verifier = serialization.Ed25519PublicKey.from_public_bytes(public)
    verifier.verify(signature, f"{text}\n".encode())
    _, size, root = text.split("\n")
    entries = {}
    for line in lines(folder, "entries.ndjson"):
        found = ancestor(line["entry"], line["sequence"], int(size), line["proof"])
        assert found == base64.b64decode(root).hex()
        entries[line["sequence"]] = json.loads(line["entry"])
    records = {}
    for record in lines(folder, "records.ndjson"):
        state: Any = None
        if record["inserted_by"] is not None:
            inserted = record["inserted"]
            content, place = inserted["content"], (inserted["index"], inserted["count"])
            roots = [part["root"] for part in entries[record["inserted_by"]]["batch"]["records"]]
            assert ancestor(content, *place, inserted["proof"]) in roots
            state = json.loads(content)
        for sequence in record["entries"]:
            entry = entries[sequence]
            before, after = entry.get("before"), entry.get("after")
            if before is None:
                state = after
            else:
                assert before.items() <= state.items()
                kept = {name: value for name, value in state.items() if name not in before}
                state = None if after is None else kept | after
        assert state == (None if record["content"] is None else json.loads(record["content"]))
        records[record["resource"], record["key"]] = state
    return records


def test_the_evidence_of_an_identity(written: Path) -> None:
    records = verified(written)
    ids = {(resource, state["id"]) for (resource, _), state in records.items()}
    assert ids >= {("identities", "alice"), ("orchestrations", "moved")}
    assert len(ids) == 4  # and two controls
    assert not any("bob" in str(state) for state in records.values())
    (deleted,) = [state for state in records.values() if state.get("reason_code") == "COURT"]
    assert deleted["deleted_by"] == "operator:desk"


def test_the_evidence_of_a_group(store: Path, tmp_path: Path) -> None:
    with comptroller.open(store) as svc:
        made = svc.evidence(tmp_path / "group", group=GROUP)
        checkpoint = svc.journal.checkpoint()
    records = verified(tmp_path / "group")
    assert len(records) == made.records == 1 + 1 + 2 + 7
    assert {resource for resource, _ in records} == {
        *("payout_groups", "reward_addresses", "balances", "claims"),
    }
    (changed,) = [state for state in records.values() if state.get("id") == "c-3"]
    assert changed["amount"] == "77.5"
    # Another claim of the same load has no entry of its own.
    assert made.checkpoint == checkpoint == (tmp_path / "group" / "checkpoint.txt").read_text()


def checked(folder: Path, *arguments: str) -> tuple[int, str]:
    """Runs the program of the folder, which does not import comptroller."""
    command = [sys.executable, "-I", str(folder / "check.py"), *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout + ended.stderr


def test_the_program_checks_the_folder(written: Path, tmp_path: Path, run: Any) -> None:
    code, shown = checked(written)
    assert (code, "4 records and" in shown) == (0, True), shown
    key = (written / "key.txt").read_text().strip()
    assert checked(written, "--key", key)[0] == 0
    with comptroller.open(tmp_path / "other.db") as svc:
        other = svc.journal.key()
    code, shown = checked(written, "--key", other)
    assert (code, "no valid signature" in shown) == (1, True)
    assert run("journal", "check-evidence", str(written), "--key", key).code == 0
    ended = run("journal", "check-evidence", str(written), "--key", other, "--json")
    assert (ended.code, json.loads(ended.out)["ok"]) == (1, False)
    for wrong in ("", "x", "a+b", "a+b+c"):
        code, shown = checked(written, "--key", wrong)
        assert (code, f"not a verifier key: {wrong!r}" in shown) == (1, True), shown


def edit(name: str, change: Callable[[list[Any]], object]) -> Callable[[Path], None]:
    """Returns a function that changes the lines of a file."""

    def edited(folder: Path) -> None:
        found = lines(folder, name)
        change(found)
        text = "".join(json.dumps(line) + "\n" for line in found)
        (folder / name).write_text(text)

    return edited


def replace(name: str, old: str, new: str) -> Callable[[Path], None]:
    """Returns a function that replaces text in a file."""

    def replaced(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1))

    return replaced


def _moved(records: list[Any]) -> Any:
    return next(record for record in records if record["resource"] == "orchestrations")


#: What someone does to the folder, and what the program says.
ALTERATIONS = {
    "record": (
        replace("records.ndjson", "COURT", "OTHER"),
        "is not what its entries made of it",
    ),
    "inserted": (
        edit("records.ndjson", lambda found: _moved(found)["inserted"].update(content="{}")),
        "was not inserted by entry",
    ),
    "insertion": (
        edit("records.ndjson", lambda found: _moved(found).update(inserted_by=None)),
        "is not what its entries made of it",
    ),
    "path": (
        edit("records.ndjson", lambda found: _moved(found)["inserted"]["proof"].reverse()),
        "was not inserted by entry",
    ),
    "no path": (
        edit("records.ndjson", lambda found: _moved(found)["inserted"]["proof"].clear()),
        "a proof is too short",
    ),
    "long path": (
        edit("entries.ndjson", lambda found: found[0]["proof"].extend(["00" * 32] * 9)),
        "a proof is too long",
    ),
    "forgotten change": (
        edit("records.ndjson", lambda found: found[1]["entries"].pop()),
        "is not what its entries made of it",
    ),
    "foreign entry": (
        edit("records.ndjson", lambda found: found[1]["entries"].append(found[0]["entries"][0])),
        "is of another record",
    ),
    "actor": (
        replace("entries.ndjson", "operator:desk", "operator:else"),
        "is not in the journal of the checkpoint",
    ),
    "proof": (
        edit("entries.ndjson", lambda found: found[0].update(proof=found[1]["proof"])),
        "is not in the journal of the checkpoint",
    ),
    "missing entry": (
        edit("entries.ndjson", lambda found: found.pop()),
        "the evidence is malformed",
    ),
    "size": (
        edit("entries.ndjson", lambda found: found[0].update(sequence=1 << 40)),
        "has another sequence number",
    ),
    "checkpoint": (replace("checkpoint.txt", "\n\n", "\nmore\n\n"), "no valid signature"),
    "key": (replace("key.txt", "comptroller-", "comptroller+"), "not a verifier key"),
    "depth": (
        lambda folder: (folder / "records.ndjson").write_text("[" * 200_000),
        "the evidence is malformed",
    ),
    "no file": (lambda folder: (folder / "checkpoint.txt").unlink(), "cannot be read"),
}


@pytest.mark.parametrize("name", ALTERATIONS)
def test_an_altered_file_is_found(written: Path, name: str) -> None:
    alter, message = ALTERATIONS[name]
    alter(written)
    code, shown = checked(written)
    assert (code, shown.startswith("WRONG: ")) == (1, True), shown
    assert message in shown


def test_a_checkpoint_of_another_log_is_refused(written: Path) -> None:
    # A key may sign the checkpoints of several logs; those of others say nothing of this journal.
    seed = b"k" * 32
    key, note = _core.verifier_key("mine", seed), _core.sign_head("mine", seed, 1, "00" * 32)
    text = note.decode().partition("\n\n")[0].replace("mine", "other", 1) + "\n"
    signature = serialization.Ed25519PrivateKey.from_private_bytes(seed).sign(text.encode())
    id = bytes.fromhex(key.split("+")[1])
    signed = f"{text}\n\N{EM DASH} mine {base64.b64encode(id + signature).decode()}\n"
    (written / "checkpoint.txt").write_text(signed, encoding="utf-8")
    code, shown = checked(written, "--key", key)
    assert (code, "no valid signature" in shown) == (1, True), shown


def test_records_that_differ_give_no_evidence(store: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE claims SET amount = '9' WHERE id = 'c-1'")
    with (
        comptroller.open(store) as svc,
        pytest.raises(comptroller.Unusable, match="not as it was inserted"),
    ):
        svc.evidence(tmp_path / "alice", identity="alice")
    assert not (tmp_path / "alice").exists()


def test_refused_arguments(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with comptroller.open(store) as svc:
        for subjects in ({}, {"identity": "alice", "group": GROUP}):
            with pytest.raises(comptroller.InvalidRequest, match="exactly one subject"):
                svc.evidence(out, **subjects)  # type: ignore[arg-type]
        with pytest.raises(comptroller.NotFound, match="there is no identity nobody"):
            svc.evidence(out, identity="nobody")
        out.mkdir()
        (out / "mine").touch()
        with pytest.raises(comptroller.Unusable, match="exists already"):
            svc.evidence(out, identity="alice")
    with comptroller.open(store, customer="acme") as client, pytest.raises(comptroller.Forbidden):
        client.evidence(tmp_path / "other", identity="alice")
    with comptroller.open(":memory:") as svc, pytest.raises(comptroller.Unsupported):
        svc.evidence(tmp_path / "other", identity="alice")


def test_texts_may_have_any_character_that_ends_a_line(store_path: Path, tmp_path: Path) -> None:
    reason = "one\u2028two\u2029three\x85four"
    with comptroller.open(store_path) as svc:
        svc.identities.put(id="alice")
        svc.controls.create(identity_id="alice", type="FROZEN", reason_code="C", reason=reason)
        svc.evidence(tmp_path / "evidence", identity="alice")
    assert checked(tmp_path / "evidence")[0] == 0
    records = verified(tmp_path / "evidence").values()
    assert reason in {record.get("reason") for record in records}


def test_a_record_that_was_removed_before_an_archive_is_in_the_evidence(
    store_path: Path, tmp_path: Path
) -> None:
    """Its removal is not archived, and what inserted it is; the key is among those archived."""
    time = "2026-03-01T00:00:00Z"
    with comptroller.open(store_path) as svc:
        svc.identities.put(id="alice")
        svc.identities.put(id="bob")
        svc.identities.put(id="carol")
        svc.controls.create(identity_id="bob", type="FROZEN", reason_code="ONE")
        svc.identities.update(id="alice", user_disabled=True)  # makes a control
        svc.controls.create(identity_id="carol", type="FROZEN", reason_code="TWO")
        until = svc.journal.list(limit=1000)[-1].recorded_at
        line = {"id": "loaded", "identity_id": "alice", "type": "SELL_ONLY", "set_by": "CLIENT"}
        svc.load("controls", [{**line, "is_overridable": True, "created_at": time}])
        svc.journal.archive(until, tmp_path / "archive.parquet")
        svc.evidence(tmp_path / "evidence", identity="alice")
    code, shown = checked(tmp_path / "evidence")
    assert (code, "3 records and" in shown) == (0, True), shown


def test_a_control_that_a_load_replaced_is_in_evidence_and_history(
    store_path: Path, tmp_path: Path
) -> None:
    """Only entries of the journal have it."""
    time = "2026-03-01T00:00:00Z"
    with comptroller.open(store_path) as svc:
        svc.load("identities", [{"id": "bob", "created_at": time, "user_disabled": True}])
        (replaced,) = svc.controls.iter()
        line = {"id": "loaded", "identity_id": "bob", "type": "SELL_ONLY", "set_by": "CLIENT"}
        svc.load("controls", [{**line, "is_overridable": True, "created_at": time}])
        svc.evidence(tmp_path / "evidence", identity="bob")
        events = {(row["id"], row["event"]) for row in svc.reports.history("bob").to_dicts()}
    assert (replaced.id, "removed") in events
    assert checked(tmp_path / "evidence")[0] == 0
    controls = [
        record
        for record in lines(tmp_path / "evidence", "records.ndjson")
        if record["resource"] == "controls"
    ]
    assert sorted(record["content"] is None for record in controls) == [False, True]


def test_the_evidence_of_a_record_that_its_own_load_changed(
    store_path: Path, tmp_path: Path
) -> None:
    times = ("2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z")
    rows = [{"id": "alice", "created_at": times[0], "updated_at": time} for time in times]
    rows[1]["metadata"] = {"desk": "7"}
    with comptroller.open(store_path) as svc:
        svc.load("identities", rows)
        svc.evidence(tmp_path / "evidence", identity="alice")
    assert verified(tmp_path / "evidence")
    assert checked(tmp_path / "evidence")[0] == 0


@pytest.mark.parametrize("keep_going", [False, True])
def test_the_file_of_a_load_that_changed_a_record_is_shown(
    store_path: Path, tmp_path: Path, keep_going: bool
) -> None:
    old = claim(id="mine", payout_group_id=GROUP)
    new = {**old, "amount": "9.5", "updated_at": at(days=9999), "onchain_status": "CONFIRMED"}
    with comptroller.open(store_path) as svc:
        load(svc, "payout-groups", group(id=GROUP))
        load_file(svc, tmp_path / "first.ndjson", old)
        svc.claims.submit(id="mine", tx_hash="0x" + "9" * 64)
        load_file(svc, tmp_path / "other.ndjson", claim())
        confirmed = {**new, "confirmed_at": at(days=1), "tx_hash": "0x" + "9" * 64}
        load_file(svc, tmp_path / "second.ndjson", confirmed, keep_going=keep_going)
        of_claim, of_group = svc.journal.histories(
            [("claims", "mine"), ("payout_groups", GROUP)]
        ).records
        batches = {e.sequence: e.batch.get("input") for e in svc.journal.list() if e.batch}
        svc.evidence(tmp_path / "evidence", group=GROUP)
        details = {
            (row["record"], row["event"], row["member"]): row["detail"]
            for row in svc.reports.history(GROUP).to_dicts()
        }
    # The entry of `submit` is followed by that of a load, which did not make it.
    (submitted, change), (raised,) = of_claim.entries, of_group.entries
    (of_change,), (of_raise,) = of_claim.changed_by, of_group.changed_by
    assert (of_change.entry, of_raise.entry) == (change, raised)
    assert of_change.load == of_raise.load > max(change, raised)
    assert batches[of_change.load] == "second.ndjson"
    shown = {entry["sequence"] for entry in lines(tmp_path / "evidence", "entries.ndjson")}
    assert shown >= {submitted, change, raised, of_change.load}
    assert not {number for number, input in batches.items() if input == "other.ndjson"} & shown
    page = (tmp_path / "evidence" / "index.html").read_text()
    for text in ("second.ndjson", f"claims.load (entry {of_change.load})"):
        assert text in page
    assert verified(tmp_path / "evidence")
    assert checked(tmp_path / "evidence")[0] == 0
    assert details["claim", "changed", "amount"] == f"entry {change}: claims.load of second.ndjson"
    assert details["claim", "changed", "tx_hash"] == f"entry {submitted}: claims.submit"


def test_evidence_has_the_claims_and_addresses_that_were_moved_out(
    store_path: Path, tmp_path: Path
) -> None:
    groups = (GROUP, "01900000-0000-7000-8000-0000000000ab")
    lines_of = {"claims": claim(), "reward-addresses": address(id=ADDRESS)}
    with comptroller.open(store_path) as svc:
        load(svc, "payout-groups", *(group(id=each) for each in groups))
        for day, owner in enumerate(groups):
            for kind, line in lines_of.items():
                load(svc, kind, {**line, "payout_group_id": owner, "updated_at": at(days=day)})
        load(svc, "balances", balance(address_id=ADDRESS))
        for owner in groups:
            svc.evidence(tmp_path / owner, group=owner)
    for owner in groups:
        assert {resource for resource, _ in verified(tmp_path / owner)} == {
            *("payout_groups", "reward_addresses", "balances", "claims"),
        }
        assert checked(tmp_path / owner)[0] == 0


def test_evidence_has_the_orchestrations_that_were_moved_out(
    store_path: Path, tmp_path: Path
) -> None:
    line = orchestration()
    with comptroller.open(store_path) as svc:
        for day, owner in enumerate(("alice", "bob")):
            load(svc, "identities", identity(id=owner))
            load(svc, "orchestrations", {**line, "identity_id": owner, "updated_at": at(days=day)})
        svc.evidence(tmp_path / "alice", identity="alice")
    records = verified(tmp_path / "alice")
    assert [resource for resource, _ in records] == ["identities", "orchestrations"]
    assert checked(tmp_path / "alice")[0] == 0


def test_the_evidence_after_an_archive(store: Path, tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    with comptroller.open(store) as svc:
        svc.journal.archive("2100-01-01", tmp_path / "old.parquet")
        svc.identities.update(id="alice", metadata={"a": "b"})
        svc.evidence(tmp_path / "alice", identity="alice")
    assert checked(tmp_path / "alice")[0] == 0


def test_the_command(run: Any, store: Path, tmp_path: Path) -> None:
    db = ("--db", str(store))
    ended = run("evidence", "--identity", "alice", "--out", str(tmp_path / "alice"), *db)
    assert "4 records and" in ended.out
    page = (tmp_path / "alice" / "index.html").read_text()
    for shown in ("Evidence: identity alice", "operator:desk", "python check.py", "COURT"):
        assert shown in page
    assert run("evidence", "--out", str(tmp_path / "x"), *db).code == 2
    shutil.rmtree(tmp_path / "alice")
    ended = run("evidence", "--group", GROUP, "--out", str(tmp_path / "g"), "--json", *db)
    assert json.loads(ended.out)["records"] == 11
