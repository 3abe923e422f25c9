"""The most expensive requests of one customer do not delay those of another much."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import comptroller
import pytest
from callers import Caller, ask_token
from comptroller.http.oauth import clients
from expensive_requests import (
    Measured,
    Request,
    all_scopes,
    http_request,
    measure,
    running,
    stored_values,
)
from serving import serving

pytestmark = pytest.mark.promise(15, minutes=10)

SECONDS = 8
NEIGHBOURS = 4
#: Of the search, for the short and for the long reads.
OPERATIONS = 2
FACTOR = 5
#: A p99 below it is due to the machine as much as to the server.
LEAST_MS = 1.5
#: The most that a create may wait beside expensive writes, for which it waits; it was 32 to 37.
CREATE_MS = 100
#: The connections of a neighbour that occupies the server, and the most that others may wait then.
#: The server answers requests in turn, so the delay grows with the connections: this bound only
#: finds a server that hangs.
MANY = 64
MANY_MS = 500
IDENTITIES = "/v2/identity/identities"
GROUPS = "/rewards/payout-groups"
CLAIMS = "/rewards/claims"
#: The limits of metadata: pairs, and the code points of a key and of a value.
PAIRS, KEY, VALUE = 50, 64, 512
LARGE = 1000
#: Identities whose large metadata were changed, so that the journal has them, too.
CHANGED = 100
LIMITS = ("100", "1000")

# Repeats requests over several connections, each of which sends its requests in turn, and reads
# each answer in pieces.
NEIGHBOUR = """
import itertools, json, os, selectors, socket, sys

os.nice(5)  # the server and the measurement come first
place, turns = json.load(sys.stdin)
waiting = selectors.DefaultSelector()
for requests in turns:
    connected = socket.create_connection(place)
    following = itertools.cycle([request.encode() for request in requests])
    connected.sendall(next(following))
    waiting.register(connected, selectors.EVENT_READ, (bytearray(), following))
while True:
    for key, _ in waiting.select():
        answer, following = key.data
        answer += key.fileobj.recv(1 << 20)
        head, ends, body = answer.partition(b"\\r\\n\\r\\n")
        assert head.startswith(b"HTTP/1.1 200"), answer[:1000]
        length = int(head.lower().partition(b"content-length: ")[2].split()[0])
        if ends and len(body) == length:
            answer.clear()
            key.fileobj.sendall(next(following))
