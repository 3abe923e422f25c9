"""HTML sections of reports and overviews, for pages and notebooks."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from comptroller.analysis.formatting import columns_of, csv_of
from comptroller.display.html import SHOWN_ROWS, html

if TYPE_CHECKING:
    import polars

    from comptroller.analysis.overview import Overview
    from comptroller.analysis.report import Report

# A tag, and the ids and references in it. Text of the store is never inside a tag.
_TAG = re.compile(r'<[a-zA-Z](?:[^"<>]|"[^"]*")*>')
_NAME = re.compile(r'(\s(?:id="|(?:xlink:)?href="#|(?:clip-path|fill|mask|stroke)="url\(#))')


class Drawing(NamedTuple):
    """A picture as SVG, and its notes."""

    svg: str
    notes: Sequence[str]


def section(report: Report, shown: int) -> str:
    """Returns a section of a report with its style, picture and first rows."""
    return html("section.html", section=values_of_report(report, shown, drawn(report)))


def report_in_notebook(report: Report) -> str:
    """Returns a section of a report for a notebook, with its first rows and no picture."""
    return html("section.html", section=values_of_report(report, SHOWN_ROWS))


def overview_in_notebook(overview: Overview) -> str:
    """Returns a section of an overview for a notebook."""
    return html("section.html", section=values_of_overview(overview))


def values_of_overview(shown: Overview) -> dict[str, Any]:
    """Returns the values of the section template for an overview."""
    tables = [{"title": name, **_table(frame)} for name, frame in shown.tables.items()]
    return {"place": "overview", "overview": shown, "title": shown.title, "tables": tables}


def values_of_report(report: Report, shown: int, drawing: Drawing | None = None) -> dict[str, Any]:
    """Returns the values of the section template for a report."""
    return {
        "place": report.name,
        "report": report,
        "title": report.title,
        "drawing": drawing,
        "table": _table(report.head(shown), len(report) - shown) if len(report) else None,
    }


def _table(frame: polars.DataFrame, left: int = 0) -> dict[str, Any]:
    return {"columns": columns_of(frame), "csv": csv_of(frame), "more": max(left, 0)}


def drawn(report: Report) -> Drawing | None:
    """Draws a report; returns None if it has no rows."""
    from comptroller.analysis.plots import draw_svg

    if not len(report):
        return None
    svg, notes = draw_svg(report)
    # Ids must be unique in a page, so each picture prefixes its own.
    prefix = f"{zlib.crc32(svg.encode()):08x}-"
    return Drawing(_TAG.sub(lambda tag: _NAME.sub(rf"\g<1>{prefix}", tag[0]), svg), notes)
