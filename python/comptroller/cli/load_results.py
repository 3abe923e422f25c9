"""Results of loads, as tables and for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import msgspec

from comptroller.cli import screen

if TYPE_CHECKING:
    from comptroller.bulk.loading import LoadResult

_SHOWN_REJECTIONS = 20


def account(results: dict[str, LoadResult]) -> Any:
    """Return the counts of loads as a table, one row for each kind."""
    counted = screen.table(
        "kind", ">read", ">inserted", ">updated", ">unchanged", ">rejected", ">blank"
    )
    for kind, result in results.items():
        counted.add_row(
            kind,
            *screen.format_cells(
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


def show_faults(result: LoadResult, advice: str | None = None) -> None:
    """Print the first rejected lines, the advice on the others, and the unknown members."""
    if result.rejections:
        click.echo()
        screen.show(_rejections(result))
        left = result.rejected - min(len(result.rejections), _SHOWN_REJECTIONS)
        if left:
            click.echo(f"... and {left:,} more; {advice or '--rejects FILE.csv writes all'}")
            click.echo()
            screen.show(_summary(result))
    if result.unknown_members:
        unknown = screen.table("~member", ">lines", title="Unknown members, ignored")
        for name, lines in result.unknown_members.items():
            unknown.add_row(*screen.format_cells([name, lines]))
        click.echo()
        screen.show(unknown)


def _summary(result: LoadResult) -> Any:
    """Return the number of rejected lines by reason as a table."""
    groups = screen.table(
        "member", "code", ">lines", ">first", "~first reason", title="All rejected lines"
    )
    for each in result.summary():
        why = screen.in_options(each.message)
        cells = [each.member or "", each.code, each.lines, each.first_line, why]
        groups.add_row(*screen.format_cells(cells))
    return groups


def _rejections(result: LoadResult) -> Any:
    """Return the first rejected lines as a table."""
    listed = screen.table(">line", "code", "~why", title="Rejected")
    for rejection in result.rejections[:_SHOWN_REJECTIONS]:
        why = screen.in_options(rejection.message)
        listed.add_row(*screen.format_cells([rejection.line, rejection.code, why]))
    return listed


def describe_outcome(result: LoadResult, *, dry_run: bool) -> str:
    """Return in words what a load stored."""
    if dry_run:
        return "Dry run: nothing was stored."
    if result.committed and result.rejected == result.read - result.blank > 0:
        return "Nothing was stored, because no line is valid."
    if result.committed:
        return "The valid lines were stored." if result.rejected else "All lines were stored."
    if result.rejected:
        return (
            "Nothing was stored, because lines were rejected; the other counts show what\n"
            "--keep-going would do, which stores the valid lines."
        )
    return "Nothing was stored."
