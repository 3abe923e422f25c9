"""The journal: an entry for each change of a record, and what shows that something was altered."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier
from typing import Any

import comptroller
import msgspec
import pytest
from comptroller.journal import JournalEntry
from examples import GROUP
from lines import address, group, numbered_claim

NOW = "2026-03-01T00:00:00.000000Z"


def claim(number: int, **members: Any) -> dict[str, Any]:
    """Returns a row of a load."""
    return numbered_claim(number, NOW, **members)


def altered(path: Path, *statements: str) -> None:
    """Runs statements as another program that goes around the triggers."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TRIGGER journal_is_not_updated")
        connection.execute("DROP TRIGGER journal_is_not_deleted")
        for statement in statements:
            assert connection.execute(statement).rowcount, statement


def furnish(svc: comptroller.Service) -> None:
    """Writes records by operations and by loads."""
    svc.identities.put(id="alice", customer_id="acme")
    control = svc.controls.create(identity_id="alice", type="SELL_ONLY", reason_code="REVIEW")
    svc.controls.delete(control_id=control.id, reason="done")
    svc.controls.create(identity_id="alice", type="FROZEN", reason_code="REVIEW")
    svc.load("claims", [claim(number) for number in range(100)])
    later = "2026-03-02T00:00:00.000000Z"
    svc.load("claims", [claim(7, amount="8.25", updated_at=later), claim(100)])
    svc.claims.submit(id="claim-9", tx_hash="0x" + "9" * 64)


def test_every_change_is_an_entry(operator: comptroller.Service) -> None:
    furnish(operator)
    operator.controls.list()
    operator.identities.update(id="alice", user_disabled=True)
    operator.identities.update(id="alice", user_disabled=True)  # changes nothing
    entries = operator.journal.list()
    assert [entry.sequence for entry in entries] == list(range(len(entries)))
    seen = [(entry.operation, entry.resource, entry.id) for entry in entries if entry.id]
    control, frozen, legacy = [
        e.id for e in entries if e.resource == "controls" and e.before is None
    ]
    assert seen == [
        ("identities.put", "identities", "alice"),
        ("controls.create", "controls", control),
        ("controls.delete", "controls", control),
        ("controls.create", "controls", frozen),
        ("claims.load", "claims", "claim-7"),
        ("claims.submit", "claims", "claim-9"),
        ("identities.update", "controls", legacy),
        ("identities.update", "identities", "alice"),
    ]
    deleted = entries[3]
    assert deleted.before == {}
    assert deleted.after is not None
    assert deleted.after.keys() == {"deleted_at", "deleted_by", "deletion_reason"}
    (load,) = (entry for entry in entries if entry.id == "claim-7")
    assert load.before == {"amount": "7.50", "updated_at": NOW}
    assert load.after == {"amount": "8.25", "updated_at": "2026-03-02T00:00:00.000000Z"}
    counts = [
        [(part["resource"], part["count"]) for part in entry.batch["records"]]
        for entry in entries
        if entry.batch
    ]
    assert counts == [[], [("claims", 100)], [("claims", 1)]]


def test_an_entry_names_who_wrote_it(open_as: Callable[..., comptroller.Service]) -> None:
    desk = open_as(actor="operator:desk")
    desk.identities.put(id="alice", customer_id="acme")
    client = open_as(customer="acme", client_id="web")
    client.controls.create(
        identity_id="alice", type="SELL_ONLY", reason_code="REVIEW", idempotency_key="once"
    )
    entries = desk.journal.list()[-2:]
    assert [(entry.actor, entry.customer_id) for entry in entries] == [
        ("operator:desk", "acme"),
        ("web", "acme"),
    ]
    assert entries[1].idempotency_key == hashlib.sha256(b"once").hexdigest()
    with pytest.raises(comptroller.Forbidden):
        client.journal.list()


def test_entries_of_a_record(operator: comptroller.Service) -> None:
    furnish(operator)
    assert [e.operation for e in operator.journal.list(id="claim-9")] == ["claims.submit"]
    assert [e.operation for e in operator.journal.list(id="claim-9", resource="controls")] == []
    assert len(operator.journal.list(resource="controls")) == 3
    assert [e.sequence for e in operator.journal.list(after=2, limit=2)] == [3, 4]
    assert [e.sequence for e in operator.journal.iter()] == list(
        range(len(operator.journal.list()))
    )
    with pytest.raises(comptroller.InvalidRequest, match="resource"):
        operator.journal.list(resource="claimss")  # type: ignore[arg-type]


