"""Reports and tables as HTML: sections, those of notebooks, and one page of several.

A page works offline: it fetches no resource, its pictures are inline SVG, text of the store is
escaped, and a security policy permits only the page's own script, which copies tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from decimal import Decimal, localcontext
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import polars

from comptroller.analysis.formatting import columns_of, csv_of, heading, in_plain_words
from comptroller.analysis.overview import Overview
from comptroller.analysis.rows import ReportRows
from comptroller.analysis.table import Table
from comptroller.display.html import SHOWN_ROWS as NOTEBOOK_ROWS, html, page
from comptroller.errors import require

if TYPE_CHECKING:
    from comptroller.analysis.plots import Drawing
    from comptroller.analysis.plots.theme import Picture

#: The maximum number of rows of a report in a document; a note counts the others.
SHOWN_ROWS = 40


def document(
    parts: Iterable[ReportRows | Overview | Table],
    title: str,
    as_of: datetime | None = None,
) -> str:
    """Returns one HTML page of several reports, with a link to each.

    The page is light or dark like the reader's system, and prints each report on its own pages. A
    thread draws a report while the next of `parts` is computed.

    The page shows when it was created, and `as_of`, the time of the newest record.

    Raises MissingExtra if a report has to be drawn, and altair or vl-convert is not installed.
    """

    def section(part: ReportRows | Overview | Table) -> dict[str, Any]:
        if isinstance(part, Table):
            return part.section(SHOWN_ROWS)
        if isinstance(part, Overview):
            return _overview_section(part)
        _require_drawing("a page of reports")
        from comptroller.analysis.plots import draw_svg

        return _report_section(part, SHOWN_ROWS, draw_svg(part))

    with ThreadPoolExecutor(1) as pool:
        if all(map(find_spec, _DRAWING_MODULES)):
            from comptroller.analysis.plots import warm

            pool.submit(warm)  # while the store is read, which takes as long
        drawn = [pool.submit(section, part) for part in parts]
    sections = [each.result() for each in drawn]
    times: Counter[str] = Counter()
    for each in sections:
        times[each["place"]] += 1
        if times[each["place"]] > 1:
            each["place"] += f"-{times[each['place']]}"
    return page(title, sections, as_of)


def picture(report: ReportRows, theme: str) -> Picture:
    """Draws a report; see `Report.plot`."""
    _require_drawing("plot()")
    from comptroller.analysis.plots import draw

    return draw(report, theme)[0]


def report_html(report: ReportRows, rows: int) -> str:
    """Returns a section of a page with at most `rows` rows; see `Report.html`."""
    _require_drawing("html()")
    from comptroller.analysis.plots import draw_svg

    return html("section.html", section=_report_section(report, rows, draw_svg(report)))


def notebook_html(shown: ReportRows | Overview) -> str:
    """Returns what a notebook shows; without a picture if altair or vl-convert is missing."""
    if isinstance(shown, Overview):
        return html("section.html", section=_overview_section(shown))
    drawing = None
    if len(shown) and all(map(find_spec, _DRAWING_MODULES)):
        from comptroller.analysis.plots import draw_svg

        drawing = draw_svg(shown)
    return html("section.html", section=_report_section(shown, NOTEBOOK_ROWS, drawing))


def _require_drawing(purpose: str) -> None:
    for module in _DRAWING_MODULES:
        require(module, purpose, "charts")


_DRAWING_MODULES = ("altair", "vl_convert")


def _overview_section(shown: Overview) -> dict[str, Any]:
    """Returns the values of the section template for an overview."""
    tables = [{"title": name, **_table(frame)} for name, frame in shown.tables.items()]
    return {"place": "overview", "overview": shown, "title": shown.title, "tables": tables}


def _report_section(
    report: ReportRows, shown: int, drawing: Drawing | None = None
) -> dict[str, Any]:
    """Returns the values of the section template for a report, with at most `shown` rows."""
    return {
        "place": report.name,
        "report": report,
        "title": report.title,
        "drawing": drawing,
        "formula": in_plain_words(report.formula),
        "headings": {name: heading(name) for name in report.definition.columns},
        "table": _report_table(report, shown) if len(report) else None,
    }


def _report_table(report: ReportRows, shown: int) -> dict[str, Any]:
    """Returns the first rows to show, the totals of all rows, and all rows as CSV."""
    head, rows = report.head(shown), report.to_polars()
    totals = _totals(report, rows)
    table = _table(rows.select(head.columns).head(0) if totals is None else totals)
    totals_row = [each.texts[0] if each.texts else None for each in table["columns"]]
    return {
        "columns": columns_of(head),
        "totals": totals_row if totals is not None else None,
        "csv": csv_of(rows),
        "more": max(len(report) - shown, 0),
    }


def _totals(report: ReportRows, rows: polars.DataFrame) -> polars.DataFrame | None:
    """Returns the sums of the columns that can be added, as one row; None if there is none.

    Amounts are added if all rows have one asset, and their sum has at most 20 digits before the
    point. By address a claim counts several times, and in a history in each of its events, so
    nothing can be added; a statement has its own row for the month.
    """
    by_asset = "asset" in rows.columns and rows["asset"].n_unique() > 1
    units = {name: each.unit for name, each in report.definition.columns.items()}
    added = [
        name
        for name in _ADDITIVE
        if name in units
        and not (by_asset and units[name] == "amount")
        and not rows[name].has_nulls()
        and (units[name] != "amount" or _fits(rows[name]))
    ]
    if (
        len(rows) < 2
        or not added
        or "address" in report.by
        or report.definition.has_changes
        or ("day" in units and "last_claim" in units)
    ):
        return None
    columns = report.head(1).columns
    return rows.select(
        polars.col(name).sum() if name in added else polars.lit(None).alias(name)
        for name in columns
    )


_AMOUNT_LIMIT = 10**20  # an amount has at most 20 digits before the point


def _fits(amounts: polars.Series) -> bool:
    """Whether the sum of amounts is an amount; polars would fail, or return another number."""
    with localcontext(prec=60):
        total: Decimal = sum(amounts.to_list(), Decimal(0))
        return abs(total) < _AMOUNT_LIMIT


def _table(frame: polars.DataFrame) -> dict[str, Any]:
    return {"columns": columns_of(frame), "totals": None, "csv": csv_of(frame), "more": 0}


#: The columns of counts and amounts whose rows can be added.
_ADDITIVE = (
    *("claims", "confirmed_amount", "waiting_amount", "failed_amount", "confirmed", "waiting"),
    *("failed", "failures", "amount", "made_good", "made_good_amount", "orchestrations"),
    *("created", "deleted", "claimed"),
)
