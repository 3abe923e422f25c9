"""Finds the most expensive requests of a client, among all combinations of filters.

The combinations follow from the description of the interface, so that a new filter is part of them.
A filter has its most common stored values, and as many values as it accepts, so that a page visits
as many records as it may. Each combination has the largest limit of a page, and the largest one of
a short read, which the server runs on its event loop.
"""

from __future__ import annotations

import itertools
import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import comptroller
from comptroller import routes
from comptroller._core import Principal, Store, is_short

MOST_VALUES = 100
#: The limit of a page up to which a read may be short.
SHORT_PAGE = 100
#: The length of a query that is sent in a URL; the server accepts a line of 16 KiB.
LONGEST_QUERY = 15_000
#: What clients have only if it is granted by name.
BY_NAME = "journal:read"
TIME = "TimestampInput"
EARLY, LATE = "2000-01-01T00:00:00Z", "2100-01-01T00:00:00Z"
#: Filters that are named otherwise than the member that they compare.
MEMBERS = {
    "statuses": "onchain_status",
    "chain": "blockchain",
    "control_reason_codes": "reason_code",
    "orchestration_id": "id",
    "address": "addresses",
    "name_prefix": "name",
}
#: A resource that no client may read.
OPERATORS = "balances"
#: Parameters that select no records.
OTHERS = {"limit", "order", "page_cursor", "customer_id", "after", "X-Request-Id"}
Pairs = list[tuple[str, str]]


class Request(NamedTuple):
    """A request of a client; `pairs` are its query."""

    operation: str
    path: str
    filters: tuple[str, ...]
    pairs: Pairs

    def http(self, token: str) -> str:
        """Returns the request over HTTP: with a form if the query is too long for a URL."""
        query = urlencode(self.pairs)
        if len(query) <= LONGEST_QUERY:
            return http_request(token, "GET", f"{self.path}?{query}")
        form, override = "application/x-www-form-urlencoded", "X-HTTP-Method-Override: GET\r\n"
        return http_request(token, "POST", self.path, query, form, override)

    @property
    def name(self) -> str:
        limit = dict(self.pairs)["limit"]
        return f"{self.operation} with limit {limit} by {', '.join(self.filters) or 'nothing'}"


def http_request(
    token: str,
    method: str,
    path: str,
    body: str = "",
    type: str = "application/json",
    more: str = "",
) -> str:
    """Returns a request over HTTP, with `more` lines of its head."""
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n{more}"
    if body:
        head += f"Content-Type: {type}\r\nContent-Length: {len(body.encode())}\r\n"
    return f"{head}\r\n{body}"


def all_scopes(customer: str) -> list[str]:
    """Returns every scope that a client of a customer can have."""
    return [*Principal(customer).scopes, BY_NAME]


