"""Without credentials a server is for its own machine: other names that lead there are refused."""

from __future__ import annotations

from collections.abc import Iterator

import comptroller
import pytest

pytest.importorskip("prometheus_client")
pytest.importorskip("httpx2")

from asked import Asked
from comptroller.http import EveryoneIsOperator, app

LIST = "/rewards/claims"


@pytest.fixture(scope="module")
def ask(shared_operator: comptroller.Service) -> Iterator[Asked]:
    with Asked(app(shared_operator, authenticator=EveryoneIsOperator(on_loopback=True))) as asked:
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
def test_a_name_of_the_machine_itself_is_taken(ask: Asked, host: str) -> None:
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
def test_another_name_that_leads_there_is_refused(ask: Asked, method: str, host: str) -> None:
    path = "/operator/load/claims" if method == "POST" else LIST
    answer = ask(method, path, headers={"Host": host})
    assert answer.status_code == 400
    if method != "HEAD":
        assert [fault["field"] for fault in answer.json()["errors"]] == ["Host"]
