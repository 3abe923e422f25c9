"""What commands share: options, opening the store, and how things are shown.

rich is imported where something is drawn, so that a command that draws nothing starts fast.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from click.core import ParameterSource

from comptroller.display.html import printable
from comptroller.display.progress import Progress, bar, clock

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

    from comptroller.service import Service


def of_program(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Use the --db before the command in place of one behind it: a callback of that option.

    Raises UsageError if both are given and differ.
    """
    before: str | None = ctx.find_root().params.get("db")
    if before is None or ctx.parent is None:
        return value
    is_given = ctx.get_parameter_source(str(param.name)) is ParameterSource.COMMANDLINE
    if is_given and value != before:
        raise click.UsageError(f"--db {before} and --db {value} differ; give one of them", ctx)
    return before


#: The store of a command that names none.
DEFAULT_DB = "comptroller.db"
db_option = click.option(
    "--db",
    type=click.Path(),
    default=DEFAULT_DB,
    envvar="COMPTROLLER_DB",
    show_default=True,
    show_envvar=True,
    callback=of_program,
    help="The store file.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Answer in JSON, for machines.")

# Wider than any table of values within their limits.
_UNBOUND = 10_000

# What --start and --end are to the lists of the different kinds.
_STARTS = ("start_time", "created_at.gte")
_ENDS = ("end_time", "created_at.lte")

#: What is longer, and has spaces, is prose.
_PROSE = 40


def existing_store(db: str, customer: str | None = None) -> Service:
    """The store for reading, as its operator or as a client of a customer.

    Raises Unusable if there is none: reading never makes one.
    """
    import comptroller

    require_store(db)
    return comptroller.open(db, customer=customer, read_only=True)


def require_store(db: str) -> None:
    """Raises Unusable if there is no file `db`."""
    from comptroller.errors import unusable

    if not Path(db).exists():
        raise unusable(
            f"there is no store {db}; `comptroller load` or `serve` makes one, --db names another"
        )


def require_server() -> None:
    """Raises MissingExtra, which says what to install, if a server lacks what it needs."""
    from comptroller.errors import missing_extra

    needed = ("uvicorn", "httptools", "uvloop", "joserfc", "offapi")
    missing = [name for name in (*needed, "prometheus_client") if find_spec(name) is None]
    if missing:
        raise missing_extra(", ".join(missing), "a server", "server")


@contextmanager
def naming_bounds(start: str | None, end: str | None) -> Iterator[None]:
    """Raises InvalidRequest naming --start or --end where the core refuses what it was given."""
    from comptroller.errors import InvalidRequest, invalid, shorten

    try:
        yield
    except InvalidRequest as error:
        bounds = (("--start", start, _STARTS), ("--end", end, _ENDS))
        for option, given, parameters in bounds:
            if given is not None and any(field in parameters for field, _why in error.errors):
                raise invalid(
                    option,
                    f"{shorten(repr(given))} is no time; give a date such as 2026-01-31, "
                    "or a time with its offset such as 2026-01-31T12:00:00Z",
                ) from error
        raise


def write_json(answer: Mapping[str, object]) -> None:
    """An answer for machines, on standard output; amounts as text, without an exponent."""
    # Python's json indents at a tenth of the speed.
    click.echo(msgspec.json.format(json.dumps(answer, default=_plain), indent=2))


def _plain(value: object) -> object:
    if isinstance(value, Decimal):
        return format(value, "f")
    raise TypeError(f"{type(value).__name__} is not written as JSON")


def console(*, error: bool = False) -> Console:
    """Standard output (or error) to draw on; what is printed is text, never markup."""
    from rich.console import Console

    return Console(stderr=error, markup=False, highlight=False, emoji=False, soft_wrap=False)


def table(*columns: str, title: str | None = None) -> Table:
    """An empty table. Columns named ``>x`` hold numbers; only those named ``~x`` may be broken."""
    from rich import box
    from rich.table import Table

    made = Table(
        title=title,
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


def table_of(columns: Iterable[tuple[str, Sequence[str | None], bool]]) -> Table:
    """A table of columns: name, texts, whether they are numbers. Only long prose is broken."""
    from rich.cells import cell_len

    made = table()
    shown = []
    for name, texts, is_number in columns:
        shown_texts = formatted(texts)
        is_prose = not is_number and any(" " in text and len(text) > _PROSE for text in shown_texts)
        made.add_column(
            printable(name),
            justify="right" if is_number else "left",
            no_wrap=not is_prose,
            overflow="fold",
            min_width=None if is_prose else max(map(cell_len, shown_texts), default=1),
        )
        shown.append(shown_texts)
    for row in zip(*shown, strict=True):
        made.add_row(*row)
    return made


def show(*things: RenderableType) -> None:
    """Draws on standard output, an empty line between; what must not be broken is not."""
    from rich.measure import Measurement

    for number, thing in enumerate(things):
        out = console()
        unbound = out.options.update(width=_UNBOUND)
        out.width = max(out.width, Measurement.get(out, unbound, thing).minimum)
        if number:
            out.print()
        out.print(thing)


def formatted(values: Iterable[object]) -> list[str]:
    """Values as a table's cells: counts with separators, None as a dash."""
    return [format_value(value) for value in values]


def format_value(value: object) -> str:
    """One value as a table's cell."""
    if value is None:
        return "-"
    if isinstance(value, int):
        return f"{value:,}"
    return printable(str(value))


def progress(label: str) -> AbstractContextManager[Progress | None]:
    """A bar on standard error while that is a terminal, else nothing."""
    return bar(label) if _is_watched() else nullcontext()


def waiting(label: str) -> AbstractContextManager[None]:
    """A clock on standard error while that is a terminal, for work of unknown length."""
    return clock(label) if _is_watched() else nullcontext()


def _is_watched() -> bool:
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    return is_terminal and find_spec("tqdm") is not None


def fields_of(record: Any) -> dict[str, Any]:
    """A struct's members by name."""
    return {name: getattr(record, name) for name in record.__struct_fields__}
