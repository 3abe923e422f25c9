"""The commands and options that pages name exist."""

from __future__ import annotations

import re
import shlex
from itertools import takewhile
from pathlib import Path

import pytest
from places import ROOT

for needed in ("click", "rich", "sqlglot"):
    pytest.importorskip(needed)

import click  # noqa: E402
from comptroller.cli.program import program  # noqa: E402

PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
_SHELL = re.compile(r"^```shell\n(.*?)^```", re.MULTILINE | re.DOTALL)
_CONSOLE = re.compile(r"^\$ (.*)", re.MULTILINE)
_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`(comptroller\s[^`]+)`")
_ENDS = {"|", ">", "&&", ";"}
#: Options of sudo and install, and commands of systemctl: a user or a service comes after them.
_BEFORE_A_NAME = (["-u"], ["-o"], ["-g"], ["start"], ["stop"])
_PROGRAM = re.compile(r"(.*/bin/)?comptroller")


def commands(text: str) -> list[list[str]]:
    """Returns the arguments of each `comptroller` in the blocks and in the text of a page."""
    text = text.replace("\\\n", " ")
    lines = "".join(_SHELL.findall(text)).splitlines()
    lines += [*_CONSOLE.findall(text), *_SPAN.findall(_BLOCK.sub("", text))]
    found = []
    for words in (shlex.split(line, comments=True) for line in lines):
        for number, word in enumerate(words):
            if _PROGRAM.fullmatch(word) and words[number - 1 : number] not in _BEFORE_A_NAME:
                arguments = words[number + 1 :]
                found.append(list(takewhile(lambda each: each not in _ENDS, arguments)))
    return found


def unknown(words: list[str]) -> str | None:
    """Returns the first word that is neither a command nor an option, or None."""
    command: click.Command = program
    rest = iter(words)
    for word in rest:
        context = click.Context(command)
        if word.startswith("-") and word != "-":
            name, equals, _ = word.partition("=")
            options = {
                each: option
                for option in command.get_params(context)
                for each in (*option.opts, *option.secondary_opts)
            }
            if name not in options:
                return word
            option = options[name]
            if isinstance(option, click.Option) and not option.is_flag and not equals:
                next(rest, None)
        elif isinstance(command, click.Group):
            if word.isupper():  # in place of any command
                return None
            try:
                named = command.get_command(context, word)
            except click.NoSuchCommand:
                named = None
            if named is None:
                return word
            command = named
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_that_a_page_names_exist(page: Path) -> None:
    named = commands(page.read_text(encoding="utf-8"))
    assert [(words, word) for words in named if (word := unknown(words)) is not None] == []


def test_a_wrong_command_or_option_is_found() -> None:
    text = "```shell\nsudo -u comptroller x && \\\n  /opt/bin/comptroller report claims --db x\n```"
    assert commands(text) == [["report", "claims", "--db", "x"]]
    assert unknown(commands(text)[0]) == "claims"
    in_text = commands("`comptroller\ncheck --al` and `comptroller COMMAND --help`")
    assert [unknown(words) for words in in_text] == ["--al", None]
    assert sum(len(commands(page.read_text(encoding="utf-8"))) for page in PAGES) > 100
