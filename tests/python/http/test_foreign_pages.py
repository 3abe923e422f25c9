"""Requests of a page of another origin, in a browser, to a server without credentials."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from serving import Serving, serving

SOON_MS = 60_000
CLAIM = {
    "id": "c-1",
    "payout_group_id": "00000000-0000-4000-8000-000000000001",
    "claim_type": "CLAIM_ALL",
    "onchain_status": "SUBMITTED",
    "tx_hash": "0x1",
    "amount": "1.50",
    "created_at": "2026-01-31T12:00:00Z",
    "submitted_at": "2026-01-31T12:00:00Z",
}
CONFIRM = "/operator/rewards/claims/c-1/confirm"
PUT = "/operator/identity/identities"

# Scripts; `there` is the address of the server, `confirm` the path of the write.
FETCHES = {
    "opaque": "fetch(confirm, {method: 'POST', mode: 'no-cors'})",
    "readable": "fetch(confirm, {method: 'POST'})",
    "text": "fetch(confirm, {method: 'POST', mode: 'no-cors', body: '{}'})",
    "form": "fetch(confirm, {method: 'POST', mode: 'no-cors', body: new URLSearchParams()})",
    "kept alive": "fetch(confirm, {method: 'POST', mode: 'no-cors', keepalive: true})",
    "nameless": "fetch(confirm, {method: 'POST', mode: 'no-cors', referrerPolicy: 'no-referrer'})",
    "beacon": "Promise.resolve(navigator.sendBeacon(confirm))",
    "request": (
        "new Promise(done => { const it = new XMLHttpRequest(); it.onloadend = done;"
        " it.open('POST', confirm); it.send(); })"
    ),
    "image": (
        "new Promise(done => { const it = new Image(); it.onload = it.onerror = done;"
        " it.src = confirm; })"
    ),
    "script": (
        "new Promise(done => { const it = document.createElement('script');"
        " it.onload = it.onerror = done; it.src = confirm; document.head.append(it); })"
    ),
    # The browser sends an OPTIONS request before these.
    "json": (
        "fetch(confirm, {method: 'POST', body: '{}',"
        " headers: {'Content-Type': 'application/json'}})"
    ),
    "put": "fetch(there + '/operator/identity/identities', {method: 'PUT', body: '{}'})",
    "delete": "fetch(there + '/v2/identity/controls?control_id=x', {method: 'DELETE'})",
    "header": "fetch(confirm, {method: 'POST', headers: {'Idempotency-Key': 'x'}})",
}
PREFLIGHTS = {"json": "POST", "put": "PUT", "delete": "DELETE", "header": "POST"}
FORM = """
<form method="post" action="{action}" enctype="{enctype}" target="shown"></form>
<iframe name="shown"{sandbox}></iframe>
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A server without credentials, with one claim that is not confirmed."""
    with serving("--empty", "--auth", "off", cwd=tmp_path_factory.mktemp("served")) as server:
        answer = server.ask("PUT", "/operator/rewards/claims", json=CLAIM)
        assert answer.status_code == 200, answer.text
        yield server


@pytest.fixture(scope="module")
def pages() -> Iterator[int]:
    """The port of another local server, whose pages are empty."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = b"<!doctype html><title>elsewhere</title>"
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as elsewhere:
        thread = Thread(target=elsewhere.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield elsewhere.server_port
        elsewhere.shutdown()
        thread.join()


@pytest.fixture(params=["127.0.0.1", "localhost"], ids=["same site", "another site"])
def page(request: pytest.FixtureRequest, browser: Any, pages: int) -> Iterator[Any]:
    """A page of another origin than the server, on another port of 127.0.0.1."""
    page = browser.new_page()
    page.set_default_timeout(SOON_MS)
    page.goto(f"http://{request.param}:{pages}/")
    yield page
    page.close()


def state(server: Serving) -> str:
    status: str = server.get("/rewards/claims/c-1").json()["onchain_status"]
    assert server.get("/v2/identity/identities").json()["items"] == []
    return status


@pytest.mark.parametrize("attempt", FETCHES)
def test_a_script_changes_nothing(page: Any, server: Serving, attempt: str) -> None:
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.method))
    script = f"([there, confirm]) => {FETCHES[attempt]}.then(() => 'done', () => 'refused')"
    ended = page.evaluate(script, [server.address, server.address + CONFIRM])
    assert sent  # the script has run
    assert state(server) == "SUBMITTED"
    if attempt in PREFLIGHTS or attempt == "readable":
        assert ended == "refused"
    if attempt in PREFLIGHTS:
        routes: list[str] = []
        while not routes:  # the log is written a little later
            routes = [line for line in server.log.read_text().splitlines() if '"OPTIONS"' in line]
        assert all('"status":405' in line for line in routes)


@pytest.mark.parametrize("sandbox", ["", ' sandbox="allow-forms"'], ids=["own", "no origin"])
@pytest.mark.parametrize(
    "enctype", ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"]
)
def test_a_form_changes_nothing(page: Any, server: Serving, enctype: str, sandbox: str) -> None:
    action = server.address + CONFIRM
    page.set_content(FORM.format(action=action, enctype=enctype, sandbox=sandbox))
    with page.expect_response(action) as answered:
        page.evaluate("document.forms[0].submit()")
    assert answered.value.status == 400
    assert state(server) == "SUBMITTED"


def test_a_response_is_not_readable(page: Any, server: Serving) -> None:
    read = "path => fetch(path).then(answer => answer.text(), () => 'refused')"
    assert page.evaluate(read, server.address + "/rewards/claims") == "refused"


def test_the_servers_own_page_and_a_program_may_write(browser: Any, server: Serving) -> None:
    page = browser.new_page()
    page.goto(server.address + "/docs")
    put = "path => fetch(path, {method: 'PUT', body: '{}'}).then(answer => answer.status)"
    assert page.evaluate(put, PUT) == 415
    post = "path => fetch(path, {method: 'POST'}).then(answer => answer.status)"
    assert page.evaluate(post, CONFIRM.replace("c-1", "nobody")) == 404
    page.close()
    curl = shutil.which("curl")
    if curl is None:
        pytest.skip("there is no curl here")
    completed = subprocess.run(
        [curl, "-sX", "POST", server.address + CONFIRM.replace("c-1", "nobody")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert '"code":"not-found"' in completed.stdout
