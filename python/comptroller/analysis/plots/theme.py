"""The look of pictures: sizes, colour-blind safe colours, and light, dark and page themes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import altair as alt

from comptroller.display.html import printable
from comptroller.errors import invalid

Picture: TypeAlias = alt.Chart | alt.LayerChart | alt.FacetChart | alt.VConcatChart

#: In pixels: the width of a picture, of one panel of several (without its labels), and of row
#: names. Vega measures text, fits a single panel into the picture, and truncates longer names.
WIDTH = 600
PANEL = 520
NAMES = 200

# The palette of Okabe and Ito, without the colours that have no contrast on white or black.
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#E69F00", "#009E73", "#CC79A7"
SKY, VERMILLION, GREY = "#56B4E9", "#D55E00", "#8C8C8C"
SERIES = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILLION)
STATUSES = {"CONFIRMED": GREEN, "SUBMITTED": SKY, "PENDING": GREY, "FAILED": VERMILLION}

#: The colours of the ground, of texts and of grids.
_THEMES = {
    "light": ("#ffffff", "#1f2328", "#e4e6e8"),
    "dark": ("#15181d", "#e6e8ea", "#33383f"),
    # For a picture inside a page, with the text colour of the page.
    "page": ("transparent", "currentColor", "rgba(128, 128, 128, 0.28)"),
}


def apply_theme(picture: Picture, theme: str, heading: Sequence[str]) -> Picture:
    """Applies a theme to a picture, and adds a heading: a title, then subtitle lines.

    Raises InvalidRequest for an unknown theme.
    """
    if theme not in _THEMES:
        raise invalid("theme", f"must be one of {', '.join(_THEMES)}")
    if heading:
        title, *lines = map(printable, heading)
        shown = alt.TitleParams(title, subtitle=lines, anchor="start", frame="bounds")
        picture = picture.properties(title=shown)
    if not isinstance(picture, alt.VConcatChart):
        fit = alt.AutoSizeParams(type="fit-x", contains="padding")
        picture = picture.properties(width=WIDTH, autosize=fit)
    configured: Picture = picture.configure(**_configuration(*_THEMES[theme]))
    return configured


def _configuration(ground: str, text: str, grid: str) -> dict[str, Any]:
    return {
        # ARIA attributes for each mark would double the file size; the report has the data as rows.
        "aria": False,
        "background": ground,
        "font": "Arial, 'Liberation Sans', Helvetica, sans-serif",
        "padding": 8,
        "style": {
            "guide-label": {"fill": text, "fontSize": 11},
            "guide-title": {"fill": text, "fontWeight": "normal"},
            "group-title": {"fill": text, "fontSize": 15},
            "group-subtitle": {"fill": text, "fontSize": 11},
        },
        "view": {"stroke": None, "continuousWidth": PANEL, "continuousHeight": 150, "step": 18},
        "title": {"subtitlePadding": 4, "offset": 10, "limit": WIDTH - 20},
        "axis": {
            "domainColor": GREY,
            "tickColor": GREY,
            "gridColor": grid,
            "labelLimit": NAMES,
            "labelOverlap": "greedy",
            "labelSeparation": 6,
        },
        "axisY": {"titlePadding": 8},
        "legend": {"orient": "bottom", "columns": 4, "columnPadding": 12},
        "text": {"color": text},
        "concat": {"spacing": 14},
    }
