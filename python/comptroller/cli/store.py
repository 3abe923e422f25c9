"""Commands about the store file itself: check, backup, migrate."""

from __future__ import annotations

from pathlib import Path

import click

from comptroller.cli import screen
from comptroller.cli.screen import db_option, json_option
from comptroller.display.html import printable

# Where SQLite keeps the number a program may set: bytes 60 to 63 of the file, the first highest.
_USER_VERSION = slice(60, 64)


@click.command()
@db_option
@json_option
def check(db: str, as_json: bool) -> int:
    """Examine the whole store; write nothing.

    SQLite's integrity check, the store's own promises (references, one active control of a type and
    setter, legal values), and which SQLite is in the process. Exit code 1 when something is wrong.
    """
    with screen.existing_store(db) as svc, screen.waiting("checking"):
        found = svc.check()
    if as_json:
        screen.write_json(found)
        return 0 if found["ok"] else 1
    rows = screen.table("kind", ">rows", title=db)
    for name, number in found["rows"].items():
        rows.add_row(*screen.formatted([name, number]))
    screen.show(rows)
    click.echo()
    click.echo(
        f"{found['engine']}, {len(found['copies']) or 'an unknown number of'} in this process:"
    )
    for copy in found["copies"]:
        click.echo(f"  {printable(copy)}")
    if found["ok"]:
        click.echo("\nNothing wrong was found.")
        return 0
    findings = screen.table("check", "~finding", title="Wrong")
    for finding in found["findings"]:
        findings.add_row(*screen.formatted([finding["check"], finding["message"]]))
    click.echo()
    screen.show(findings)
    return 1


@click.command()
@click.argument("dest", type=click.Path())
@click.option(
    "--with-keys", is_flag=True, help="Copy the server's signing keys and clients beside it, too."
)
@db_option
@json_option
def backup(dest: str, db: str, with_keys: bool, as_json: bool) -> None:
    """Copy the store to DEST, consistent while others write.

    Whoever has the signing keys can let anybody in: with --with-keys the copies DEST.keys and
    DEST.clients are to be kept like passwords. Without, nobody can be let in by the copy.
    """
    with screen.existing_store(db) as svc, screen.waiting("copying"):
        svc.backup(dest)
    copied = _copy_secrets(db, dest) if with_keys else []
    size = Path(dest).stat().st_size
    if as_json:
        screen.write_json({"file": dest, "bytes": size, "secrets": copied})
    else:
        beside = "".join(f", {file} beside it" for file in copied)
        click.echo(f"{db} copied to {dest}, {size:,} bytes{beside}")


def _copy_secrets(db: str, dest: str) -> list[str]:
    """Copies the secret files of a store to those of its copy; gives their names."""
    screen.require_server()
    from comptroller.http import clients, keys

    copied = []
    for file_of in (keys.file_of, clients.file_of):
        data = file_of(db).read()
        if data is not None:
            file_of(dest).write(data)
            copied.append(str(file_of(dest).path))
    return copied


@click.command()
@db_option
@json_option
def migrate(db: str, as_json: bool) -> None:
    """Bring the store to the schema of this version.

    Opening a store for writing does it too. All or nothing.
    """
    import comptroller

    screen.require_store(db)
    before = _schema_version(db)
    comptroller.open(db).close()
    after = max(_schema_version(db), before)
    if as_json:
        screen.write_json({"from": before, "to": after, "migrated": before != after})
    elif before == after:
        click.echo(f"{db} has schema version {after}; there was nothing to do")
    else:
        click.echo(f"{db} was migrated from schema version {before} to {after}")


def _schema_version(db: str) -> int:
    """The number in the file's header; that a log not yet folded in may say more is no matter."""
    with Path(db).open("rb") as file:
        return int.from_bytes(file.read(_USER_VERSION.stop)[_USER_VERSION], "big")
