"""Loads whose server closes the connection before it has received them."""

from __future__ import annotations

import asyncio
import io
import json
import socket
import struct
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import comptroller
import pytest

pytest.importorskip("httpx2")
pytest.importorskip("uvloop")

import httpx2
import uvloop
from comptroller import errors
from comptroller.http.server.outgoing import MAX_DISCARDED
from comptroller.routes import TOKEN_PATH
from fake_remote import NOON
from on_loopback import SECRET, TLS, Start, register, start  # noqa: F401

# More than a server discards.
ROWS = [{"id": f"i-{n}", "created_at": NOON, "pad": "x" * 500_000} for n in range(70)]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
assert len(LINES) > 2 * MAX_DISCARDED

Load = Callable[..., Any]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("long") / "identities.ndjson"
    path.write_bytes(LINES)
    return path


async def later() -> AsyncIterator[dict[str, Any]]:
    for row in ROWS:
        yield row


def load(address: str, source: Any, **how: Any) -> comptroller.LoadResult:
    with comptroller.connect(address, transport=httpx2.HTTPTransport(verify=TLS), **how) as svc:
        return svc.load("identities", source)


def load_on(runner: Callable[..., Any]) -> Load:
    """Returns `load` for the asyncio client, whose event loop is the runner's."""

    async def work(address: str, source: Any, how: Any) -> comptroller.LoadResult:
        transport = httpx2.AsyncHTTPTransport(verify=TLS)
        async with comptroller.connect_async(address, transport=transport, **how) as svc:
            return await svc.load("identities", source)

    return lambda address, source, **how: runner(work(address, source, how))


each_client = pytest.mark.parametrize(
    "load", [load, load_on(asyncio.run), load_on(uvloop.run)], ids=["blocking", "asyncio", "uvloop"]
)


@each_client
def test_the_refusal_of_a_long_load_is_its_error(
    store_path: Path,
    start: Start,  # noqa: F811
    path: Path,
    load: Load,
) -> None:
    client = {"client_id": register(store_path, "acme", "acme", None), "client_secret": SECRET}
    with start(store_path) as address:
        for source in (path, io.BytesIO(LINES), iter(ROWS)):
            with pytest.raises(errors.Forbidden, match="operator:write"):
                load(address, source, **client)
        with pytest.raises(errors.Unauthenticated):
            load(address, path, token="wrong")


def test_the_refusal_of_an_asynchronous_source_is_its_error(
    store_path: Path,
    start: Start,  # noqa: F811
) -> None:
    with start(store_path) as address, pytest.raises(errors.Unauthenticated):
        load_on(asyncio.run)(address, later(), token="wrong")


@contextmanager
def tokens_of(address: str) -> Iterator[str]:
    """Yields a token endpoint whose first token the server at an address refuses."""
    issued: list[str] = []

    class Endpoint(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            form = self.rfile.read(int(self.headers["content-length"]))
            headers = {name: self.headers[name] for name in ("authorization", "content-type")}
            answer = httpx2.post(address + TOKEN_PATH, headers=headers, content=form).json()
            issued.append(answer["access_token"])
            if len(issued) == 1:
                answer["access_token"] = "refused"
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Endpoint) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


@each_client
def test_a_refused_token_is_replaced_and_a_long_file_sent_again(
    store_path: Path,
    start: Start,  # noqa: F811
    path: Path,
    load: Load,
) -> None:
    client = {"client_id": register(store_path, "desk", None, None), "client_secret": SECRET}
    with start(store_path) as address:
        with tokens_of(address) as url:
            assert load(address, path, token_url=url, **client).inserted == len(ROWS)
        # An object can be read only once.
        with tokens_of(address) as url, pytest.raises(errors.Unauthenticated):
            load(address, io.BytesIO(LINES), token_url=url, **client)


@each_client
def test_a_load_to_a_server_that_ends_during_its_body_was_not_executed(
    store_path: Path,
    start: Start,  # noqa: F811
    load: Load,
) -> None:
    client = {"client_id": register(store_path, "desk", None, None), "client_secret": SECRET}
    with ExitStack() as serving:
        address = serving.enter_context(start(store_path))

        def rows() -> Iterator[dict[str, Any]]:
            yield from ROWS[:20]
            serving.close()
            yield from ROWS[20:]

        with pytest.raises(errors.Unavailable) as refused:
            load(address, rows(), **client)
    assert type(refused.value) is errors.Unavailable, refused.value


