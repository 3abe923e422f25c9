"""Operations that the core answers, in bytes: responses equal those of the application.

The core leaves requests with another spelling of the scheme `Bearer` to the application.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import re
import select
import shutil
import signal
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from threading import Barrier, Event
from typing import Any
from urllib.parse import urlsplit

import comptroller
import pytest
from comptroller.http.writes import Writes
from comptroller.values import KINDS
from on_loopback import SECRET, TLS, Start, httpx2, register, start  # noqa: F401
from serving import serving

CLAIMS = "/rewards/claims"
CORE, APPLICATION = "Bearer", "bearer"
IDENTITIES = "/operator/identity/identities"
_OWN = re.compile(rb"(?<=date: )[^\r]+|(?<=x-request-id: )[^\r]+|(?<=\"request_id\":\")[^\"]+")
_MADE = re.compile(
    rb"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|2\d{3}-\d\d-\d\dT[0-9:.]+Z"
)


class Client:
    """A connection to a server, used in bytes."""

    def __init__(self, address: str, token: str, scheme: str = CORE) -> None:
        url = urlsplit(address)
        self.token = token
        self.scheme = scheme
        self.socket = socket.create_connection((url.hostname, url.port), timeout=30)
        self._file = self.socket.makefile("rb")

    def request(self, method: str, target: str, body: bytes = b"", *headers: str) -> bytes:
        lines = [f"{method} {target} HTTP/1.1", "Host: localhost", *headers]
        if self.token:
            lines.append(f"Authorization: {self.scheme} {self.token}")
        if body:
            lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        return "\r\n".join([*lines, "", ""]).encode() + body

    def read(self) -> bytes:
        """Reads one response."""
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = self._file.readline()
            assert line, "the connection was closed"
            head += line
        length = re.search(rb"(?i)content-length: (\d+)", head)
        assert length, head
        return head + self._file.read(int(length[1]))

    def ask(self, *request: str | bytes) -> bytes:
        """Sends a request; returns the response."""
        self.socket.sendall(self.request(*request))  # type: ignore[arg-type]
        return self.read()

    def close(self) -> None:
        self._file.close()
        self.socket.close()


Opened = Callable[..., Client]


def token_of(address: str, client_id: str) -> str:
    with httpx2.Client(verify=TLS) as client:
        answer = client.post(
            address + "/oauth2/token",
            data={"grant_type": "client_credentials"},
            auth=(client_id, SECRET),
        )
    body: dict[str, str] = answer.json()
    return body["access_token"]


def known(client: Client) -> Client:
    """A client whose token is known."""
    for _ in range(2):
        client.ask("GET", CLAIMS + "?limit=1")
    return client


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with records of every resource, of two customers."""
    folder = tmp_path_factory.mktemp("furnished")
    path = folder / "furnished.db"
    comptroller.sample("all", 300, out=folder / "sample")
    with comptroller.open(path) as service:
        for kind in KINDS:
            service.load(kind, folder / "sample" / f"{kind}.ndjson")
        for customer in ("default", "acme"):
            service.identities.put(id="alice-" + customer, customer_id=customer)
        service.identities.put(id="mallory", customer_id="globex")
    return path


@pytest.fixture(scope="module")
def serve(
    tmp_path_factory: pytest.TempPathFactory,
    template: Path,
    start: Start,  # noqa: F811
) -> Iterator[Callable[..., Opened]]:
    """Starts a server of a new furnished store with options; connects to it."""
    with ExitStack() as stack:

        def served(*options: str, scheme: str = CORE) -> Opened:
            path = Path(shutil.copyfile(template, tmp_path_factory.mktemp("own") / "store.db"))
            address = stack.enter_context(start(path, *options))

            def opened(customer: str | None = None, scopes: list[str] | None = None) -> Client:
                name = register(path, customer or "desk", customer, scopes)
                client = Client(address, token_of(address, name), scheme)
                return known(stack.enter_context(closing(client)))

            return opened

        yield served


@pytest.fixture(scope="module")
def both(serve: Callable[..., Opened]) -> tuple[Opened, Opened]:
    """Two servers with equal stores; the application answers all requests of the second."""
    return serve(), serve(scheme=APPLICATION)


