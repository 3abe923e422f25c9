"""Finds the most expensive requests of a client, among all combinations of filters.

The combinations follow from the description of the interface, so that a new filter is part of them.
A filter has its most common stored values, and as many values as it accepts, so that a page visits
as many records as it may.
"""

from __future__ import annotations

import itertools
import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import comptroller
from comptroller import routes
from comptroller._core import Principal, Store

MOST_VALUES = 100
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
#: Parameters that select no records.
OTHERS = {"limit", "order", "page_cursor", "customer_id", "after", "X-Request-Id"}
Pairs = list[tuple[str, str]]


class Request(NamedTuple):
    """A GET of a client."""

    operation: str
    path: str
    filters: tuple[str, ...]
    pairs: Pairs

    def http(self, token: str) -> str:
        """Returns the request over HTTP: a form, because a query has at most 16 KiB."""
        form = urlencode(self.pairs)
        return (
            f"POST {self.path} HTTP/1.1\r\nHost: localhost\r\nX-HTTP-Method-Override: GET\r\n"
            f"Authorization: Bearer {token}\r\nContent-Length: {len(form)}\r\n"
            f"Content-Type: application/x-www-form-urlencoded\r\n\r\n{form}"
        )


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
    """Returns each list of a client with each combination of its filters."""
    description = json.loads((files("comptroller.http") / "openapi.json").read_bytes())
    rows = {row.operation: row for row in routes.ROWS}  # some have two paths
    for row in rows.values():
        parameters = _parameters(description, row)
        if row.method != "GET" or "limit" not in parameters or row.is_operators:
            continue
        largest = [("limit", str(parameters["limit"]["maximum"]))]
        choices = list(_choices(parameters, values))
        for count in range(len(choices) + 1):
            for chosen in itertools.combinations(choices, count):
                names = tuple(name for name, _ in chosen)
                pairs = [pair for _, each in chosen for pair in each]
                yield Request(row.operation, row.path, names, largest + pairs)


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
    closed = (schema["items"] if is_list else schema).get("enum", [])
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


def measure(store: Path, customer: str, repeated: int = 200) -> tuple[int, list[Measured]]:
    """Returns the number of combinations, and the slowest of them, the slowest first.

    Each runs once, and the slowest ones three times more, in both orders.
    """
    with _running(store, customer) as run:
        first = [run(request) for request in requests(stored_values(store, customer))]
        slowest = sorted(first, key=lambda each: -each.milliseconds)[:repeated]
        both = [
            request._replace(pairs=[*request.pairs, ("order", order)])
            for _, request in slowest
            for order in ("ASC", "DESC")
            if "changes" not in request.operation and "journal" not in request.operation
        ]
        both += [request for _, request in slowest if request.operation == "changes.list"]
        again = [min(run(request) for _ in range(3)) for request in both]
    return len(first), sorted(again, key=lambda each: -each.milliseconds)


def measured(store: Path, customer: str, request: Request) -> Measured:
    """Measures one request of a client."""
    with _running(store, customer) as run:
        return min(run(request) for _ in range(3))


@contextmanager
def _running(store: Path, customer: str) -> Iterator[Callable[[Request], Measured]]:
    """Yields a function that runs a request in the core."""
    opened = Store(str(store))
    principal = Principal(customer)

    def run(request: Request) -> Measured:
        began = time.perf_counter()
        with suppress(comptroller.InvalidRequest, comptroller.Forbidden):  # which cost little
            opened.call(principal, request.operation, request.pairs, None, None)
        return Measured((time.perf_counter() - began) * 1000, request)

    try:
        yield run
    finally:
        opened.close()
