"""The apostrophe before cells that a spreadsheet could run as a formula, as `export` writes it."""

from __future__ import annotations

from comptroller._core import begins_formula


def escape_formula(text: str) -> str:
    """Returns the text of a cell, with an apostrophe in front if it needs one."""
    return f"'{text}" if begins_formula(text) else text


def unescape_formula(text: str) -> str:
    """Reverses `escape_formula`; an apostrophe alone is the empty text of a sheet."""
    is_escaped = text.startswith("'") and (len(text) == 1 or begins_formula(text[1:]))
    return text[1:] if is_escaped else text
