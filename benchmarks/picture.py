"""The picture of RESULTS.md: the speed of comptroller relative to its peers, by row.

python benchmarks/picture.py    writes docs/benchmarks.svg
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import altair

HERE = Path(__file__).parent
RESULTS = HERE / "RESULTS.md"
PICTURE = HERE.parent / "docs" / "benchmarks.svg"
MARKDOWN = "![Bars: how many times as fast as each peer comptroller is](../docs/benchmarks.svg)"
TITLES = {
    1: "Load 1,000,000 claims",
    2: "All claims as a typed frame",
    3: "Page of 100, in process",
    4: "List over HTTP",
    5: "Create over HTTP, on disk",
    7: "Claims report",
}
#: A goal that is a ratio to a peer, such as "100 first: speed against JSON in SQL".
AIM = re.compile(
    r"\| (?:(?P<case>[^|:]+): )?(?:speed|requests/s) against (?P<peer>[^|]+) \|"
    r" (?P<ratio>[\d,.]+) x \|"
)
COLOURS = {"comptroller is faster": "#2a7f62", "the peer is faster": "#b3541e"}


def ratios(results: str) -> list[dict[str, Any]]:
    """Returns the ratios of each row to its peers, without limits, for one case of each row."""
    found = []
    for part in results.split("\n## ")[1:]:
        number = int(part.partition(".")[0])
        for aim in AIM.finditer(part):
            case, peer = aim["case"] or "", aim["peer"]
            if "limit" in peer or number not in TITLES or (number == 3 and case != "100 first"):
                continue
            ratio = float(aim["ratio"].replace(",", ""))
            found.append(
                {
                    "work": TITLES[number],
                    "peer": f"{peer}, {case}" if case and number != 3 else peer,
                    "ratio": ratio,
                    "end": max(ratio, 1),
                    "label": f"{ratio:,.1f} x" if ratio < 10 else f"{ratio:,.0f} x",
                    "who": list(COLOURS)[ratio < 1],
                }
            )
    return found


def draw(rows: list[dict[str, Any]]) -> altair.TopLevelMixin:
    colour = altair.Color("who:N", title=None).scale(
        domain=list(COLOURS), range=list(COLOURS.values())
    )
    axis = altair.X("ratio:Q", title="times as fast as the peer (logarithmic)").scale(type="log")
    peer = altair.Y("peer:N", title=None, sort=None).axis(labelLimit=400)
    base = altair.Chart(altair.Data(values=rows))
    one = altair.datum(1)
    bars = base.mark_bar().encode(axis, altair.X2(datum=1), peer, colour.legend(orient="bottom"))
    labels = base.mark_text(align="left", dx=4).encode(
        altair.X("end:Q"), peer, altair.Text("label:N")
    )
    rule = base.mark_rule(color="#888").encode(x=one)
    work = altair.Row("work:N", title=None, sort=list(TITLES.values())).header(
        labelAngle=0,
        labelAlign="left",
        labelAnchor="start",
        labelOrient="top",
        labelFontWeight="bold",
    )
    return (
        altair.layer(rule, bars, labels)
        .properties(width=420)
        .facet(row=work, spacing=8)
        .resolve_scale(y="independent")
        .configure(background="white", font="sans-serif")
        .configure_view(stroke=None)
    )


def save() -> None:
    draw(ratios(RESULTS.read_text())).save(PICTURE)


if __name__ == "__main__":
    save()
    print(f"see {PICTURE}")
