"""The log of a server: a line of JSON for each answer, and nothing secret in any."""

from __future__ import annotations

import io
import json
import logging
import os
import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import comptroller
import pytest

pytest.importorskip("prometheus_client")
pytest.importorskip("httpx2")
pytest.importorskip("structlog")

from asked import Asked
from comptroller.http import EveryoneIsOperator, app
from comptroller.http.log import Log

CANARY = "canary-7f3a"
ROUTE = "/v2/identity/identities/{id}"


def logged(stream: io.BytesIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def asked(service: comptroller.Service, stream: io.BytesIO) -> Asked:
    return Asked(app(service, authenticator=EveryoneIsOperator(), observers=(Log(stream),)))


def test_an_answer_is_a_line(operator: comptroller.Service) -> None:
    stream = io.BytesIO()
    before = datetime.now(UTC)
    with asked(operator, stream) as ask:
        ask("GET", "/v2/identity/identities/alice", headers={"X-Request-Id": "r-1"})
    (line,) = logged(stream)
    assert before <= datetime.fromisoformat(line.pop("time")) <= datetime.now(UTC)
    assert 0 < line.pop("milliseconds") < 60_000
    assert line == {
        "level": "info",
        "event": "request",
        "request_id": "r-1",
        "client_id": "operator",
        "customer": None,
        "operation": "identities.get",
        "method": "GET",
        "route": ROUTE,
        "status": 404,
        "error": "not-found",
        "peer": "127.0.0.1",
    }


@pytest.mark.parametrize(
    ("method", "path", "route", "status"),
    [
        ("GET", "/rewards/claims", "/rewards/claims", 200),
        ("HEAD", "/rewards/claims", "/rewards/claims", 200),
        ("PATCH", "/rewards/claims", "/rewards/claims", 405),
        ("GET", "/healthz", "/healthz", 200),
        ("GET", "/nowhere", None, 404),
        ("GET", "/rewards/claims?limit=0", "/rewards/claims", 400),
    ],
)
def test_every_answer_has_its_line(
    operator: comptroller.Service, method: str, path: str, route: str | None, status: int
) -> None:
    stream = io.BytesIO()
    with asked(operator, stream) as ask:
        answer = ask(method, path)
    (line,) = logged(stream)
    assert (line["route"], line["status"], line["level"]) == (route, status, "info")
    assert line["request_id"] == answer.headers["x-request-id"]


def test_time_is_utc_as_rfc_3339_has_it_and_begins_the_line(operator: comptroller.Service) -> None:
    stream = io.BytesIO()
    with asked(operator, stream) as ask:
        ask("GET", "/healthz")
    assert stream.getvalue().startswith(b'{"time":"2')
    assert logged(stream)[0]["time"].endswith("Z")
    assert stream.getvalue().endswith(b"}\n")


def test_nothing_that_was_sent_is_in_it(operator: comptroller.Service) -> None:
    stream = io.BytesIO()
    headers = {"Authorization": f"Bearer {CANARY}", "Cookie": CANARY, "Idempotency-Key": CANARY}
    headers |= {"User-Agent": CANARY, "X-Request-Id": f"{CANARY} unfit"}
    with asked(operator, stream) as ask:
        ask("PUT", "/operator/identity/identities", json={"id": CANARY}, headers=headers)
        ask("GET", f"/v2/identity/identities/{CANARY}?access_token={CANARY}", headers=headers)
        ask("GET", f"/{CANARY}", headers=headers)
        ask("POST", "/v2/identity/controls", content=CANARY, headers=headers)
    assert len(logged(stream)) == 4
    assert CANARY not in stream.getvalue().decode()


def test_what_a_server_cannot_answer_is_an_error(operator: comptroller.Service) -> None:
    stream = io.BytesIO()
    with asked(operator, stream) as ask:
        operator.close()
        assert ask("GET", "/rewards/claims").status_code == 503
    assert logged(stream)[0]["level"] == "error"


def test_a_defect_is_told_by_its_type_and_place_but_not_its_text() -> None:
    stream = io.BytesIO()
    handler = Log(stream).handler()
    logger = logging.Logger("comptroller.http.app")
    logger.addHandler(handler)
    try:
        raise LookupError(CANARY)
    except LookupError:
        logger.exception("request %s failed", "r-1")
    (line,) = logged(stream)
    assert (line["level"], line["event"]) == ("error", "request r-1 failed")
    assert (line["logger"], line["exception"]) == ("comptroller.http.app", "LookupError")
    assert __file__ in line["trace"][-1]
    assert CANARY not in stream.getvalue().decode()


def test_the_servers_own_messages_are_lines_too() -> None:
    stream = io.BytesIO()
    logger = logging.Logger("uvicorn.error")
    logger.addHandler(Log(stream).handler())
    logger.debug("unheard")
    logger.warning("two\nlines of %s", "text")
    (line,) = logged(stream)
    assert (line["level"], line["event"]) == ("warning", "two\nlines of text")


def test_it_goes_to_standard_error(
    operator: comptroller.Service, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    with Asked(app(operator, authenticator=EveryoneIsOperator(), observers=(Log(),))) as ask:
        ask("GET", "/healthz")
    out, err = capfdbinary.readouterr()
    assert out == b""
    assert json.loads(err)["route"] == "/healthz"


def test_who_does_not_log_does_not_pay_for_it() -> None:
    program = "import sys, comptroller.http.log; print('structlog' in sys.modules)"
    ended = subprocess.run(
        [sys.executable, "-c", program], env=os.environ, capture_output=True, text=True, check=True
    )
    assert ended.stdout == "False\n"