@pytest.fixture(scope="module")
def opened(serve: Callable[..., Opened]) -> Opened:
    """A server whose core answers."""
    return serve()


def ids(client: Client, path: str) -> list[str]:
    body = client.ask("GET", path + "?limit=3").partition(b"\r\n\r\n")[2]
    return [each["id"] for each in json.loads(body)["items"]]


LISTS = (
    "/v2/identity/identities",
    "/v2/identity/controls",
    "/v2/orchestration/orchestrations",
    "/rewards/payout-groups",
    "/v2/rewards/addresses",
    CLAIMS,
    "/v2/rewards/claims",
    "/operator/rewards/balances",
)
QUERIES = (
    "",
    "?limit=5",
    "?limit=100",
    "?limit=101",
    "?limit=0",
    "?limit=x",
    "?limit=5&order=ASC",
    "?limit=5&limit=6",
    "?limit",
    "?limit=",
    "?=5",
    "?limit=5&",
    "?customer_id=default",
    "?customer_id=acme&limit=2",
    "?unknown=1",
    "?page_cursor=none",
    "?start_time=2026-01-01T00:00:00Z&limit=3",
    "?include_balance=true",
    "?ledger=ETHEREUM&asset_type=ETH",
    "?access_token=x",
    "?limit=%35",
)


@pytest.mark.parametrize("customer", [None, "default", "acme"])
def test_reads_give_equal_responses(both: tuple[Opened, Opened], customer: str | None) -> None:
    by_core, by_application = (opened(customer) for opened in both)
    targets = [path + query for path in LISTS for query in QUERIES]
    for path in LISTS[:6]:
        targets += [f"{path}/{id}" for id in [*ids(by_core, path), "none", "a:b", "", "x/y"]]
    targets += [
        f"/v2/identity/identities/{id}/permits?action={action}"
        for id in ["alice-default", "mallory", "x"]
        for action in ["REWARDS", "TRANSFER", "none"]
    ]
    headers = [[], ["Accept-Encoding: gzip"], ["Connection: keep-alive", "X-Any: 1"]]
    for target in targets:
        for more in headers:
            answers = [each.ask("GET", target, b"", *more) for each in (by_core, by_application)]
            first, second = (_OWN.sub(b"", answer) for answer in answers)
            assert first == second, target


@pytest.mark.parametrize("scopes", [[], ["rewards:read_claims"]])
def test_scopes_are_required_equally(both: tuple[Opened, Opened], scopes: list[str]) -> None:
    clients = [opened("acme", scopes) for opened in both]
    for path in LISTS:
        first, second = (_OWN.sub(b"", each.ask("GET", path)) for each in clients)
        assert first == second, path


def test_writes_give_equal_responses(serve: Callable[..., Opened]) -> None:
    clients = [opened() for opened in (serve(), serve(scheme=APPLICATION))]
    control = b'{"identity_id":"alice-acme","type":"CLOSED","reason_code":"X"}'
    group = (
        b'{"ledger":"ETHEREUM","asset_type":"ETH","jurisdiction":"CH","name":"n",'
        b'"claimer_address":"0xde0b295669a9fd93d5f28d9ec85e40f4cb697bae","customer_id":"acme"}'
    )
    requests: list[tuple[str, str, bytes, list[str]]] = [
        ("PUT", "/operator/identity/identities", b'{"id":"new"}', []),
        ("PUT", "/operator/identity/identities", b'{"id":"new","metadata":{"a":"1"}}', []),
        ("PUT", "/operator/identity/identities", b'{"id":1}', []),
        ("PUT", "/operator/identity/identities", b"{", []),
        ("PUT", "/operator/identity/identities", b"", []),
        ("POST", "/operator/identity/controls", control, ["Idempotency-Key: a"]),
        ("POST", "/operator/identity/controls", control, ["Idempotency-Key: a"]),
        ("POST", "/operator/identity/controls", control, ["Idempotency-Key: b"]),
        ("POST", "/operator/identity/controls", control, []),
        ("POST", "/operator/identity/controls", b'{"type":"CLOSED"}', ["Idempotency-Key: a"]),
        ("DELETE", "/operator/identity/controls", control[:-19] + b"}", []),
        ("POST", "/v2/identity/controls?limit=1", control, []),
        ("POST", "/rewards/payout-groups", group, []),
        ("POST", "/v2/rewards/payout-groups", group, ["Accept-Encoding: gzip"]),
        ("PUT", "/rewards/payout-groups/none", b'{"name":"m"}', []),
        ("POST", "/operator/rewards/claims/none/confirm", b"", []),
        ("POST", CLAIMS, b"{}", []),
        (
            "PUT",
            "/operator/identity/identities",
            b'{"id":"big","metadata":{"a":"%s"}}' % (b"x" * 400),
            [],
        ),
    ]
    for method, target, body, headers in requests:
        answers = [each.ask(method, target, body, *headers) for each in clients]
        first, second = (_MADE.sub(b"", _OWN.sub(b"", answer)) for answer in answers)
        assert first == second, (method, target, body)
        assert first.startswith(b"HTTP/1.1 ")