def stored_values(store: Path, customer: str) -> dict[str, Counter[str]]:
    """Returns how often the records of a customer have each value, by member."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    with comptroller.open(store, customer=customer, read_only=True) as service:
        for resource in (
            "identities",
            "controls",
            "orchestrations",
            "payout_groups",
            "reward_addresses",
            "claims",
        ):
            for record in itertools.islice(getattr(service, resource).iter(limit=1000), 5_000):
                for name in record.__struct_fields__:
                    value = getattr(record, name)
                    for each in value if isinstance(value, tuple) else (value,):
                        if isinstance(each, str):
                            found[name][each] += 1
    return found


def requests(values: dict[str, Counter[str]]) -> Iterator[Request]:
    """Returns each list of a client with each combination of its filters, and with two limits."""
    description = json.loads((files("comptroller.http") / "openapi.json").read_bytes())
    rows = {row.operation: row for row in routes.ROWS}  # some have two paths
    for row in rows.values():
        parameters = _parameters(description, row)
        if row.method != "GET" or "limit" not in parameters or row.is_operators:
            continue
        limits = (SHORT_PAGE, parameters["limit"]["maximum"])
        choices = list(_choices(parameters, values))
        for count in range(len(choices) + 1):
            for chosen in itertools.combinations(choices, count):
                names = tuple(name for name, _ in chosen)
                pairs = [pair for _, each in chosen for pair in each]
                for limit in limits:
                    yield Request(row.operation, row.path, names, [("limit", str(limit)), *pairs])


def _parameters(description: dict[str, Any], row: routes.Row) -> dict[str, dict[str, Any]]:
    """Returns the schemas of the parameters of an operation."""
    schemas = description["components"]["schemas"]

    def resolve(schema: dict[str, Any]) -> dict[str, Any]:
        named = schema.get("$ref", "").rpartition("/")[2]
        found = schema | schemas.get(named, {}) | ({"format": "date-time"} if named == TIME else {})
        return found | ({"items": resolve(found["items"])} if "items" in found else {})

    given = description["paths"][row.path][row.method.lower()].get("parameters", [])
    return {each["name"]: resolve(each["schema"]) for each in given if "name" in each}


def _choices(
    parameters: dict[str, dict[str, Any]], values: dict[str, Counter[str]]
) -> Iterator[tuple[str, Pairs]]:
    """Returns the filters with their values; bounds that select everything are one filter."""
    bounds: defaultdict[str, Pairs] = defaultdict(list)
    for name, schema in parameters.items():
        stem, _, bound = name.rpartition("." if "." in name else "_")
        if name in OTHERS:
            continue
        if schema.get("format") == "date-time":
            if bound != "eq":
                is_lower = bound in {"gte", "gt"} or name == "start_time"
                bounds[stem].append((name, EARLY if is_lower else LATE))
            continue
        yield name, [(name, each) for each in _values(name, schema, values)]
    yield from bounds.items()


def _values(name: str, schema: dict[str, Any], stored: dict[str, Counter[str]]) -> list[str]:
    """Returns the most common values of a filter, as many as it accepts."""
    if schema.get("type") == "boolean":
        return ["true"]
    is_list = schema.get("type") == "array"
    enum = (schema["items"] if is_list else schema).get("enum", [])
    closed = [each for each in enum if each != OPERATORS]
    common = [each for each, _ in stored[MEMBERS.get(name, name)].most_common(MOST_VALUES)]
    if closed:
        common = [each for each in common if each in closed] or closed
    if name == "name_prefix":
        return [Counter(each[:1] for each in common).most_common(1)[0][0]]
    if not is_list:
        return common[:1] or ["none"]
    others = [] if closed else [f"NONE_{number}" for number in range(MOST_VALUES)]
    return (closed or common + others)[:MOST_VALUES]


class Measured(NamedTuple):
    """A request, and the shortest of its times in the core."""

    milliseconds: float
    request: Request
    outcome: str = "records"  # "none" if the page is empty, "refused" if it is invalid


class Search(NamedTuple):
    """What a search found.

    Attributes:
        outcomes: the number of combinations by outcome.
        short: the slowest reads that the server runs on its event loop, the slowest first.
        long: the slowest of all others.
    """

    outcomes: Counter[str]
    short: list[Measured]
    long: list[Measured]


def measure(store: Path, customer: str, repeated: int = 100) -> Search:
    """Returns the slowest reads of a client that has every scope, and each of which is permitted.

    Each combination runs once, and the slowest ones three times more, in both orders.
    """
    with running(store, customer) as run:
        first = [run(request) for request in requests(stored_values(store, customer))]
        slowest: dict[bool, list[Measured]] = {True: [], False: []}
        for each in sorted(first, key=lambda each: -each.milliseconds):
            kind = slowest[run.is_short(each.request)]
            if len(kind) < repeated:
                kind.append(each)
        again = {
            kind: sorted(
                (run.best(request) for each in found for request in _in_both_orders(each.request)),
                key=lambda each: -each.milliseconds,
            )
            for kind, found in slowest.items()
        }
    return Search(Counter(each.outcome for each in first), again[True], again[False])


def _in_both_orders(request: Request) -> Iterator[Request]:
    if request.operation in {"changes.list", "journal.list"}:  # which have one
        yield request
    else:
        for order in ("ASC", "DESC"):
            yield request._replace(pairs=[*request.pairs, ("order", order)])


class Running:
    """Runs requests of a client in the core."""

    def __init__(self, store: Store, principal: Principal) -> None:
        self._store = store
        self._principal = principal

    def __call__(self, request: Request) -> Measured:
        began = time.perf_counter()
        try:
            answer = self._store.call(
                self._principal, request.operation, request.pairs, None, None
            )[0]
            outcome = "none" if answer.startswith(b'{"items":[]') else "records"
        except comptroller.InvalidRequest:
            outcome = "refused"
        return Measured((time.perf_counter() - began) * 1000, request, outcome)

    def best(self, request: Request) -> Measured:
        """Returns the fastest of three runs."""
        return min((self(request) for _ in range(3)), key=lambda each: each.milliseconds)

    def is_short(self, request: Request) -> bool:
        try:
            return is_short(self._principal, request.operation, request.pairs)
        except comptroller.InvalidRequest:
            return True


@contextmanager
def running(store: Path, customer: str) -> Iterator[Running]:
    """Yields what runs requests of a client that has every scope."""
    opened = Store(str(store))
    try:
        yield Running(opened, Principal(customer, None, all_scopes(customer)))
    finally:
        opened.close()
