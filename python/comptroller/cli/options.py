"""Options that commands share: the store, and the state folder of a database."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from comptroller import postgresql
from comptroller.cli.parameters import NamedPath

#: The default store file.
DEFAULT_DB = "comptroller.db"
_STATE = "comptroller.state"
_Command = TypeVar("_Command", bound=Callable[..., Any])


def of_program(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Return the option given before the command, else `value`; the callback of such an option.

    Raises UsageError if both are given and differ.
    """
    name = str(param.name)
    before: str | None = ctx.find_root().params.get(name)
    if before is None or ctx.parent is None:
        return value
    if _is_typed(ctx, param) and value != before:
        raise click.UsageError(
            f"--{name} {before} and --{name} {value} differ; give one of them", ctx
        )
    return before


def without_password(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Return a store, without its password if it is a database; the callback of --db.

    A password of the environment becomes PGPASSWORD, which libpq reads, also in processes that the
    command starts. So no output can show it.

    Raises:
        UsageError: the address on the command line has a password, which `ps` would show.
        InvalidRequest: the address is not valid, or is misspelled.
    """
    if value is None:
        return value
    name = param.opts[0] if isinstance(param, click.Option) else param.human_readable_name
    if not postgresql.is_address(value):
        postgresql.refuse_similar(name, value)
        return value
    address = postgresql.parse(name, value)
    if address.full == address.shown:
        return value
    if ctx.get_parameter_source(str(param.name)) is ParameterSource.COMMANDLINE:
        raise click.UsageError(
            "other users can see a password on the command line; give the address in "
            "COMPTROLLER_DB, or the password in PGPASSWORD, a password file or a service file",
            ctx,
        )
    if address.has_other_secrets:
        raise click.UsageError("COMPTROLLER_DB: give its secrets in a service file", ctx)
    os.environ["PGPASSWORD"] = address.password or ""
    return address.shown


def store_of(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Return the store given before the command, else `value`, without its password."""
    return of_program(ctx, param, without_password(ctx, param, value))


def _note_state(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    ctx.meta[_STATE] = of_program(ctx, param, value)


def db_option(command: _Command) -> _Command:
    """Add --db, and a hidden --state, which `state_of` returns."""
    return _db_and_state(command, is_hidden=True)


def db_and_state_options(command: _Command) -> _Command:
    """Add --db and --state, for a command that uses the files of a state folder."""
    return _db_and_state(command, is_hidden=False)


def _db_and_state(command: _Command, *, is_hidden: bool) -> _Command:
    with_state = click.option(
        "--state",
        type=NamedPath(file_okay=False),
        metavar="FOLDER",
        expose_value=False,
        hidden=is_hidden,
        callback=_note_state,
        help="The state folder of a database: the private files that are beside a store file."
        "  [env var: COMPTROLLER_STATE]",
    )
    with_db = click.option(
        "--db",
        type=click.Path(),
        default=DEFAULT_DB,
        envvar="COMPTROLLER_DB",
        show_default=True,
        show_envvar=True,
        callback=store_of,
        help="The store: a file, or the address of a database (postgresql://...).",
    )
    return with_db(with_state(command))


actor_option = click.option(
    "--actor",
    metavar="NAME",
    envvar="COMPTROLLER_ACTOR",
    show_envvar=True,
    callback=of_program,
    help="Who runs the command: the actor in the journal, and the created_by of controls that "
    "`load` creates. Default: operator.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def db_arguments(db: str) -> list[str]:
    """Return the arguments that name a store in a suggested command; none for the default store."""
    return [] if db == DEFAULT_DB else ["--db", db]


def state_of(db: str) -> str | None:
    """Return the state folder of a database, by default COMPTROLLER_STATE; None for a file.

    Raises UsageError if --state is given for a file.
    """
    state: str | None = click.get_current_context().meta.get(_STATE)
    if postgresql.is_address(db):
        return state or os.environ.get("COMPTROLLER_STATE") or None
    if state is not None:
        raise click.UsageError("--state is the folder of a database; leave it out for a file")
    return None


def options_given(ctx: click.Context, besides: Collection[str] = ()) -> list[str]:
    """Return the options on the command line, by the names of their help, besides parameters."""
    return [
        param.secondary_opts[0] if ctx.params.get(name) is False else param.opts[0]
        for param in ctx.command.params
        if (name := str(param.name)) not in besides
        and isinstance(param, click.Option)
        and _is_typed(ctx, param)
    ]


def _is_typed(ctx: click.Context, param: click.Parameter) -> bool:
    return ctx.get_parameter_source(str(param.name)) is ParameterSource.COMMANDLINE