def test_a_client_cannot_call_operator_routes(both: tuple[Opened, Opened]) -> None:
    for opened in both:
        answer = opened("acme").ask("POST", "/operator/identity/controls", b"{}")
        assert answer.startswith(b"HTTP/1.1 403 ")


def test_pipelined_requests_are_answered_in_order(opened: Opened) -> None:
    client = opened()
    asked = [
        client.request("PUT", "/operator/identity/identities", b'{"id":"first"}'),
        client.request("GET", "/v2/identity/identities/first"),
        client.request("PUT", "/operator/identity/identities", b'{"id":"second"}'),
        client.request("GET", "/v2/identity/identities/second"),
        client.request("GET", CLAIMS + "?limit=1"),
    ]
    for sent in (asked, [b"".join(asked)]):
        for piece in sent:
            client.socket.sendall(piece)
        answers = [client.read() for _ in asked]
        assert all(answer.startswith(b"HTTP/1.1 200 ") for answer in answers)
        assert [b'"first"' in answers[1], b'"second"' in answers[3]] == [True, True]


@pytest.fixture(scope="module")
def changed(serve: Callable[..., Opened]) -> tuple[Opened, Opened]:
    """As `both`, for tests that write."""
    return serve(), serve(scheme=APPLICATION)


def rest(client: Client) -> bytes:
    """Ends the sending half of a connection; returns what arrives until the other half ends."""
    client.socket.shutdown(socket.SHUT_WR)
    received = b""
    while piece := client.socket.recv(65536):
        received += piece
    return received


HALF_CLOSED: list[list[tuple[str, str, bytes]]] = [
    [("GET", CLAIMS, b"")],
    [("GET", "/healthz", b"")],
    [("PUT", IDENTITIES, b'{"id":"half"}')],
    [("POST", "/operator/load/identities", b'[{"id":"half","created_at":"2026-01-01T00:00:00Z"}]')],
    [("PUT", IDENTITIES, b'{"id":"half"}'), ("GET", "/v2/identity/identities/half", b"")] * 20,
]


@pytest.mark.parametrize("requests", HALF_CLOSED, ids=["list", "alive", "write", "load", "many"])
@pytest.mark.parametrize("partial", [b"", b"PUT /operator/iden", b"GET / HTTP/1.1\r\nHost: a\r\n"])
def test_complete_requests_of_a_half_closed_connection_are_answered(
    changed: tuple[Opened, Opened], requests: list[tuple[str, str, bytes]], partial: bytes
) -> None:
    for opened in changed:
        client = opened()
        client.socket.sendall(b"".join(client.request(*each) for each in requests) + partial)
        received = rest(client)
        assert received.count(b"HTTP/1.1 200 OK") == received.count(b"HTTP/1.1 ") == len(requests)
        if b'"half"' in requests[0][2]:
            assert b"200 OK" in opened().ask("GET", "/v2/identity/identities/half")


