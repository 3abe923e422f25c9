"""The command query: SQL over the tables of a store."""

from __future__ import annotations

import csv
import json
import math
import sys
from datetime import date, datetime, time
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from comptroller import figures
from comptroller.cli import screen
from comptroller.cli.screen import db_option
from comptroller.errors import invalid

if TYPE_CHECKING:
    from comptroller.analysis.query import Query

_SHOWN_ROWS = 200
_FORMATS = ("table", "csv", "json", "parquet")
#: What a spreadsheet takes for the beginning of a formula, as in an export.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")


@click.command()
@click.argument("sql")
@click.option(
    "--format",
    type=click.Choice(_FORMATS),
    help="As the name of --out ends, else a table.",
)
@click.option("--out", type=click.Path(), help="Write to this file.")
@db_option
def query(sql: str, format: str | None, out: str | None, db: str) -> None:
    """Ask the store in SQL, which reads and never writes.

    The tables are identities, controls, orchestrations, payout_groups, reward_addresses, balances
    and claims; DuckDB answers. Amounts are exact in every format.

    \b
    comptroller query "DESCRIBE claims"
    comptroller query "FROM claims WHERE onchain_status = 'FAILED'" --out failed.csv
    """  # noqa: D301
    chosen = format or (Path(out).suffix.lstrip(".").lower() if out else "table")
    if chosen not in _FORMATS:
        raise click.UsageError(f"--out {out}: say the --format, {', '.join(_FORMATS[1:])}")
    if out is None and chosen == "parquet":
        raise click.UsageError("parquet needs --out FILE")
    if out is not None and chosen == "table":
        raise click.UsageError("a table goes to the terminal; --out needs csv, json or parquet")
    from comptroller.streams import require

    require("duckdb", "a query", "comptroller[analysis]")
    from comptroller.analysis.query import open_query
    from comptroller.files import refuse_store

    if out is not None:
        refuse_store("--out", out)
    with screen.existing_store(db) as svc, open_query(svc, sql) as ready:
        if out is None:
            _WRITERS[chosen](ready, sys.stdout)
            return
        with screen.waiting(f"writing {out}"):
            rows = _write(ready, chosen, out)
        click.echo(f"{rows:,} rows written to {out}")


def _write(ready: Query, format: str, path: str) -> int:
    from comptroller.files import whole_file
    from comptroller.parquet import write_parquet
    from comptroller.streams import awaited

    if format == "parquet":
        return awaited(lambda: write_parquet(ready, path), ready.interrupt)
    with whole_file(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        return _WRITERS[format](ready, file)


def _show(ready: Query, _file: TextIO) -> int:
    names, rows = ready.rows()
    shown = list(islice(rows, _SHOWN_ROWS))
    values = list(zip(*shown, strict=True)) or [()] * len(names)
    screen.show(
        screen.table_of(
            (name, [_told(value) for value in column], any(map(_is_number, column)))
            for name, column in zip(names, values, strict=True)
        )
    )
    if next(rows, None) is not None:
        click.echo("... and more; --format csv writes all")
    return len(shown)


def _told(value: object) -> str | None:
    return None if value is None else _text(value)


def _write_csv(ready: Query, file: TextIO) -> int:
    names, rows = ready.rows()
    lines = csv.writer(file)
    lines.writerow([_defused(name) for name in names])
    count = 0
    for row in rows:
        lines.writerow([_cell(value) for value in row])
        count += 1
    return count


def _cell(value: object) -> str:
    if isinstance(value, str):  # as most are
        return _defused(value)
    if value is None:
        return ""
    return _text(value) if _is_number(value) else _defused(_text(value))


def _defused(text: str) -> str:
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULAS) else text


def _write_json(ready: Query, file: TextIO) -> int:
    names, rows = ready.rows()
    if len(set(names)) < len(names):
        raise invalid("sql", "two columns have one name, which JSON cannot tell apart; use AS")
    count = 0
    file.write("[")
    for count, row in enumerate(rows, start=1):
        members = dict(zip(names, map(_plain, row), strict=True))
        file.write(("," if count > 1 else "") + "\n" + json.dumps(members, ensure_ascii=False))
    file.write("\n]\n")
    return count


_WRITERS = {"table": _show, "csv": _write_csv, "json": _write_json}


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)


def _text(value: object) -> str:
    """A value as text; what is nested as JSON."""
    if isinstance(value, Decimal):
        return figures.plain(value)
    plain = _plain(value)
    if isinstance(plain, str):
        return plain
    return json.dumps(plain, ensure_ascii=False)


def _plain(value: Any) -> Any:
    """A value as JSON has it: exact amounts and times as text, without an exponent."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case Decimal():
            return figures.plain(value)
        case datetime():
            return value.isoformat().replace("+00:00", "Z")
        case date() | time():
            return value.isoformat()
        case bytes():
            return value.hex()
        case dict():
            return {_text(key): _plain(member) for key, member in value.items()}
        case list() | tuple():
            return [_plain(member) for member in value]
    return str(value)