def test_a_rejected_write_leaves_no_entry(operator: comptroller.Service) -> None:
    before = len(operator.journal.list())
    result = operator.load("claims", [claim(1), claim(2, amount="x")])
    assert not result.committed
    operator.load("claims", [claim(1)], dry_run=True)
    with pytest.raises(comptroller.NotFound):
        operator.controls.create(identity_id="nobody", type="SELL_ONLY", reason_code="REVIEW")
    assert len(operator.journal.list()) == before


def test_a_load_that_keeps_going_is_verified(operator: comptroller.Service) -> None:
    operator.load("claims", [claim(1), claim(2, amount="x"), claim(3)], keep_going=True)
    operator.load("claims", [claim(1), claim(4)], keep_going=True)
    assert operator.journal.verify().ok


def test_the_entry_of_a_load_says_what_became_of_its_lines(
    operator: comptroller.Service, tmp_path: Path
) -> None:
    operator.load("claims", [claim(1), claim(2)])
    file = tmp_path / "claims.csv"
    rows = [
        "Claim;Betrag;created_at;updated_at",
        "claim-1;1,50;1.3.2026;1.3.2026",
        "claim-2;7,25;1.3.2026;2.3.2026",
        "claim-3;3,50;1.3.2026;1.3.2026",
        "claim-4;4,50;1.3.2026;1.3.2026",
        "claim-5;-,50;1.3.2026;1.3.2026",
    ]
    file.write_text("\n".join(rows))
    constants = {
        name: value
        for name, value in claim(0).items()
        if name in ("payout_group_id", "claim_type", "onchain_status")
    }
    options: dict[str, Any] = {
        "rename": {"Claim": "id", "Betrag": "amount"},
        "decimal": ",",
        "tz": "UTC",
        "floats": None,
    }
    result = operator.load("claims", file, constants=constants, keep_going=True, **options)
    batch = operator.journal.list()[-1].batch
    assert batch is not None
    counts = {"inserted": 2, "updated": 1, "unchanged": 1, "rejected": 1}
    assert {name: getattr(result, name) for name in counts} == counts
    assert {name: batch[name] for name in ("lines", *counts)} == {"lines": 5, **counts}
    del options["floats"]
    given = {"constants": constants, **options}
    assert batch["mapping"] == json.dumps(given, sort_keys=True, separators=(",", ":"))
    assert operator.journal.verify().ok
    odd_row = {**claim(9), "\udcff": "x"}
    operator.load("claims", [odd_row], rename={"\udcff": "error_message"}, decimal=".")
    operator.load("claims", [claim(10)], decimal=".")
    odd, usual = (entry.batch or {} for entry in operator.journal.list()[-2:])
    assert "udcff" in odd["mapping"]
    assert "mapping" not in usual


def test_untouched_stores_are_verified(operator: comptroller.Service) -> None:
    assert operator.journal.verify().ok
    furnish(operator)
    result = operator.journal.verify()
    assert result.findings == []
    assert result.size == len(operator.journal.list())
    assert operator.check()["ok"]


