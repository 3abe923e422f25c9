"""Clients that write to several servers, and what the database has of their writes."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from hashlib import sha256
from itertools import cycle
from random import Random
from typing import Any, NamedTuple

import comptroller
from callers import Answer, Caller, CutOff
from postgresql_server import Server

_IDENTITIES = "/operator/identity/identities"
_CONTROLS = "/operator/identity/controls"
#: A client tries again after this pause.
_PAUSE_S = 0.05
#: The beginnings of ids of records that these clients did not write.
_PREPARED = ("shared-", "probe")
#: What a client does, and how often.
_TURNS = {"create": 8, "change_control": 12, "put": 10, "update": 8, "load": 1}
#: Answers of nginx and of the servers while a server or the database is away.
_PASSING = (502, 503, 504)
_CONTROL_TYPES = ("FROZEN", "SELL_ONLY", "CLOSED", "DORMANT")
_LINES_OF_A_LOAD = 3
_LONG_AGO = "2026-01-01T00:00:00Z"


def make_store(server: Server) -> str:
    """Returns the address of a store with the records that all clients share."""
    address = server.create("several")
    with comptroller.open(address) as svc:
        for number in range(Clients.SHARED):
            svc.identities.put(id=f"shared-{number}", customer_id="acme")
    return address


class Answered(NamedTuple):
    """The final answer to a write, and when its first attempt was sent."""

    answer: Answer
    sent_at: float
    answered_at: float

    def json(self) -> Any:
        return json.loads(self.answer.body)


class Write(NamedTuple):
    """An acknowledged write of a record.

    Attributes:
        value: the value that it set, which no other write of the record sets.
        sent_at: when its first attempt was sent.
        answered_at: when it was answered; it was executed in between.
    """

    value: str | None
    sent_at: float
    answered_at: float


class Clients:
    """Clients that write, each until its writes are answered.

    Each creates payout groups, renames those of all clients, puts identities and deletes controls
    with keys, and loads identities. A load has no key: it changes nothing if it is repeated.

    Args:
        entries: the addresses; a client uses the next one after a failure.
        count: the number of clients.

    Attributes:
        counts: acknowledged writes by operation, answers that made a client repeat its request by
            status, lost connections, and refused writes.
        unexpected: answers that no client should get, such as a 500.
        acknowledged: the operation and the id of the record, by key.
        uncertain: the keys of writes that were refused after an attempt without an answer, which
            may have been executed later.
        writes: the acknowledged writes of each record, by resource and id.
    """

    SHARED = 32

    def __init__(self, entries: list[str], count: int) -> None:
        self._entries = entries
        self._count = count
        self.counts: Counter[str] = Counter()
        self.unexpected: list[Answer] = []
        self.acknowledged: dict[str, tuple[str, str]] = {}
        self.uncertain: set[str] = set()
        self.writes: defaultdict[tuple[str, str], list[Write]] = defaultdict(list)
        self.groups: list[str] = []
        self.is_over = self._has_ended = False

    async def run(self) -> None:
        """Sends requests until `stop`, and then the ones that were not answered yet."""
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(self._count):
                    entries = cycle(self._entries[number % len(self._entries) :] + self._entries)
                    group.create_task(_Client(self, number, entries).run())
        finally:
            self._has_ended = True

    def stop(self) -> None:
        self.is_over = True

    async def wait_for(self, answers: int) -> None:
        """Waits for a number of further answers."""
        until = self.counts["answered"] + answers
        while self.counts["answered"] < until:
            assert not self._has_ended, "a client failed"
            await asyncio.sleep(_PAUSE_S)

    def note(self, resource: str, id: str, value: str | None, answered: Answered) -> None:
        """Notes what an acknowledged write set."""
        write = Write(value, answered.sent_at, answered.answered_at)
        self.writes[resource, id].append(write)

    def note_key(self, key: str, operation: str, id: str) -> None:
        """Notes an acknowledged write with a key."""
        self.acknowledged[key] = (operation, id)
        self.counts[f"acknowledged {operation}"] += 1


class _Client:
    """One of the clients. It sends one request at a time."""

    def __init__(self, clients: Clients, number: int, entries: Iterator[str]) -> None:
        self._clients = clients
        self._number = number
        self._entries = entries
        self._caller = Caller(next(entries))
        self._chance = Random(number)
        self._control: str | None = None  # the id of one that it will delete

    async def run(self) -> None:
        turn = 0
        while not self._clients.is_over:
            turn += 1
            (kind,) = self._chance.choices([*_TURNS], [*_TURNS.values()])
            await getattr(self, f"_{kind}")(f"of-{self._number}-{turn}")
            self._clients.counts["answered"] += 1
        self._caller.hang_up()

    async def _create(self, key: str) -> None:
        if answered := await self._send("POST", "/rewards/payout-groups", _group(key), key):
            id = answered.json()["group"]["id"]
            self._clients.groups.append(id)
            self._clients.note_key(key, "payout_groups.create", id)
            self._clients.note("payout_groups", id, key, answered)

    async def _update(self, key: str) -> None:
        """Renames a group of any client."""
        if not self._clients.groups:
            return
        id = self._chance.choice(self._clients.groups)
        path = f"/rewards/payout-groups/{id}"
        if answered := await self._send("PUT", path, {"name": key}, key):
            self._clients.note_key(key, "payout_groups.update", id)
            self._clients.note("payout_groups", id, key, answered)

    async def _put(self, key: str) -> None:
        """Puts an identity of its own, or one that all clients share."""
        id = self._chance.choice([f"own-{self._number}", self._shared()])
        body = {"id": id, "metadata": {"write": key}}
        if answered := await self._send("PUT", _IDENTITIES, body, key):
            self._clients.note_key(key, "identities.put", id)
            self._clients.note("identities", id, key, answered)

    async def _change_control(self, key: str) -> None:
        """Deletes the control that it created last, or creates one of a shared identity."""
        if self._control is not None:
            id, self._control = self._control, None
            body = {"control_id": id, "reason": key}
            if answered := await self._send("DELETE", _CONTROLS, body, key):
                self._clients.note_key(key, "controls.delete", id)
                self._clients.note("controls", id, key, answered)
            return
        body = {
            "identity_id": self._shared(),
            "type": self._chance.choice(_CONTROL_TYPES),
            "reason_code": "R",
        }
        if answered := await self._send("POST", _CONTROLS, body, key, may_conflict=True):
            self._control = answered.json()["id"]
            self._clients.note_key(key, "controls.create", self._control)
            self._clients.note("controls", self._control, None, answered)

    async def _load(self, key: str) -> None:
        ids = [f"loaded-{key}-{number}" for number in range(_LINES_OF_A_LOAD)]
        lines = [{"id": id, "created_at": _LONG_AGO, "metadata": {"write": key}} for id in ids]
        if answered := await self._send("POST", "/operator/load/identities", lines):
            assert answered.json()["committed"], answered
            self._clients.counts["acknowledged identities.load"] += 1
            for id in ids:
                self._clients.note("identities", id, key, answered)

    async def _send(
        self,
        method: str,
        path: str,
        body: Any,
        key: str | None = None,
        *,
        may_conflict: bool = False,
    ) -> Answered | None:
        """Sends a write until it is answered; returns None if it was not executed."""
        counts = self._clients.counts
        given = {"Idempotency_Key": key} if key else {}
        sent_at = time.monotonic()
        is_first_attempt = True
        while True:
            try:
                answer = await self._caller.ask(method, path, json.dumps(body).encode(), **given)
            except (OSError, EOFError, CutOff):
                counts["lost connections"] += 1
            else:
                is_passing = answer.status in _PASSING
                if not is_passing and not _is_in_flight(answer):
                    break
                counts[f"answers {answer.status} to {method if key else 'loads'}"] += 1
            is_first_attempt = False
            self._caller.hang_up()
            self._caller = Caller(next(self._entries))
            await asyncio.sleep(_PAUSE_S)
        if answer.status == 200:
            return Answered(answer, sent_at, time.monotonic())
        if may_conflict and answer.status == 409:
            counts["refused"] += 1
            if key and not is_first_attempt:
                self._clients.uncertain.add(key)
        else:
            self._clients.unexpected.append(answer)
        return None

    def _shared(self) -> str:
        return f"shared-{self._chance.randrange(self._clients.SHARED)}"


def _is_in_flight(answer: Answer) -> bool:
    return answer.status == 409 and json.loads(answer.body)["code"] == "idempotency-in-flight"


def _group(name: str) -> dict[str, Any]:
    return {
        "ledger": "ETHEREUM",
        "asset_type": "ETH",
        "jurisdiction": "CH",
        "name": name,
        "claimer_address": f"0x{1:040x}",
    }


class OneTimeClients:
    """Clients that repeat nothing by themselves but a POST, with its key, after a 502.

    Each gets, puts and deletes records of its own, over a connection that it keeps open.

    Args:
        clients: notes the acknowledged writes.
        entry: the address.
        count: the number of clients.

    Attributes:
        sent: the requests by method.
        answers: the answers by method and status.
        lost: the requests by method whose connection ended without an answer.
    """

    def __init__(self, clients: Clients, entry: str, count: int) -> None:
        self._clients = clients
        self._entry = entry
        self._count = count
        self._is_over = False
        self.sent: Counter[str] = Counter()
        self.answers: Counter[tuple[str, int]] = Counter()
        self.lost: Counter[str] = Counter()

    async def run(self) -> None:
        """Sends requests until `stop`."""
        async with asyncio.TaskGroup() as group:
            for number in range(self._count):
                group.create_task(self._run_one(f"once-{number}"))

    def stop(self) -> None:
        self._is_over = True

    async def _run_one(self, id: str) -> None:
        caller = Caller(self._entry)
        turn = 0
        while not self._is_over:
            turn += 1
            key = f"{id}-{turn}"
            body: dict[str, Any] = {"id": id, "metadata": {"write": key}}
            if answered := await self._send(caller, "PUT", _IDENTITIES, body):
                self._clients.note("identities", id, key, answered)
            await self._send(caller, "GET", f"/v2/identity/identities/{id}")
            body = {"identity_id": id, "type": "CLOSED", "reason_code": "R"}
            answered = await self._send(caller, "POST", _CONTROLS, body, Idempotency_Key=key)
            if answered is None:
                continue
            control = answered.json()["id"]
            self._clients.note_key(key, "controls.create", control)
            self._clients.note("controls", control, None, answered)
            body = {"control_id": control, "reason": key}
            if answered := await self._send(caller, "DELETE", _CONTROLS, body):
                self._clients.note("controls", control, key, answered)
        caller.hang_up()

    async def _send(
        self, caller: Caller, method: str, path: str, body: Any = None, **fields: str
    ) -> Answered | None:
        """Sends a request; returns its answer if it was successful."""
        data = json.dumps(body).encode() if body else b""
        sent_at = time.monotonic()
        while True:
            self.sent[method] += 1
            try:
                answer = await caller.ask(method, path, data, **fields)
            except (OSError, EOFError, CutOff):
                self.lost[method] += 1
                return None
            self.answers[method, answer.status] += 1
            if answer.status == 200:
                return Answered(answer, sent_at, time.monotonic())
            if method != "POST" or answer.status != 502:
                return None


class Checked(NamedTuple):
    """What the database has of the writes of clients.

    Attributes:
        lost: the keys, or the resource and id, of acknowledged writes that it does not have.
        repeated: the keys of writes that were executed more than once.
        unknown: records, and keys in the journal, of no acknowledged write.
        findings: what `check` and the verification of the journal found.
    """

    lost: list[str]
    repeated: list[str]
    unknown: list[str]
    findings: list[Any]


def check_writes(address: str, clients: Clients) -> Checked:
    """Compares the records and the journal of the database with the acknowledged writes."""
    with comptroller.open(address) as svc:
        found = _records(svc)
        by_key = _entries_by_key(svc)
        checked = svc.check()
        findings = [*checked["findings"], *svc.journal.verify().findings]
    # Each write with a key has one entry, and the others changed nothing.
    digests = {sha256(key.encode()).hexdigest(): key for key in clients.acknowledged}
    uncertain = {sha256(key.encode()).hexdigest() for key in clients.uncertain}
    lost = [
        key
        for digest, key in digests.items()
        if clients.acknowledged[key] not in by_key.get(digest, [])
    ]
    repeated = [digests.get(digest, digest) for digest, each in by_key.items() if len(each) > 1]
    unknown = [digest for digest in by_key if digest not in digests and digest not in uncertain]
    executed_late = {entry for digest in uncertain for entry in by_key.get(digest, [])}
    for name, writes in clients.writes.items():
        if name not in found or not _is_last(found[name], writes):
            lost.append(f"{name}: {found.get(name, 'missing')}")
    unknown += [
        f"{resource} {id}"
        for resource, id in found.keys() - clients.writes.keys()
        if (f"{resource}.create", id) not in executed_late and not id.startswith(_PREPARED)
    ]
    return Checked(lost, repeated, unknown, findings)


def _records(svc: comptroller.Service) -> dict[tuple[str, str], str | None]:
    """Returns the value of each record that a write of a client sets, by resource and id."""
    identities = {
        ("identities", each.id): (each.metadata or {}).get("write")
        for each in svc.identities.iter(limit=1000)
    }
    groups = {("payout_groups", each.id): each.name for each in svc.payout_groups.iter(limit=1000)}
    controls = {
        ("controls", each.id): each.deletion_reason
        for each in svc.controls.iter(include_deleted=True, limit=1000)
    }
    return {**identities, **groups, **controls}


def _entries_by_key(svc: comptroller.Service) -> dict[str, list[tuple[str, str | None]]]:
    """Returns the operations and ids in the journal, by the digest of the idempotency key."""
    found: defaultdict[str, list[tuple[str, str | None]]] = defaultdict(list)
    for entry in svc.journal.iter():
        if entry.idempotency_key is not None:
            found[entry.idempotency_key].append((entry.operation, entry.id))
    return found


def _is_last(value: str | None, writes: list[Write]) -> bool:
    """Whether a value is that of a write which no other one can have followed: none was sent after
    it was answered.
    """
    latest = max(each.sent_at for each in writes)
    return any(each.value == value and each.answered_at >= latest for each in writes)
