"""Pictures of the reports, drawn by altair; saved as PNG or SVG without a network.

No more than 5,000 rows go into one: the largest are shown with the others added up or counted, and
periods are taken together. Amounts are drawn as floats; the report's own rows stay exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import polars

from comptroller.analysis.plots import claims, controls, flows, groups, waiting
from comptroller.analysis.plots.frames import drawable
from comptroller.analysis.plots.marks import say
from comptroller.analysis.plots.theme import Picture, checked, finished
from comptroller.analysis.report import Report


class Drawing(NamedTuple):
    """How a report is drawn, with notes for below its title, and why it may have no rows."""

    draw: Callable[[polars.DataFrame, Report], tuple[Picture, list[str]]]
    nothing: str


_NO_CLAIMS = "there are no claims here."
DRAWINGS: Mapping[str, Drawing] = {
    "anomalies": Drawing(flows.anomalies, "no day lies outside the band."),
    "claims_summary": Drawing(claims.summary, _NO_CLAIMS),
    "cohort": Drawing(groups.cohort, _NO_CLAIMS),
    "confirmation_times": Drawing(waiting.times, "no claim is SUBMITTED or CONFIRMED."),
    "failures": Drawing(claims.failures, "no claim has FAILED."),
    "group_statement": Drawing(groups.statement, "nothing is known of this group."),
    "orchestration_flow": Drawing(flows.orchestrations, "there are no orchestrations here."),
    "reconciliation": Drawing(groups.reconciliation, "nothing was claimed and nothing held."),
    "restrictions": Drawing(controls.restrictions, "no control was made."),
    "stuck_claims": Drawing(waiting.stuck, "no claim waits longer than its chain's claims do."),
}


def plot(report: Report, theme: str = "light") -> Picture:
    """The picture of a report, 600 pixels wide. Raises InvalidRequest for an unknown theme."""
    colours = checked(theme)
    drawing = DRAWINGS[report.name]
    if not len(report):
        return finished(
            say(f"Nothing to show: {drawing.nothing}"), colours, report.title, report.over
        )
    picture, notes = drawing.draw(drawable(report.to_polars()), report)
    return finished(picture, colours, report.title, report.over, notes)