def test_a_half_closed_connection_is_closed_after_the_response(
    changed: tuple[Opened, Opened],
) -> None:
    for opened in changed:
        client = opened()
        client.ask("GET", CLAIMS)
        assert rest(client) == b""
        client = opened()
        client.socket.sendall(client.request("PUT", IDENTITIES, b'{"id":"never"}')[:-1])
        assert rest(client) == b""
        assert b" 404 " in opened().ask("GET", "/v2/identity/identities/never")


def test_a_field_that_looks_like_a_request_is_not_one(opened: Opened) -> None:
    client = opened()
    first = client.request("GET", "/healthz")
    client.socket.sendall(first + b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Field: ")
    assert client.read().endswith(b'{"status":"alive"}')
    client.socket.sendall(client.request("GET", CLAIMS + "?limit=1")[:-2] + b"\r\n")
    answer = client.read()
    # Its Host is the second Host of the request that began before.
    assert answer.startswith(b"HTTP/1.1 400 ")


def test_a_request_in_pieces_is_answered(opened: Opened) -> None:
    client = opened()
    request = client.request("PUT", "/operator/identity/identities", b'{"id":"pieces"}')
    for at in (1, 30, len(request) - 3):
        client.socket.sendall(request[:at])
        client.socket.sendall(request[at:])
        assert client.read().startswith(b"HTTP/1.1 200 ")


def test_disconnected_clients_take_no_response_of_others(opened: Opened) -> None:
    leaving, staying = ([opened() for _ in range(4)] for _ in range(2))

    def write(number: int) -> bytes:
        client = staying[number % 4]
        for each in leaving:
            if each.socket.fileno() >= 0:
                each.socket.sendall(
                    each.request("PUT", "/operator/identity/identities", b'{"id":"gone"}')
                )
                each.close()
        return client.ask("PUT", "/operator/identity/identities", b'{"id":"s%d"}' % number)

    for number in range(8):
        assert write(number).startswith(b"HTTP/1.1 200 ")


def test_concurrent_writes_each_get_their_own_response(opened: Opened) -> None:
    clients = [opened() for _ in range(16)]

    def write(number: int) -> None:
        for turn in range(20):
            id = f"w-{number}-{turn}"
            body = json.dumps({"id": id}).encode()
            answer = clients[number].ask("PUT", "/operator/identity/identities", body)
            assert json.loads(answer.partition(b"\r\n\r\n")[2])["id"] == id
            assert b"200 OK" in clients[number].ask("GET", f"/v2/identity/identities/{id}")

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(write, range(16)))


def test_a_read_after_a_write_shows_it_in_a_crowd(serve: Callable[..., Opened]) -> None:
    """Also if other writes end, and many reads run, in the same iteration of the event loop."""
    connect = serve()
    readers, writers = ([connect() for _ in range(8)] for _ in range(2))
    others = [connect() for _ in range(8)]
    for other in others:
        other.scheme = APPLICATION
    burst = readers[0].request("GET", CLAIMS + "?limit=20") * 20
    is_over = Event()

    def read() -> None:
        while not is_over.is_set():
            for reader in readers:
                reader.socket.sendall(burst)
            for reader in readers:
                for _ in range(20):
                    reader.read()

    def write(number: int) -> None:
        while not is_over.is_set():
            body = b'{"id":"other-%d"}' % number
            assert b"200 OK" in others[number].ask("PUT", IDENTITIES, body)

    def write_and_read(number: int) -> None:
        writer, name = writers[number], f"crowd-{number}"
        get = writer.request("GET", f"/v2/identity/identities/{name}")
        for turn in range(200):
            content = json.dumps({"id": name, "metadata": {"turn": str(turn)}})
            writer.socket.sendall(writer.request("PUT", IDENTITIES, content.encode()) + get)
            for _ in range(2):
                assert b'"metadata":{"turn":"%d"}' % turn in writer.read()

    with ThreadPoolExecutor(17) as pool:
        around = [pool.submit(read), *(pool.submit(write, number) for number in range(8))]
        try:
            list(pool.map(write_and_read, range(8)))
        finally:
            is_over.set()
        for each in around:
            each.result()


