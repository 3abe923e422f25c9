"""The command sample, which generates records."""

from __future__ import annotations

import sys

import click

from comptroller.cli import screen
from comptroller.cli.options import json_option
from comptroller.cli.parameters import Kind, NamedPath
from comptroller.values import KINDS


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
    "--out",
    type=NamedPath(allow_dash=True),
    help="Output file, .ndjson, .jsonl or .json; - for standard output; with `all` a folder.",
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
        written.add_row(*screen.format_cells([file, file.stat().st_size]))
    screen.show(written)
