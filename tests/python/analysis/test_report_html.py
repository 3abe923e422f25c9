"""Reports as HTML: for a notebook, for a page, and all of them in one file."""

from __future__ import annotations

import re
from collections import Counter
from datetime import date
from html.parser import HTMLParser
from typing import Any

import comptroller
import pytest
from lines import at, claim, load

pytest.importorskip("sqlglot")
pytest.importorskip("duckdb")
pytest.importorskip("polars")
pytest.importorskip("altair")
pytest.importorskip("vl_convert")

from comptroller.analysis.formatting import heading, in_plain_words
from comptroller.analysis.presentation import document
from comptroller.analysis.registry import REPORTS
from comptroller.analysis.report import Report
from report_stores import HOSTILE, NAMES


class Seen(HTMLParser):
    """Collects the tags, links and texts of a document."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, name: str) -> list[str]:
        return [value for found, value in self.attributes if found == name]


PLACES = [*(f"#{name}" for name in NAMES), "#claims_summary-2"]


@pytest.fixture(scope="module")
def whole(reports: dict[str, Report]) -> str:
    return document([*reports.values(), reports["claims_summary"]], f"Reports {HOSTILE}")


def test_a_document_has_all_reports_and_a_table_of_contents(
    reports: dict[str, Report], whole: str
) -> None:
    seen = Seen(whole)
    assert seen.tags["section"] == seen.tags["svg"] == seen.tags["figure"] == len(NAMES) + 1
    places = [value.removeprefix("#") for value in seen.all("href") if value in PLACES]
    assert places == [each.removeprefix("#") for each in PLACES]
    assert set(places) <= set(seen.all("id"))
    for report in reports.values():
        assert seen.text.count(report.title) >= 2
        assert in_plain_words(report.formula) in seen.text
        assert report.definition.question in seen.text
        for name, column in report.definition.columns.items():
            assert f"{heading(name)} {name}{column.meaning} ({column.unit})" in seen.text


def test_a_document_refers_to_no_other_host(whole: str) -> None:
    seen = Seen(whole)
    assert not {"link", "img", "iframe", "object", "embed", "image"} & seen.tags.keys()
    assert seen.tags["script"] == seen.tags["style"] == 1
    assert not seen.all("style")
    assert not [name for name, _ in seen.attributes if name.startswith("on")]
    assert not seen.all("src")
    referred = [*seen.all("href"), *seen.all("xlink:href"), *re.findall(r"url\(([^)]*)", whole)]
    assert all(each.startswith("#") for each in referred)
    assert set(re.findall(r"https?://[\w./]+", whole)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }
    assert "@import" not in whole
    assert any("default-src 'none'" in each for each in seen.all("content"))


def test_text_from_outside_is_escaped_in_pages(whole: str) -> None:
    assert "<script>alert" not in whole
    assert "&lt;script&gt;alert" in whole


def test_a_document_has_styles_for_light_dark_and_print(whole: str) -> None:
    for expected in ("prefers-color-scheme: dark", "@media print", "currentColor"):
        assert expected in whole


def test_pictures_of_one_page_have_distinct_ids(whole: str) -> None:
    sections = whole.split("<section")[1:]
    defined = [set(re.findall(r'\bid="([^"]+)"', each)) for each in sections]
    for number, each in enumerate(sections):
        assert set(re.findall(r"url\(#([^)]+)\)", each)) <= defined[number]


def test_only_ids_and_references_are_prefixed(operator: comptroller.Service) -> None:
    message = 'id="q1" url(#z) href="#k" >'
    load(operator, "claims", claim(onchain_status="FAILED", error_message=message))
    html = operator.reports.failures().html()
    assert Seen(html).text.count(message) >= 2
    page = document([operator.reports.failures()] * 2, "Twice")
    assert Seen(page).text.count(message) >= 4


def test_control_characters_are_escaped(operator: comptroller.Service) -> None:
    load(operator, "claims", claim(onchain_status="FAILED", error_message="a\u202eb\uffff"))
    report = operator.reports.failures()
    for shown in (report.html(), report._repr_html_(), document([report], "One")):
        assert not set("\u202e\uffff") & set(shown)
        assert "<td>a\\u202eb\\uffff</td>" in shown


@pytest.mark.parametrize("name", NAMES)
def test_a_formula_names_columns_as_their_headings(reports: dict[str, Report], name: str) -> None:
    section = reports[name].html()
    formula = section.partition('<p class="formula">')[2].partition("</p>")[0]
    assert formula
    assert "_" not in formula


def test_a_section_has_its_style_and_counts_the_hidden_rows(
    reports: dict[str, Report],
) -> None:
    report = reports["claims_summary"]
    section = report.html(rows=7)
    seen = Seen(section)
    assert section.startswith("<style>")
    assert (seen.tags["section"], seen.tags["svg"]) == (1, 1)
    assert seen.tags["tr"] == 1 + 7 + seen.tags["tfoot"]
    assert f"{len(report) - 7:,} more rows" in seen.text


@pytest.mark.parametrize("name", NAMES)
def test_a_report_is_shown_in_a_notebook(reports: dict[str, Report], name: str) -> None:
    report = reports[name]
    shown = report._repr_html_()
    seen = Seen(shown)
    assert seen.tags["tr"] == 1 + min(len(report), 20) + seen.tags["tfoot"]
    assert (len(report) > 20) == ("more rows" in seen.text)
    assert report.title in seen.text
    assert "<script" not in shown
    assert repr(report).startswith(f"<Report {name}: {report.title}, ")


def test_amounts_are_shown_with_all_digits(operator: comptroller.Service) -> None:
    amounts = ("12345678901234567890.000000000000000001", "1.5")
    moments = ({"created_at": at(days=day)} for day in (0, 1))
    lines = (claim(amount=each, **moment) for each, moment in zip(amounts, moments, strict=True))
    load(operator, "claims", *lines)
    shown = operator.reports.claims_summary("day")._repr_html_()
    assert "12,345,678,901,234,567,890.000000000000000001" in shown
    assert "1.500000000000000000" in shown
    assert "<td>2026-01-02</td>" in shown


def test_an_empty_report_is_a_section(operator: comptroller.Service) -> None:
    report = operator.reports.failures()
    assert f"Nothing to show: {report.definition.empty}" in report.html()
    assert report._repr_html_()
    assert Seen(document([report], "Nothing")).tags["table"] == 0


@pytest.mark.parametrize("name", sorted({*REPORTS} - {"group_statement", "history"}))
def test_an_empty_report_does_not_say_that_the_store_is_empty(name: str) -> None:
    text = REPORTS[name].empty
    assert "that the filters select" in text or "whom the filters select" in text


def test_a_section_names_its_arguments() -> None:
    import polars

    frame = polars.DataFrame({"day": [at(), at(days=40), None], "claims": [1, 2, 3]})
    given = {"since": "2026-01-01", "until": None, "group": "g-1", "band": 0}
    report = Report(REPORTS["claims_summary"], ("day",), frame, given)
    assert report.summary == (
        "by day, group g-1, from 2026-01-01 00:00 UTC, band 0, 2026-01-01 to 2026-02-10, 3 rows"
    )
    zoned = {**given, "since": None, "until": date(2026, 7, 1), "tz": "Europe/Zurich"}
    report = Report(REPORTS["claims_summary"], ("day",), frame, zoned)
    assert "before 2026-07-01 00:00 Europe/Zurich" in report.summary


def test_a_service_is_shown_in_a_notebook_even_when_closed(open_as: Any) -> None:
    service = open_as(customer="<b>acme")
    service.close()
    shown = service._repr_html_()
    assert "Service" in shown
    assert "&lt;b&gt;acme" in shown
    assert "payout_groups" in shown


def test_a_load_result_is_shown_in_a_notebook(operator: comptroller.Service) -> None:
    good, bad = claim(**{HOSTILE: 1}), claim(amount=HOSTILE)
    result = operator.load("claims", [good, *[bad] * 30])
    seen = Seen(result._repr_html_())
    assert seen.tags["tr"] == 1 + 20
    assert "10 more rejected lines" in seen.text
    assert "30 rejected" in seen.text
    assert seen.tags["script"] == 0
    fine = operator.load("claims", [claim()])
    assert fine._repr_html_().count("<table") == 0
    assert "1 inserted" in fine._repr_html_()


def test_the_newest_rows_are_shown(operator: comptroller.Service) -> None:
    load(operator, "claims", *(claim(created_at=at(days=n)) for n in range(30)))
    report = operator.reports.claims_summary("day")
    rows = Seen(report._repr_html_()).text
    assert "2026-01-30" in rows
    assert "2026-01-01" not in rows.partition("10 more rows")[0].rpartition("claims share")[2]
    assert report.head(1)["day"].to_list() == [at(days=29).date()]
    assert report.head(30)["day"].to_list() == [at(days=n).date() for n in range(30)]


def test_a_page_has_its_times_plain_headings_totals_and_all_rows(
    operator: comptroller.Service,
) -> None:
    rows = (
        {"created_at": at(days=n), "amount": "1.5", "onchain_status": "CONFIRMED"}
        for n in range(60)
    )
    load(operator, "claims", *(claim(**each) for each in rows))
    report = operator.reports.claims_summary("day")
    page = document([report, operator.reports.confirmation_times(())], "Ours", at(days=59))
    seen = Seen(page)
    assert re.search(
        r"Created 20\d\d-\d\d-\d\d \d\d:\d\d UTC; the newest claim is of 2026-03-01", seen.text
    )
    assert "confirmed amount" in seen.text
    assert "<tfoot><tr><td>Total</td>" in page
    assert re.search(r'<tfoot>.*<td class="number">90(\.0)?</td>', page)
    (copied, *_) = seen.all("data-csv")
    assert copied.count("2026-") == 60
    assert copied.startswith('"day,asset,claims,confirmed_amount,')
    assert "`" not in seen.text


def test_no_text_of_a_report_has_markdown() -> None:
    for definition in REPORTS.values():
        texts = [definition.title, definition.question, definition.formula, definition.empty]
        texts += [column.meaning for column in definition.columns.values()]
        assert not [text for text in texts if "`" in text]


def test_a_notebook_shows_the_chart_and_the_table(reports: dict[str, Report]) -> None:
    for name, report in reports.items():
        shown = report._repr_html_()
        assert ("<svg" in shown, "<table" in shown) == (len(report) > 0,) * 2, name


def test_the_events_of_a_history_have_no_total(operator: comptroller.Service, open_as: Any) -> None:
    times = {f"{name}_at": at(minutes) for minutes, name in enumerate(("created", "submitted"))}
    ended = {"onchain_status": "CONFIRMED", "confirmed_at": at(60)}
    load(operator, "claims", claim(id="c", amount="10", **times, **ended))
    report = open_as(customer="default").reports.history("c", until=at(days=1))
    assert report.to_polars()["amount"].null_count() == 0
    assert len(report) == 3
    assert "<tfoot>" not in report.html()


def test_a_total_of_more_than_20_digits_is_left_empty(operator: comptroller.Service) -> None:
    large = {"amount": "90000000000000000000", "onchain_status": "CONFIRMED", "asset_type": "ETH"}
    load(operator, "claims", *(claim(**large, blockchain=chain) for chain in ("INK", "SOLANA")))
    shown = operator.reports.claims_summary(("chain",)).html()
    (total,) = re.findall(r"(?s)<tfoot>.*?</tfoot>", shown)
    assert re.findall(r">([^<]+)</td>", total)[:2] == ["Total", "2"]
    assert "000" not in total
