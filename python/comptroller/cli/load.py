"""The command load.

In a docstring that is help text, a line with only a backspace character (backslash, b) keeps the
line breaks of the paragraph after it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from comptroller.cli import screen
from comptroller.cli.load_results import account, describe_outcome, members, show_faults
from comptroller.cli.options import actor_option, db_option, json_option, options_given
from comptroller.cli.parameters import (
    Assignment,
    Kind,
    NamedPath,
    assigned,
    decimal_option,
    separator_option,
    sheet_option,
)
from comptroller.values import KINDS

if TYPE_CHECKING:
    from comptroller.bulk.loading import LoadResult

#: The parameters of a load of a folder; others are of the one file of a kind.
_OF_FOLDERS = ("kind", "customer", "keep_going", "db", "state", "actor", "as_json")
#: Options that ask for output that `--suggest` does not have.
_OF_LOADS = ("--rejects", "--json")


@click.command()
@click.argument("kind", metavar="KIND")
@click.argument("file", type=NamedPath(allow_dash=True), required=False)
@click.option(
    "--customer", metavar="ID", help="Customer of records without a customer_id. Default: default."
)
@click.option("--keep-going", is_flag=True, help="Store the valid lines if others are rejected.")
@click.option("--dry-run", is_flag=True, help="Store nothing; show what a load would do.")
@click.option(
    "--map", "mapping", type=click.Path(), metavar="TOML", help="File with the options below."
)
@click.option(
    "--rename",
    type=Assignment(),
    multiple=True,
    metavar="COLUMN=MEMBER",
    help="Member that a column holds; repeatable.",
)
@click.option(
    "--constant",
    type=Assignment(),
    multiple=True,
    metavar="MEMBER=VALUE",
    help="Value of a member in lines that do not set it; repeatable.",
)
@decimal_option
@separator_option
@sheet_option
@click.option("--tz", metavar="ZONE", help="Time zone of times without an offset, and of days.")
@click.option(
    "--dayfirst/--monthfirst", default=None, help="Read 03/04/2026 as 3 April or as 4 March."
)
@click.option(
    "--ids", type=click.Choice(["uuid5"]), help="Convert other ids where a UUID is required."
)
@click.option("--floats", type=click.Choice(["shortest"]), help="Accept floats as decimals.")
@click.option(
    "--rejects",
    type=NamedPath(),
    metavar="CSV",
    help="Write every rejected row of the source, and the reason, to this file.",
)
@click.option("--suggest", is_flag=True, help="Print a mapping file for FILE; load nothing.")
@db_option
@actor_option
@json_option
@click.pass_context
def load(
    ctx: click.Context,
    /,
    kind: str,
    file: str | None,
    customer: str | None,
    keep_going: bool,
    dry_run: bool,
    mapping: str | None,
    rejects: str | None,
    rename: tuple[tuple[str, str], ...],
    constant: tuple[tuple[str, str], ...],
    suggest: bool,
    db: str,
    actor: str | None,
    as_json: bool,
    **columns: Any,
) -> int:
    """Load records of a KIND from FILE into the store; - is standard input.

    FILE is NDJSON, a JSON array, a saved list response, CSV, Parquet or Excel, and may be
    compressed. If a line is rejected, nothing is stored, unless --keep-going is given.

    \b
    comptroller load KIND FILE
    comptroller load FOLDER

    \b
    KIND is one of identities, controls, orchestrations, payout-groups,
    reward-addresses, claims, balances. A FOLDER has a file for each kind,
    such as claims.ndjson; each file is a separate load. Of the options, a
    FOLDER takes --customer, --keep-going, --db, --actor and --json.
    """  # noqa: D301
    if file is None:
        folder = _folder(kind, ctx)
        _refuse(options_given(ctx, besides=_OF_FOLDERS), "not for a folder; give KIND FILE")
        return _load_folder(folder, customer, keep_going, db, actor, as_json)
    if suggest:
        _refuse([name for name in options_given(ctx) if name in _OF_LOADS], "not for --suggest")
    kind = Kind(KINDS).convert(kind, ctx.command.params[0], ctx)
    _require_readable(file)
    columns["rename"] = assigned("--rename", rename)
    columns["constants"] = assigned("--constant", constant)
    source: Any = screen.standard_input() if file == "-" else file
    if suggest:
        from comptroller.bulk.mapping_files import read_mapping
        from comptroller.bulk.suggesting import suggest as suggested

        click.echo(suggested(kind, source, read_mapping(mapping, columns)), nl=False)
        return 0
    ended_by: BaseException | None = None
    with screen.open_for_writing(db, actor) as svc, screen.progress(f"loading {kind}") as advance:
        try:
            result = svc.load(
                kind,
                source,
                customer_id=customer,
                keep_going=keep_going,
                dry_run=dry_run,
                progress=advance,
                mapping=mapping,
                rejects=rejects,
                **columns,
            )
        except BaseException as error:
            committed: LoadResult | None = getattr(error, "load_result", None)
            if committed is None and isinstance(error, KeyboardInterrupt):
                click.echo("comptroller: interrupted; nothing was stored", err=True)
                return 130
            if committed is None:
                raise
            result, ended_by = committed, error
    if as_json:
        interrupted = ended_by is not None
        screen.write_json({**members(result), "dry_run": dry_run, "interrupted": interrupted})
    else:
        screen.show(account({kind: result}))
        show_faults(result, f"{rejects} has all" if rejects else None)
        if ended_by is None:
            click.echo()
            click.echo(describe_outcome(result, dry_run=dry_run))
    if ended_by is None:
        return 1 if result.rejected else 0
    outcome = "the lines counted above were stored" if result.committed else "nothing was stored"
    if isinstance(ended_by, KeyboardInterrupt):
        click.echo(f"comptroller: interrupted; {outcome}", err=True)
        return 130
    click.echo(f"comptroller: the load ended early; {outcome}", err=True)
    raise ended_by


def _refuse(options: list[str], why: str) -> None:
    """Raises UsageError if there are options, which it names."""
    if options:
        raise click.UsageError(f"{', '.join(options)}: {why}")


def _folder(given: str, ctx: click.Context) -> str:
    """Check that the only argument is a folder. Raises UsageError for anything else."""
    if not given:
        raise click.UsageError("KIND: the path is empty; give KIND FILE or a folder", ctx)
    if Path(given).is_dir():
        return given
    if given.replace("_", "-") in KINDS:
        raise click.MissingParameter(ctx=ctx, param_hint="'FILE'", param_type="argument")
    if Path(given).is_file():
        raise click.UsageError(f"name the kind of the records: comptroller load KIND {given}")
    raise click.UsageError(f"{given} is not a folder; give KIND FILE or a folder")


def _load_folder(
    folder: str,
    customer: str | None,
    keep_going: bool,
    db: str,
    actor: str | None,
    as_json: bool,
) -> int:
    from comptroller.bulk.folders import files_of_kinds

    files = files_of_kinds(folder)  # raises for an invalid folder before a store is created
    with screen.open_for_writing(db, actor) as svc, screen.progress(f"loading {folder}") as advance:
        results = svc.load_all(
            folder, customer_id=customer, keep_going=keep_going, progress=advance
        )
    if as_json:
        screen.write_json({kind: members(result) for kind, result in results.items()})
    else:
        screen.show(account(results))
        for kind, result in results.items():
            show_faults(result, advice=f"load {kind} {files[kind]} --rejects FILE.csv writes all")
        *_, (kind, last) = results.items()
        click.echo()
        if last.committed:
            is_whole = not any(result.rejected for result in results.values())
            click.echo("All lines were stored." if is_whole else "The valid lines were stored.")
        else:
            click.echo(f"{kind}: {describe_outcome(last, dry_run=False)}")
            click.echo("Later kinds were not loaded; earlier kinds were stored.")
    return 1 if any(result.rejected for result in results.values()) else 0


def _require_readable(file: str) -> None:
    """Raise InvalidRequest for an unreadable file, before a store is created."""
    from comptroller.errors import invalid

    if file == "-":
        return
    if not Path(file).exists():
        raise invalid("file", f"{file} does not exist")
    if Path(file).is_dir():
        raise invalid("file", f"{file} is a folder; `comptroller load {file}` loads all of it")
    if not os.access(file, os.R_OK):
        raise invalid("file", f"{file} cannot be read: permission denied")
