"""Random requests to two stores, whose answers must be equal except for generated values.

The requests follow from the core's description, so a new operation, member or filter takes part.
"""

from __future__ import annotations

import json
import re
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from uuid import UUID

import comptroller
from comptroller._core import Principal, Store
from comptroller.description import Operation, core_description, operations

#: The members of answers that follow from generated values: places to continue at, and digests.
_PLACES = {"cursor", "next_cursor", "next_page_cursor"}
_DIGESTS = {"hash", "root", "proof", "secret", "public_key"}
#: A load that keeps going may commit before it has read all of its input; keys may have gaps.
_IGNORED = {"input_sha256", "first_key", "last_key", "key"}
#: Generated ids, and times of the clock. No request has a time of this or the next year.
_GENERATED = re.compile(
    r"\b(?P<id>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b"
    r"|\b(?P<time>20(?:2[5-9]|3\d)-\d\d-\d\dT[0-9:.]+Z)"
)
_NOT_RANDOM = {"webhooks.test", "webhooks.replay"}  # their events have times in their ids

PRINCIPALS = {
    "operator": Principal(),
    "acme": Principal("acme"),
    "globex": Principal("globex", "desk"),
    "reader": Principal("acme", "reader", ["rewards:read_claims", "identity:read_identity"]),
}


class Request(NamedTuple):
    """A request whose texts may have aliases of generated values."""

    principal: str
    operation: str
    parameters: list[tuple[str, str]]
    body: dict[str, Any] | None
    key: str | None