"""


def largest_metadata(character: str) -> dict[str, str]:
    """Returns metadata that are as large as they may be, of a character of four bytes."""
    return {f"{number:02}".ljust(KEY, character): character * VALUE for number in range(PAIRS)}


SMILE, GRIN = (largest_metadata(character) for character in "\U0001f642\U0001f600")


def large_identities() -> Iterator[dict[str, Any]]:
    """Yields identities with the largest metadata."""
    for number in range(LARGE):
        yield {
            "id": f"large-{number}",
            "created_at": "2026-03-01T12:00:00Z",
            "metadata": SMILE,
        }


class Attack(NamedTuple):
    """The requests that each connection of a customer repeats, in turn."""

    name: str
    turns: list[list[str]]


class Tenant(NamedTuple):
    """A client of a customer."""

    id: str
    secret: str


def register(store: Path, customer: str) -> Tenant:
    file = clients.file_of(str(store))
    client, secret = clients.add(file, customer, customer, all_scopes(customer))
    return Tenant(client.client_id, secret)


@contextmanager
def neighbour(address: str, attack: Attack) -> Iterator[None]:
    """Repeats an attack of the other customer in a process of its own."""
    place = urlsplit(address)
    given = json.dumps([[place.hostname, place.port], attack.turns])
    process = subprocess.Popen([sys.executable, "-c", NEIGHBOUR], stdin=subprocess.PIPE, text=True)
    assert process.stdin
    try:
        process.stdin.write(given)
        process.stdin.close()
        yield
        assert process.poll() is None, attack.name
    finally:
        process.kill()
        process.wait()


async def latencies(address: str, token: str, ids: list[str]) -> dict[str, float]:
    """Returns the 99th percentile in milliseconds of gets, lists and creates, one at a time."""
    caller = Caller(address, Authorization=f"Bearer {token}")
    taken: dict[str, list[float]] = {"get": [], "list": [], "create": []}
    end = time.perf_counter() + SECONDS
    for number in range(1_000_000):
        made = {"ledger": "INK", "address": f"0x{time.time_ns():040x}"}
        for name, method, path, body in (
            ("get", "GET", f"/rewards/claims/{ids[number % len(ids)]}", b""),
            ("list", "GET", "/rewards/claims?limit=20&statuses=FAILED", b""),
            ("create", "POST", "/rewards/addresses", json.dumps(made).encode()),
        ):
            began = time.perf_counter()
            answer = await caller.ask(method, path, body)
            taken[name].append((time.perf_counter() - began) * 1000)
            assert answer.status == 200, answer
            await asyncio.sleep(0.001)
        if time.perf_counter() > end:
            break
    caller.hang_up()
    return {name: sorted(each)[int(len(each) * 0.99)] for name, each in taken.items()}


def worst(found: list[Measured]) -> list[Measured]:
    """Returns the slowest requests of different operations."""
    of_operations: dict[str, Measured] = {}
    for each in found:
        of_operations.setdefault(each.request.operation, each)
    return list(of_operations.values())[:OPERATIONS]


def large_pages(store: Path) -> Iterator[Request]:
    """Stores the largest metadata for the customer `default`; yields the pages that have them."""
    with comptroller.open(store, customer="default") as client:
        after = client.changes.list(after="end").next_cursor
    with comptroller.open(store) as operator:
        loaded = operator.load("identities", large_identities(), customer_id="default")
        assert loaded.committed
    with comptroller.open(store, customer="default") as client:
        for number in range(CHANGED):
            client.identities.update(f"large-{number}", metadata=GRIN)
    for limit in LIMITS:
        pairs = [("limit", limit)]
        yield Request("identities.list", IDENTITIES, ("the largest metadata",), pairs)
        yield Request(
            "changes.list", "/v2/changes", ("the largest metadata",), [*pairs, ("after", after)]
        )
        of_identities = [*pairs, ("resource", "identities")]
        yield Request("journal.list", "/v2/journal", ("the largest metadata",), of_identities)


def writes(store: Path, token: str) -> Iterator[Attack]:
    """Yields attacks that change large records, and a group to which many records refer."""
    ((group, _),) = stored_values(store, "default")["payout_group_id"].most_common(1)
    moves = [
        http_request(token, "PUT", f"{GROUPS}/{group}", json.dumps({"jurisdiction": each}))
        for each in ("CH", "SG")
    ]
    yield Attack("payout_groups.update of a jurisdiction, in turn", [moves] * NEIGHBOURS)
    yield Attack(
        "identities.update with the largest metadata, in turn",
        [
            [
                http_request(
                    token, "PUT", f"{IDENTITIES}/large-{number}", json.dumps({"metadata": metadata})
                )
                for metadata in (SMILE, GRIN)
            ]
            for number in range(NEIGHBOURS)
        ],
    )


def test_expensive_requests_of_another_customer(
    tmp_path: Path, million_claims: Path, figures: dict[str, Any]
) -> None:
    """Expensive requests delay another's p99 at most 5 times as much as cheap ones (from 1.5 ms)

    They are the most expensive lists of another customer, short and long ones, pages with the
    largest metadata, and writes that change many claims or large records, over 4 connections.
    Writes wait for each other, so creates beside expensive writes have another bound. The p99
    beside the most expensive short list over 64 connections is recorded; its bound is not that of
    the promise.
    """
    store = Path(shutil.copyfile(million_claims, tmp_path / "store.db"))
    with comptroller.open(store) as service:
        lines = comptroller.sample("claims", 20_000, seed=2, customer="globex")
        assert service.load("claims", lines).committed
        page = service.claims.list(limit=1000, customer_id="globex")
        ids = [claim.id for claim in page]
    search = measure(store, "default")
    figures["combinations of filters, at two limits"] = search.outcomes.total()
    figures["of these, refused / with an empty page"] = (
        f"{search.outcomes['refused']:,} / {search.outcomes['none']:,}"
    )
    assert search.outcomes["refused"] == 0
    reads = [*worst(search.short), *worst(search.long)]
    pages = list(large_pages(store))
    with running(store, "default") as run:
        reads += [run.best(page) for page in pages]
    assert {each.outcome for each in reads[-len(pages) :]} == {"records"}
    busy, victim = register(store, "default"), register(store, "globex")
    with serving("--db", str(store), cwd=tmp_path) as server:
        busy_token, token = (
            asyncio.run(ask_token(server.address, each.id, each.secret)) for each in (busy, victim)
        )
        asyncio.run(latencies(server.address, token, ids))
        alone = asyncio.run(latencies(server.address, token, ids))
        figures["p99 alone, ms"] = shown(alone)

        def beside(attack: Attack) -> dict[str, float]:
            with neighbour(server.address, attack):
                found = asyncio.run(latencies(server.address, token, ids))
            figures[f"{attack.name}; p99 beside it, ms"] = shown(found)
            return found

        cheap = http_request(busy_token, "GET", f"{CLAIMS}?limit=1")
        usual = beside(Attack("cheap lists", [[cheap]] * NEIGHBOURS))
        bounds = {what: FACTOR * max(p99, LEAST_MS) for what, p99 in usual.items()}
        bounded = [
            (
                Attack(
                    f"{each.request.name}: {each.milliseconds:.1f} ms",
                    [[each.request.http(busy_token)]] * NEIGHBOURS,
                ),
                bounds,
            )
            for each in reads
        ]
        beside_writes = bounds | {"create": CREATE_MS}
        bounded += [(attack, beside_writes) for attack in writes(store, busy_token)]
        found = [(attack.name, beside(attack), limits) for attack, limits in bounded]
        figures["largest p99 beside these / alone"] = ", ".join(
            f"{what} {max(p99[what] for _, p99, _ in found) / alone[what]:.1f}" for what in alone
        )
        short = search.short[0].request
        many = Attack(f"{short.name} over {MANY} connections", [[short.http(busy_token)]] * MANY)
        found.append((many.name, beside(many), dict.fromkeys(bounds, MANY_MS)))
    late = {
        (name, what): milliseconds
        for name, p99, limits in found
        for what, milliseconds in p99.items()
        if milliseconds > limits[what]
    }
    assert late == {}


def shown(times: dict[str, float]) -> str:
    return ", ".join(f"{name} {milliseconds:.1f}" for name, milliseconds in times.items())
