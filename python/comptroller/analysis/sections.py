"""A report or an overview as a section of HTML, for pages and notebooks."""

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

# A tag, and in it the names and what refers to them: words of the store stand elsewhere.
_TAG = re.compile(r'<[a-zA-Z](?:[^"<>]|"[^"]*")*>')
_NAME = re.compile(r'(\s(?:id="|(?:xlink:)?href="#|(?:clip-path|fill|mask|stroke)="url\(#))')


class Drawing(NamedTuple):
    """A picture as SVG, and the notes below it."""

    svg: str
    notes: Sequence[str]


def section(report: Report, shown: int) -> str:
    """A report with its picture and its first rows; it brings its style."""
    return html("section.html", section=values_of_report(report, shown, drawn(report)))


def report_in_notebook(report: Report) -> str:
    """What a notebook shows of a report: its first rows, and no picture."""
    return html("section.html", section=values_of_report(report, SHOWN_ROWS))


def overview_in_notebook(overview: Overview) -> str:
    """What a notebook shows of an overview."""
    return html("section.html", section=values_of_overview(overview))


def values_of_overview(shown: Overview) -> dict[str, Any]:
    """The values of a section's template."""
    tables = [{"title": name, **_table(frame)} for name, frame in shown.tables.items()]
    return {"place": "overview", "overview": shown, "title": shown.title, "tables": tables}


def values_of_report(report: Report, shown: int, drawing: Drawing | None = None) -> dict[str, Any]:
    """The values of a section's template."""
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
    """The picture of a report, if there is something to show."""
    from comptroller.analysis.plots import draw_svg

    if not len(report):
        return None
    svg, notes = draw_svg(report)
    # Pictures of one page share its names: each gets its own.
    mark = f"{zlib.crc32(svg.encode()):08x}-"
    return Drawing(_TAG.sub(lambda tag: _NAME.sub(rf"\g<1>{mark}", tag[0]), svg), notes)
