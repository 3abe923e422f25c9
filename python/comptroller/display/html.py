"""HTML from templates, with all text escaped."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from jinja2 import Environment

#: Limits of a table in a notebook; a note counts the hidden rows and columns.
SHOWN_ROWS = 20
SHOWN_COLUMNS = 20
_TEMPLATES = Path(__file__).with_name("templates")
#: Characters that are invalid in XML 1.0, or change the layout or direction of the text around.
_UNFIT = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


class TableColumn(NamedTuple):
    """A column of a table: values as text, None for an empty cell; numbers are right-aligned.

    Pages show the heading, in plain words, instead of the name.
    """

    name: str
    texts: Sequence[str | None]
    is_number: bool = False
    heading: str | None = None


def html(template: str, **values: Any) -> str:
    """Renders a template of the folder `templates` with the values."""
    return _environment().get_template(template).render(values)


def page(title: str, sections: Sequence[Mapping[str, Any]], as_of: datetime | None = None) -> str:
    """Returns a page of sections (`templates/macros.html`), which works offline.

    The page is light or dark like the reader's system. It shows when it was created, and `as_of`,
    the time of the newest record. A policy permits only its own style and script.
    """
    style, script = source("report.css") + source("page.css"), source("page.js")
    allowed = f"style-src {_hash(style)}; script-src {_hash(script)}"
    return html(
        "page.html",
        title=title,
        created=_format_time(datetime.now(UTC)),
        as_of=None if as_of is None else _format_time(as_of),
        sections=sections,
        places=[each["place"] for each in sections],
        style=style,
        script=script,
        policy=f"default-src 'none'; base-uri 'none'; form-action 'none'; {allowed}",
    )


def _format_time(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M} UTC"


def _hash(text: str) -> str:
    """Returns the source expression of a style or a script for Content-Security-Policy."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def source(template: str) -> str:
    """Returns the source of a template."""
    return (_TEMPLATES / template).read_text(encoding="utf-8")


def printable(text: str) -> str:
    """Returns text with control and direction characters escaped, safe to show on one line."""
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
        # Markup is a subclass of str that is already escaped.
        finalize=lambda value: printable(value) if type(value) is str else value,
    )
    environment.globals["zip"] = zip
    return environment
