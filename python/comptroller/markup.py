"""HTML that notebooks show: tables of so many rows as a cell holds, the others counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

#: What a notebook shows of a table; the rest is counted.
SHOWN_ROWS = 20
SHOWN_COLUMNS = 20
SHOWN_CHARACTERS = 60


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], notes: Sequence[str]) -> str:
    """A table of values, and notes under it; all text is escaped."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{cell(value)}</td>" for value in row) + "</tr>" for row in rows
    )
    foot = f"<p>… {escape('; '.join(notes))}</p>" if notes else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{foot}"


def cell(value: object) -> str:
    """A value as escaped text of 60 characters at most; the whole of it is in the title."""
    if value is None:
        return ""
    shown = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    if len(shown) > SHOWN_CHARACTERS:
        return f'<span title="{escape(shown)}">{escape(shown[: SHOWN_CHARACTERS - 1])}…</span>'
    return escape(shown)
