"""The command demo: runs the tutorial in a temporary folder, and compares what Python prints."""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import traceback
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Self

import click

import comptroller
from comptroller.bulk.files import whole_folder
from comptroller.cli import screen
from comptroller.cli.options import store_of
from comptroller.cli.parameters import NamedPath
from comptroller.display.html import printable
from comptroller.errors import missing_extra, unavailable, unusable
from comptroller.postgresql import is_address

TUTORIAL = Path(__file__).with_name("tour.md")
_WIDTH = 78
#: The port in the tutorial, which the tour replaces by a free one.
_PORT = "8080"
_NEEDED = {
    "analysis": ("duckdb", "sqlglot", "polars"),
    "client": ("httpx2",),
}
_PARTS = re.compile(
    r"^```(?P<language>\w+)\n(?P<code>(?s:.*?))^```$|^#+ (?P<title>.+)$|^(?P<text>.+(?:\n.+)*)",
    re.MULTILINE,
)
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@click.command(context_settings={"max_content_width": 100})
@click.option(
    "--db",
    type=NamedPath(),
    callback=store_of,
    help="Save the store of the tour as this new file.",
)
@click.option(
    "--rewards",
    type=NamedPath(),
    metavar="FOLDER",
    help="Write the real rewards of the tour to this new folder, and stop.",
)
def demo(db: str | None, rewards: str | None) -> int:
    """Run the tutorial: real rewards, controls, pages, bad input, a report, a server.

    Works in a temporary folder and changes no other file. Needs the extras analysis, server and
    client.
    """
    if db is not None and (is_address(db) or db == ":memory:"):
        raise click.UsageError("--db: the tour saves a file, not a database")
    if db is not None and rewards is not None:
        raise click.UsageError("--db and --rewards exclude each other")
    if rewards is None:
        return tour(db)
    write_rewards(rewards)
    return 0


def tour(db: str | None = None) -> int:
    """Runs the tutorial; copies its store to the new file `db` if that is given.

    Returns 0 if all commands succeed and Python prints the output of the tutorial, else 1.

    Raises:
        Unusable: the file `db` exists, or its folder does not.
        MissingExtra: an extra that the tour needs is not installed.
    """
    if db is not None and Path(db).exists():
        raise unusable(f"{db} exists already; name a new file")
    if db is not None and not Path(db).absolute().parent.is_dir():
        raise unusable(f"{db} cannot be written: its folder does not exist")
    screen.require_server()
    for extra, modules in _NEEDED.items():
        for module in modules:
            if find_spec(module) is None:
                raise missing_extra("the tour", module, extra=extra)
    with tempfile.TemporaryDirectory(prefix="comptroller-") as folder:
        copy = None if db is None else Path(db).absolute()
        with contextlib.chdir(folder), _Tour() as steps:
            steps.run(TUTORIAL.read_text(encoding="utf-8"))
            if copy is not None:
                with comptroller.open("comptroller.db") as svc:
                    svc.backup(copy)
    if steps.differences:
        click.echo(f"{steps.differences} steps differ from the tutorial.", err=True)
    return 1 if steps.differences else 0


def write_rewards(folder: str) -> None:
    """Writes the package's data set of real rewards to a new folder.

    Raises Unusable if the folder cannot be written, or is not empty.
    """
    with whole_folder(folder) as part:
        for file in _rewards().iterdir():
            (part / file.name).write_bytes(file.read_bytes())


def _rewards() -> Traversable:
    """Returns the folder of the real rewards, in the installed package or in a checkout."""
    checkout = Path(__file__).parents[3] / "notebooks" / "data" / "rocket-pool"
    for folder in (resources.files("comptroller").joinpath("rocket_pool"), checkout):
        if folder.joinpath("totals.json").is_file():
            return folder
    raise unusable("the real rewards are missing from the package; reinstall comptroller")


