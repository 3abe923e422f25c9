"""The requests that the methods of resources send, and the arguments that they reject."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import UUID

import pytest
from comptroller import operations
from comptroller.bulk.streams import Stream
from comptroller.errors import InvalidRequest
from comptroller.operations import (
    balances,
    claims,
    controls,
    identities,
    orchestrations,
    payout_groups,
    reward_addresses,
)
from comptroller.records import Claim, CryptoEndpoint, Orchestration, Source
from hypothesis import given, strategies as st

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
EMPTY_PAGE = b'{"items": [], "next_page_cursor": ""}'
CLAIM = {
    "id": "c1",
    "payout_group_id": "g1",
    "claim_type": "CLAIM_ALL",
    "onchain_status": "PENDING",
    "amount": "1.50",
    "created_at": "2026-01-31T12:00:00.000000Z",
    "updated_at": "2026-01-31T12:00:00.000000Z",
}


class Recorder:
    """A transport that records requests and returns prepared results."""

    def __init__(self, *answers: bytes) -> None:
        self.requests: list[tuple[str, list[tuple[str, str]], Any, str | None]] = []
        self.streamed: list[tuple[str, list[str] | None, list[tuple[str, str]]]] = []
        self._answers = list(answers)

    def call(
        self,
        operation: str,
        parameters: list[tuple[str, str]],
        body: bytes | None,
        idempotency_key: str | None,
    ) -> bytes:
        decoded = None if body is None else json.loads(body)
        self.requests.append((operation, parameters, decoded, idempotency_key))
        return self._answers.pop(0)

    def stream(
        self, kind: str, columns: list[str] | None, parameters: list[tuple[str, str]]
    ) -> Stream:
        self.streamed.append((kind, columns, parameters))
        return Stream(kind, None)  # type: ignore[arg-type]


class Chain(StrEnum):
    INK = "INK"


def listed(**filters: Any) -> list[tuple[str, str]]:
    recorder = Recorder(EMPTY_PAGE)
    operations.Claims(recorder).list(**filters)
    return recorder.requests[0][1]


def put(record: Any) -> dict[str, Any]:
    recorder = Recorder(json.dumps(CLAIM).encode())
    operations.Claims(recorder).put(record)
    sent: dict[str, Any] = recorder.requests[0][2]
    return sent


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("INK", "INK"),
        (Chain.INK, "INK"),
        (UUID("0190D5B0-0000-7000-8000-000000000001"), "0190d5b0-0000-7000-8000-000000000001"),
        (NOON, "2026-01-31T12:00:00.000000Z"),
        (NOON.astimezone(timezone(timedelta(hours=5.5))), "2026-01-31T12:00:00.000000Z"),
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00.000000Z"),
        (date(2026, 1, 31), "2026-01-31"),
        (True, "true"),
        (False, "false"),
        (7, "7"),
        (Decimal("1E-18"), "0.000000000000000001"),
        (Decimal("1.50"), "1.50"),
        (Decimal("1E+3"), "1000"),
        ("a,b", "a,b"),
        ("é€😀", "é€😀"),
    ],
)
def test_a_value_is_converted_to_text(value: object, text: str) -> None:
    assert listed(chain=value) == [("chain", text)]


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("PENDING", ["PENDING"]),
        (["PENDING", "FAILED"], ["PENDING", "FAILED"]),
        (("FAILED", "PENDING"), ["FAILED", "PENDING"]),
        ({"PENDING", "FAILED", "CONFIRMED"}, ["CONFIRMED", "FAILED", "PENDING"]),
        ((word for word in ["FAILED"]), ["FAILED"]),
        ({"FAILED": 1}.keys(), ["FAILED"]),
    ],
)
def test_an_array_filter_takes_one_value_or_several(value: object, sent: list[str]) -> None:
    assert listed(statuses=value) == [("statuses", word) for word in sent]


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("start_time", datetime(2026, 1, 31), "no time zone"),
        ("end_time", datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))), "0001-9999"),
        ("chain", 1.5, "a float"),
        ("chain", b"INK", "a bytes is not allowed"),
        ("chain", {"a": 1}, "a dict is not allowed"),
        ("chain", object(), "an object is not allowed"),
        ("chain", "\ud800", "surrogate"),
        ("limit", 10**400, "too long"),
        ("statuses", [], "it is empty"),
        ("statuses", ["PENDING", None], "None is not allowed"),
        ("statuses", ["PENDING", ["FAILED"]], "a list is not allowed"),
        ("payuot_group_id", "g1", "did you mean 'payout_group_id'?"),
        ("zzz", None, "allowed are payout_group_id"),
    ],
)
def test_an_inexact_or_ambiguous_filter_is_refused_by_name(
    name: str, value: object, expected: str
) -> None:
    with pytest.raises(InvalidRequest, match=f"{name}: .*") as refused:
        listed(**{name: value})
    assert refused.value.code == "invalid-request"
    assert refused.value.errors[0].field == name
    assert expected in refused.value.errors[0].message


@pytest.mark.parametrize("core_client", ["iter", "stream"])
def test_an_unknown_filter_is_refused_before_a_request(core_client: str) -> None:
    recorder = Recorder()
    with pytest.raises(InvalidRequest, match="did you mean 'start_time'"):
        getattr(operations.Claims(recorder), core_client)(start_tim=NOON)
    assert recorder.requests == recorder.streamed == []


def test_bounds_have_their_dotted_names() -> None:
    recorder = Recorder(EMPTY_PAGE)
    operations.Controls(recorder).list(
        created_at_lt=NOON, created_at_gte="2026-01-01T00:00:00Z", include_deleted=False
    )
    assert recorder.requests[0][1] == [
        ("include_deleted", "false"),
        ("created_at.lt", "2026-01-31T12:00:00.000000Z"),
        ("created_at.gte", "2026-01-01T00:00:00Z"),
    ]


def test_a_stream_names_its_kind_columns_and_filters() -> None:
    recorder = Recorder()
    operations.RewardAddresses(recorder).stream(["id", "ledger"], ledger="INK")
    operations.Claims(recorder).stream("amount")
    operations.Controls(recorder).stream(created_at_gt=NOON)
    assert recorder.streamed == [
        ("reward-addresses", ["id", "ledger"], [("ledger", "INK")]),
        ("claims", ["amount"], []),
        ("controls", None, [("created_at.gt", "2026-01-31T12:00:00.000000Z")]),
    ]


@pytest.mark.parametrize(
    ("amount", "sent"),
    [
        (Decimal("1.50"), "1.50"),
        (Decimal("1E-18"), "0.000000000000000001"),
        (Decimal("-0"), "-0"),
        (12, "12"),
        ("0.10", "0.10"),
        ("NaN", "NaN"),
    ],
)
def test_money_is_sent_as_exact_text(amount: object, sent: str) -> None:
    assert put({**CLAIM, "amount": amount})["amount"] == sent


@given(
    st.decimals(allow_nan=False, allow_infinity=False, places=18, min_value=-(10**19)).filter(
        lambda value: value.adjusted() < 20
    )
)
def test_money_loses_no_digit(amount: Decimal) -> None:
    assert Decimal(put({**CLAIM, "amount": amount})["amount"]).compare_total(amount) == 0


@pytest.mark.parametrize(
    ("amount", "expected"),
    [
        (1.5, "1.5 is a float"),
        (True, "a bool is not an amount"),
        (Decimal("NaN"), "not an amount"),
        (Decimal("Infinity"), "not an amount"),
        (Decimal("1E+999999999"), "too many digits"),
        (["1"], "a list is not an amount"),
    ],
)
def test_money_that_is_not_exact_is_refused_by_name(amount: object, expected: str) -> None:
    for name, send in {
        "amount": lambda: put({**CLAIM, "amount": amount}),
        "balance": lambda: operations.Balances(Recorder()).record(
            address_id="a1",
            balance=amount,  # type: ignore[arg-type]
            at=NOON,
        ),
    }.items():
        with pytest.raises(InvalidRequest) as refused:
            send()
        assert refused.value.errors[0].field == name
        assert expected in refused.value.detail


@pytest.mark.parametrize(
    ("member", "value", "field", "expected"),
    [
        ("metadata", {"rate": 0.1}, "metadata.rate", "a float"),
        ("addresses", ["a", 0.1], "addresses", "a float"),
        ("submitted_at", datetime(2026, 1, 1), "submitted_at", "no time zone"),
        ("metadata", {1: "a"}, "metadata", "names are str"),
        ("blockchain", object(), "blockchain", "cannot be written"),
        ("blockchain", "\udfff", "blockchain", "surrogate"),
    ],
)
def test_a_record_with_a_member_that_is_not_exact_is_refused_by_name(
    member: str, value: object, field: str, expected: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        put({**CLAIM, member: value})
    assert refused.value.errors[0].field == field
    assert expected in refused.value.detail


def test_a_value_that_is_not_a_record_is_refused() -> None:
    for record in ("c1", [CLAIM], None):
        with pytest.raises(InvalidRequest, match=r"record: .*give a record or a dict"):
            put(record)


def test_a_record_nested_without_end_is_refused() -> None:
    record: dict[str, Any] = dict(CLAIM)
    record["metadata"] = record
    with pytest.raises(InvalidRequest, match="at most 32 levels"):
        put(record)


def test_a_record_is_sent_without_unset_members() -> None:
    claim = Claim(
        id="c1",
        payout_group_id="g1",
        claim_type="CLAIM_ALL",
        onchain_status="PENDING",
        amount=Decimal("1.50"),
        created_at=NOON,
        updated_at=NOON,
    )
    assert put(claim) == CLAIM
    assert put({**CLAIM, "tx_hash": None, "created_at": NOON, "amount": Decimal("1.50")}) == CLAIM


def test_a_nested_record_is_sent_unchanged() -> None:
    moved = Orchestration(
        id="o1",
        customer_id="acme",
        status="PENDING",
        source=Source(crypto=CryptoEndpoint(address="0x1")),
        metadata={"a": "b"},
        created_at=NOON,
        updated_at=NOON,
    )
    answer = (
        b'{"id":"o1","customer_id":"acme","status":"PENDING","created_at":"%b","updated_at":"%b"}'
    )
    time = b"2026-01-31T12:00:00Z"
    recorder = Recorder(answer % (time, time))
    operations.Orchestrations(recorder).put(moved)
    sent = recorder.requests[0][2]
    assert sent["source"] == {"crypto": {"address": "0x1"}}
    assert sent["metadata"] == {"a": "b"}


def test_a_null_in_metadata_is_not_dropped_silently() -> None:
    assert put({**CLAIM, "metadata": {"a": None}})["metadata"] == {"a": None}


@pytest.mark.parametrize(
    ("act", "operation", "parameters", "body"),
    [
        (
            lambda svc: svc(operations.Claims).submit("c1", tx_hash="0x1", at=NOON),
            "claims.submit",
            [("id", "c1")],
            {"tx_hash": "0x1", "at": "2026-01-31T12:00:00.000000Z"},
        ),
        (lambda svc: svc(operations.Claims).confirm("c1"), "claims.confirm", [("id", "c1")], {}),
        (
            lambda svc: svc(operations.Claims).fail("c1", error_message="no gas"),
            "claims.fail",
            [("id", "c1")],
            {"error_message": "no gas"},
        ),
        (lambda svc: svc(operations.Claims).get("c1"), "claims.get", [("id", "c1")], None),
    ],
)
def test_a_method_is_one_call(
    act: Callable[[Any], object], operation: str, parameters: object, body: object
) -> None:
    recorder = Recorder(json.dumps(CLAIM).encode())
    act(lambda resource: resource(recorder))
    assert recorder.requests == [(operation, parameters, body, None)]


def test_a_write_carries_its_idempotency_key() -> None:
    recorder = Recorder(json.dumps(CLAIM).encode(), json.dumps(CLAIM).encode())
    resources = operations.Claims(recorder)
    resources.put(CLAIM, idempotency_key="k1")
    resources.confirm("c1", idempotency_key=UUID(int=1))
    assert [asked[3] for asked in recorder.requests] == [
        "k1",
        "00000000-0000-0000-0000-000000000001",
    ]


def test_permits_answers_a_bool() -> None:
    recorder = Recorder(b'{"permitted": false}')
    assert operations.Identities(recorder).permits("i1", "BUY", at=NOON) is False
    assert recorder.requests[0][1] == [
        ("id", "i1"),
        ("action", "BUY"),
        ("at", "2026-01-31T12:00:00.000000Z"),
    ]


@pytest.mark.parametrize(
    ("resource", "filters"),
    [
        (operations.Identities, identities.IdentityFilters),
        (operations.Controls, controls.ControlFilters),
        (operations.Orchestrations, orchestrations.OrchestrationFilters),
        (operations.PayoutGroups, payout_groups.PayoutGroupFilters),
        (operations.RewardAddresses, reward_addresses.RewardAddressFilters),
        (operations.Balances, balances.BalanceFilters),
        (operations.Claims, claims.ClaimFilters),
    ],
)
def test_iter_and_stream_take_the_filters_of_list_and_list_sends_them_all(
    resource: Callable[[Recorder], Any], filters: type
) -> None:
    recorder = Recorder(EMPTY_PAGE)
    method = resource(recorder).list
    names = [name for name in inspect.signature(method).parameters if name != "unknown"]
    paging = {"limit", "order", "page_cursor"}
    assert set(filters.__annotations__) == set(names) - paging
    method(**dict.fromkeys(names, "x"))
    sent = [name.replace("_at.", "_at_") for name, _ in recorder.requests[0][1]]
    assert sorted(sent) == sorted(names)


def test_an_integer_of_numpy_is_an_integer() -> None:
    numpy = pytest.importorskip("numpy")
    assert listed(limit=numpy.int64(5)) == [("limit", "5")]
