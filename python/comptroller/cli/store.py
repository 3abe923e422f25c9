"""The commands check, backup and migrate, which work on the store file."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from comptroller.cli import screen
from comptroller.cli.options import db_option, json_option
from comptroller.display.html import printable
from comptroller.postgresql import is_address

# The position of SQLite's user_version in the file, a big-endian number.
_USER_VERSION = slice(60, 64)


@click.command()
@db_option
@json_option
def check(db: str, as_json: bool) -> int:
    """Check the integrity of the store; write nothing.

    Runs SQLite's integrity check, checks the invariants of the records (references, unique active
    controls, valid values), verifies the journal as `comptroller journal verify` does, and lists
    the copies of SQLite in the process. The exit code is 1 if there are findings. Notices, such as
    that the write-ahead log cannot shrink, are not findings.
    """
    with screen.existing_store(db) as svc, screen.waiting("checking"):
        found = svc.check()
    if as_json:
        screen.write_json(found)
        return 0 if found["ok"] else 1
    rows = screen.table("kind", ">rows", title=db)
    for name, number in found["rows"].items():
        rows.add_row(*screen.format_cells([name, number]))
    screen.show(rows)
    click.echo()
    click.echo(f"{found['engine']}; copies in this process: {len(found['copies']) or 'unknown'}")
    for copy in found["copies"]:
        click.echo(f"  {printable(copy)}")
    for notice in found["notices"]:
        click.echo(f"\nNotice: {notice['message']}.")
    if found["ok"]:
        click.echo("\nNo problems were found.")
        return 0
    findings = screen.table("check", "~finding", title="Problems")
    for finding in found["findings"]:
        findings.add_row(*screen.format_cells([finding["check"], finding["message"]]))
    click.echo()
    screen.show(findings)
    return 1


@click.command()
@click.argument("dest", type=click.Path())
@click.option(
    "--with-keys", is_flag=True, help="Also copy the signing keys, and the clients of the server."
)
@db_option
@json_option
def backup(dest: str, db: str, with_keys: bool, as_json: bool) -> None:
    """Copy the store to DEST; the copy is consistent even while others write.

    --with-keys also writes DEST.keys, DEST.clients, DEST.journal-key and DEST.webhook-key. Protect
    these files like passwords: the keys can create tokens for any client, checkpoints, and
    requests of webhooks. Without the option the copy has no secrets. Also prints the size and root
    of the copy's journal and, if the store has a key for checkpoints, a checkpoint of it.
    """
    with screen.existing_store(db) as svc, screen.waiting("copying"):
        state = svc.backup(dest)
    copied = _copy_secrets(db, dest) if with_keys else []
    size = Path(dest).stat().st_size
    if as_json:
        screen.write_json(
            {"file": dest, "bytes": size, "secrets": copied, "journal": msgspec.to_builtins(state)}
        )
    else:
        beside = "".join(f", {file} beside it" for file in copied)
        click.echo(f"{db} copied to {dest}, {size:,} bytes{beside}")
        screen.show_journal(state)


def _copy_secrets(db: str, dest: str) -> list[str]:
    """Copies the secret files of a store; returns the names of the copies."""
    screen.require_server()
    from comptroller.http.oauth import clients, keys
    from comptroller.journal.keys import key_file_of
    from comptroller.secret_file import SecretFile

    def webhook_key(store: str) -> SecretFile:
        return SecretFile(store, ".webhook-key")

    copied = []
    for file_of in (keys.file_of, clients.file_of, key_file_of, webhook_key):
        data = file_of(db).read()
        if data is not None:
            file_of(dest).write(data)
            copied.append(str(file_of(dest).path))
    return copied


@click.command()
@db_option
@json_option
def migrate(db: str, as_json: bool) -> None:
    """Migrate the store to the schema of this version, in one transaction.

    Opening a store for writing also migrates it.
    """
    screen.require_store(db)
    if is_address(db):
        screen.open_for_writing(db).close()
        if as_json:
            screen.write_json({"from": None, "to": None, "migrated": None})
        else:
            click.echo(f"{db} has the schema of this version")
        return
    before = _schema_version(db)
    screen.open_for_writing(db).close()
    after = max(_schema_version(db), before)
    if as_json:
        screen.write_json({"from": before, "to": after, "migrated": before != after})
    elif before == after:
        click.echo(f"{db} already has schema version {after}")
    else:
        click.echo(f"{db} was migrated from schema version {before} to {after}")


def _schema_version(db: str) -> int:
    """Returns the schema version in the file's header, which may lag behind the write-ahead log."""
    from comptroller.bulk.files import refuse_open_store

    refuse_open_store("--db", db)
    with Path(db).open("rb") as file:
        return int.from_bytes(file.read(_USER_VERSION.stop)[_USER_VERSION], "big")
