"""The page of all reports in a browser: no requests, no overflow, copied tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import comptroller
import pytest
from lines import claim, load

pytest.importorskip("sqlglot")
pytest.importorskip("duckdb")
pytest.importorskip("polars")
pytest.importorskip("altair")
pytest.importorskip("vl_convert")

from browser_pages import Visit
from comptroller.analysis.presentation import document
from comptroller.analysis.report import Report
from report_stores import HOSTILE


@pytest.fixture
def context(browser: Any) -> Iterator[Any]:
    context = browser.new_context()
    yield context
    context.close()


@pytest.fixture(scope="module")
def whole(
    furnished: comptroller.Service,
    reports: dict[str, Report],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    path = tmp_path_factory.mktemp("page") / "reports.html"
    parts = [furnished.reports.overview(), *reports.values()]
    path.write_text(document(parts, f"Reports {HOSTILE}"), encoding="utf-8")
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_sends_no_request_and_fits_its_window(
    context: Any, whole: Path, scheme: str
) -> None:
    visit = Visit(context.new_page(), whole.as_uri())
    visit.page.emulate_media(color_scheme=scheme)
    for width in (400, 1100, 1600):
        visit.page.set_viewport_size({"width": width, "height": 900})
        wide = visit.page.evaluate("document.documentElement.scrollWidth")
        assert wide == width
    visit.page.locator("nav a").last.click()
    assert visit.page.evaluate("location.hash") == "#history"
    visit.page.locator("nav a[aria-current]").wait_for()
    assert visit.requested == [whole.as_uri()]
    assert visit.complaints == []


def test_every_link_leads_to_a_section(context: Any, whole: Path) -> None:
    page = Visit(context.new_page(), whole.as_uri()).page
    links = page.locator("a").evaluate_all("links => links.map(link => link.hash)")
    places = page.locator("section").evaluate_all("all => all.map(each => '#' + each.id)")
    assert set(links) == set(places)
    assert page.locator(".findings a").count() >= 3


def test_no_label_is_cut_at_the_edge_of_a_picture(context: Any, whole: Path) -> None:
    """Also if the font that Vega measured is not installed."""
    page = Visit(context.new_page(), whole.as_uri()).page
    cut = page.locator("svg text").evaluate_all(
        """texts => texts.filter(text => {
            const [inner, outer] = [text, text.ownerSVGElement].map(
                each => each.getBoundingClientRect());
            return inner.left < outer.left || inner.right > outer.right;
        }).map(text => text.textContent)"""
    )
    assert cut == []


def test_print_has_no_buttons_and_no_navigation(context: Any, whole: Path) -> None:
    page = Visit(context.new_page(), whole.as_uri()).page
    assert page.get_by_role("button").count() > 10
    page.emulate_media(media="print")
    assert page.get_by_role("button").count() == 0
    assert page.get_by_role("navigation").count() == 0
    assert page.pdf().startswith(b"%PDF")


def test_print_has_the_meanings_of_the_columns(context: Any, whole: Path) -> None:
    page = Visit(context.new_page(), whole.as_uri()).page
    meanings = page.locator("details dd")
    is_shown = "all => all.map(dd => dd.checkVisibility())"
    assert not any(meanings.evaluate_all(is_shown))
    page.emulate_media(media="print")
    shown = meanings.evaluate_all(is_shown)
    assert len(shown) > 10
    assert all(shown)


@pytest.mark.parametrize("is_trusted", [True, False])
def test_a_table_is_copied_as_exact_csv(
    context: Any, operator: comptroller.Service, tmp_path: Path, is_trusted: bool
) -> None:
    message = '=HYPERLINK("x")\u202e, <b>\u6f22'
    failed = {"onchain_status": "FAILED", "amount": "12345678901234567890.000000000000000001"}
    load(operator, "claims", claim(error_message=message, blockchain="INK", **failed))
    path = tmp_path / "one.html"
    path.write_text(document([operator.reports.failures()], "One"), encoding="utf-8")
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    if not is_trusted:
        context.add_init_script("delete Navigator.prototype.clipboard")
    visit = Visit(context.new_page(), path.as_uri())
    visit.page.get_by_role("button", name="Copy as CSV").click()
    visit.page.get_by_role("button", name="Copied").wait_for()
    (row,) = csv.DictReader(io.StringIO(pasted(visit.page)))
    assert row["error_message"] == f"'{message}"
    assert row["amount"] == "12345678901234567890.000000000000000001"
    assert row["first_at"] == "2026-01-01T00:00:00Z"
    assert row["failures"] == "1"
    assert visit.complaints == []


def pasted(page: Any) -> str:
    """Returns the text of the clipboard after a paste."""
    page.evaluate("document.body.append(document.createElement('textarea'))")
    page.locator("textarea").focus()
    page.keyboard.press("Control+V")
    text: str = page.locator("textarea").input_value()
    return text
