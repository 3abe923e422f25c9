"""The command query, which runs SQL over the tables of a store."""

from __future__ import annotations

import sys
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from comptroller.cli import screen
from comptroller.cli.options import db_option
from comptroller.cli.parameters import (
    Assignment,
    NamedPath,
    decimal_option,
    separator_option,
    sheet_option,
)
from comptroller.display.html import TableColumn
from comptroller.errors import Unavailable

if TYPE_CHECKING:
    from comptroller.analysis.query import Query

_SHOWN_ROWS = 200
_FORMATS = ("table", "csv", "json", "parquet", "xlsx", "html")
_FILES = ("parquet", "xlsx", "html")


@click.command()
@click.argument("sql")
@click.option(
    "--format",
    type=click.Choice(_FORMATS),
    help="Output format. Default: by the suffix of --out, else table.",
)
@click.option(
    "--out", type=NamedPath(allow_dash=True), help="Write to this file; - is standard output."
)
@click.option(
    "--with",
    "given",
    type=Assignment(),
    multiple=True,
    metavar="TABLE=FILE",
    help="Also query this file, in any format of `load`, as a table; repeatable.",
)
@decimal_option
@separator_option
@sheet_option
@db_option
def query(
    sql: str,
    format: str | None,
    out: str | None,
    given: tuple[tuple[str, str], ...],
    db: str,
    **files: str | None,
) -> None:
    """Run a read-only SQL query over the store.

    DuckDB runs the query over the tables identities, controls, orchestrations, payout_groups,
    reward_addresses, balances and claims. Amounts are exact in every format. The columns "at" and
    "group" need double quotes.

    \b
    comptroller query "DESCRIBE claims"
    comptroller query "FROM claims JOIN owners USING (payout_group_id)" --with owners=owners.csv
    comptroller query "FROM claims WHERE onchain_status = 'FAILED'" --out failed.csv
    """  # noqa: D301
    if out == "-":
        out, format = None, format or "csv"
    chosen = format or (Path(out).suffix.lstrip(".").lower() if out else "table")
    if chosen not in _FORMATS:
        raise click.UsageError(
            f"--out {out}: unknown suffix; give the --format, one of {', '.join(_FORMATS[1:])}"
        )
    if out is None and chosen in _FILES:
        raise click.UsageError(f"{chosen} needs --out FILE")
    if out is not None and chosen == "table":
        raise click.UsageError(
            "a table goes to the terminal; --out needs csv, json, parquet, xlsx or html"
        )
    from comptroller.errors import require

    require("duckdb", "a query", "analysis")
    from comptroller.analysis.query import open_query
    from comptroller.bulk.files import refuse_store
    from comptroller.bulk.mapping_files import read_mapping

    if out is not None:
        refuse_store("--out", out)
    unused = [f"--{name}" for name, value in files.items() if value is not None and not given]
    if unused:
        raise click.UsageError(f"{', '.join(unused)}: for the files of --with; give one")
    tables = dict(given)
    if len(tables) < len(given):
        raise click.UsageError("--with: two files have one name")
    options = read_mapping(None, files)
    with screen.existing_store(db) as svc, open_query(svc, sql, tables, options) as ready:
        if chosen == "table":
            _show(ready)
        elif out is None:
            _write_text(ready, chosen, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        else:
            with screen.waiting(f"writing {out}"):
                rows = _write_file(ready, chosen, out)
            click.echo(f"{rows:,} {'row' if rows == 1 else 'rows'} written to {out}")


def _write_file(ready: Query, format: str, path: str) -> int:
    from comptroller.bulk.files import whole_file
    from comptroller.bulk.parquet import write_parquet
    from comptroller.bulk.streams import run_interruptibly

    if format == "parquet":
        try:
            return run_interruptibly(lambda: write_parquet(ready, path), ready.interrupt)
        except Unavailable as error:
            raise ready.refusal or error from None
    if format == "xlsx":
        return ready.table().to_excel(path)
    if format == "html":
        return ready.table().to_html(path)
    with whole_file(path) as part, part.open("wb") as file:
        return _write_text(ready, format, file)


def _write_text(ready: Query, format: str, file: BinaryIO) -> int:
    count = 0
    for rows, text in ready.text(is_json=format == "json"):
        file.write(text)
        count += rows
    return count


def _show(ready: Query) -> None:
    rows = chain.from_iterable(ready.rows())
    shown = list(islice(rows, _SHOWN_ROWS))
    texts = list(zip(*shown, strict=True)) or [()] * len(ready.columns)
    screen.show(
        screen.table_of(
            TableColumn(column.name, values, column.is_number)
            for column, values in zip(ready.columns, texts, strict=True)
        )
    )
    if next(rows, None) is not None:
        click.echo("... and more; --format csv writes all rows")