@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_answered_write_is_read_on_other_connections(
    serve: Callable[..., Opened], workers: str
) -> None:
    connect = serve("--workers", workers)
    readers = [connect() for _ in range(8)]
    pairs = [(connect(), connect()) for _ in range(8)]
    is_over = Event()

    def read(reader: Client) -> None:  # so that snapshots are open most of the time
        while not is_over.is_set():
            reader.ask("GET", CLAIMS + "?limit=20")

    def write(number: int) -> None:
        writer, other = pairs[number]
        for turn in range(40):
            id = f"seen-{number}-{turn}"
            writer.ask("PUT", "/operator/identity/identities", json.dumps({"id": id}).encode())
            assert b"200 OK" in other.ask("GET", f"/v2/identity/identities/{id}")

    with ThreadPoolExecutor(16) as pool:
        reading = [pool.submit(read, reader) for reader in readers]
        try:
            list(pool.map(write, range(8)))
        finally:
            is_over.set()
        for each in reading:
            each.result()


def test_a_revoked_client_is_refused_within_seconds(
    tmp_path: Path,
    template: Path,
    start: Start,  # noqa: F811
) -> None:
    from comptroller.http.oauth import clients

    path = Path(shutil.copyfile(template, tmp_path / "store.db"))
    with start(path) as address:
        name = register(path, "acme", "acme", None)
        with closing(Client(address, token_of(address, name))) as client:
            assert b"200 OK" in known(client).ask("GET", CLAIMS)
            clients.revoke(clients.file_of(str(path)), name)
            for _ in range(200_000):
                if client.ask("GET", CLAIMS + "?limit=1").startswith(b"HTTP/1.1 401 "):
                    break
            else:
                pytest.fail("the token is taken for ever")


