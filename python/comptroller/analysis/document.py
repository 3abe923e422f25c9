"""Reports as HTML that opens offline: a section for each, or all of them in one file.

Nothing is fetched from anywhere, the pictures are inline SVG, what comes from the store is escaped,
and nothing runs but the page's own script, by which tables are copied.
"""

from __future__ import annotations

import re
import zlib
from base64 import b64encode
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from comptroller.analysis.formatting import columns_of, csv_of
from comptroller.display.html import html, source

if TYPE_CHECKING:
    import polars

    from comptroller.analysis.overview import Overview
    from comptroller.analysis.report import Report

#: The rows of a report that stand in a document; the rest is counted.
SHOWN_ROWS = 40
# A tag, and in it the names and what refers to them: words of the store stand elsewhere.
_TAG = re.compile(r'<[a-zA-Z](?:[^"<>]|"[^"]*")*>')
_NAME = re.compile(r'(\s(?:id="|(?:xlink:)?href="#|(?:clip-path|fill|mask|stroke)="url\(#))')


class Drawing(NamedTuple):
    """A picture as SVG, and the notes below it."""

    svg: str
    notes: Sequence[str]


def document(parts: Iterable[Report | Overview], title: str) -> str:
    """One HTML file of several reports, with links to each.

    It is light or dark as the reader's system is, and prints each report on pages of its own.
    Pictures are drawn by a thread, while the next of `parts` comes about.

    Raises MissingExtra if altair or vl-convert is not installed.
    """
    from comptroller.analysis import plots
    from comptroller.analysis.report import Report

    reports: list[Report] = []
    shown: list[dict[str, Any]] = []
    with ThreadPoolExecutor(1) as pool:
        pool.submit(plots.warm)  # starting the renderer takes as long as reading the store
        drawings = []
        for part in parts:
            if isinstance(part, Report):
                reports.append(part)
                drawings.append(pool.submit(_drawn, part))
            else:
                shown.append(_overview(part))
        places = _places(reports)
        shown += [
            {**_section(report, SHOWN_ROWS, drawing.result()), "place": place}
            for report, place, drawing in zip(reports, places, drawings, strict=True)
        ]
    style, script = source("report.css") + source("page.css"), source("page.js")
    allowed = f"style-src {_hash(style)}; script-src {_hash(script)}"
    return html(
        "page.html",
        title=title,
        sections=shown,
        places=places,
        style=style,
        script=script,
        policy=f"default-src 'none'; base-uri 'none'; form-action 'none'; {allowed}",
    )


def section(report: Report, shown: int) -> str:
    """A report with its picture and its first rows; it brings its style."""
    return html("section.html", section=_section(report, shown, _drawn(report)))


def cell(part: Report | Overview, shown: int = 0) -> str:
    """What a notebook shows of a report, or of an overview: no picture."""
    from comptroller.analysis.report import Report

    seen = _section(part, shown) if isinstance(part, Report) else _overview(part)
    return html("section.html", section=seen)


def _hash(text: str) -> str:
    """What a security policy calls a style or a script by."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _places(reports: Iterable[Report]) -> list[str]:
    """A name for each section: the report's, numbered from the second of that name on."""
    places: list[str] = []
    for report in reports:
        times = sum(place.partition("-")[0] == report.name for place in places)
        places.append(f"{report.name}-{times + 1}" if times else report.name)
    return places


def _overview(shown: Overview) -> dict[str, Any]:
    tables = [{"title": name, **_table(frame)} for name, frame in shown.tables.items()]
    return {"place": "overview", "overview": shown, "title": shown.title, "tables": tables}


def _section(report: Report, shown: int, drawing: Drawing | None = None) -> dict[str, Any]:
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


def _drawn(report: Report) -> Drawing | None:
    """The picture of a report, if there is something to show."""
    from comptroller.analysis.plots import draw_svg

    if not len(report):
        return None
    svg, notes = draw_svg(report)
    # Pictures of one page share its names: each gets its own.
    mark = f"{zlib.crc32(svg.encode()):08x}-"
    return Drawing(_TAG.sub(lambda tag: _NAME.sub(rf"\g<1>{mark}", tag[0]), svg), notes)
