"""Formatting of docstrings and modules."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

WIDTH = 100
NOTE = "# Generated from the core's description by `make generate`; change the C++ declarations."

# Removes unused imports and sorts the others.
_TIDY = ["check", "--quiet", "--fix", "--select=F401,I"]
# The folder of ruff's configuration.
_ROOT = Path(__file__).resolve().parents[1]
_PACKAGE = "--config=lint.isort.known-first-party=['comptroller']"


def module(docs: tuple[str, str], *parts: str, note: str = NOTE) -> str:
    """Returns a module formatted by ruff; `docs` has the parts of its docstring."""
    head = [docstring(0, *docs), note, "from __future__ import annotations"]
    text = "\n\n".join([*head, *parts])
    for command in ([*_TIDY, _PACKAGE], ["format", "--quiet"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--stdin-filename=x.py", "-"]
        text = subprocess.run(
            ruff, input=text, stdout=subprocess.PIPE, text=True, check=True, cwd=_ROOT
        ).stdout
    return text


def comment(text: str, mark: str = "#:") -> str:
    """Returns a comment with its line feed; by default a documentation comment."""
    return textwrap.indent(textwrap.fill(text, WIDTH - len(mark) - 1), mark + " ") + "\n"


def sentence(text: str) -> str:
    """Turns a phrase into a sentence."""
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith(".") else ".")


def docstring(
    indent: int,
    paragraph: str,
    more: str = "",
    arguments: Iterable[tuple[str, str]] = (),
    errors: Iterable[tuple[str, str]] = (),
    columns: Iterable[tuple[str, str]] = (),
) -> str:
    """Returns a docstring: a paragraph, more sentences, sections of arguments, columns, errors."""
    parts = ['"""' + _wrapped(paragraph, indent + 3).lstrip(), _wrapped(more, indent)]
    for title, entries in (("Args", arguments), ("Columns", columns), ("Raises", errors)):
        lines = [_entry(name, text, indent + 4) for name, text in entries]
        parts.append("\n".join([" " * indent + title + ":", *lines]) if lines else "")
    text = "\n\n".join(filter(None, parts))
    end = f"\n{' ' * indent}" if "\n" in text or len(text) + indent + 3 > WIDTH else ""
    return f'{" " * indent}{text}{end}"""'


def _wrapped(text: str, indent: int, first: str = "") -> str:
    margin = " " * indent
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=margin + first,
        subsequent_indent=margin,
        break_on_hyphens=False,
    )


def _entry(name: str, text: str, indent: int) -> str:
    lines = textwrap.wrap(f"{name}: {text}.", WIDTH - indent - 4, break_on_hyphens=False)
    return textwrap.indent("\n    ".join(lines), " " * indent)
