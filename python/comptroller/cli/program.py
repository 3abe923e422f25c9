"""The program, its commands, and the reporting of their errors."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from types import FrameType

import click

from comptroller.cli import output
from comptroller.cli.options import without_password
from comptroller.cli.parameters import NamedPath

#: The modules of the commands, in the order of a first use. A command imports only its own module,
#: because the others would double the time to start.
_MODULES = {
    "demo": "demo",
    "sample": "sample",
    "load": "load",
    "export": "export",
    "report": "reporting",
    "query": "query",
    "reconcile": "reconcile",
    "changes": "changes",
    "journal": "journal",
    "evidence": "journal",
    "check": "store",
    "backup": "store",
    "copy": "store",
    "migrate": "store",
    "serve": "serve",
    "worker": "serve",
    "webhooks": "webhooks",
    "deliver": "webhooks",
    "clients": "clients",
    "keys": "clients",
    "pull": "pull",
}
#: The time until a signal during an import is sent again, in seconds.
_RETRY_S = 0.01


class Program(click.Group):
    """The commands."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, if it exists."""
        if cmd_name not in _MODULES:
            self.commands = {name: _command(name) for name in _MODULES}  # click suggests one
            return None
        return _command(cmd_name)


def _command(name: str) -> click.Command:
    command: click.Command = getattr(import_module(f"comptroller.cli.{_MODULES[name]}"), name)
    return command


@click.command(
    cls=Program,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="New here? Run: comptroller demo",
)
@click.version_option(package_name="comptroller", message="comptroller %(version)s")
@click.option(
    "--db",
    type=click.Path(),
    callback=without_password,
    help="The store file, or postgresql://...; also accepted after the command.",
)
@click.option(
    "--state",
    type=NamedPath(file_okay=False),
    metavar="FOLDER",
    help="With postgresql://...: the folder of a database's private keys and of the places "
    "of pulls; also after the command.",
)
@click.option(
    "--actor", metavar="NAME", help="Who runs the command; also accepted after the command."
)
@click.pass_context
def program(ctx: click.Context, /, **options: str | None) -> None:
    """Identity controls, orchestrations and rewards in an SQLite file or a PostgreSQL database."""
    named = str(ctx.invoked_subcommand)
    for option, value in options.items():
        if value is not None and not _takes(option, program.get_command(ctx, named)):
            raise click.UsageError(f"{named} has no option --{option}", ctx)


def _takes(option: str, command: click.Command | None) -> bool:
    if command is None or any(parameter.name == option for parameter in command.params):
        return True
    return isinstance(command, click.Group) and any(
        _takes(option, each) for each in command.commands.values()
    )


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; print an error as a message, not a traceback."""
    given = None if arguments is None else list(arguments)
    with output.buffered():
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                # Escape characters that the encoding of the terminal cannot represent.
                stream.reconfigure(errors="backslashreplace")
        streams = (sys.stdout, sys.stderr)  # click replaces them if a pipe is closed
        with _signals_interrupting() as received:
            code = _run(given)
        if code:
            for stream in streams:
                output.empty(stream)
    return 128 + received[0] if received else code


def _run(given: list[str] | None) -> int:
    try:
        _require_output()
        _occupy_descriptors()
        return _run_command(given)
    except click.ClickException as error:
        with suppress(OSError):
            error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        with suppress(OSError):
            click.echo("comptroller: interrupted", err=True)
        return 130
    except SystemExit as stopped:  # click raises it for a closed pipe
        return stopped.code if isinstance(stopped.code, int) else 1
    except BrokenPipeError:  # of the flush
        return 1
    except Exception as error:
        return _report_error(error)


def _run_command(given: list[str] | None) -> int:
    try:
        code = program.main(given, prog_name="comptroller", standalone_mode=False)
    except click.Abort:  # `run` writes what is left, and does not wait long for its reader
        raise
    except (Exception, SystemExit):
        output.flush()
        raise
    sys.stdout.flush()
    return code if isinstance(code, int) else 0


@contextmanager
def _signals_interrupting() -> Iterator[list[int]]:
    """Makes SIGINT, SIGTERM and SIGHUP raise KeyboardInterrupt, so that no unfinished files stay.

    Yields a list that gets the numbers of such signals. Ignored signals stay ignored, also
    those that the command ignores, as a worker of `serve` that ends.
    """
    received: list[int] = []
    waiting: list[threading.Timer] = []  # for the end of an import; at most one

    def interrupt(number: int, frame: FrameType | None) -> None:
        # A second signal must not interrupt the cleanup, unless the user insists with Ctrl-C.
        if received and number != signal.SIGINT:
            return
        if _is_importing(frame):
            # An exception here could leave the lock of all imports locked, so that threads wait
            # for ever, or could end the process within a native module.
            if not waiting:
                waiting.append(threading.Timer(_RETRY_S, send_again, (number,)))
                waiting[0].start()
            return
        received.append(number)
        raise KeyboardInterrupt

    def send_again(number: int) -> None:
        waiting.clear()
        if not received:
            os.kill(os.getpid(), number)

    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            handler = signal.getsignal(number)
            if handler in (signal.SIG_DFL, signal.default_int_handler):
                before[number] = handler
                signal.signal(number, interrupt)
    try:
        yield received
    finally:
        for timer in list(waiting):
            timer.cancel()
        for number, handler in before.items():
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, handler)


def _is_importing(frame: FrameType | None) -> bool:
    """Whether the command, which may itself be called in an import, imports a module."""
    while frame is not None and frame.f_code is not _run.__code__:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _require_output() -> None:
    # If descriptor 1 were closed, the next opened file would get it, and output would go there.
    if sys.stdout is None:
        from comptroller.errors import unusable

        raise unusable("standard output is closed; redirect it to a file or to /dev/null")


def _occupy_descriptors() -> None:
    """Opens /dev/null as standard input and standard error if these are closed.

    Otherwise the next opened file, such as the store, would get their descriptors, and could be
    read as input, or be overwritten by a message of a library.
    """
    for stream, descriptor, how in ((sys.stdin, 0, os.O_RDONLY), (sys.stderr, 2, os.O_WRONLY)):
        if stream is not None:
            continue
        try:
            os.fstat(descriptor)
        except OSError:
            opened = os.open(os.devnull, how)
            if opened != descriptor:
                os.dup2(opened, descriptor)
                os.close(opened)


def _report_error(error: Exception) -> int:
    from comptroller.cli.screen import in_options
    from comptroller.display.html import printable

    if os.environ.get("COMPTROLLER_TRACEBACK"):
        raise error
    from comptroller.errors import Error, from_os_error

    if isinstance(error, Error):
        message = in_options(str(error))
    elif isinstance(error, OSError) and output.has_failed(error):
        why = f"the standard output cannot be written: {error.strerror}"
        message = str(from_os_error(error, why))
    elif isinstance(error, OSError):
        message = str(from_os_error(error, str(error)))
    elif isinstance(error, MemoryError):
        message = "unavailable: out of memory"
    else:
        message = (
            f"internal: {type(error).__name__}: {error}\n"
            "This is a defect of comptroller; set COMPTROLLER_TRACEBACK=1 to see a traceback."
        )
    lines = [printable(line) for line in message.split("\n")]
    with suppress(OSError):
        click.echo("comptroller: " + "\n".join(lines), err=True)
    return 1
