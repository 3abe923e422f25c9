"""Several reports in one HTML file, which works offline.

The page fetches no resource, its pictures are inline SVG, text of the store is escaped, and a
security policy permits only the page's own script, which copies tables.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from comptroller.analysis.formatting import overview_section, report_section
from comptroller.analysis.overview import Overview
from comptroller.analysis.report import Report
from comptroller.analysis.table import Table
from comptroller.display.html import html, source

#: The maximum number of rows of a report in a document; a note counts the others.
SHOWN_ROWS = 40


def document(
    parts: Iterable[Report | Overview | Table],
    title: str,
    as_of: datetime | None = None,
) -> str:
    """Returns one HTML page of several reports, with a link to each.

    The page is light or dark like the reader's system, and prints each report on its own pages. A
    thread draws a report while the next of `parts` is computed.

    The page shows when it was created, and `as_of`, the time of the newest record.

    Raises MissingExtra if altair or vl-convert is not installed.
    """
    from comptroller.analysis import plots

    def section(part: Report | Overview | Table) -> dict[str, Any]:
        if isinstance(part, Table):
            return part.section(SHOWN_ROWS)
        if isinstance(part, Overview):
            return overview_section(part)
        return report_section(part, SHOWN_ROWS, plots.draw_svg(part))

    with ThreadPoolExecutor(1) as pool:
        pool.submit(plots.warm)  # while the store is read, which takes as long
        drawn = [pool.submit(section, part) for part in parts]
    sections = [each.result() for each in drawn]
    times: Counter[str] = Counter()
    for each in sections:
        times[each["place"]] += 1
        if times[each["place"]] > 1:
            each["place"] += f"-{times[each['place']]}"
    style, script = source("report.css") + source("page.css"), source("page.js")
    allowed = f"style-src {_hash(style)}; script-src {_hash(script)}"
    return html(
        "page.html",
        title=title,
        created=_shown(datetime.now(UTC)),
        as_of=None if as_of is None else _shown(as_of),
        sections=sections,
        places=[each["place"] for each in sections],
        style=style,
        script=script,
        policy=f"default-src 'none'; base-uri 'none'; form-action 'none'; {allowed}",
    )


def _shown(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M} UTC"


def _hash(text: str) -> str:
    """Returns the source expression of a style or a script for Content-Security-Policy."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
