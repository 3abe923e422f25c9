"""The commands of the journal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click
import msgspec

from comptroller.cli import screen
from comptroller.cli.options import actor_option, db_and_state_options, db_option, json_option
from comptroller.cli.parameters import NamedPath
from comptroller.display.batches import batch_text
from comptroller.values import JournalResource

if TYPE_CHECKING:
    from comptroller.journal import JournalEntry


@click.group()
def journal() -> None:
    """Show who changed what and when, and prove that nothing was altered.

    \b
    comptroller journal list --resource controls
    comptroller journal verify
    """  # noqa: D301


@journal.command("list")
@click.option(
    "--resource",
    type=click.Choice(get_args(JournalResource)),
    help="Only entries of this kind of record.",
)
@click.option("--id", metavar="ID", help="Only entries of the record with this id.")
@click.option("--after", type=int, help="Only entries after this sequence number.")
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="The most entries to list.",
)
@db_option
@json_option
def list_entries(
    db: str,
    resource: JournalResource | None,
    id: str | None,
    after: int | None,
    limit: int,
    as_json: bool,
) -> None:
    """List entries in order of commit."""
    from comptroller.bulk.archiving import first_unarchived

    with screen.existing_store(db) as svc:
        entries = svc.journal.list(resource=resource, id=id, after=after, limit=limit)
        first = first_unarchived(svc.journal)
    if as_json:
        screen.write_json({"items": msgspec.to_builtins(entries)})
        return
    shown = screen.table(">sequence", "recorded_at", "actor", "operation", "id", "~change")
    for entry in entries:
        shown.add_row(
            *screen.format_cells(
                [
                    entry.sequence,
                    entry.recorded_at,
                    entry.actor,
                    entry.operation,
                    entry.id,
                    _change(entry),
                ]
            )
        )
    screen.show(shown)
    if first > (0 if after is None else after + 1):
        click.echo(f"The first {first:,} entries are in archives, and not shown.")


def _change(entry: JournalEntry) -> str:
    """What an entry changed, in one line."""
    if entry.batch is not None:
        return batch_text(entry.batch)
    if entry.archive is not None:
        return f"the first {entry.archive['entries']:,} entries moved to a file"
    if entry.before is None:
        return "created"
    if entry.after is None:
        return "removed"
    names = sorted(entry.before.keys() | entry.after.keys())
    return "; ".join(
        f"{name}: {entry.before.get(name, 'unset')} -> {entry.after.get(name, 'unset')}"
        for name in names
    )


@journal.command()
@click.argument("sequence", type=click.IntRange(0))
@db_option
@json_option
def show(sequence: int, db: str, as_json: bool) -> None:
    """Show an entry: its members, and the values before and after the change."""
    with screen.existing_store(db) as svc:
        entry = svc.journal.show(sequence)
    if as_json:
        screen.write_json(msgspec.to_builtins(entry))
        return
    members = msgspec.structs.asdict(entry)
    before, after = members.pop("before") or {}, members.pop("after") or {}
    shown = screen.table("member", "~value")
    for name, value in _flattened(members):
        shown.add_row(name, screen.format_value(value))
    changed = screen.table("member", "~before", "~after")
    for name in sorted(before.keys() | after.keys()):
        values = [before.get(name, "unset"), after.get(name, "unset")]
        changed.add_row(name, *screen.format_cells(values))
    screen.show(shown, *([changed] if changed.rows else []))


def _flattened(members: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Yields the members that have a value, and those of objects, such as ``batch.lines``."""
    for name, value in members.items():
        if isinstance(value, dict):
            yield from ((f"{name}.{inner}", each) for inner, each in _flattened(value))
        elif isinstance(value, list):
            yield name, json.dumps(value, ensure_ascii=False)
        elif value is not None:
            yield name, value


@journal.command()
@click.argument("sequence", type=click.IntRange(0))
@db_option
def prove(sequence: int, db: str) -> None:
    """Prove that an entry is in the journal: prints it with its proof, as JSON.

    Others check the proof without the store: the SHA-256 of a zero byte and "entry" is leaf
    "sequence" of the Merkle tree with "size" and "root" (RFC 9162, section 2.1.3.2).
    """
    with screen.existing_store(db) as svc:
        screen.write_json(msgspec.to_builtins(svc.journal.prove(sequence)))


