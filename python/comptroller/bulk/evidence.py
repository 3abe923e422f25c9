"""Evidence: the records of a subject with what proves who changed them, and how."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from shutil import copyfile
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from comptroller import arguments
from comptroller.bulk.exported import JournalState
from comptroller.bulk.files import refuse_store, whole_folder
from comptroller.display.batches import batch_text
from comptroller.display.html import TableColumn, page
from comptroller.errors import error_for, invalid, unusable

if TYPE_CHECKING:
    from comptroller.journal import Histories, RecordHistory
    from comptroller.service import Service

_PAGE_ROWS = 1_000


class Evidence(msgspec.Struct, frozen=True):
    """The result of `Service.evidence`: how many records and entries the folder has."""

    folder: str
    records: int
    entries: int
    checkpoint: str
    key: str


class Subject(NamedTuple):
    """The records that belong together: their tables and ids, the record itself first."""

    title: str
    names: list[tuple[str, str]]


def write_evidence(svc: Service, folder: str, identity: str | None, group: str | None) -> Evidence:
    """Writes a folder; see `Service.evidence`."""
    if (identity is None) == (group is None):
        raise invalid("evidence", "needs exactly one subject; give identity or group")
    refuse_store("out", folder)
    journal = svc.journal
    key = journal.key()
    if identity is not None:
        subject = _subject_of_identity(svc, arguments.text("identity", identity))
    else:
        subject = _subject_of_group(svc, arguments.text("group", group))
    found = journal.histories(subject.names, with_proofs=True)
    if not found.records:
        raise error_for("not-found", 404, f"there is no {subject.title}")
    if found.findings:
        first = found.findings[0]
        raise unusable(
            f"{first.check}: {first.message}; so there is no evidence, see `comptroller journal "
            "verify`"
        )
    checkpoint = journal.signed(JournalState(found.size, found.root)).checkpoint
    assert checkpoint is not None
    evidence = Evidence(folder, len(found.records), len(found.entries), checkpoint, key)
    with whole_folder(folder) as part:
        (part / "checkpoint.txt").write_text(checkpoint, encoding="utf-8")
        (part / "key.txt").write_text(f"{key}\n", encoding="utf-8")
        _write_lines(part / "records.ndjson", found.records)
        _write_lines(part / "entries.ndjson", found.entries)
        copyfile(Path(__file__).with_name("evidence_check.py"), part / "check.py")
        text = _page(f"Evidence: {subject.title}", found, evidence)
        (part / "index.html").write_text(text, encoding="utf-8")
    return evidence


def _subject_of_identity(svc: Service, id: str) -> Subject:
    """Returns an identity, its controls and orchestrations, and those that it had earlier."""
    controls = svc.controls.iter(identity_id=id, include_deleted=True)
    # There is no filter by identity; those of its customer are few enough.
    orchestrations = svc.orchestrations.iter(customer_id=svc.identities.get(id).customer_id)
    names = [
        ("identities", id),
        *(("controls", each.id) for each in controls),
        *(("orchestrations", each.id) for each in orchestrations if each.identity_id == id),
        *svc.journal.linked_earlier("identity_id", id),
    ]
    return Subject(f"identity {id}", [*dict.fromkeys(names)])


def _subject_of_group(svc: Service, id: str) -> Subject:
    """Returns a group, its addresses, balances and claims, and those that it had earlier."""
    moved = svc.journal.linked_earlier("payout_group_id", id)
    addresses = [each.id for each in svc.reward_addresses.iter(payout_group_id=id)]
    addresses += [each for table, each in moved if table == "reward_addresses"]
    names = [
        ("payout_groups", id),
        *(("reward_addresses", each) for each in addresses),
        *(("balances", each) for each in addresses),
        *(("claims", each.id) for each in svc.claims.iter(payout_group_id=id)),
        *moved,
    ]
    return Subject(f"payout group {id}", [*dict.fromkeys(names)])


def _write_lines(path: Path, values: Iterable[msgspec.Struct]) -> None:
    with path.open("wb") as file:
        for each in values:
            file.write(msgspec.json.encode(each) + b"\n")


def _page(title: str, found: Histories, evidence: Evidence) -> str:
    entries = [json.loads(each.entry) for each in found.entries]
    shown = entries[:_PAGE_ROWS]
    loads = {
        change.entry: f" (entry {change.load})"
        for record in found.records
        for change in record.changed_by
    }
    by_table = groupby(found.records, attrgetter("resource"))
    sections = [
        _section(
            "What this folder proves",
            [
                f"The folder has {evidence.records:,} records, and the {evidence.entries:,} "
                "entries of the journal that say who wrote them, when, and what they were before. "
                f"The journal had {found.size:,} entries; the checkpoint is the signed root of the "
                "Merkle tree over all of them.",
                "The proofs show that these entries are in the journal of the checkpoint, and that "
                "the records are what the entries made of them. They do not show that the records "
                "are true, that there are no other records of the subject, or that a record has no "
                "later entries; the operator's program verified the whole store before it wrote "
                "this folder.",
            ],
        ),
        _section(
            "How to check it",
            [
                "You need Python 3.11 and the package cryptography, but neither the store nor "
                "comptroller. The program check.py is short; read it, or take it from the release "
                "of comptroller. Give it the verifier key that the operator gave you earlier, not "
                "the one in this folder.",
                "Compare the checkpoint with those that you keep: ask the operator for comptroller "
                "journal verify --checkpoint FILE with an older one.",
            ],
            code=["pip install cryptography\npython check.py --key 'KEY'"],
        ),
        _section(
            "What happened",
            [],
            [
                _table(
                    {
                        "entry": [str(each["sequence"]) for each in shown],
                        "recorded": [each["recorded_at"] for each in shown],
                        "actor": [each["actor"] for each in shown],
                        "operation": [
                            each["operation"] + loads.get(each["sequence"], "") for each in shown
                        ],
                        "change": [_change(each) for each in shown],
                        "record": [each.get("id") for each in shown],
                    },
                    len(entries) - len(shown),
                )
            ],
        ),
        _section(
            "Records",
            ["records.ndjson has them as canonical JSON, with their proofs."],
            [_records(table, list(of_table)) for table, of_table in by_table],
        ),
        _section(
            "Checkpoint and key",
            ["The checkpoint is a C2SP tlog-checkpoint; Go's sumdb/note reads it, too."],
            code=[evidence.checkpoint, evidence.key],
        ),
        _section(
            "The procedure",
            [
                "Checkpoint: the lines before the empty line, with their line feeds, are the "
                "message of the Ed25519 signature. They are the name of the key, the number of "
                "entries, and the root in base64.",
                "Entry: the SHA-256 of a zero byte and the text entry is leaf sequence of the "
                "tree; proof leads to the root of the checkpoint (RFC 9162, section 2.1.3.2).",
                "Record that a load inserted: the text inserted.content is leaf inserted.index of "
                "a tree with the root that the entry of the load has for its table.",
                "Change: each entry replaces the members before by those of after.",
            ],
        ),
    ]
    return page(title, sections)


def _section(
    title: str, lines: Sequence[str], listed: Sequence[Any] = (), code: Sequence[str] = ()
) -> dict[str, Any]:
    place = title.lower().replace(" ", "-")
    return {"title": title, "place": place, "lines": lines, "listed": listed, "code": code}


def _table(columns: dict[str, list[str | None]], more: int) -> dict[str, Any]:
    made = [TableColumn(name, texts, name == "entry") for name, texts in columns.items()]
    return {"title": None, "columns": made, "more": more, "csv": None}


def _records(table: str, records: Sequence[RecordHistory]) -> dict[str, Any]:
    """Returns a table of records, with a column for each member that one of them has."""
    shown = records[:_PAGE_ROWS]
    states = [{} if each.content is None else json.loads(each.content) for each in shown]
    members = sorted(
        {member for state in states for member in state}, key=lambda name: (name != "id", name)
    )
    columns: dict[str, list[str | None]] = {
        "inserted by entry": [_text(each.inserted_by) for each in shown],
        "written by entries": [", ".join(map(str, each.entries)) or None for each in shown],
        **{member: [_text(state.get(member)) for state in states] for member in members},
    }
    return {**_table(columns, len(records) - len(shown)), "title": table.replace("_", " ")}


def _text(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


def _change(entry: dict[str, Any]) -> str:
    """Returns what an entry changed, in one line."""
    many = entry.get("batch") or entry.get("archive")
    if many is not None:
        return batch_text(many)
    if "before" not in entry:
        return "created"
    if "after" not in entry:
        return "removed"
    before, after = entry["before"], entry["after"]
    return "; ".join(
        f"{name}: {before.get(name, 'unset')} to {after.get(name, 'unset')}"
        for name in sorted(before.keys() | after.keys())
    )
