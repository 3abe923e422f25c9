"""Pictures and pages escape and shorten text from outside."""

from __future__ import annotations

from xml.etree import ElementTree

import comptroller
import pytest
from lines import claim, load

pytest.importorskip("sqlglot")
pytest.importorskip("duckdb")
pytest.importorskip("polars")
pytest.importorskip("altair")
pytest.importorskip("vl_convert")

import polars
from comptroller.analysis.report import Report
from pictures import data_of, rewritten, svg_in, svg_of, texts_of
from report_stores import HOSTILE, NAMES


def test_text_from_outside_is_escaped_in_pages(reports: dict[str, Report]) -> None:
    svg = svg_of(reports["failures"].plot())
    assert "&lt;script&gt;alert" in svg
    assert "\u202e" in HOSTILE
    assert "\u202e" not in svg


@pytest.mark.parametrize("name", NAMES)
def test_no_text_breaks_a_picture(reports: dict[str, Report], name: str) -> None:
    """A character that is invalid in XML would end the renderer's process."""
    unfit = "\x00\x1f\x7f\u200f\u2028\u202e\ufffe\uffff"
    words = [
        name for name, type in reports[name].to_polars().schema.items() if type == polars.String
    ]
    to_words = [polars.lit(f"a{unfit}b").alias(name) for name in words]
    report = rewritten(reports[name], lambda frame: frame.with_columns(to_words))
    svg = svg_of(report.plot("page"))
    for shown in (svg, report.html(), report._repr_html_()):
        assert not set(unfit) & set(shown)
    ElementTree.fromstring(svg)


@pytest.mark.parametrize("name", ["constructor", "toString", "__proto__"])
def test_names_that_objects_of_javascript_have_are_drawn(
    operator: comptroller.Service, name: str
) -> None:
    load(operator, "claims", claim(onchain_status="FAILED", error_message=name, blockchain=name))
    load(operator, "claims", claim(created_at="2020-01-01T00:00:00Z", blockchain=name))
    confirmed = {"submitted_at": "2026-05-01T00:00:00Z", "confirmed_at": "2026-05-01T00:00:01Z"}
    load(operator, "claims", claim(onchain_status="CONFIRMED", blockchain=name, **confirmed))
    reports = operator.reports
    for report in (
        reports.failures(),
        reports.stuck_claims(),
        reports.claims_summary(by=["chain"]),
    ):
        assert len(report.to_polars())
        assert name in "".join(texts_of(svg_of(report.plot())))


def test_a_stored_message_of_invalid_characters_is_drawn(operator: comptroller.Service) -> None:
    load(operator, "claims", claim(onchain_status="FAILED", error_message="bad \uffff \u202e"))
    html = operator.reports.failures().html()
    assert "bad \\uffff \\u202e" in "".join(texts_of(svg_in(html)))
    assert "<td>bad \\uffff \\u202e</td>" in html


def test_messages_with_a_common_prefix_are_distinct(operator: comptroller.Service) -> None:
    long = "transaction reverted: " + "x" * 500
    messages = [f"{long}1", f"{long}2", f"{long}2", None, "(none)"]
    load(
        operator,
        "claims",
        *(claim(onchain_status="FAILED", error_message=message) for message in messages),
    )
    picture = operator.reports.failures().plot()
    bars = [row for row in data_of(picture, "what") if row["what"] == "failed"]
    assert sorted(bar["claims"] for bar in bars) == [1, 1, 1, 2]
    assert len({bar["series"] for bar in bars}) == 4
    shown = texts_of(svg_of(picture))
    assert {"(1) (none)", "(2) (none)"} < shown
    assert {text[:20] for text in shown if text.endswith("…")} == {
        "(1) transaction reve",
        "(2) transaction reve",
    }


@pytest.mark.parametrize("letter", ["x", "W", "\u6f22"])
def test_a_label_is_cut_at_the_edge_of_the_picture(
    operator: comptroller.Service, letter: str
) -> None:
    load(operator, "claims", claim(onchain_status="FAILED", error_message=letter * 300))
    shown = texts_of(svg_of(operator.reports.failures().plot()))
    (cut,) = (text for text in shown if text.startswith(letter * 9))
    assert cut.endswith("…")
    assert 15 < len(cut) < 45
