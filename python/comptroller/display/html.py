"""The one writer of HTML: its templates, in which all text is escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from jinja2 import Environment

#: What a notebook shows of a table; the rest is counted.
SHOWN_ROWS = 20
SHOWN_COLUMNS = 20
_TEMPLATES = Path(__file__).with_name("templates")
#: What XML 1.0 has no character for, and what steers how the text around it is drawn.
_UNFIT = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


class TableColumn(NamedTuple):
    """A column of a table: its values as text, None where there is none; numbers stand right."""

    name: str
    texts: Sequence[str | None]
    is_number: bool = False


def html(template: str, **values: Any) -> str:
    """The HTML that a template of `templates` makes of the values."""
    return _environment().get_template(template).render(values)


def source(template: str) -> str:
    """A template as it is written."""
    return (_TEMPLATES / template).read_text(encoding="utf-8")


def printable(text: str) -> str:
    """Text of one line: what could break a document, or steer its drawing, as escapes."""
    return _UNFIT.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Markup, which is a str too, has been escaped before.
        finalize=lambda value: printable(value) if type(value) is str else value,
    )
    environment.globals["zip"] = zip
    return environment
