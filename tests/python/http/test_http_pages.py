"""HTML pages: they work offline, run only their own files, and explain problems."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

import comptroller
import pytest

pytest.importorskip("prometheus_client")
pytest.importorskip("httpx2")
pytest.importorskip("offapi")

from asgi_client import Asked
from comptroller.description import problems
from comptroller.http import EveryoneIsOperator, app, openapi

HTML = "text/html; charset=utf-8"
STRICT = "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'"
INTERACTIVE = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; frame-ancestors 'none'"
)
PAGES = [
    # path, content type, content security policy
    ("/openapi.json", "application/json", None),
    ("/docs", HTML, INTERACTIVE),
    ("/problems", HTML, STRICT),
    *((f"/problems/{code}", HTML, STRICT) for code in problems()),
]
FILES = [
    ("/docs/init.js", "text/javascript; charset=utf-8"),
    ("/docs/problems.css", "text/css; charset=utf-8"),
    ("/docs/swagger_bundle.js", "text/javascript; charset=utf-8"),
    ("/docs/swagger_style.css", "text/css; charset=utf-8"),
]


@pytest.fixture
def ask(operator: comptroller.Service) -> Iterator[Asked]:
    with Asked(app(operator, authenticator=EveryoneIsOperator())) as asked:
        yield asked


@pytest.mark.parametrize(("path", "content_type", "policy"), PAGES)
def test_a_page_has_its_type_and_security_policy(
    ask: Asked, path: str, content_type: str, policy: str | None
) -> None:
    answer = ask("GET", path)
    assert (answer.status_code, answer.headers["content-type"]) == (200, content_type)
    assert answer.headers.get("content-security-policy") == policy
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(("path", "content_type"), FILES)
def test_the_files_of_a_page_may_be_cached(ask: Asked, path: str, content_type: str) -> None:
    answer = ask("GET", path)
    assert (answer.status_code, answer.headers["content-type"]) == (200, content_type)
    assert answer.headers.get_list("cache-control") == ["public, max-age=3600"]
    assert answer.content


@pytest.mark.parametrize("path", [page[0] for page in PAGES[:4]] + [file[0] for file in FILES])
def test_head_is_get_without_the_page(ask: Asked, path: str) -> None:
    whole, head = ask("GET", path), ask("HEAD", path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(whole.content))
    assert head.headers["content-type"] == whole.headers["content-type"]


@pytest.mark.parametrize("path", [page[0] for page in PAGES])
def test_a_page_accepts_no_other_method(ask: Asked, path: str) -> None:
    answer = ask("POST", path)
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("path", [page[0] for page in PAGES[1:]] + ["/docs/init.js"])
def test_pages_refer_to_no_other_host(ask: Asked, path: str) -> None:
    assert not re.search(r"https?:|//[a-z]", ask("GET", path).text.replace("<!doctype", ""))


@pytest.mark.parametrize("path", [page[0] for page in PAGES[1:]])
def test_every_referenced_file_and_page_exists(ask: Asked, path: str) -> None:
    page = ask("GET", path)
    found = re.findall(r'(?:href|src)="([^"]+)"', page.text)
    for reference in found:
        if reference != "data:,":
            assert ask("GET", str(page.url.join(reference))).status_code == 200, reference
    assert found


@pytest.mark.parametrize("path", [page[0] for page in PAGES[1:]])
def test_no_script_or_style_is_inline(ask: Asked, path: str) -> None:
    text = ask("GET", path).text
    assert not re.search(r"<style|style=|\son\w+=|<script(?![^>]* src=)|<script[^>]*>[^<]", text)


@pytest.mark.parametrize(
    "path",
    [
        *("/docs/", "/docs/redoc.js", "/docs/..", "/docs/%2e%2e%2Fpages.py", "/docs/init.js%00"),
        *("/problems/", "/problems/unheard-of", "/problems/Not-Found", "/problems/%ff"),
    ],
)
def test_other_paths_are_not_found(ask: Asked, path: str) -> None:
    answer = ask("GET", path)
    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")


@pytest.mark.parametrize("code", problems())
def test_a_problem_is_explained(ask: Asked, code: str) -> None:
    text = unescape(ask("GET", f"/problems/{code}").text)
    assert f"<h1>{problems()[code]['title']}</h1>" in text
    assert f"<code>{code}</code>, status {problems()[code]['status']}" in text
    meaning, remedy = re.findall(r"<p>([A-Z][^<]+)</p>", text)
    assert meaning.endswith(".")
    assert remedy.endswith(".")


def test_every_problem_is_listed(ask: Asked) -> None:
    listed = re.findall(r'href="problems/([a-z-]+)"', ask("GET", "/problems").text)
    assert listed == list(problems())


def test_the_type_of_a_problem_is_its_page(ask: Asked) -> None:
    refused = ask("GET", "/v2/identity/identities/nobody")
    assert ask("GET", refused.json()["type"]).status_code == 200


@pytest.mark.parametrize("drop_deprecated", [False, True])
def test_the_description_matches_this_server(
    operator: comptroller.Service, drop_deprecated: bool
) -> None:
    options = {"authenticator": EveryoneIsOperator(), "drop_deprecated": drop_deprecated}
    with Asked(app(operator, **options)) as ask:
        served = ask("GET", "/openapi.json").content
    assert served == openapi.document("off", drop_deprecated=drop_deprecated)
