"""The commands check, backup, copy and migrate, which work on a whole store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import click
import msgspec

from comptroller.cli import screen
from comptroller.cli.options import db_option, json_option, without_password
from comptroller.cli.parameters import NamedPath
from comptroller.display.html import printable
from comptroller.errors import from_os_error, invalid
from comptroller.postgresql import is_address, state_base

if TYPE_CHECKING:
    from comptroller.bulk.exported import Copied
    from comptroller.display.progress import Progress
    from comptroller.http.oauth.stored_documents import SecretDocument
    from comptroller.local import LocalHost
    from comptroller.secret_file import SecretFile
    from comptroller.service import Service

# The position of SQLite's user_version in the file, a big-endian number.
_USER_VERSION = slice(60, 64)


@click.command()
@db_option
@json_option
def check(db: str, as_json: bool) -> int:
    """Check the integrity of the store; write nothing.

    Checks the invariants of the records (references, unique active controls, valid values), and
    verifies the journal as `comptroller journal verify` does. Of a file, also runs SQLite's
    integrity check and lists the copies of SQLite in the process; the files of a database are not
    checked. The exit code is 1 if there are findings. Notices, such as that the write-ahead log
    cannot shrink, are not findings.
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
    copies = f"; copies in this process: {len(found['copies']) or 'unknown'}"
    click.echo(found["engine"] + ("" if is_address(db) else copies))
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