class Side:
    """One of the stores, with the generated values that its answers had, by alias."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._values: dict[str, str] = {}
        self._aliases: dict[str, str] = {}

    def call(self, request: Request, known: frozenset[str]) -> str:
        """Returns the answer, or the error, with aliases in the place of generated values."""
        parameters = [(name, self._real(value)) for name, value in request.parameters]
        body = None
        if request.body is not None:
            body = self._real(json.dumps(request.body)).encode()
        principal = PRINCIPALS[request.principal]
        try:
            answer, replayed = self.store.call(
                principal, request.operation, parameters, body, request.key
            )
        except comptroller.Error as error:
            told = [error.code, error.status, error.detail, error.errors, error.existing]
            return self.shown(json.dumps(told), known)
        return f"{replayed} {self.shown(answer.decode(), known)}"

    def load(
        self, kind: str, lines: list[dict[str, Any]], known: frozenset[str]
    ) -> tuple[str, str]:
        """Loads the lines that are valid by themselves; returns the accounts of the test of all
        lines, and of the load. A load that keeps going would commit when its time is over.
        """
        tested = self._load(kind, lines, is_test=True)
        rejected = {each["line"] for each in json.loads(tested)["rejections"]}
        valid = [line for number, line in enumerate(lines, 1) if number not in rejected]
        loaded = self._load(kind, valid, is_test=False)
        return self.shown(tested, known), self.shown(loaded, known)

    def _load(self, kind: str, lines: list[dict[str, Any]], *, is_test: bool) -> str:
        told: list[bytes] = []
        text = "".join(self._real(json.dumps(line)) + "\n" for line in lines)
        self.store.load(
            PRINCIPALS["operator"],
            kind,
            BytesIO(text.encode()),
            are_rows=False,
            customer_id=None,
            keep_going=is_test,
            dry_run=is_test,
            total_bytes=None,
            progress=None,
            account=told.append,
        )
        return told[0].decode()

    def exported(self, kind: str, folder: Path, known: frozenset[str]) -> list[str]:
        """Returns the lines of an export."""
        path = folder / "exported.ndjson"
        self.store.export(PRINCIPALS["operator"], kind, str(path), "ndjson", [])
        return [self.shown(line, known) for line in path.read_text().splitlines()]

    def shown(self, text: str, known: frozenset[str]) -> str:
        """Returns JSON with aliases in the place of generated values."""
        return json.dumps(self._shown(json.loads(text), known, ""), ensure_ascii=False)

    def _shown(self, value: Any, known: frozenset[str], name: str) -> Any:
        if isinstance(value, dict):
            kept = {each: of for each, of in value.items() if each not in _IGNORED}
            return {each: self._shown(of, known, each) for each, of in kept.items()}
        if name in _DIGESTS:
            return f"<{name}>" if value else value
        if isinstance(value, list):
            return [self._shown(each, known, name) for each in value]
        if not isinstance(value, str):
            return value
        if name == "entry":  # of the journal, as JSON
            return self._shown(json.loads(value), known, "")
        if name in _PLACES:
            return self._alias(value)
        return _GENERATED.sub(lambda found: self._replaced(found, known), value)

    def _replaced(self, found: re.Match[str], known: frozenset[str]) -> str:
        if found["time"]:
            return "<now>"
        return found[0] if found[0] in known else self._alias(found[0])

    def _alias(self, value: str) -> str:
        if value not in self._aliases:
            alias = f"<<{len(self._aliases)}>>"
            self._aliases[value] = alias
            self._values[alias] = value
        return self._aliases[value]

    def _real(self, text: str) -> str:
        return re.sub(r"<<\d+>>", lambda found: self._values[found[0]], text)


class Requests:
    """Generates requests that often meet each other's records."""

    def __init__(self, seed: int) -> None:
        self.of = of = Random(seed)
        uuids = [str(UUID(int=of.getrandbits(128), version=4)) for _ in range(16)]
        self.known = frozenset(uuids)
        self._groups, self._addresses = uuids[:6], uuids[6:]
        self._learned: dict[str, list[str]] = {}
        self._next: Request | None = None
        self._last_write: Request | None = None
        self._last_lines: tuple[str, list[dict[str, Any]]] | None = None
        named = [each for each in operations().values() if each.name not in _NOT_RANDOM]
        makers = ("put", "create", "record")
        self._operations = [
            *named,
            *(each for each in named if each.name.endswith(makers) for _ in range(4)),
        ]
        self._by_name: dict[str, Any] = {
            "identity_id": [f"i{n}" for n in range(8)],
            "ref_id": ["r1", "r2", "r3"],
            "customer_id": ["acme", "globex", "initech", "default"],
            "payout_group_id": self._groups,
            "address_id": self._addresses,
            "addresses": self._hexes(160, 5),
            "address": self._hexes(160, 40),
            "created_at": [*["2024-02-01T12:00:00Z"] * 3, "2024-02-01T12:00:00.000001Z"],
            "deleted_at": ["2024-02-02T12:00:00Z", "2024-02-03"],
            "claimer_address": self._hexes(160, 3),
            "manager_address": self._hexes(160, 2),
            "destination_address": self._hexes(160, 2),
            "tx_hash": [*self._hexes(256, 4), "plain", "0xabc"],
            "ledger": ["ETHEREUM", "ETHEREUM", "INK"],
            "jurisdiction": ["CH", "DE", "US"],
            "asset_type": ["ETH", "RPL", "Ünique"],
            "source_asset": ["EUR", "USD"],
            "destination_asset": ["USDC", "ETH"],
            "blockchain": ["INK", "BASE"],
            "chain": ["INK", "BASE", "ETHEREUM"],
            "name": ["North", "South", "Nord%_\\", "\U0001f600 \u0301x"],
            "name_prefix": ["N", "No", "Nord%", "\U0001f600", ""],
            "url": ["https://a.example", "https://b.example", "http://c.example"],
            "event_types": ["*", "identity.updated", "none.such"],
            "reason_code": ["X", "CUSTOMER_REQUEST"],
            "limit": ["1", "2", "7", "100", "100", "0"],
            "after": ["", "0", "5", "100000"],
            "sequence": ["0", "3", "40", "100000"],
        }

    def _hexes(self, bits: int, count: int) -> list[str]:
        return [f"0x{self.of.getrandbits(bits):0{bits // 4}x}" for _ in range(count)]

    def learn(self, request: Request, answer: str) -> None:
        """Notes the aliases of an answer, which later requests use."""
        place = re.search(r'"(next_page_cursor|next_cursor)": "(<<\d+>>)"', answer)
        self._next = None
        if place is not None:
            name = "page_cursor" if place[1] == "next_page_cursor" else "after"
            others = [each for each in request.parameters if each[0] != name]
            self._next = request._replace(parameters=[*others, (name, place[2])])
        self._last_write = request if request.key else self._last_write
        learned = self._learned.setdefault(request.operation.partition(".")[0], [])
        learned += re.findall(r'\{"id": "(<<\d+>>)"', answer)
        del learned[:-10]

    def next(self) -> Request:
        """Returns the next request: often the next page of a list, or the last write again."""
        if self._next is not None and self.of.random() < 0.7:
            return self._next
        if self._last_write is not None and self.of.random() < 0.05:
            return self._last_write
        operation = self.of.choice(self._operations)
        principal = self.of.choices([*PRINCIPALS], weights=(12, 3, 2, 1))[0]
        if operation.scope == "operator:write":
            principal = self.of.choices([*PRINCIPALS], weights=(30, 1, 1, 1))[0]
        parameters, body = self._arguments(operation)
        key = f"k{self.of.randrange(10_000)}" if self.of.random() < 0.3 else None
        return Request(
            principal, operation.name, parameters, body, key if operation.is_write else None
        )

    def lines(self) -> tuple[str, list[dict[str, Any]]]:
        """Returns a kind, and lines of it to load, among which ids repeat."""
        if self._last_lines is None or self.of.random() < 0.8:
            resource = self.of.choice([*core_description()["resources"]])
            name, members = resource["name"], self._members(resource["record"])
            lines = [self._some(members, 0.5, name) for _ in range(self.of.choice((1, 5, 40)))]
            self._last_lines = name.replace("_", "-"), lines
        return self._last_lines

    def _arguments(self, operation: Operation) -> tuple[list[tuple[str, str]], Any]:
        members = self._members(operation.request)
        resource = operation.name.partition(".")[0]
        id = self._id(resource)
        if operation.request_source in ("parameters", "path_id"):
            picked = self._some(members, 0.15, resource)
            picked |= {"id": id} if operation.request_source == "path_id" else {}
            parameters = []
            for name, value in picked.items():
                values = value if isinstance(value, list) else [value]
                texts = [json.dumps(each) if isinstance(each, bool) else each for each in values]
                parameters += [(name, text) for text in texts]
            return parameters, None
        body = self._some(members, 0.5, resource)
        if "id" in members:
            body["id"] = id
        if operation.request_source == "either" and self.of.random() < 0.5:
            return [("id", id)], None
        if operation.request_source in ("id_and_body", "either"):
            body.pop("id", None)
        parameters = [] if operation.request_source == "body" else [("id", id)]
        return parameters, {operation.body_envelope: body} if operation.body_envelope else body

    def _members(self, request: str) -> dict[str, dict[str, Any]]:
        description = core_description()
        found = description["requests"].get(request) or description["records"][request]
        members: dict[str, dict[str, Any]] = found["members"]
        return {name: of for name, of in members.items() if not of.get("is_derived")}

    def _some(
        self, members: dict[str, dict[str, Any]], chance: float, resource: str
    ) -> dict[str, Any]:
        picked = {
            name: self._value(name, of["type"], resource)
            for name, of in members.items()
            if name != "page_cursor" and self.of.random() < (0.99 if of.get("required") else chance)
        }
        # Most records that refer to each other are of one customer.
        owner = next(
            (picked[each] for each in ("payout_group_id", "identity_id", "id") if each in picked),
            "",
        )
        if "created_at" in members and "customer_id" in members and self.of.random() < 0.95:
            picked["customer_id"] = ("acme", "default")[sum(owner.encode()) % 2]
        return picked

    def _id(self, resource: str) -> str:
        named = {
            "identities": self._by_name["identity_id"],
            "payout_groups": self._groups,
            "reward_addresses": self._addresses,
        }.get(resource, [f"{resource[0]}{n}" for n in range(300)])
        learned = self._learned.get(resource) if self.of.random() < 0.5 else None
        return self.of.choice(learned or named)

    def _value(self, name: str, type: str, resource: str) -> Any:
        if type.endswith("[]"):
            one = type.removesuffix("[]")
            return [self._value(name, one, resource) for _ in range(self.of.choice((1, 1, 2, 3)))]
        if name == "id":
            return self._id(resource)
        if name in self._by_name:
            return self.of.choice(self._by_name[name])
        enums = core_description()["enums"]
        if type in enums:
            return "NONE" if self.of.random() < 0.01 else self.of.choice([*enums[type]])
        if type == "boolean":
            return self.of.random() < 0.5
        if type == "timestamp":
            day, micros = self.of.randrange(1, 5), self.of.choice((0, 1, 250_000))
            return f"2024-02-{day:02d}T12:00:0{self.of.randrange(3)}.{micros:06d}Z"
        if type == "amount":
            return self.of.choice(("0", "1.50", "2", "12345678901234567890.123456789012345678"))
        if type == "metadata":
            return {self.of.choice("abc"): self.of.choice(("", "1", "ü"))}
        if type == "word":
            return self.of.choice(("DONE", "PENDING", "COMPLETED", "FAILED", "X1"))
        if type in core_description()["records"]:
            return self._some(self._members(type), 0.5, resource)
        if self.of.random() < 0.02:
            return self.of.choice(("x" * 2_000, "a\u0000b", "\u007f\ufffd", "", " "))
        return self.of.choice(("A", "B", "C"))
