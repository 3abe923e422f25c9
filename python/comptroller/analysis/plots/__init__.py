"""Pictures of the reports, drawn with altair; saved as PNG or SVG without a network.

A picture has at most 5,000 rows: it shows the largest series, sums or counts the others, and
merges periods. Amounts are drawn as floats; the rows of the report stay exact.
"""

from __future__ import annotations

from importlib import import_module
from io import StringIO
from typing import TYPE_CHECKING

import altair as alt
import vl_convert
from altair.utils.schemapi import debug_mode

from comptroller.analysis.plots.frames import drawable
from comptroller.analysis.plots.marks import message
from comptroller.analysis.plots.theme import Picture, checked, finished

if TYPE_CHECKING:
    from comptroller.analysis.report import Report


def warm() -> None:
    """Starts the renderer in advance, to speed up the first picture."""
    message("").save(StringIO(), format="svg")


def draw_svg(report: Report) -> tuple[str, list[str]]:
    """Returns the picture of a report as SVG for a page, and its notes.

    Vega validates the chart; altair's slower validation is off.
    """
    with debug_mode(False):
        picture, notes = draw(report, "page")
        with alt.data_transformers.enable("default"), alt.data_transformers.disable_max_rows():
            spec = picture.to_dict(validate=False)
    version = alt.SCHEMA_VERSION.rpartition(".")[0]
    return vl_convert.vegalite_to_svg(spec, vl_version=version), notes


def plot(report: Report, theme: str = "light") -> Picture:
    """Draws a report. Raises InvalidRequest for an unknown theme."""
    return draw(report, theme)[0]


def draw(report: Report, theme: str) -> tuple[Picture, list[str]]:
    """Draws a report; returns the picture and its notes.

    The notes are part of the picture, except for the theme `page`.
    """
    colours = checked(theme)
    if not len(report):
        picture, notes = message(f"Nothing to show: {report.definition.empty}"), []
    else:
        module, name = report.definition.drawing.split(".")
        drawing = getattr(import_module(f"{__name__}.{module}"), name)
        picture, notes = drawing(drawable(report.to_polars()), report)
    heading = [] if theme == "page" else [report.title, report.over, *notes]
    return finished(picture, colours, heading), notes
