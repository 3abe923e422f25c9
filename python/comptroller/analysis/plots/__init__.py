"""Pictures of the reports, drawn by altair; saved as PNG or SVG without a network.

No more than 5,000 rows go into one: the largest are shown with the others added up or counted, and
periods are taken together. Amounts are drawn as floats; the report's own rows stay exact.
"""

from __future__ import annotations

from importlib import import_module
from io import StringIO
from typing import TYPE_CHECKING

import altair as alt
import vl_convert
from altair.utils.schemapi import debug_mode

from comptroller.analysis.plots.frames import drawable
from comptroller.analysis.plots.marks import say
from comptroller.analysis.plots.theme import Picture, checked, finished

if TYPE_CHECKING:
    from comptroller.analysis.report import Report


def warm() -> None:
    """Starts the renderer, which later pictures find running."""
    say("").save(StringIO(), format="svg")


def draw_svg(report: Report) -> tuple[str, list[str]]:
    """The picture of a report for a page, and the notes on it; vega checks it, altair does not."""
    with debug_mode(False):
        picture, notes = draw(report, "page")
        with alt.data_transformers.enable("default"), alt.data_transformers.disable_max_rows():
            spec = picture.to_dict(validate=False)
    version = alt.SCHEMA_VERSION.rpartition(".")[0]
    return vl_convert.vegalite_to_svg(spec, vl_version=version), notes


def plot(report: Report, theme: str = "light") -> Picture:
    """The picture of a report. Raises InvalidRequest for an unknown theme."""
    return draw(report, theme)[0]


def draw(report: Report, theme: str) -> tuple[Picture, list[str]]:
    """The picture of a report and the notes on it, which it shows unless it is for a page."""
    colours = checked(theme)
    if not len(report):
        picture, notes = say(f"Nothing to show: {report.definition.empty}"), []
    else:
        module, name = report.definition.drawing.split(".")
        drawing = getattr(import_module(f"{__name__}.{module}"), name)
        picture, notes = drawing(drawable(report.to_polars()), report)
    heading = [] if theme == "page" else [report.title, report.over, *notes]
    return finished(picture, colours, heading), notes
