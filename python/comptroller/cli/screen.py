"""Shared parts of the commands: opening the store, tables and progress.

rich is imported only by the functions that print tables, so that other commands start fast.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, BinaryIO

import click
import msgspec

from comptroller.cli.options import state_of
from comptroller.display.html import TableColumn, printable
from comptroller.display.progress import Progress, bar, clock
from comptroller.postgresql import is_address

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Column, Table

    from comptroller.bulk.exported import JournalState
    from comptroller.service import Service


# The width within which a table is measured; in a narrower one rich cuts cells and drops columns.
_UNBOUND = sys.maxsize

# The least width of a column of longer texts that wrap.
_MIN_WRAPPED = 30

# The filters that --since and --until set.
_SINCE = ("start_time", "created_at.gte")
_UNTIL = ("end_time", "created_at.lt")

# Most stores are not migrated, and need no bar.
_MIGRATION_DELAY_S = 1.0

#: Longer texts with spaces are prose, which may be wrapped.
_PROSE = 40


def in_options(message: str) -> str:
    """Return a message of the package with the options of commands instead of arguments."""
    for argument, option in _OPTIONS.items():
        message = re.sub(argument, option, message)
    return message


_OPTIONS = {
    r'\b(decimal|floats|tz)="([^"]*)"': r"--\1 \2",
    r'\bconstants=\{"(\w+)": \.\.\.\}': r"--constant \1=...",
    r"\bstate: missing; give the folder\b": "--state: missing; give the folder",
    r"\bgive tz\b": "give --tz",
    r"\bgive format$": "give --format",
    r"\bgive dayfirst\b": "give --dayfirst or --monthfirst",
    r"\bgive rename or a mapping\b": "give --rename or --map",
    r"\bafter: is empty; give a cursor of the change feed, or `since`": (
        "--after: is empty; give a cursor of the change feed, or --since"
    ),
}


def existing_store(db: str, customer: str | None = None) -> Service:
    """Open an existing store read-only, as its operator or as a client of a customer.

    Raises Unusable if the file does not exist.
    """
    import comptroller

    require_store(db)
    return comptroller.open(db, customer=customer, read_only=True, state=state_of(db))


def share_keys(svc: Service) -> None:
    """Make the keys in the state folder those of the database; raise Unusable if it has others."""
    from comptroller.journal.shared_keys import share_keys
    from comptroller.local import LocalHost

    assert isinstance(svc.host, LocalHost)
    share_keys(svc.host)


@contextmanager
def store_with_keys(db: str) -> Iterator[Service]:
    """Yield an existing store, opened read-only, whose keys are those of the state folder.

    If a database does not have both keys yet, it is also opened for writing. Raises Unusable if it
    has other keys, and Unavailable if it lacks one and accepts only reads.
    """
    from comptroller.journal.shared_keys import are_shared
    from comptroller.local import LocalHost

    with existing_store(db) as svc:
        assert isinstance(svc.host, LocalHost)
        has_place = svc.host.is_database and svc.host.secrets_base is not None
        if has_place and not are_shared(svc.host):
            with open_for_writing(db) as writing:
                share_keys(writing)
        yield svc


def open_for_writing(db: str, actor: str | None = None) -> Service:
    """Open a store for writing; show the progress if it has to be migrated."""
    import comptroller

    with progress(f"migrating {db}", _MIGRATION_DELAY_S) as advance:
        return comptroller.open(db, actor=actor, progress=advance or False, state=state_of(db))


def require_store(db: str) -> None:
    """Raise Unusable if `db` is a file that does not exist, or is in memory."""
    from comptroller.errors import unusable

    if db == ":memory:":
        raise unusable("a store in memory is empty when a command begins; name a file")
    if not is_address(db) and not Path(db).exists():
        raise unusable(
            f"there is no store {db}; create it with `comptroller load` or name another with --db"
        )


def standard_input(name: str = "file") -> BinaryIO:
    """Return standard input; raise InvalidRequest, which names the argument, if it is closed."""
    from comptroller.errors import invalid

    if sys.stdin is None:
        raise invalid(name, "standard input is closed; name a file or redirect one")
    return sys.stdin.buffer


def require_server() -> None:
    """Raise MissingExtra if a module of the extra `server` is missing."""
    from comptroller.errors import missing_extra

    needed = ("httptools", "uvloop", "joserfc", "offapi", "httpx2")
    missing = [name for name in (*needed, "prometheus_client") if find_spec(name) is None]
    if missing:
        raise missing_extra("a server", *missing, extra="server")


@contextmanager
def naming_bounds(since: str | None, until: str | None) -> Iterator[None]:
    """Name --since or --until in an InvalidRequest that the core raises for their filters."""
    from comptroller.errors import InvalidRequest, invalid, shorten

    try:
        yield
    except InvalidRequest as error:
        bounds = (("--since", since, _SINCE), ("--until", until, _UNTIL))
        for option, given, parameters in bounds:
            if given is not None and any(field in parameters for field, _why in error.errors):
                raise invalid(
                    option,
                    f"{shorten(repr(given))} is not a time; give a date such as 2026-01-31, "
                    "or a time with its offset such as 2026-01-31T12:00:00Z",
                ) from error
        raise


def write_json(answer: Mapping[str, object]) -> None:
    """Print a result as JSON; amounts are text without an exponent."""
    # msgspec indents ten times as fast as Python's json.
    click.echo(msgspec.json.format(json.dumps(answer, default=_plain), indent=2))


def _plain(value: object) -> object:
    if isinstance(value, Decimal):
        return format(value, "f")
    raise TypeError(f"{type(value).__name__} is not written as JSON")


def console(*, error: bool = False) -> Console:
    """Return a console for standard output or error that prints plain text, not markup."""
    from rich.console import Console, ConsoleDimensions

    made = Console(stderr=error, markup=False, highlight=False, emoji=False, soft_wrap=False)
    if made.is_dumb_terminal:  # rich would print 80 columns
        made.size = ConsoleDimensions(*get_terminal_size())
    return made


def table(*columns: str, title: str | None = None) -> Table:
    """Return an empty table; columns ``>x`` are right-aligned, only columns ``~x`` may wrap."""
    from rich import box
    from rich.table import Table

    made = Table(
        title=title,
        min_width=len(title or ""),  # a title must not wrap
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        collapse_padding=True,
        header_style="bold",
    )
    for column in columns:
        made.add_column(
            column.lstrip(">~"),
            justify="right" if column.startswith(">") else "left",
            no_wrap=not column.startswith("~"),
            overflow="fold",
        )
    return made


def table_of(columns: Iterable[TableColumn]) -> Table:
    """Return a table of columns; only prose may wrap."""
    made = table()
    shown = []
    for name, texts, is_number, _ in columns:
        shown_texts = format_cells(texts)
        is_prose = not is_number and any(" " in text and len(text) > _PROSE for text in shown_texts)
        made.add_column(
            printable(name),
            justify="right" if is_number else "left",
            no_wrap=not is_prose,
            overflow="fold",
        )
        shown.append(shown_texts)
    for row in zip(*shown, strict=True):
        made.add_row(*row)
    return made


def show(*tables: Table) -> None:
    """Print tables separated by empty lines; they may exceed the terminal to stay readable."""
    from dataclasses import replace

    from rich.console import ConsoleDimensions
    from rich.measure import Measurement

    for number, given in enumerate(tables):
        shown = copy(given)  # because the widths of its columns change
        shown.columns = [replace(each, min_width=_min_width(each)) for each in given.columns]
        out = console()
        unbound = out.options.update(width=_UNBOUND)
        width = max(out.width, Measurement.get(out, unbound, shown).minimum)
        out.size = ConsoleDimensions(width, out.height)
        if number:
            out.print()
        out.print(shown)


def _min_width(column: Column) -> int:
    """Returns the width of the longest text, of which a column that may wrap needs only a part."""
    from rich.cells import cell_len

    longest = max(cell_len(str(text)) for text in (column.header, *column.cells))
    return longest if column.no_wrap else min(longest, _MIN_WRAPPED)


def format_cells(values: Iterable[object]) -> list[str]:
    """Format values as table cells: integers with separators, None as a dash."""
    return [format_value(value) for value in values]


def format_value(value: object) -> str:
    """Format one value as a table cell."""
    if value is None:
        return "-"
    if isinstance(value, int):
        return f"{value:,}"
    return printable(str(value))


def progress(label: str, delay_s: float = 0.0) -> AbstractContextManager[Progress | None]:
    """Show a progress bar on standard error, from `delay_s` on, if that is a terminal."""
    return bar(label, delay_s) if _is_watched() else nullcontext()


def show_journal(state: JournalState | None, *, error: bool = False) -> None:
    """Print the size and root of the journal, and its checkpoint, if there is one."""
    if state is None:
        return
    click.echo(f"journal: {state.size:,} entries, root {state.root}", err=error)
    if state.checkpoint is not None:
        click.echo(state.checkpoint, nl=False, err=error)


def waiting(label: str) -> AbstractContextManager[None]:
    """Show the elapsed time on standard error if that is a terminal."""
    return clock(label) if _is_watched() else nullcontext()


def _is_watched() -> bool:
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    return is_terminal and find_spec("tqdm") is not None