@contextmanager
def hasty(answer: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """Yields a server that resets the first connection in the body, and its request lines."""
    lines: list[bytes] = []

    def serve() -> None:
        for is_first in (True, False):
            try:
                connection, _ = listener.accept()
            except OSError:  # no request came until the end of the test
                return
            with connection, connection.makefile("rb") as received:
                lines.append(received.readline())
                while received.readline() != b"\r\n":
                    pass
                if is_first:
                    now = struct.pack("ii", 1, 0)
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)
                else:
                    connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}", lines
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


@each_client
@pytest.mark.parametrize(
    ("status", "expected"),
    [(200, "Unavailable"), (502, "Unavailable"), (413, "InvalidRequest"), (429, "RateLimited")],
)
def test_the_reason_of_a_closed_connection_is_asked_without_a_body(
    load: Load, status: int, expected: str
) -> None:
    response = b"HTTP/1.1 %d X\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}" % status
    with hasty(response) as (address, lines), pytest.raises(comptroller.Error) as refused:
        load(address, io.BytesIO(LINES))
    assert type(refused.value) is getattr(errors, expected)
    targets = [line.split()[1] for line in lines]
    path = b"/operator/load/identities"
    assert [target.rstrip(b"?") for target in targets] == [path, path + b"?dry_run=true"]


@contextmanager
def short_lived(refused: set[str]) -> Iterator[tuple[str, list[str]]]:
    """Yields a server that resets each load, whose token expired, and the paths of requests.

    It issues the tokens t1, t2 and so on, and refuses some in a dry run.
    """
    paths: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            paths.append(self.path)
            if self.path == TOKEN_PATH:
                token = f"t{paths.count(TOKEN_PATH)}"
                self.answer(200, {"access_token": token, "expires_in": 0})
            elif "dry_run" not in self.path:
                now = struct.pack("ii", 1, 0)
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)
            elif self.headers["authorization"].removeprefix("Bearer ") in refused:
                self.answer(401, {"code": "unauthenticated", "detail": "the token has expired"})
            else:
                self.answer(200, {})

        def answer(self, status: int, body: object) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", paths
        finally:
            server.shutdown()
            thread.join()


@each_client
@pytest.mark.parametrize(
    ("refused", "expected"), [({"t1"}, "Unavailable"), ({"t1", "t2", "t3"}, "Unauthenticated")]
)
def test_a_token_that_expired_during_a_load_is_not_the_reason_of_a_closed_connection(
    path: Path, load: Load, refused: set[str], expected: str
) -> None:
    for source in (path, io.BytesIO(LINES)):
        with short_lived(refused) as (address, paths), pytest.raises(comptroller.Error) as raised:
            load(address, source, client_id="desk", client_secret=SECRET)
        assert type(raised.value) is getattr(errors, expected)
        assert [each == TOKEN_PATH for each in paths] == [True, False, True, False], paths
        assert ["dry_run=true" in each for each in paths[1::2]] == [False, True], paths


def test_a_record_that_is_too_large_is_the_error_of_an_opened_store(
    store_path: Path,
    start: Start,  # noqa: F811
) -> None:
    large = {"ledger": "INK", "address": "x" * 2 * MAX_DISCARDED}

    async def create(address: str) -> None:
        async with comptroller.connect_async(address, token="any") as svc:
            await svc.reward_addresses.create(**large)

    with comptroller.open(":memory:") as local, pytest.raises(errors.InvalidRequest) as refused:
        local.reward_addresses.create(**large)
    with start(store_path) as address:
        with pytest.raises(errors.InvalidRequest) as awaited:
            asyncio.run(create(address))
        with (
            comptroller.connect(address, token="any") as svc,
            pytest.raises(errors.InvalidRequest) as blocked,
        ):
            svc.reward_addresses.create(**large)
    for error in (awaited.value, blocked.value):
        assert error.code == refused.value.code == "content-too-large"
