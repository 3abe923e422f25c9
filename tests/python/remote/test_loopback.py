"""A server without credentials accepts only its own machine, and no foreign web pages."""

from __future__ import annotations

from collections.abc import Iterator

import comptroller
import pytest

pytest.importorskip("prometheus_client")
pytest.importorskip("httpx2")

from asgi_client import Asked
from comptroller.http import EveryoneIsOperator, app

LIST = "/rewards/claims"


@pytest.fixture(scope="module")
def ask(shared_operator: comptroller.Service) -> Iterator[Asked]:
    with Asked(app(shared_operator, authenticator=EveryoneIsOperator())) as asked:
        yield asked


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LocalHost:8080",
        "127.0.0.1",
        "127.0.0.1:80",
        "127.9.9.9:1",
        "[::1]:80",
        "[::1]",
    ],
)
def test_a_loopback_name_is_accepted(ask: Asked, host: str) -> None:
    assert ask("GET", LIST, headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example"),
        *("localhost@evil.example", "0.0.0.0", "10.0.0.1:80", "[::]", "[", "::1", "", ":80"),
        *("2130706433", "127.1", "localhost,evil.example", "evil.example#localhost"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
def test_another_name_of_the_machine_is_refused(ask: Asked, method: str, host: str) -> None:
    path = "/operator/load/claims" if method == "POST" else LIST
    answer = ask(method, path, headers={"Host": host})
    assert answer.status_code == 400
    if method != "HEAD":
        assert [fault["field"] for fault in answer.json()["errors"]] == ["Host"]


HERE = "127.0.0.1:8080"
SITES = ["cross-site", "same-site", "", "none, same-origin", "Same-Origin"]


@pytest.mark.parametrize(
    "sent",
    [
        *({"Sec-Fetch-Site": site} for site in SITES),
        *({"Sec-Fetch-Site": site, "Origin": f"http://{HERE}"} for site in SITES),
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "http://evil.example"},
        {"Origin": "http://localhost:8080"},
        {"Origin": "http://127.0.0.1"},
        {"Origin": "http://127.0.0.1:80801"},
        {"Origin": f"http://{HERE}.evil.example"},
        {"Origin": f"http://evil.example/http://{HERE}"},
        {"Origin": f"http://user@{HERE}"},
        {"Origin": f"file://{HERE}"},
        {"Origin": HERE},
    ],
    ids=str,
)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", LIST),
        ("POST", "/rewards/payout-groups"),
        ("PUT", "/operator/identity/identities"),
        ("DELETE", "/v2/identity/controls"),
        ("POST", "/operator/rewards/claims/c-1/confirm"),
        ("POST", "/operator/load/claims"),
    ],
)
def test_a_page_of_another_origin_is_refused(
    ask: Asked, method: str, path: str, sent: dict[str, str]
) -> None:
    answer = ask(method, path, headers={"Host": HERE, **sent})
    assert answer.status_code == 400
    assert [fault["field"] for fault in answer.json()["errors"]] == ["Origin"]
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"Origin": f"http://{HERE}"},
        {"Sec-Fetch-Site": "none"},
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "same-origin", "Origin": "https://proxy.example"},
    ],
    ids=str,
)
def test_a_program_and_the_servers_own_page_are_accepted(ask: Asked, sent: dict[str, str]) -> None:
    path = "/operator/rewards/claims/nobody/confirm"
    assert ask("POST", path, headers={"Host": HERE, **sent}).status_code == 404
    assert ask("GET", LIST, headers={"Host": HERE, **sent}).status_code == 200


def test_a_link_of_another_page_may_be_followed(ask: Asked) -> None:
    link = {"Host": HERE, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert ask("GET", LIST, headers=link).status_code == 200
    assert ask("POST", "/operator/load/claims", headers=link).status_code == 400


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (None, 404),
        ("application/json", 404),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data; boundary=x", 415),
        ("text/plain", 415),
        ("", 415),
    ],
)
def test_a_write_without_a_body_accepts_only_json(
    ask: Asked, sent: str | None, status: int
) -> None:
    headers = {} if sent is None else {"Content-Type": sent}
    path = "/operator/rewards/claims/nobody/confirm"
    assert ask("POST", path, headers=headers).status_code == status
