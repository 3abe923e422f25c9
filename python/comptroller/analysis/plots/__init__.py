"""Pictures of the reports, drawn with altair; saved as PNG or SVG without a network.

A picture has at most 5,000 rows: it shows the largest series, sums or counts the others, and
merges periods. Amounts are drawn as floats; the rows of the report stay exact.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from io import StringIO
from typing import NamedTuple

import altair as alt
import polars as pl
import vl_convert
from altair.utils.schemapi import debug_mode

from comptroller.analysis.plots import drawings
from comptroller.analysis.plots.frames import with_instants
from comptroller.analysis.plots.marks import message
from comptroller.analysis.plots.theme import Picture, apply_theme
from comptroller.analysis.rows import ReportRows

# A tag, and the ids and references in it. Text of the store is never inside a tag.
_TAG = re.compile(r'<[a-zA-Z](?:[^"<>]|"[^"]*")*>')
_NAME = re.compile(r'(\s(?:id="|(?:xlink:)?href="#|(?:clip-path|fill|mask|stroke)="url\(#))')


class Drawing(NamedTuple):
    """A picture as SVG, and its notes."""

    svg: str
    notes: Sequence[str]


def warm() -> None:
    """Starts the renderer in advance, to speed up the first picture."""
    message("").save(StringIO(), format="svg")


def draw_svg(report: ReportRows) -> Drawing | None:
    """Draws a report for a page, in which ids must be unique; returns None if it has no rows.

    Vega validates the chart; altair's slower validation is off.
    """
    if not len(report):
        return None
    with debug_mode(False), alt.data_transformers.enable("default", max_rows=None):
        picture, notes = draw(report, "page")
        spec = picture.to_dict(validate=False)
    version = alt.SCHEMA_VERSION.rpartition(".")[0]
    svg = vl_convert.vegalite_to_svg(spec, vl_version=version)
    prefix = f"{zlib.crc32(svg.encode()):08x}-"
    return Drawing(_TAG.sub(lambda tag: _NAME.sub(rf"\g<1>{prefix}", tag[0]), svg), notes)


def draw(report: ReportRows, theme: str) -> tuple[Picture, Sequence[str]]:
    """Draws a report; its notes are part of the picture, except for the theme `page`.

    Raises InvalidRequest for an unknown theme.
    """
    notes: list[str] = []
    if len(report):
        floats = with_instants(report.to_polars().with_columns(pl.col(pl.Decimal).cast(pl.Float64)))
        picture = getattr(drawings, report.name)(floats, report, notes)
    else:
        picture = message(f"Nothing to show: {report.definition.empty}")
    heading = [] if theme == "page" else [report.title, report.summary, *notes]
    return apply_theme(picture, theme, heading), notes