def _file(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """Returns the place of a backup, which is a file; the callback of DEST."""
    if is_address(value):
        raise click.UsageError("DEST is a file; `comptroller copy` copies to a database", ctx)
    without_password(ctx, param, value)
    return value


@click.command()
@click.argument("dest", type=NamedPath(), callback=_file)
@click.option(
    "--with-keys",
    is_flag=True,
    help="Also copy the signing keys, the clients of the server, and the keys of webhooks and of "
    "checkpoints.",
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
    found: list[bytes | None] = []
    if with_keys and not is_address(db):  # the core refuses to back up a database, and says why
        screen.require_server()
        found = _read_secrets(db)
    with screen.existing_store(db) as svc, screen.waiting("copying"):
        state = svc.backup(dest)
    copied = _write_secrets(found, dest) if with_keys else []
    size = Path(dest).stat().st_size
    if as_json:
        screen.write_json(
            {"file": dest, "bytes": size, "secrets": copied, "journal": msgspec.to_builtins(state)}
        )
    else:
        beside = "".join(f", {file} beside it" for file in copied)
        click.echo(f"{db} copied to {dest}, {size:,} bytes{beside}")
        screen.show_journal(state)


@click.command()
@click.argument("source", metavar="FROM", callback=without_password)
@click.argument("dest", metavar="TO", type=NamedPath(), callback=without_password)
@click.option(
    "--with-keys",
    is_flag=True,
    help="Also copy the signing keys, the clients of the server, and the keys of webhooks and of "
    "checkpoints.",
)
@click.option(
    "--state",
    type=NamedPath(file_okay=False),
    envvar="COMPTROLLER_STATE",
    help="The state folder of the database, for --with-keys.",
)
@json_option
def copy(source: str, dest: str, with_keys: bool, state: str | None, as_json: bool) -> None:
    """Copy a store between a file and a PostgreSQL database: all of it, or nothing.

    FROM and TO are files or addresses. TO is a new file or an empty database. The copy has the
    records, the journal, the answers kept for idempotency keys, and the webhooks; cursors stay
    valid. It is verified before it is kept. Prints the numbers of records, and the size and root of
    the journal, which are those of FROM. Writes to FROM after the command has begun are not in the
    copy, so end its programs before.

    --with-keys also copies what is in files beside a store file. For a database, these are in the
    state folder (--state), and the clients and signing keys are in the database.
    """
    if with_keys:
        _require_keys_can_be_copied(source, dest, state)
    screen.require_store(source)
    found: list[bytes | None] = []
    if with_keys:
        found = _read_secrets(source, state)
        if state is not None and is_address(dest):
            _require_place(found, state)
    with screen.progress(f"copying {source}") as advance:
        made = _copy(source, dest, advance)
    copied = _write_secrets(found, dest, state) if with_keys else []
    if as_json:
        screen.write_json({**msgspec.to_builtins(made), "secrets": copied})
        return
    rows = screen.table("kind", ">rows", title=f"{source} copied to {dest}")
    for name, number in made.rows.items():
        rows.add_row(*screen.format_cells([name, number]))
    screen.show(rows)
    click.echo()
    for each in copied:
        click.echo(f"copied {each}")
    screen.show_journal(made.journal)


# Of the errors of a store that must be opened for writing first: see cpp/db/postgresql/schema.cpp
# and cpp/service/maintenance.cpp.
_NEED_A_WRITER = ("the store has an older schema", "the journal has entries without a number")


def _copy(source: str, dest: str, advance: Progress | None) -> Copied:
    """Copies a store, which it opens read-only if that suffices, as that of a standby.

    A database is opened for writing if its schema is older, or its journal has entries that have no
    number yet.
    """
    import comptroller

    try:
        with comptroller.open(source, read_only=True) as svc:
            return svc.copy_to(dest, progress=advance)
    except (comptroller.Unavailable, comptroller.Unusable) as error:
        if not is_address(source) or not any(text in error.detail for text in _NEED_A_WRITER):
            raise
        failure = error
    try:
        writing = comptroller.open(source)
    except comptroller.Error:
        raise failure from None
    with writing as svc:
        return svc.copy_to(dest, progress=advance)


def _require_keys_can_be_copied(source: str, dest: str, state: str | None) -> None:
    """Raises InvalidRequest if there is no place for the keys."""
    screen.require_server()
    databases = [is_address(place) for place in (source, dest)]
    if all(databases):
        raise invalid(
            "--with-keys",
            "copies no keys between databases; copy the files of the state folder",
        )
    if any(databases) and state is None:
        raise invalid("--with-keys", "needs the state folder of the database; give --state")


def _read_secrets(place: str, state: str | None = None) -> list[bytes | None]:
    """Returns the private files and documents of a store, None for those that are missing.

    Read before the store is copied, so that a copy is not left without them.
    """
    import comptroller

    if not is_address(place):
        return [each.read() for each in _secrets_of_file(place)]
    with comptroller.open(place, read_only=True, state=state) as svc:
        return [each.read() for each in _secrets_of_database(svc)]


def _write_secrets(found: list[bytes | None], place: str, state: str | None = None) -> list[str]:
    """Writes the private files and documents of a copy; returns their names.

    The keys in the state folder of a database become those of its programs.
    """
    import comptroller

    if not is_address(place):
        return _write_all(found, _secrets_of_file(place))
    with comptroller.open(place, state=state) as svc:
        written = _write_all(found, _secrets_of_database(svc))
        screen.share_keys(svc)
    return written


def _write_all(found: list[bytes | None], documents: list[SecretDocument]) -> list[str]:
    written = []
    for data, document in zip(found, documents, strict=True):
        if data is not None:
            document.read()  # a document replaces what was read
            document.write(data)
            written.append(str(document.path))
    return written


def _secrets_of_file(store: str) -> list[SecretDocument]:
    from comptroller.http.oauth import clients, keys

    return [keys.file_of(store), clients.file_of(store), *_files_of(store)]


def _secrets_of_database(svc: Service) -> list[SecretDocument]:
    from comptroller.http.oauth import clients, keys

    host = cast("LocalHost", svc.host)
    return [keys.shared_of(host), clients.shared_of(host), *_files_of(str(host.secrets_base))]


def _files_of(base: str) -> list[SecretFile]:
    """Returns the files that a store file and a database both have."""
    from comptroller.journal.keys import key_file_of
    from comptroller.secret_file import SecretFile

    return [key_file_of(base), SecretFile(base, ".webhook-key")]


def _require_place(found: list[bytes | None], state: str) -> None:
    """Raises InvalidRequest if a state folder has other keys, which a copy would replace."""
    files = _files_of(state_base(state))
    for data, file in zip(found[-len(files) :], files, strict=True):
        if data is not None and file.read() not in (None, data):
            raise invalid("--state", f"{file.path} is of another store; name a new folder")


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
    try:
        with Path(db).open("rb") as file:
            return int.from_bytes(file.read(_USER_VERSION.stop)[_USER_VERSION], "big")
    except OSError as error:
        raise from_os_error(error, f"{db} cannot be read: {error.strerror}") from error