#: What another program does to the store, and what the verification says.
ATTACKS = [
    (
        "UPDATE claims SET amount = '999' WHERE id = 'claim-3'",
        "claims: the record with key 4 is not as it was inserted by entry 5",
    ),
    (
        "UPDATE claims SET amount = '999' WHERE id = 'claim-7'",
        "claims: the record with key 8 amount is not as it was written by entry 6",
    ),
    (
        "UPDATE claims SET error_message = 'x' WHERE id = 'claim-7'",
        "claims: the record with key 8 is not as it was inserted by entry 5",
    ),
    (
        "UPDATE claims SET onchain_status = 2 WHERE id = 'claim-9'",
        "claims: the record with key 10 onchain_status is not as it was written by entry 8",
    ),
    (
        "UPDATE claims SET amount = '999' WHERE id IN ('claim-3', 'claim-5')",
        "claims: the record with key 6 is not as it was inserted by entry 5",
    ),
    (
        "DELETE FROM claims WHERE id = 'claim-3'",
        "claims: the record with key 4 is missing; it was inserted by entry 5",
    ),
    (
        "DELETE FROM claims WHERE id = 'claim-99'",
        "claims: the record with key 100 is missing; it was inserted by entry 5",
    ),
    (
        "DELETE FROM claims WHERE id = 'claim-9'",
        "claims: the record with key 10 is missing; it was written by entry 8",
    ),
    (
        "DELETE FROM controls WHERE deleted_at IS NULL",
        "controls: the record with key 2 is missing; it was written by entry 4",
    ),
    ("DELETE FROM controls", "controls: the record with key 1 is missing; it was written by entry"),
    ("UPDATE controls SET deleted_at = NULL", "deleted_at is not as it was written by entry 3"),
    ("UPDATE controls SET reason_code = reason_code + 1", "reason_code is not as it was written"),
    ("UPDATE identities SET ref_id = 'bob'", "ref_id is not as it was written by entry 1"),
    (
        "INSERT INTO claims SELECT 500, * FROM (SELECT {columns} FROM claims WHERE id = 'claim-3')",
        "claims: the record with key 500 was not written by comptroller",
    ),
    (
        "UPDATE claims SET key = 600 WHERE id = 'claim-3'",
        "claims: the record with key 4 is missing; it was inserted by entry 5",
    ),
    ("UPDATE claims SET key = 600 WHERE id = 'claim-3'", "key 600 was not written by comptroller"),
    ("UPDATE symbols SET text = 'REVIEWED' WHERE text = 'REVIEW'", "reason_code is not as it was"),
    ("UPDATE journal SET content = '{{\"after\":{{}}}}' WHERE sequence = 2", "entry 2 was altered"),
    ("UPDATE journal SET actor = actor + 1 WHERE sequence = 2", "entry 2 was altered"),
    ("UPDATE journal SET recorded_at = 1 WHERE sequence = 3", "entry 3 was altered"),
    ("UPDATE journal SET request_id = 'x' WHERE sequence = 3", "entry 3 was altered"),
    ("UPDATE journal SET customer_id = 1 WHERE sequence = 3", "entry 3 was altered"),
    ("UPDATE journal SET key = 2 WHERE sequence = 2", "entry 2 was altered"),
    ("UPDATE journal SET hashes = zeroblob(8) WHERE sequence = 2", "entry 2 was altered"),
    ("UPDATE journal SET effects = 7 WHERE sequence = 2", "the effects of entry 2 were altered"),
    (
        "UPDATE journal SET record_hashes = zeroblob(200) WHERE sequence = 5",
        "the short hashes of the records of entry 5 were altered",
    ),
    (
        "UPDATE journal SET record_hashes = NULL WHERE sequence = 5;"
        " UPDATE claims SET amount = '999' WHERE id = 'claim-3'",
        "claims: records that were inserted by entry 5 (keys 1 to 100) were altered",
    ),
    (
        "UPDATE journal SET record_hashes = NULL WHERE sequence = 5",
        "the short hashes of the records of entry 5 were altered",
    ),
    (
        "DELETE FROM journal_batch_keys WHERE sequence = 5",
        "the customers of the records of entry 5 were altered",
    ),
    (
        "UPDATE journal_batch_keys SET keys = x'00020463' WHERE sequence = 5",
        "the customers of the records of entry 5 were altered",
    ),
    (
        "UPDATE journal_batch_keys SET keys = CAST(keys || x'01020101' AS BLOB) WHERE sequence = 5",
        "keys of records were added to a batch",
    ),
    (
        "INSERT INTO journal_batch_keys SELECT customer_id, 8, keys FROM journal_batch_keys"
        " WHERE sequence = 5",
        "keys of records were added to a batch",
    ),
    ("DELETE FROM journal WHERE sequence = 2", "the entries before entry 3 are missing"),
    ("DELETE FROM journal WHERE sequence = 8", "onchain_status|is not as it was inserted by entry"),
    (
        "INSERT INTO journal_archives VALUES (3, 9, zeroblob(64)); DELETE FROM journal"
        " WHERE sequence < 3",
        "the first 3 entries were removed, but not by `comptroller journal archive`",
    ),
    (
        "UPDATE journal SET sequence = CASE sequence WHEN 2 THEN -3 WHEN 3 THEN -2 END"
        " WHERE sequence IN (2, 3); UPDATE journal SET sequence = -sequence WHERE sequence < 0",
        "entry 2 was altered",
    ),
]


