"""Answers of a server whose store is damaged, moved or unreadable show nothing of its inside."""

from __future__ import annotations

import json
import re
import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import comptroller
import pytest
from comptroller._core import Principal
from examples import KINDS, LINES, loaded
from guarded_server import rest, status
from on_loopback import SECRET, Start, register, start  # noqa: F401
from test_short_operations import token_of

PAGE = 4096
#: What an error answer must not show; also the name of a program beside its version.
INSIDE = re.compile(
    r"SELECT|INSERT|UPDATE |PRAGMA|Traceback|File \"|\.py\b|\.cpp\b"
    r"|(?i:sqlite|python|uvloop|\r\nserver:)|\d+\.\d+\.\d+"
)
LISTS = {
    "identities": "/v2/identity/identities",
    "controls": "/v2/identity/controls",
    "orchestrations": "/v2/orchestration/orchestrations",
    "payout-groups": "/rewards/payout-groups",
    "reward-addresses": "/rewards/addresses",
    "claims": "/rewards/claims",
}
OTHERS = (
    "/operator/rewards/balances",
    "/v2/changes",
    "/v2/journal",
    "/v2/journal/checkpoint",
    "/v2/webhooks",
    "/readyz",
)
WRITES = (
    ("PUT", "/operator/identity/identities", {"id": "late"}),
    ("PUT", "/operator/rewards/claims", LINES["claims"]),
    ("PUT", f"/v2/identity/identities/{LINES['identities']['id']}", {"user_disabled": True}),
    ("POST", "/rewards/addresses", {"ledger": "ETHEREUM", "address": "0x" + "ab" * 20}),
    ("PUT", f"/rewards/payout-groups/{LINES['payout-groups']['id']}", {"name": "late"}),
    ("POST", "/v2/webhooks", {"url": "https://hooks.example.com/"}),
)


@pytest.fixture(name="sound", scope="module")
def _sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "store.db"
    with comptroller.open(path) as svc:
        for kind in KINDS:
            loaded(svc, kind, LINES[kind])
        svc.load("claims", comptroller.sample("claims", 500))
        svc.webhooks.create(url="https://hooks.example.com/", idempotency_key="webhook")
    return path


class Request(NamedTuple):
    method: str
    target: str
    type: str = ""
    body: bytes = b""


def requests(webhook: str) -> Iterator[Request]:
    """Yields lists, gets, writes, exports and loads."""
    for kind, path in LISTS.items():
        yield Request("GET", path)
        yield Request("GET", f"{path}?limit=1000&order=ASC")
        yield Request("GET", f"{path}/{LINES[kind]['id']}")
    for path in OTHERS:
        yield Request("GET", path)
    for method, path, body in WRITES:
        yield Request(method, path, "application/json", json.dumps(body).encode())
    yield Request("GET", f"/v2/webhooks/{webhook}/secret")
    yield Request("GET", f"/v2/webhooks/{webhook}/deliveries")
    yield Request("GET", "/operator/export/claims?format=csv")
    for kind in KINDS:
        yield Request("GET", f"/operator/export/{kind}")
        line = json.dumps(LINES[kind]).encode()
        yield Request("POST", f"/operator/load/{kind}", "application/x-ndjson", line)


def answer_of(address: str, request: Request, fields: str) -> bytes:
    """Returns all bytes of an answer."""
    place = urlsplit(address)
    head = f"{request.method} {request.target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    if request.body:
        fields += f"Content-Type: {request.type}\r\nContent-Length: {len(request.body)}\r\n"
    with socket.create_connection((place.hostname, place.port), timeout=30) as connected:
        connected.sendall(f"{head}{fields}\r\n".encode() + request.body)
        return rest(connected)


def overwrite(path: Path) -> None:
    """Damages all pages but the first."""
    with path.open("r+b") as file:
        size = file.seek(0, 2)
        file.seek(PAGE)
        file.write(b"\xa5" * (size - PAGE))


