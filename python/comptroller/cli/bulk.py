"""Commands that bring many records: sample and load.

In the help of a command, click leaves the lines behind a backspace character as they are broken.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from comptroller.cli import screen
from comptroller.cli.screen import db_option, json_option
from comptroller.values import KINDS

if TYPE_CHECKING:
    from comptroller.bulk.loading import LoadResult

_SHOWN_REJECTIONS = 20


class Kind(click.Choice[str]):
    """A kind of record, with dashes or underscores."""

    name = "kind"

    def normalize_choice(self, choice: object, ctx: click.Context | None) -> str:
        """Spell `choice` as it is compared."""
        return str(choice).replace("_", "-")


@click.command()
@click.argument("kind", type=Kind([*KINDS, "all"]), metavar="KIND|all")
@click.option(
    "--rows",
    type=click.IntRange(min=0),
    default=1000,
    show_default=True,
    help="How many; with `all` the number of claims, the rest in proportion.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**64 - 1),
    default=1,
    show_default=True,
    help="The same seed gives the same records.",
)
@click.option("--out", type=click.Path(), help="A file or -; with `all` a directory.")
@click.option("--customer", metavar="ID", help="Whose they are; `default` when left out.")
@json_option
def sample(
    kind: str, rows: int, seed: int, out: str | None, customer: str | None, as_json: bool
) -> None:
    """Make up realistic records to load, as NDJSON.

    \b
    comptroller sample all --rows 100000 --out sample/
    comptroller load sample/
    """  # noqa: D301
    import comptroller

    if kind == "all" and out in (None, "-"):
        raise click.UsageError("all kinds go to a directory; name it with --out DIR")
    if out in (None, "-"):
        if as_json:
            raise click.UsageError(
                "--json needs --out FILE, since the records go to standard output"
            )
        records = comptroller.sample(kind, rows, seed, customer)
        to = sys.stdout.buffer
        while chunk := records.read(1 << 20):
            to.write(chunk)
        to.flush()
        return
    with screen.waiting(f"making up {kind}"):
        path = comptroller.sample(kind, rows, seed, customer, out=str(out))
    files = [path / f"{each}.ndjson" for each in KINDS] if kind == "all" else [path]
    if as_json:
        screen.write_json({"kind": kind, "files": [str(file) for file in files]})
        return
    written = screen.table("~file", ">bytes")
    for file in files:
        written.add_row(*screen.formatted([file, file.stat().st_size]))
    screen.show(written)


@click.command()
@click.argument("kind", metavar="KIND")
@click.argument("file", type=click.Path(allow_dash=True), required=False)
@click.option("--customer", metavar="ID", help="Whose the records are that name no customer.")
@click.option("--keep-going", is_flag=True, help="Keep the good lines of a file with bad ones.")
@click.option("--dry-run", is_flag=True, help="Keep nothing; say what would have been.")
@db_option
@json_option
@click.pass_context
def load(
    ctx: click.Context,
    kind: str,
    file: str | None,
    customer: str | None,
    keep_going: bool,
    dry_run: bool,
    db: str,
    as_json: bool,
) -> int:
    """Load records of a KIND from FILE into the store; - is standard input.

    NDJSON, a JSON array or a saved list answer, also gzipped. All or nothing: if a line is
    rejected nothing is kept, unless --keep-going says otherwise.

    \b
    comptroller load KIND FILE
    comptroller load FOLDER

    \b
    KIND is one of identities, controls, orchestrations, payout-groups,
    reward-addresses, claims, balances. A FOLDER has a file for each kind,
    such as claims.ndjson; each is a load of its own.
    """  # noqa: D301
    import comptroller

    if file is None:
        if dry_run:
            raise click.UsageError("--dry-run is for one kind: later kinds need the earlier ones")
        return _load_folder(_folder(kind, ctx), customer, keep_going, db, as_json)
    kind = Kind(KINDS).convert(kind, ctx.command.params[0], ctx)
    _require_readable(file)
    source: Any = sys.stdin.buffer if file == "-" else file
    ended_by: BaseException | None = None
    with comptroller.open(db) as svc, screen.progress(f"loading {kind}") as advance:
        try:
            result = svc.load(
                kind,
                source,
                customer_id=customer,
                keep_going=keep_going,
                dry_run=dry_run,
                progress=advance,
            )
        except BaseException as error:
            kept: LoadResult | None = getattr(error, "load_result", None)
            if kept is None and isinstance(error, KeyboardInterrupt):
                click.echo("comptroller: interrupted; nothing was kept", err=True)
                return 130
            if kept is None:
                raise
            result, ended_by = kept, error
    if as_json:
        interrupted = ended_by is not None
        screen.write_json({**members(result), "dry_run": dry_run, "interrupted": interrupted})
    else:
        screen.show(account({kind: result}))
        _show_faults(result)
        if ended_by is None:
            click.echo()
            click.echo(_outcome(result, dry_run=dry_run))
    if ended_by is None:
        return 1 if result.rejected else 0
    kept_what = "what is counted above was kept" if result.committed else "nothing was kept"
    if isinstance(ended_by, KeyboardInterrupt):
        click.echo(f"comptroller: interrupted; {kept_what}", err=True)
        return 130
    click.echo(f"comptroller: the load ended early; {kept_what}", err=True)
    raise ended_by


def _folder(given: str, ctx: click.Context) -> str:
    """Give the folder that the only argument names. Raises UsageError for anything else."""
    if Path(given).is_dir():
        return given
    if given.replace("_", "-") in KINDS:
        raise click.MissingParameter(ctx=ctx, param_hint="'FILE'", param_type="argument")
    raise click.UsageError(f"{given} is neither a kind with a FILE behind it nor a folder")


def _load_folder(
    folder: str, customer: str | None, keep_going: bool, db: str, as_json: bool
) -> int:
    import comptroller
    from comptroller.bulk.loading import files_of_kinds

    files_of_kinds(folder)  # refuses some before a store is made
    with comptroller.open(db) as svc, screen.progress(f"loading {folder}") as advance:
        results = svc.load_all(
            folder, customer_id=customer, keep_going=keep_going, progress=advance
        )
    if as_json:
        screen.write_json({kind: members(result) for kind, result in results.items()})
    else:
        screen.show(account(results))
        for result in results.values():
            _show_faults(result)
        *_, (kind, last) = results.items()
        click.echo()
        if last.committed:
            is_whole = not any(result.rejected for result in results.values())
            click.echo("All was kept." if is_whole else "The good lines were kept.")
        else:
            click.echo(f"{kind}: {_outcome(last, dry_run=False)}")
            click.echo("Kinds after it were not loaded; those before it were kept.")
    return 1 if any(result.rejected for result in results.values()) else 0


def _require_readable(file: str) -> None:
    """Look, before a store is made for a file that is not there."""
    from comptroller.errors import invalid

    if file == "-":
        if sys.stdin is None:
            raise invalid("file", "standard input is closed; name a file, or send one to it")
        return
    if not Path(file).exists():
        raise invalid("file", f"there is no file {file}")
    if Path(file).is_dir():
        raise invalid("file", f"{file} is a directory; `comptroller load {file}` loads all of it")
    if not os.access(file, os.R_OK):
        raise invalid("file", f"{file} may not be read")


def account(results: dict[str, LoadResult]) -> Any:
    """Draw the accounts of loads as a table, one row for each kind."""
    counted = screen.table(
        "kind", ">read", ">inserted", ">updated", ">unchanged", ">rejected", ">blank"
    )
    for kind, result in results.items():
        counted.add_row(
            kind,
            *screen.formatted(
                [
                    result.read,
                    result.inserted,
                    result.updated,
                    result.unchanged,
                    result.rejected,
                    result.blank,
                ]
            ),
        )
    return counted


def members(result: LoadResult) -> dict[str, Any]:
    """The account of a load, for machines."""
    members = screen.fields_of(result)
    return {**members, "rejections": [screen.fields_of(each) for each in result.rejections]}


def _show_faults(result: LoadResult) -> None:
    if result.rejections:
        click.echo()
        screen.show(rejections(result))
        left = result.rejected - min(len(result.rejections), _SHOWN_REJECTIONS)
        if left:
            click.echo(f"... and {left:,} more; --json lists the first 1,000")
    if result.unknown_members:
        unknown = screen.table("~member left out", ">lines", title="Members that are not known")
        for name, lines in result.unknown_members.items():
            unknown.add_row(*screen.formatted([name, lines]))
        click.echo()
        screen.show(unknown)


def rejections(result: LoadResult) -> Any:
    """Draw the first rejected lines as a table."""
    listed = screen.table(">line", "code", "~why", title="Rejected")
    for rejection in result.rejections[:_SHOWN_REJECTIONS]:
        listed.add_row(*screen.formatted([rejection.line, rejection.code, rejection.message]))
    return listed


def _outcome(result: LoadResult, *, dry_run: bool) -> str:
    if dry_run:
        return "A dry run: nothing was kept."
    if result.committed:
        return "The good lines were kept." if result.rejected else "All was kept."
    if result.rejected:
        return (
            "Nothing was kept, because lines were rejected: the counts say what would have been.\n"
            "--keep-going keeps the good lines."
        )
    return "Nothing was kept."