@pytest.mark.parametrize(("attack", "finding"), ATTACKS)
def test_an_alteration_is_found(store_path: Path, attack: str, finding: str) -> None:
    with comptroller.open(store_path) as svc:
        furnish(svc)
    with closing(sqlite3.connect(store_path)) as connection:
        names = [row[1] for row in connection.execute("PRAGMA table_info(claims)")]
    columns = ", ".join("'copied'" if name == "id" else name for name in names if name != "key")
    altered(store_path, *attack.format(columns=columns).split("; "))
    with comptroller.open(store_path) as svc:
        result = svc.journal.verify()
        messages = "\n".join(f"{each.check}: {each.message}" for each in result.findings)
        assert not result.ok
        assert has_one_of(finding, messages), messages
        assert not svc.check()["ok"]


def has_one_of(alternatives: str, text: str) -> bool:
    """Whether one of the alternatives is in the text."""
    return any(each in text for each in alternatives.split("|"))


def test_the_tables_refuse_updates_and_deletions(store_path: Path) -> None:
    comptroller.open(store_path).close()
    with closing(sqlite3.connect(store_path)) as connection:
        for statement in ("UPDATE journal SET actor = 1", "DELETE FROM journal"):
            with pytest.raises(sqlite3.IntegrityError, match="is never"):
                connection.execute(statement)


def test_a_replaced_entry_is_found(store_path: Path) -> None:
    """REPLACE runs no trigger of DELETE."""
    with comptroller.open(store_path) as svc:
        furnish(svc)
    with closing(sqlite3.connect(store_path)) as connection, connection:
        names = [row[1] for row in connection.execute("PRAGMA table_info(journal)")]
        values = ["replace(content, 'SELL_ONLY', 'CLOSED')" if n == "content" else n for n in names]
        connection.execute(
            f"INSERT OR REPLACE INTO journal SELECT {', '.join(values)} FROM journal"
            " WHERE sequence = 2"
        )
    with comptroller.open(store_path) as svc:
        messages = [each.message for each in svc.journal.verify().findings]
        assert any("entry 2 was altered" in each for each in messages), messages
        assert not svc.check()["ok"]


def verify_proof(proof: Any) -> bool:
    """Verifies a proof of inclusion as RFC 9162, section 2.1.3.2 describes it."""

    def node(left: bytes, right: bytes) -> bytes:
        return hashlib.sha256(b"\1" + left + right).digest()

    first, last = proof.sequence, proof.size - 1
    root = hashlib.sha256(b"\0" + proof.entry.encode()).digest()
    for sibling in map(bytes.fromhex, proof.proof):
        if first % 2 or first == last:
            root = node(sibling, root)
            while first and not first % 2:
                first, last = first >> 1, last >> 1
        else:
            root = node(root, sibling)
        first, last = first >> 1, last >> 1
    return last == 0 and root.hex() == proof.root


def test_each_entry_has_a_proof(operator: comptroller.Service) -> None:
    furnish(operator)
    size = len(operator.journal.list())
    for sequence in range(size):
        proof = operator.journal.prove(sequence)
        assert json.loads(proof.entry)["sequence"] == sequence
        assert verify_proof(proof)
    assert [operator.journal.show(each) for each in range(size)] == operator.journal.list()
    with pytest.raises(comptroller.NotFound, match=f"the journal has {size}"):
        operator.journal.prove(size)


def test_a_checkpoint_shows_that_the_end_was_cut_off(store_path: Path, tmp_path: Path) -> None:
    backup = tmp_path / "backup.db"
    with comptroller.open(store_path) as svc:
        svc.identities.put(id="alice", customer_id="acme")
        svc.backup(backup)
        svc.identities.put(id="bob", customer_id="acme")
        kept, key = svc.journal.checkpoint(), svc.journal.key()
        assert svc.journal.verify(kept).ok
        svc.identities.put(id="carol", customer_id="acme")
        assert svc.journal.verify(kept, key).ok
        with pytest.raises(comptroller.InvalidRequest):
            svc.journal.verify(kept.replace("\n2\n", "\n1\n").replace("\n3\n", "\n1\n"))
    shutil.copy(backup, tmp_path / "restored.db")
    with comptroller.open(tmp_path / "restored.db") as svc:
        assert svc.journal.verify().ok  # nothing in the store itself shows it
        (finding,) = svc.journal.verify(kept, key).findings
        assert "an older backup was restored" in finding.message
        for name in ("dave", "erin"):
            svc.identities.put(id=name, customer_id="acme")
        (finding,) = svc.journal.verify(kept, key).findings
        assert "are not those of the checkpoint" in finding.message


