"""Reports as HTML that opens offline: a section for each, or all of them in one file.

Nothing is fetched from anywhere, the pictures are inline SVG, what comes from the store is escaped,
and nothing runs but the page's own script, by which tables are copied.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from typing import Any

from comptroller.analysis import sections
from comptroller.analysis.overview import Overview
from comptroller.analysis.report import Report
from comptroller.display.html import html, source

#: The rows of a report that stand in a document; the rest is counted.
SHOWN_ROWS = 40


def document(parts: Iterable[Report | Overview], title: str) -> str:
    """One HTML file of several reports, with links to each.

    It is light or dark as the reader's system is, and prints each report on pages of its own.
    Pictures are drawn by a thread, while the next of `parts` comes about.

    Raises MissingExtra if altair or vl-convert is not installed.
    """
    from comptroller.analysis import plots

    reports: list[Report] = []
    shown: list[dict[str, Any]] = []
    with ThreadPoolExecutor(1) as pool:
        pool.submit(plots.warm)  # starting the renderer takes as long as reading the store
        drawings = []
        for part in parts:
            if isinstance(part, Report):
                reports.append(part)
                drawings.append(pool.submit(sections.drawn, part))
            else:
                shown.append(sections.values_of_overview(part))
        places = _places(reports)
        shown += [
            {**sections.values_of_report(report, SHOWN_ROWS, drawing.result()), "place": place}
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