@journal.command()
@click.option(
    "--checkpoint",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file with an earlier checkpoint, with which the journal must begin.",
)
@click.option("--key", help="The verifier key of the checkpoint.  [default: that of the store]")
@click.option(
    "--archive",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False),
    help="A file of `journal archive`, to verify its entries; give all of them.",
)
@db_and_state_options
@json_option
def verify(
    db: str, checkpoint: Path | None, key: str | None, archive: tuple[str, ...], as_json: bool
) -> int:
    """Check that no record and no entry was altered by anything but comptroller.

    The exit code is 1 if there are findings.
    """
    if key is not None and checkpoint is None:
        raise click.UsageError("--key is for --checkpoint; give both")
    # What is not UTF-8 is no checkpoint, which `verify` says.
    note = None if checkpoint is None else checkpoint.read_text("utf-8", errors="replace")
    with screen.existing_store(db) as svc, screen.waiting("verifying"):
        result = svc.journal.verify(note, key, archive)
    if as_json:
        screen.write_json(msgspec.to_builtins(result))
        return 0 if result.ok else 1
    click.echo(f"{result.size:,} entries, root {result.root}")
    if result.archived and not archive:
        click.echo(f"The first {result.archived:,} are archived; --archive FILE verifies them too.")
    if result.ok:
        click.echo("No record and no entry was altered.")
        return 0
    findings = screen.table("check", "~finding", title="Problems")
    for finding in result.findings:
        findings.add_row(*screen.format_cells([finding.check, finding.message]))
    screen.show(findings)
    return 1


@journal.command()
@click.option(
    "--out", type=NamedPath(allow_dash=True), help="Write it to a new file; - is standard output."
)
@db_and_state_options
def checkpoint(db: str, out: str | None) -> None:
    """Print the size and root of the journal, signed. Keep it somewhere else."""
    from comptroller.bulk.files import refuse_existing, refuse_store, whole_file

    if out == "-":
        out = None
    if out is not None:
        refuse_store("--out", out)
        refuse_existing(out)
    with screen.store_with_keys(db) as svc:
        note = svc.journal.checkpoint()
    if out is None:
        click.echo(note, nl=False)
        return
    with whole_file(out) as file:
        file.write_text(note)


@journal.command()
@click.option("--before", required=True, metavar="TIME", help="A time; a day is its start in UTC.")
@click.option("--out", required=True, type=NamedPath(), help="The new file, .parquet.")
@db_option
@actor_option
@json_option
def archive(db: str, before: str, out: str, actor: str | None, as_json: bool) -> None:
    """Move the entries recorded before a time to a Parquet file.

    Checkpoints, proofs of later entries and verify go on without the file. Keep it: only it proves
    what its entries say.
    """
    screen.require_store(db)
    with screen.open_for_writing(db, actor) as svc, screen.waiting("archiving"):
        archived = svc.journal.archive(before, out)
    if as_json:
        screen.write_json(msgspec.to_builtins(archived))
        return
    click.echo(f"entries {archived.first:,} to {archived.size - 1:,} moved to {out}")
    click.echo(f"SHA-256 {archived.sha256}")


@journal.command("check-evidence")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--key", help="The verifier key that you got earlier.  [default: FOLDER/key.txt]")
@json_option
def check_evidence(folder: Path, key: str | None, as_json: bool) -> int:
    """Check a folder of `comptroller evidence`; needs no store.

    The exit code is 1 if it is wrong. FOLDER/check.py is the same program without comptroller.
    """
    from comptroller.bulk.evidence_check import Wrong, check
    from comptroller.errors import require

    require("cryptography", "checking evidence", "server")
    try:
        checked = check(folder, key)
    except Wrong as wrong:
        if as_json:
            screen.write_json({"ok": False, "finding": str(wrong)})
        else:
            click.echo(f"Wrong: {wrong}")
        return 1
    if as_json:
        screen.write_json({"ok": True, **checked})
    else:
        click.echo(
            f"{checked['records']:,} records and {checked['entries']:,} entries are right, in a "
            f"journal of {checked['size']:,} entries, signed by {checked['key']}"
        )
    return 0


@click.command()
@click.option("--identity", metavar="ID", help="An identity, with its controls and orchestrations.")
@click.option("--group", metavar="ID", help="A payout group, with its addresses and claims.")
@click.option("--out", required=True, type=NamedPath(), help="The new folder.")
@db_and_state_options
@json_option
def evidence(db: str, identity: str | None, group: str | None, out: str, as_json: bool) -> None:
    """Write a folder that proves who changed the records of a subject, and how.

    Others check it without the store: index.html explains how.

    \b
    comptroller evidence --identity alice --out evidence-alice
    comptroller journal check-evidence evidence-alice
    """  # noqa: D301
    if (identity is None) == (group is None):
        raise click.UsageError("give one of --identity and --group")
    with screen.store_with_keys(db) as svc, screen.waiting("verifying the store"):
        written = svc.evidence(out, identity=identity, group=group)
    if as_json:
        screen.write_json(msgspec.to_builtins(written))
        return
    what = f"{written.records:,} records and {written.entries:,} entries"
    click.echo(f"{what} written to {out}; open {out}/index.html")


@journal.command()
@db_and_state_options
def key(db: str) -> None:
    """Print the key that verifies checkpoints."""
    with screen.store_with_keys(db) as svc:
        click.echo(svc.journal.key())