def _signed_by_another_key(tmp_path: Path, svc: comptroller.Service) -> str:
    shutil.copy(svc.host.path or "", tmp_path / "forger.db")
    with comptroller.open(tmp_path / "forger.db") as forger:
        return forger.journal.checkpoint()


def _edited(_tmp_path: Path, svc: comptroller.Service) -> str:
    size = svc.journal.state().size
    return svc.journal.checkpoint().replace(f"\n{size}\n", f"\n{size - 1}\n")


def _with_another_text(_tmp_path: Path, svc: comptroller.Service) -> str:
    return f"more\n{svc.journal.checkpoint()}"


@pytest.mark.parametrize("forged", [_signed_by_another_key, _edited, _with_another_text])
def test_a_forged_checkpoint_is_refused(
    store_path: Path, tmp_path: Path, forged: Callable[[Path, comptroller.Service], str]
) -> None:
    with comptroller.open(store_path) as svc:
        furnish(svc)
        key = svc.journal.key()
        with pytest.raises(comptroller.InvalidRequest):
            svc.journal.verify(forged(tmp_path, svc), key)


def test_a_checkpoint_and_its_key_are_not_ignored(store_path: Path) -> None:
    with comptroller.open(store_path) as svc:
        checkpoint, key = svc.journal.checkpoint(), svc.journal.key()
        for given in (
            {"checkpoint": ""},
            {"checkpoint": checkpoint, "key": ""},
            {"key": key},
            {"key": ""},
            {"checkpoint": checkpoint.encode(), "key": key},
        ):
            with pytest.raises(comptroller.InvalidRequest):
                svc.journal.verify(**given)  # type: ignore[arg-type]


def test_a_kept_checkpoint_is_not_replaced(run: Any, store_path: Path, tmp_path: Path) -> None:
    db, kept = ("--db", str(store_path)), tmp_path / "kept"
    with comptroller.open(store_path) as svc:
        svc.identities.put(id="alice")
    assert run("journal", "checkpoint", "--out", str(kept), *db).code == 0
    first = kept.read_text()
    with comptroller.open(store_path) as svc:
        svc.identities.put(id="bob")
    ended = run("journal", "checkpoint", "--out", str(kept), *db)
    assert (ended.code, "it exists already; name another file" in ended.err) == (1, True)
    assert kept.read_text() == first
    for suffix in (".webhook-key", ".webhook-key-lock", ".journal-key-lock"):
        ended = run("journal", "checkpoint", "--out", f"{store_path}{suffix}", *db)
        assert (ended.code, "belongs to the store" in ended.err) == (1, True)


def test_a_journal_that_was_written_anew_is_found(store_path: Path, tmp_path: Path) -> None:
    """The attacker has the signing key, and shows each of two auditors another journal."""
    key_file = store_path.with_name(f"{store_path.name}.journal-key")
    with comptroller.open(store_path) as svc:
        furnish(svc)
        kept, key = svc.journal.checkpoint(), svc.journal.key()
    other = tmp_path / "other.db"
    shutil.copy(key_file, tmp_path / "other.db.journal-key")
    with comptroller.open(other) as svc:
        furnish(svc)
        assert svc.journal.verify().ok
        shown = svc.journal.checkpoint()
    for path, checkpoint in ((other, kept), (store_path, shown)):
        with comptroller.open(path) as svc:
            (finding,) = svc.journal.verify(checkpoint, key).findings
        assert "are not those of the checkpoint" in finding.message


def test_the_first_checkpoints_at_once_have_one_key(tmp_path: Path) -> None:
    for number in range(5):
        with comptroller.open(tmp_path / f"{number}.db") as svc:
            together = Barrier(8)

            def first(svc: comptroller.Service = svc, together: Barrier = together) -> str:
                together.wait()
                return svc.journal.key()

            with ThreadPoolExecutor(8) as threads:
                keys = [each.result() for each in [threads.submit(first) for _ in range(8)]]
            assert set(keys) == {svc.journal.key()}


