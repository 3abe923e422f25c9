"""The commands sample and load.

In a docstring that is help text, a line with only a backspace character (backslash, b) keeps the
line breaks of the paragraph after it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from comptroller.cli import screen
from comptroller.cli.screen import actor_option, db_option, json_option
from comptroller.values import KINDS

if TYPE_CHECKING:
    from comptroller.bulk.loading import LoadResult

_SHOWN_REJECTIONS = 20


class Kind(click.Choice[str]):
    """A kind of record, with dashes or underscores."""

    name = "kind"

    def normalize_choice(self, choice: object, ctx: click.Context | None) -> str:
        """Replace underscores by dashes."""
        return str(choice).replace("_", "-")


class Assignment(click.ParamType[tuple[str, str]]):
    """A name and a value, NAME=VALUE."""

    name = "assignment"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Split the text at its first equals sign."""
        name, equals, given = str(value).partition("=")
        if not name or not equals:
            self.fail(f"{value!r} has no name and value; give NAME=VALUE", param, ctx)
        return name, given


#: How a file of the caller is read.
decimal_option = click.option(
    "--decimal", type=click.Choice([".", ","]), help="Decimal separator of amounts."
)
separator_option = click.option(
    "--separator", metavar="CHARACTER", help="Between cells of CSV. Default: found."
)
sheet_option = click.option("--sheet", metavar="NAME", help="Sheet of an Excel file.")


@click.command()
@click.argument("kind", type=Kind([*KINDS, "all"]), metavar="KIND|all")
@click.option(
    "--rows",
    type=click.IntRange(min=0),
    default=1000,
    show_default=True,
    help="Number of records; with `all` the number of claims, other kinds in proportion.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**64 - 1),
    default=1,
    show_default=True,
    help="Seed; the same seed gives the same records.",
)
@click.option(
    "--out", type=click.Path(), help="Output file, - for standard output; with `all` a folder."
)
@click.option("--customer", metavar="ID", help="Customer of the records. Default: `default`.")
@json_option
def sample(
    kind: str, rows: int, seed: int, out: str | None, customer: str | None, as_json: bool
) -> None:
    """Generate realistic records to load, as NDJSON.

    \b
    comptroller sample all --rows 100000 --out sample/
    comptroller load sample/
    """  # noqa: D301
    import comptroller

    if kind == "all" and out in (None, "-"):
        raise click.UsageError("all needs a folder; name it with --out FOLDER")
    if out in (None, "-"):
        if as_json:
            raise click.UsageError(
                "--json needs --out FILE, because standard output has the records"
            )
        records = comptroller.sample(kind, rows, seed, customer)
        to = sys.stdout.buffer
        while chunk := records.read(1 << 20):
            to.write(chunk)
        to.flush()
        return
    with screen.waiting(f"generating {kind}"):
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
    type=click.Path(),
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
    such as claims.ndjson; each file is a separate load.
    """  # noqa: D301
    import comptroller

    if file is None:
        if dry_run:
            raise click.UsageError("--dry-run is for one kind; later kinds need the earlier ones")
        return _load_folder(_folder(kind, ctx), customer, keep_going, db, actor, as_json)
    kind = Kind(KINDS).convert(kind, ctx.command.params[0], ctx)
    _require_readable(file)
    columns |= {"rename": dict(rename) or None, "constants": dict(constant) or None}
    source: Any = sys.stdin.buffer if file == "-" else file
    if suggest:
        from comptroller.bulk.mapping import read_mapping
        from comptroller.bulk.suggesting import suggest as suggested

        click.echo(suggested(kind, source, read_mapping(mapping, columns)), nl=False)
        return 0
    ended_by: BaseException | None = None
    with comptroller.open(db, actor=actor) as svc, screen.progress(f"loading {kind}") as advance:
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
        _show_faults(result)
        if ended_by is None:
            click.echo()
            click.echo(_outcome(result, dry_run=dry_run))
    if ended_by is None:
        return 1 if result.rejected else 0
    outcome = "the lines counted above were stored" if result.committed else "nothing was stored"
    if isinstance(ended_by, KeyboardInterrupt):
        click.echo(f"comptroller: interrupted; {outcome}", err=True)
        return 130
    click.echo(f"comptroller: the load ended early; {outcome}", err=True)
    raise ended_by


def _folder(given: str, ctx: click.Context) -> str:
    """Check that the only argument is a folder. Raises UsageError for anything else."""
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
    import comptroller
    from comptroller.bulk.folders import files_of_kinds

    files_of_kinds(folder)  # raises for an invalid folder before a store is created
    with comptroller.open(db, actor=actor) as svc, screen.progress(f"loading {folder}") as advance:
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
            click.echo("All lines were stored." if is_whole else "The valid lines were stored.")
        else:
            click.echo(f"{kind}: {_outcome(last, dry_run=False)}")
            click.echo("Later kinds were not loaded; earlier kinds were stored.")
    return 1 if any(result.rejected for result in results.values()) else 0


def _require_readable(file: str) -> None:
    """Raise InvalidRequest for an unreadable file, before a store is created."""
    from comptroller.errors import invalid

    if file == "-":
        if sys.stdin is None:
            raise invalid("file", "standard input is closed; name a file or redirect one")
        return
    if not Path(file).exists():
        raise invalid("file", f"{file} does not exist")
    if Path(file).is_dir():
        raise invalid("file", f"{file} is a folder; `comptroller load {file}` loads all of it")
    if not os.access(file, os.R_OK):
        raise invalid("file", f"{file} cannot be read: permission denied")


def account(results: dict[str, LoadResult]) -> Any:
    """Return the counts of loads as a table, one row for each kind."""
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
    """Return the result of a load as plain values for JSON."""
    plain: dict[str, Any] = msgspec.to_builtins(result)
    return plain


def _show_faults(result: LoadResult) -> None:
    if result.rejections:
        click.echo()
        screen.show(rejections(result))
        left = result.rejected - min(len(result.rejections), _SHOWN_REJECTIONS)
        if left:
            click.echo(f"... and {left:,} more; --rejects FILE.csv writes all")
            click.echo()
            screen.show(summary(result))
    if result.unknown_members:
        unknown = screen.table("~member", ">lines", title="Unknown members, ignored")
        for name, lines in result.unknown_members.items():
            unknown.add_row(*screen.formatted([name, lines]))
        click.echo()
        screen.show(unknown)


def summary(result: LoadResult) -> Any:
    """Return the number of rejected lines by member and code as a table."""
    groups = screen.table("member", "code", ">lines", ">first", "~why", title="All rejected lines")
    for each in result.summary():
        cells = [each.member or "", each.code, each.lines, each.first_line, each.message]
        groups.add_row(*screen.formatted(cells))
    return groups


def rejections(result: LoadResult) -> Any:
    """Return the first rejected lines as a table."""
    listed = screen.table(">line", "code", "~why", title="Rejected")
    for rejection in result.rejections[:_SHOWN_REJECTIONS]:
        listed.add_row(*screen.formatted([rejection.line, rejection.code, rejection.message]))
    return listed


def _outcome(result: LoadResult, *, dry_run: bool) -> str:
    if dry_run:
        return "Dry run: nothing was stored."
    if result.committed:
        return "The valid lines were stored." if result.rejected else "All lines were stored."
    if result.rejected:
        return (
            "Nothing was stored, because lines were rejected; the other counts show what\n"
            "--keep-going would do, which stores the valid lines."
        )
    return "Nothing was stored."