def test_a_write_during_the_stop_of_the_server_has_an_unknown_outcome(store_path: Path) -> None:
    name = register(store_path, "desk", None, None)
    with serving("--db", str(store_path), cwd=store_path.parent) as server:
        client = known(Client(server.address, token_of(server.address, name)))
        with closing(client), Path(f"{store_path}-lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # another program that writes
            client.socket.sendall(
                client.request("PUT", "/operator/identity/identities", b'{"id":"late"}')
            )
            server.get("/healthz")
            server.process.send_signal(signal.SIGTERM)
            server.process.send_signal(signal.SIGINT)  # stops the wait for requests in flight
            answer = client.read()
            fcntl.flock(lock, fcntl.LOCK_UN)
        assert answer.startswith(b"HTTP/1.1 504 ")
        assert b'"code":"outcome-unknown"' in answer
        assert b"the write may have been executed" in answer
        assert b"retry-after" not in answer.lower()
        assert server.process.wait(30) == 0


def test_a_large_body_is_stored(opened: Opened) -> None:
    client = opened()
    metadata = {f"k{number}": "v" * 400 for number in range(50)}
    body = json.dumps({"id": "large", "metadata": metadata}).encode()
    assert client.ask("PUT", "/operator/identity/identities", body).startswith(b"HTTP/1.1 200 ")
    answer = client.ask("PUT", "/operator/identity/identities", body[:-1])
    assert answer.startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_answered_writes_are_stored_after_a_signal(
    store_path: Path, number: signal.Signals
) -> None:
    name = register(store_path, "desk", None, None)
    with serving("--db", str(store_path), cwd=store_path.parent) as server:
        token = token_of(server.address, name)
        answered: list[str] = []
        are_writing = Barrier(9)

        def write(writer: int) -> None:
            with closing(known(Client(server.address, token))) as client:
                are_writing.wait()
                for turn in range(100_000):
                    id = f"w-{writer}-{turn}"
                    body = json.dumps({"id": id}).encode()
                    try:
                        answer = client.ask("PUT", "/operator/identity/identities", body)
                    except (AssertionError, OSError):  # the server has stopped
                        return
                    assert answer.startswith(b"HTTP/1.1 200 ")
                    answered.append(id)

        with ThreadPoolExecutor(8) as pool:
            writers = [pool.submit(write, writer) for writer in range(8)]
            are_writing.wait()
            while len(answered) < 200:
                assert not any(writer.done() for writer in writers)
            code, _, _ = server.end(number)
            for writer in writers:
                writer.result()
    assert code == (0 if number == signal.SIGTERM else -number)
    with comptroller.open(store_path) as service:
        stored = {identity.id for identity in service.identities.iter()}
        assert service.check()["ok"]
    assert set(answered) <= stored


def test_a_read_with_a_body_is_refused_equally(both: tuple[Opened, Opened]) -> None:
    first, second = (
        _OWN.sub(b"", opened().ask("GET", CLAIMS + "?limit=1", b"{", "Accept: */*"))
        for opened in both
    )
    assert first == second


def test_an_outcome_that_arrives_before_its_callback_is_kept(
    operator: comptroller.Service,
) -> None:
    async def write() -> Any:
        store, principal = operator.host.store_with_principal()
        writes = Writes(store, asyncio.get_running_loop())
        body = json.dumps({"id": "early"}).encode()
        ticket = writes.deferred.submit(store, principal, "identities.put", [], body, None, None)
        select.select([writes.deferred.fileno()], [], [], 30)
        arrived = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(0.01, arrived.set_result, None)
        await arrived  # the loop has read the descriptor
        outcomes: list[Any] = []
        writes.expect(ticket, outcomes.append)
        return outcomes

    ((answer, is_replay),) = asyncio.run(write())
    assert (json.loads(answer)["id"], is_replay) == ("early", False)


@pytest.mark.parametrize(
    ("after", "statuses"),
    [
        (b"garbage\r\n\r\n", [200, 400]),
        (b"GET / HTTP/1.1\r\n\r\n", [200, 400]),
        (b"\0", [200, 400]),
    ],
    ids=["garbage", "no host", "a byte"],
)
def test_a_write_is_answered_although_invalid_bytes_follow_it(
    changed: tuple[Opened, Opened], after: bytes, statuses: list[int]
) -> None:
    for opened in changed:
        client = opened()
        client.socket.sendall(client.request("PUT", IDENTITIES, b'{"id":"followed"}') + after)
        received = rest(client)
        is_last = b"connection: close" in received.partition(b"\r\n\r\n")[0]
        found = [int(each) for each in re.findall(rb"HTTP/1\.1 (\d{3}) ", received)]
        assert found == (statuses if is_last else statuses[:1])
        assert b'"id":"followed"' in received


@pytest.mark.parametrize("target", [IDENTITIES, "/operator/rewards/claims/none/confirm"])
def test_an_executed_write_of_a_client_that_was_revoked_meanwhile_has_its_outcome(
    store_path: Path, target: str
) -> None:
    """The application compresses a large response, and sends an error."""
    from comptroller.http.oauth import clients

    name = register(store_path, "desk", None, None)
    metadata = {f"k{number}": "v" * 317 for number in range(50)}
    content = {"id": "large", "metadata": metadata} if target == IDENTITIES else {}
    method, expected = ("PUT", 200) if target == IDENTITIES else ("POST", 404)
    with serving("--db", str(store_path), cwd=store_path.parent) as server, ExitStack() as closed:
        token = token_of(server.address, name)
        writer, other = (
            closed.enter_context(closing(known(Client(server.address, token)))) for _ in range(2)
        )
        with Path(f"{store_path}-lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # another program that writes
            body = json.dumps(content, separators=(",", ":")).encode() if content else b""
            writer.socket.sendall(writer.request(method, target, body, "Accept-Encoding: gzip"))
            server.get("/healthz")
            clients.revoke(clients.file_of(str(store_path)), name)
            while not other.ask("GET", CLAIMS).startswith(b"HTTP/1.1 401 "):
                pass
            fcntl.flock(lock, fcntl.LOCK_UN)
        answer = writer.read()
        _, _, log = server.end()
    assert answer.startswith(b"HTTP/1.1 %d " % expected)
    assert (b"content-encoding: gzip" in answer) == (expected == 200)
    lines = [json.loads(line) for line in log.splitlines()]
    (line,) = [
        each for each in lines if each.get("status") == expected and each["method"] == method
    ]
    assert line["client_id"] == name
