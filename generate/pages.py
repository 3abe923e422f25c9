"""Generates parts of the documentation: the tables of error codes, and the columns of streams.

A generated part is between the lines `<!-- Generated: NAME -->` and `<!-- End -->` of a page.
"""

from __future__ import annotations

import doctest
import io
import re
from contextlib import redirect_stdout
from pathlib import Path

from description import Description

_DOCS = Path(__file__).resolve().parents[1] / "docs"
_PART = re.compile(r"(<!-- Generated: ([a-z ]+) -->\n\n)(.*?)(\n<!-- End -->)", re.DOTALL)


def pages(description: Description) -> dict[str, str]:
    """Returns each page with a generated part by its path in the documentation."""
    codes = description.problems
    parts = {
        "codes and remedies": _table(
            ("Code", "Meaning", "What to do"),
            [(f"`{each.code}`", each.explanation, each.remedy) for each in codes],
        ),
        "codes and classes": _table(
            ("Code", "Status", "Class"),
            [
                (f"`{each.code}`", str(each.status), f"`{description.exception_of(each.code)}`")
                for each in codes
            ],
        ),
        "codes": _table(
            ("Code", "Status", "Meaning"),
            [(f"`{each.code}`", str(each.status), each.explanation) for each in codes],
        ),
    }

    names: dict[str, object] = {}

    def generated(part: re.Match[str]) -> str:
        _, name, text, _ = part.groups()
        return part[1] + (_run(text, names) if name == "output" else parts[name]) + part[4]

    texts = {path: path.read_text(encoding="utf-8") for path in sorted(_DOCS.rglob("*.md"))}
    return {
        path.relative_to(_DOCS).as_posix(): _PART.sub(generated, text)
        for path, text in texts.items()
        if _PART.search(text)
    }


def _table(titles: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [titles, ("---",) * len(titles), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _run(block: str, names: dict[str, object]) -> str:
    """Returns a block of examples with the output that they have now."""
    text = "```python\n"
    for example in doctest.DocTestParser().get_examples(block):
        first, *others = example.source.splitlines()
        text += "".join([f">>> {first}\n", *(f"... {line}\n" for line in others)])
        with redirect_stdout(io.StringIO()) as output:
            exec(compile(example.source, "example", "single"), names)
        text += re.sub(" +$", "", output.getvalue(), flags=re.MULTILINE)
    return text + "```\n"
