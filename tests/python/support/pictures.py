"""Helpers that inspect pictures: their rows and texts."""

from __future__ import annotations

import io
import re
from typing import Any
from xml.etree import ElementTree

from comptroller.analysis.report import Report


def rewritten(report: Report, to: Any) -> Report:
    """Returns the report with other rows."""
    spread = None if report.distribution is None else to(report.distribution)
    frame = to(report.to_polars())
    return Report(report.definition, report.by, frame, report.given, distribution=spread)


def data_of(picture: Any, member: str) -> list[dict[str, Any]]:
    """Returns the rows of a picture that have a member with this name."""
    datasets = picture.to_dict()["datasets"].values()
    return [row for rows in datasets for row in rows if member in row]


def notes_of(picture: Any) -> list[str]:
    """Returns the subtitle of a picture; its first line is the summary of the report."""
    subtitle: list[str] = picture.to_dict()["title"]["subtitle"]
    return subtitle


def svg_in(html: str) -> str:
    """Returns the first picture of a page."""
    return html[html.index("<svg") : html.index("</svg>") + len("</svg>")]


def texts_of(svg: str) -> set[str]:
    """Returns the texts of a picture by label."""
    return {each.text or "" for each in ElementTree.fromstring(svg).iter() if each.text}


def drawn_rows(picture: Any) -> int:
    """Returns the number of rows in a picture."""
    return sum(len(rows) for rows in picture.to_dict()["datasets"].values())


def svg_of(picture: Any) -> str:
    """Renders a picture as SVG."""
    written = io.StringIO()
    picture.save(written, format="svg")
    return written.getvalue()


def width_of(svg: str) -> float:
    """Returns the width of a picture in pixels."""
    found = re.search(r'\bwidth="([\d.]+)"', svg)
    assert found
    return float(found[1])
