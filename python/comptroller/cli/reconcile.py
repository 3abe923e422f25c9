"""The command reconcile, which compares the records of a store with a file."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import click

from comptroller.cli import screen
from comptroller.cli.load import load
from comptroller.cli.options import db_option, json_option
from comptroller.cli.parameters import Assignment, Kind, NamedPath, assigned
from comptroller.display.html import TableColumn
from comptroller.values import KINDS

_SHOWN_ROWS = 20


@click.command()
@click.argument("kind", type=Kind(KINDS), metavar="KIND")
@click.argument("file", type=NamedPath(allow_dash=True))
@click.option("--on", required=True, metavar="MEMBERS", help="The key, such as tx_hash.")
@click.option("--compare", metavar="MEMBERS", help="Default: all members that FILE has.")
@click.option(
    "--where",
    type=Assignment(),
    multiple=True,
    metavar="NAME=VALUE",
    help="A filter of the records, such as statuses=CONFIRMED; repeatable.",
)
@click.option(
    "--out",
    type=NamedPath(),
    multiple=True,
    help="Write the rows as .csv, .xlsx or .parquet, or a page as .html; repeatable.",
)
@click.option("--exit-code", is_flag=True, help="Exit with 1 if anything is not matched.")
@db_option
@json_option
def reconcile(
    kind: str,
    file: str,
    on: str,
    compare: str | None,
    where: tuple[tuple[str, str], ...],
    out: tuple[str, ...],
    exit_code: bool,
    db: str,
    as_json: bool,
    **columns: Any,
) -> int:
    """Compare the records of KIND with another list, in FILE; - is standard input.

    FILE is in any format of load. Rows with the same key are compared member by member: amounts as
    numbers, times as instants.

    \b
    comptroller reconcile claims theirs.csv --on tx_hash
    comptroller reconcile claims theirs.xlsx --on tx_hash --map bank.toml --out differences.xlsx
    """  # noqa: D301
    columns["rename"] = assigned("--rename", columns["rename"])
    columns["constants"] = assigned("--constant", columns.pop("constant"))
    filters: defaultdict[str, list[str]] = defaultdict(list)
    for name, value in where:
        filters[name].append(value)
    with screen.existing_store(db) as svc, screen.waiting(f"reconciling {kind}"):
        found = svc.reconcile(
            kind,
            screen.standard_input() if file == "-" else file,
            on=on.split(","),
            compare=None if compare is None else compare.split(","),
            where=filters,
            **columns,
        )
        for path in out:
            found.save(path)
    if as_json:
        listed = {"counts": found.counts, "sums": found.sums, "duplicates": found.duplicates}
        answer: dict[str, object] = {name: each.to_dicts() for name, each in listed.items()}
        answer |= {"kind": kind, "on": list(found.on), "compared": list(found.compared)}
        answer |= {"ignored": list(found.ignored), "differing": found.differing}
        screen.write_json({**answer, "rows": found.to_dicts()})
        return 1 if exit_code and not found.is_equal else 0
    for line in found.lines:
        click.echo(line)
    for each in found.section(_SHOWN_ROWS, with_csv=False)["listed"]:
        click.echo(f"\n{each['title']}")
        shown: list[TableColumn] = each["columns"]
        screen.show(screen.table_of(shown))
        if each["more"]:
            click.echo(f"... and {each['more']:,} more; --out FILE writes all rows")
    for path in out:
        click.echo(f"Written to {path}.")
    return 1 if exit_code and not found.is_equal else 0


_COLUMNS = ("mapping", "rename", "constant", "decimal", "separator", "sheet", "tz", "dayfirst")
reconcile.params += [each for each in load.params if each.name in (*_COLUMNS, "ids", "floats")]