def test_clients_cannot_write_the_journal(open_as: Callable[..., comptroller.Service]) -> None:
    client = open_as(customer="acme")
    for refused in (
        lambda: client.journal.archive("2100-01-01", "old.parquet"),
        lambda: client.journal.histories([("identities", "alice")]),
        client.journal.state,
        client.journal.verify,
        client.journal.checkpoint,
    ):
        with pytest.raises(comptroller.Forbidden):
            refused()


def test_show_prints_an_entry(run: Any, store_path: Path) -> None:
    with comptroller.open(store_path) as svc:
        furnish(svc)
        entries = svc.journal.list()
    db = ("--db", str(store_path))
    for entry in entries:
        printed = run("journal", "show", str(entry.sequence), "--json", *db).out
        assert msgspec.json.decode(printed, type=JournalEntry) == entry
    lines = {}
    for operation in ("claims.load", "controls.delete"):
        last = [each for each in entries if each.operation == operation][-1]
        shown = run("journal", "show", str(last.sequence), *db)
        assert shown.code == 0, shown.err
        lines[operation] = [line.split() for line in shown.out.splitlines()]
    assert ["operation", "claims.load"] in lines["claims.load"]
    assert ["batch.inserted", "1"] in lines["claims.load"]
    assert ["deleted_by", "unset", "operator"] in lines["controls.delete"]
    ended = run("journal", "show", "99", *db)
    assert (ended.code, "there is no entry 99" in ended.err) == (1, True), ended.err


def test_commands(run: Any, store_path: Path, tmp_path: Path) -> None:
    with comptroller.open(store_path) as svc:
        furnish(svc)
    db = ("--db", str(store_path))
    listed = run("journal", "list", *db)
    assert "controls.delete" in listed.out
    assert "amount: 7.50 -> 8.25" in listed.out
    assert json.loads(run("journal", "list", "--json", *db).out)["items"][1]["id"] == "alice"
    assert "No record and no entry was altered." in run("journal", "verify", *db).out
    proof = run("journal", "prove", "2", *db)
    assert (proof.code, json.loads(proof.out)["sequence"]) == (0, 2)
    ended = run("journal", "prove", "99", *db)
    assert (ended.code, "there is no entry 99" in ended.err) == (1, True), ended.err
    (tmp_path / "kept").write_text(run("journal", "checkpoint", *db).out)
    key = run("journal", "key", *db).out.strip()
    kept = ("--checkpoint", str(tmp_path / "kept"), "--key", key)
    assert run("journal", "verify", *kept, *db).code == 0
    for given in (key, "", "x"):
        ended = run("journal", "verify", "--key", given, *db)
        assert (ended.code, "--key is for --checkpoint" in ended.err) == (2, True)
    for wrong in ("", "x", "a+b+c"):
        assert run("journal", "verify", *kept[:2], "--key", wrong, *db).code == 1
    altered(store_path, "UPDATE claims SET amount = '1' WHERE id = 'claim-7'")
    ended = run("journal", "verify", *db)
    assert (ended.code, "amount is not as it was written" in ended.out) == (1, True)


def test_the_list_says_what_a_load_inserted(run: Any, store_path: Path, tmp_path: Path) -> None:
    file = tmp_path / "claims.ndjson"
    with comptroller.open(store_path) as svc:
        for members in ({}, {"amount": "8.25", "updated_at": "2026-03-02T00:00:00Z"}):
            file.write_text(json.dumps(claim(7, **members)))
            svc.load("claims", file)
        svc.load("identities", [{"id": name, "created_at": NOW} for name in ("alice", "bob")])
        svc.load("payout-groups", [group(id=GROUP)])
        svc.load("reward-addresses", [address()])
    listed = " ".join(run("journal", "list", "--db", str(store_path)).out.split())
    for shown in (
        *("1 claim from claims.ndjson", "nothing inserted from claims.ndjson"),
        *("2 identities", "1 payout group", "1 reward address"),
    ):
        assert shown in listed


def test_a_remote_service_says_where_the_journal_is_verified() -> None:
    with (
        comptroller.connect("http://127.0.0.1:1", token="token") as svc,
        pytest.raises(comptroller.Unsupported, match="comptroller journal verify"),
    ):
        svc.journal.verify()
