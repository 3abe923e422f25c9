"""The values of the section template for reports and overviews, in pages and notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from comptroller.analysis.formatting import columns_of, csv_of

if TYPE_CHECKING:
    import polars

    from comptroller.analysis.overview import Overview
    from comptroller.analysis.plots import Drawing
    from comptroller.analysis.report import Report


def of_overview(shown: Overview) -> dict[str, Any]:
    """Returns the section of an overview."""
    tables = [{"title": name, **_table(frame)} for name, frame in shown.tables.items()]
    return {"place": "overview", "overview": shown, "title": shown.title, "tables": tables}


def of_report(report: Report, shown: int, drawing: Drawing | None = None) -> dict[str, Any]:
    """Returns the section of a report, with at most `shown` rows."""
    return {
        "place": report.name,
        "report": report,
        "title": report.title,
        "drawing": drawing,
        "table": _table(report.head(shown), len(report) - shown) if len(report) else None,
    }


def _table(frame: polars.DataFrame, left: int = 0) -> dict[str, Any]:
    return {"columns": columns_of(frame), "csv": csv_of(frame), "more": max(left, 0)}