class _Tour:
    """Shows a document, and runs the blocks of commands and of Python in it."""

    def __init__(self) -> None:
        self.differences = 0
        self._chapters = 0
        self._names: dict[str, Any] = {"__name__": "tour"}
        self._running: list[subprocess.Popen[str]] = []
        self._environment = {
            **{name: value for name, value in os.environ.items() if name != "COMPTROLLER_DB"},
            "COLUMNS": str(_WIDTH),
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_raised: object) -> None:
        # Servers, and the command that an interrupt ended early.
        for process in self._running:
            process.terminate()
        for process in self._running:
            with process:
                try:
                    code = process.wait(30)
                except subprocess.TimeoutExpired:
                    process.kill()
                    self.differences += 1
                else:
                    if kind is None:
                        self._expect_code(code, "the server")

    def run(self, document: str) -> None:
        """Shows and runs a document."""
        for part in _PARTS.finditer(document.replace(_PORT, str(_free_port()))):
            if part["language"] == "console":
                self._run_commands(part["code"])
            elif part["language"] == "python":
                self._run_python(part["code"])
            elif part["title"]:
                self._show_title(part["title"])
            else:
                text = part["text"].replace("`", "")
                click.echo("\n" + textwrap.fill(text, _WIDTH, break_on_hyphens=False))

    def _show_title(self, title: str) -> None:
        heading = f"-- {self._chapters}  {title} " if self._chapters else f"-- {title} "
        click.secho("\n" + heading.ljust(_WIDTH, "-"), bold=True)
        self._chapters += 1

    def _run_commands(self, code: str) -> None:
        for line in re.findall(r"^\$ (.+)", code, re.MULTILINE):
            click.secho(f"\n$ {line}", fg="cyan")
            if line.endswith(" &"):
                self._serve(shlex.split(line.removesuffix(" &")))
                continue
            # `exec` replaces the shell, so that a signal to the child reaches the command.
            words = ["/bin/sh", "-c", f"exec {shlex.quote(sys.executable)} -m {line}"]
            command = self._start(words, subprocess.STDOUT)
            output, _ = command.communicate()
            self._running.remove(command)
            click.echo(output, nl=False)
            self._expect_code(command.returncode, "the command")

    def _serve(self, arguments: list[str]) -> None:
        log = Path("server.log")
        with log.open("wb") as errors:
            server = self._start([sys.executable, "-m", *arguments], errors)
        assert server.stdout
        address = server.stdout.readline()
        if not address:
            raise unavailable(f"the server did not start: {log.read_text().strip()}")
        click.echo(address, nl=False)

    def _start(self, words: list[str], errors: int | IO[bytes]) -> subprocess.Popen[str]:
        with _delay_signals():
            process = subprocess.Popen(
                words, stdout=subprocess.PIPE, stderr=errors, text=True, env=self._environment
            )
            self._running.append(process)
        return process

    def _run_python(self, code: str) -> None:
        click.echo()
        for example in doctest.DocTestParser().get_examples(code):
            first, *others = example.source.splitlines()
            click.secho("\n".join([f">>> {first}", *(f"... {line}" for line in others)]), fg="cyan")
            output = self._output(example.source)
            click.secho("".join(map(_wrap, output.splitlines())), fg="green", nl=False)
            expected = example.exc_msg or example.want
            if not self._expect(doctest.OutputChecker().check_output(expected, output, _FLAGS)):
                click.secho(f"The tutorial has:\n{expected or 'no output'}", fg="yellow")

    def _output(self, source: str) -> str:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            try:
                exec(compile(source, "tour", "single"), self._names)
            except Exception as error:
                output.write("".join(traceback.format_exception_only(error)))
        return output.getvalue()

    def _expect_code(self, code: int, what: str) -> None:
        if not self._expect(code == 0):
            click.secho(f"{what} ended with exit code {code}", fg="yellow")

    def _expect(self, is_met: bool) -> bool:
        self.differences += not is_met
        return is_met


@contextlib.contextmanager
def _delay_signals() -> Iterator[None]:
    """Handles signals after the scope, so that a process that it starts is always known."""
    received: list[int] = []
    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if callable(handler := signal.getsignal(number)):
                before[number] = handler
                signal.signal(number, lambda each, _frame: received.append(each))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for each in received:
            signal.raise_signal(each)


def _wrap(line: str) -> str:
    return textwrap.fill(printable(line), _WIDTH, subsequent_indent=" " * 4) + "\n"


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port
