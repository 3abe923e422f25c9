"""Pictures taken apart: what is drawn in them, and what they say."""

from __future__ import annotations

import io
import re
from typing import Any
from xml.etree import ElementTree

from comptroller.analysis.report import Report


def rewritten(report: Report, to: Any) -> Report:
    """The report with other rows."""
    spread = None if report.distribution is None else to(report.distribution)
    frame = to(report.to_polars())
    return Report(report.definition, report.keys, frame, report.given, distribution=spread)


def data_of(picture: Any, member: str) -> list[dict[str, Any]]:
    """The rows that went into a picture and have a member of this name."""
    datasets = picture.to_dict()["datasets"].values()
    return [row for rows in datasets for row in rows if member in row]


def notes_of(picture: Any) -> list[str]:
    """What is said below its title: first what it is over."""
    told: list[str] = picture.to_dict()["title"]["subtitle"]
    return told


def svg_in(html: str) -> str:
    """The first picture of a page."""
    return html[html.index("<svg") : html.index("</svg>") + len("</svg>")]


def texts_of(svg: str) -> set[str]:
    """The words of a picture, label by label."""
    return {each.text or "" for each in ElementTree.fromstring(svg).iter() if each.text}


def drawn_rows(picture: Any) -> int:
    """How many rows went into a picture."""
    return sum(len(rows) for rows in picture.to_dict()["datasets"].values())


def svg_of(picture: Any) -> str:
    """The picture as SVG."""
    written = io.StringIO()
    picture.save(written, format="svg")
    return written.getvalue()


def width_of(svg: str) -> float:
    """How wide it is, in pixels."""
    found = re.search(r'\bwidth="([\d.]+)"', svg)
    assert found
    return float(found[1])
