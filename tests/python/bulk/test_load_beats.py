"""A load over HTTP reports progress, so that its client keeps waiting."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import comptroller
import pytest

pytest.importorskip("httpx2")
pytest.importorskip("httptools")

import httpx2
from comptroller import errors
from examples import ndjson, short_line
from fake_remote import Elsewhere, answer, page
from held_writer import while_writing
from serving import Serving, serving

ASKING = {"prefer": "progress", "content-type": "application/x-ndjson"}
ACCOUNT = {"read": 1, "inserted": 1, "updated": 0, "unchanged": 0, "rejected": 0, "blank": 0}


@contextmanager
def writing(path: Path) -> Iterator[Event]:
    """Another program that writes to a store until the event is set."""
    began, end = Event(), Event()

    def write() -> None:
        with comptroller.open(path) as service:
            while_writing(service, lambda: (began.set(), end.wait()))

    thread = Thread(target=write)
    thread.start()
    began.wait()
    try:
        yield end
    finally:
        end.set()
        thread.join()


@pytest.fixture(name="there", scope="module")
def _there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Serving, Path]]:
    folder = tmp_path_factory.mktemp("there")
    with comptroller.open(folder / "store.db") as service:
        service.identities.put(id="alice")
    with serving("--auth", "off", cwd=folder) as there:
        yield there, folder / "store.db"


@pytest.mark.parametrize("body", [ndjson([short_line("claims")]), b"{}\n"])
def test_a_waiting_load_sends_white_space_and_then_its_result(
    there: tuple[Serving, Path], body: bytes
) -> None:
    server, store = there
    address = server.address + "/operator/load/claims"
    with (
        writing(store) as end,
        httpx2.stream("POST", address, headers=ASKING, content=body, timeout=30) as response,
    ):
        assert response.status_code == 200
        assert response.headers["preference-applied"] == "progress"
        pieces = response.iter_raw()
        first = next(pieces)
        end.set()
        content = first + b"".join(pieces)
    assert first.strip() == b""
    assert json.loads(content)["read"] == 1


def test_a_load_without_prefer_has_one_response(there: tuple[Serving, Path]) -> None:
    server, _ = there
    headers = {"content-type": ASKING["content-type"]}
    response = server.ask("POST", "/operator/load/claims", headers=headers, content=b"{}")
    assert response.json()["rejected"] == 1
    assert "preference-applied" not in response.headers
    assert response.headers["content-length"] == str(len(response.content))


def test_a_client_waits_as_long_as_there_is_progress(there: tuple[Serving, Path]) -> None:
    server, store = there
    with writing(store) as end:

        class Watched(httpx2.HTTPTransport):
            def handle_request(self, request: httpx2.Request) -> httpx2.Response:
                assert request.extensions["timeout"]["read"] == 5
                response = super().handle_request(request)
                assert response.headers["preference-applied"] == "progress"
                end.set()  # the head was sent with the first white space
                return response

        with comptroller.connect(server.address, timeout_s=5, transport=Watched()) as service:
            result = service.load("claims", [short_line("claims", id="later")])
    assert result.inserted == 1


def test_an_error_after_the_head_is_that_of_its_document() -> None:
    problem = {"code": "unavailable", "status": 503, "detail": "it is stopping", "request_id": "r"}
    account = {**ACCOUNT, "committed": True}
    content = b"   " + json.dumps({**problem, "meta": {"load_result": account}}).encode()
    with pytest.raises(errors.Unavailable, match="it is stopping") as refused:
        Elsewhere(httpx2.Response(200, content=content)).connect().load("claims", [])
    assert refused.value.request_id == "r"
    assert vars(refused.value)["load_result"].inserted == 1
    content = b"   " + json.dumps(account).encode()
    assert Elsewhere(httpx2.Response(200, content=content)).connect().load("claims", []).committed


def test_an_export_has_the_usual_timeout(tmp_path: Path) -> None:
    there = Elsewhere(answer(403), balances=lambda _request: page())
    with there.connect(timeout_s=7) as service, pytest.raises(errors.Forbidden):
        service.export("claims", tmp_path / "rows")
    assert {request.extensions["timeout"]["read"] for request in there.requests} == {7}