def put_a_folder(path: Path) -> None:
    """Leaves nothing that can be read as a file, not even by root."""
    path.unlink()
    path.mkdir()


def cut(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(PAGE)


def show_keys(path: Path) -> None:
    """Makes the files of secrets ones that other users may read."""
    for name in ("journal-key", "webhook-key", "clients", "keys"):
        key = path.with_name(f"{path.name}.{name}")
        key.touch()
        key.chmod(0o644)


#: What happens to a store, and the statuses of error answers that follow among others.
DAMAGES: dict[str, tuple[Callable[[Path], object], set[int]]] = {
    "overwritten": (overwrite, {500}),
    "cut": (cut, {500}),
    "moved": (lambda path: path.rename(path.with_name("elsewhere.db")), {500}),
    "folder moved": (lambda path: path.parent.rename(path.parent.with_name("other")), {500, 503}),
    "not readable": (put_a_folder, {500}),
    "keys for all": (show_keys, {500}),
}


@pytest.fixture(name="path")
def _path(sound: Path, tmp_path: Path) -> Path:
    """The path of a store in a folder of its own."""
    (tmp_path / "folder").mkdir()
    return Path(shutil.copyfile(sound, tmp_path / "folder" / "store.db"))


def webhook_of(path: Path) -> str:
    with comptroller.open(path) as svc:
        (webhook,) = svc.webhooks.list()
    return webhook.id


class Asking:
    """Sends requests to a server, and collects its error answers.

    Attributes:
        statuses: of the error answers.
        leaks: the requests whose error answers show something of the inside, with what they say.
    """

    def __init__(self, address: str, folder: Path) -> None:
        self._address = address
        self._folder = str(folder)
        self.statuses: set[int] = set()
        self.leaks: list[tuple[str, str]] = []

    def ask(self, request: Request, fields: str = "") -> None:
        answer = answer_of(self._address, request, fields)
        if not answer or status(answer) < 400:
            return
        self.statuses.add(status(answer))
        text = answer.decode().removeprefix("HTTP/1.1")
        body = json.loads(text.partition("\r\n\r\n")[2])
        if self._folder in text or "store.db" in text or INSIDE.search(text):
            self.leaks.append((f"{request.method} {request.target}", body.get("detail", text)))


@pytest.mark.parametrize("damage", DAMAGES)
def test_an_error_answer_shows_no_path_statement_traceback_or_version(
    path: Path,
    tmp_path: Path,
    start: Start,  # noqa: F811
    damage: str,
) -> None:
    damaging, expected = DAMAGES[damage]
    webhook = webhook_of(path)
    with start(path, "--auth", "off") as address:
        damaging(path)
        asking = Asking(address, tmp_path)
        for each in requests(webhook):
            asking.ask(each)
    assert asking.leaks == []
    assert expected <= asking.statuses


@pytest.mark.parametrize("damage", ["overwritten", "folder moved", "keys for all"])
def test_nor_does_one_to_a_client_with_a_token_or_without(
    path: Path,
    tmp_path: Path,
    start: Start,  # noqa: F811
    damage: str,
) -> None:
    name = register(path, "acme", "acme", [*Principal("acme").scopes, "journal:read"])
    webhook = webhook_of(path)
    with start(path) as address:
        token = token_of(address, name)
        known = f"Authorization: Bearer {token}\r\n"
        DAMAGES[damage][0](path)
        asking = Asking(address, tmp_path)
        for each in requests(webhook):
            asking.ask(each, known)
            asking.ask(each)
        form = f"grant_type=client_credentials&client_id={name}&client_secret={SECRET}"
        typed = "application/x-www-form-urlencoded"
        asking.ask(Request("POST", "/oauth2/token", typed, form.encode()))
        asking.ask(Request("GET", "/oauth2/jwks"))
    assert asking.leaks == []
    assert asking.statuses & {401, 403}
