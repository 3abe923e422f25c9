"""The interactive documentation in a browser: operations, authorization, requests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from browser_pages import Visit
from serving import Serving, serving

METHODS = ("get", "put", "post", "delete")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving("--sample", "200", cwd=tmp_path_factory.mktemp("served")) as server:
        yield server


@pytest.fixture
def visit(browser: Any, server: Serving) -> Iterator[Visit]:
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    visit = Visit(page, server.address + "/docs")
    page.locator(".opblock").first.wait_for()
    yield visit
    visit.page.close()


def authorize(page: Any, id: str, secret: str) -> None:
    page.locator(".schemes .authorize").click()
    page.locator("#client_id_clientCredentials").fill(id)
    page.locator("#client_secret_clientCredentials").fill(secret)
    # The first security scheme.
    page.locator(".auth-container .modal-btn.authorize").first.click()
    page.locator(".auth-container", has_text="Logout").first.wait_for()
    page.locator(".btn-done").first.click()


def test_every_operation_is_shown(visit: Visit, server: Serving) -> None:
    described = server.get("/openapi.json").json()
    expected = [
        (method.upper(), path)
        for path, item in described["paths"].items()
        for method in item
        if method in METHODS
    ]
    shown = visit.page.locator(".opblock-summary").all()
    operations = [
        (
            block.locator(".opblock-summary-method").inner_text(),
            block.locator(".opblock-summary-path").get_attribute("data-path"),
        )
        for block in shown
    ]
    assert sorted(operations) == sorted(expected)
    assert all(block.is_visible() for block in shown)
    assert visit.complaints == []


def tried(page: Any, status: str) -> Any:
    """Requests two claims; returns the response when it has this status."""
    block = page.locator("#operations-claims-claims_list")
    if not block.locator("button.execute").count():
        block.locator(".opblock-summary-control").click()
        block.locator("tr[data-param-name=limit] input").fill("2")
    block.locator("button.execute").click()
    block.locator(".live-responses-table .response-col_status", has_text=status).wait_for()
    return json.loads(block.locator(".live-responses-table code.language-json").inner_text())


def test_a_list_request_with_a_token_works(visit: Visit, server: Serving) -> None:
    assert tried(visit.page, "401")["code"] == "unauthenticated"
    visit.complaints.clear()  # of that
    authorize(visit.page, *server.credentials())
    page = tried(visit.page, "200")
    assert len(page["items"]) == 2
    assert page["items"][0]["claim_type"]
    assert visit.requested[-1] == server.address + "/rewards/claims?limit=2&order=DESC"
    assert [url for url in visit.requested if not url.startswith(server.address + "/")] == []
    assert visit.complaints == []


def test_the_page_requests_and_runs_nothing_else(visit: Visit) -> None:
    for attempt in (
        "fetch('https://elsewhere.example/').catch(() => {})",
        "document.body.insertAdjacentHTML('beforeend', '<p style=\"color: red\">')",
        "document.head.append(Object.assign(document.createElement('script'), {text: '1'}))",
    ):
        with visit.page.expect_console_message(lambda message: message.type == "error"):
            visit.page.evaluate(attempt)
        assert "Content Security Policy" in visit.complaints[-1], attempt
