"""The operations that an application executes on its event loop, and those in threads."""

from __future__ import annotations

import threading

import comptroller
import pytest

pytest.importorskip("prometheus_client")
pytest.importorskip("httpx2")

from asgi_client import Asked
from comptroller import _core, description
from comptroller.http import EveryoneIsOperator, app
from lines import claim, identity, load

OPERATIONS = description.operations()
CUSTOMER = "acme"
MANY = 16  # ranges of indexes

Parameters = list[tuple[str, str]]


def is_short_list(name: str, parameters: Parameters, customer: str | None = CUSTOMER) -> bool:
    return _core.is_short(_core.Principal(customer), name, parameters)


def repeated(name: str, count: int) -> Parameters:
    return [(name, f"S{number}") for number in range(count)]


def readers() -> set[threading.Thread]:
    """Returns the threads in which applications execute long reads."""
    threads = threading.enumerate()
    return {thread for thread in threads if thread.name.startswith("comptroller-read")}


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_is_short_or_a_list(name: str) -> None:
    required = [("sequence", "0")] if name == "journal.prove" else []
    assert name.endswith(".list") or _core.is_short(_core.Principal(CUSTOMER), name, required)


@pytest.mark.parametrize("name", [name for name in OPERATIONS if name.endswith(".list")])
def test_a_list_without_filters_is_short(name: str) -> None:
    assert is_short_list(name, [])
    assert is_short_list(name, [], customer=None)


def test_every_filter_has_a_cost_or_bounds_the_time() -> None:
    free = {"limit", "order", "page_cursor", "customer_id", "start_time", "end_time"}
    free |= {"include_balance", "balance_timestamp", "include_deleted"}
    free |= {"after", "resource", "resources", "id"}  # of the journal and its feed
    for name, operation in OPERATIONS.items():
        if name.endswith(".list"):
            fields = description.core_description()["requests"][operation.request]["members"]
            without = {
                name
                for name, field in fields.items()
                if "index_ranges" not in field and not name.startswith("created_at.")
            }
            assert without <= free


@pytest.mark.parametrize(
    ("name", "filters", "expected"),
    [
        ("claims", "chain=base", True),
        ("claims", "chain=base&start_time=2026-01-01T00:00:00Z", True),
        ("claims", "chain=base&statuses=PENDING&statuses=FAILED", True),
        ("claims", "payout_group_id=01900000-0000-7000-8000-000000000001&statuses=FAILED", True),
        ("claims", "chain=base&jurisdiction=DE", False),
        ("claims", "chain=base&jurisdiction=DE&statuses=FAILED", False),
        ("claims", "chain=base&statuses=FAILED&asset_type=ETH", False),
        ("controls", "identity_id=alice&include_deleted=true", True),
        ("controls", "type=CLOSED&set_by=OPERATOR", False),
    ],
)
def test_filters_that_one_index_serves_are_short(name: str, filters: str, expected: bool) -> None:
    parameters = [tuple(each.split("=")) for each in filters.split("&")]
    assert is_short_list(f"{name}.list", parameters) == expected


@pytest.mark.parametrize(
    ("name", "filter"),
    [("controls.list", "active_at"), ("payout_groups.list", "name_prefix")],
)
def test_a_filter_without_an_index_is_not_short(name: str, filter: str) -> None:
    assert not is_short_list(name, [(filter, "2026-01-01T00:00:00Z")])


def test_each_value_of_a_filter_counts() -> None:
    assert is_short_list("orchestrations.list", repeated("status", MANY))
    assert not is_short_list("orchestrations.list", repeated("status", MANY + 1))
    # A profile filter is that of the orchestration, or of its destination: two indexes.
    assert is_short_list("orchestrations.list", repeated("profile_id", MANY // 2))
    assert not is_short_list("orchestrations.list", repeated("profile_id", MANY // 2 + 1))


def test_each_value_counts_once_for_each_customer() -> None:
    one, two = repeated("status", 1), repeated("status", 2)
    assert is_short_list("orchestrations.list", one, customer=None)
    assert not is_short_list("orchestrations.list", two, customer=None)
    assert is_short_list("orchestrations.list", [*two, ("customer_id", "acme")], customer=None)


@pytest.mark.parametrize(
    ("limit", "expected"),
    [("1", True), ("100", True), ("101", False), ("1000", False), ("x", False)],
)
def test_a_large_page_is_not_short(limit: str, expected: bool) -> None:
    assert is_short_list("claims.list", [("limit", limit)]) == expected


def test_short_reads_run_on_the_event_loop_and_others_in_threads(
    operator: comptroller.Service,
) -> None:
    before = readers()
    with Asked(app(operator, authenticator=EveryoneIsOperator())) as ask:
        assert ask("GET", "/rewards/claims?chain=base").status_code == 200
        assert ask("GET", "/v2/identity/controls/c1").status_code == 404
        assert readers() <= before  # those of earlier applications may end
        past = "/v2/identity/controls?active_at=2026-01-01T00:00:00Z"
        assert ask("GET", past).status_code == 200
        assert len(readers() - before) == 1


@pytest.mark.parametrize(
    "path", ["/v2/identity/identities", "/v2/changes?resources=identities", "/rewards/claims"]
)
def test_a_short_list_with_a_large_page_runs_in_a_thread(
    operator: comptroller.Service, path: str
) -> None:
    """Other requests do not wait for it."""
    large = {"metadata": {f"member-{number:02}": "x" * 500 for number in range(50)}}
    addresses = [f"0x{number:040x}" for number in range(500)]

    def threads_of(rows: int) -> int:
        load(operator, "identities", *(identity(**large) for _ in range(rows)))
        load(operator, "claims", *(claim(addresses=addresses) for _ in range(rows)))
        before = readers()
        with Asked(app(operator, authenticator=EveryoneIsOperator())) as ask:
            assert ask("GET", path).json()["items"]
            return len(readers() - before)

    assert threads_of(3) == 0
    assert threads_of(5) == 1
