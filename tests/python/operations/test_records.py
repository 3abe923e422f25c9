"""Records: decoding from JSON, and rejected values."""

from __future__ import annotations

import json
import pickle
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import comptroller
import msgspec
import pytest
from comptroller import arguments, decoding
from comptroller.records import (
    Claim,
    Control,
    Destination,
    FiatDestination,
    Identity,
    Orchestration,
    PayoutGroup,
    RewardAddress,
    StatusDetails,
    Transfer,
)
from hypothesis import given, strategies as st

TIME = '"2026-01-31T23:59:59.000001Z"'
MOMENT = datetime(2026, 1, 31, 23, 59, 59, 1, tzinfo=UTC)


def claim_json(amount: str = '"1.50"', created_at: str = TIME, more: str = "") -> bytes:
    return (
        '{"id":"c1","payout_group_id":"g1","claim_type":"CLAIM_ALL","onchain_status":"CONFIRMED",'
        f'"amount":{amount},"created_at":{created_at},"updated_at":{TIME}{more}}}'
    ).encode()


def test_a_record_has_typed_values() -> None:
    claim = decoding.read(claim_json(more=',"addresses":["a","b"]'), Claim)
    assert claim.amount == Decimal("1.50")
    assert str(claim.amount) == "1.50"
    assert type(claim.amount) is Decimal
    assert claim.created_at == MOMENT
    assert claim.created_at.tzinfo is UTC
    assert claim.onchain_status == "CONFIRMED"
    assert str(claim.onchain_status) == "CONFIRMED"
    assert claim.addresses == ("a", "b")
    assert claim.tx_hash is None


def test_an_unknown_member_is_ignored() -> None:
    assert decoding.read(claim_json(more=',"colour":"red"'), Claim).id == "c1"


def test_a_record_is_frozen_and_prints_only_set_members() -> None:
    claim = decoding.read(claim_json(), Claim)
    with pytest.raises(AttributeError):
        claim.amount = Decimal(2)  # type: ignore[misc]
    assert repr(claim).startswith("Claim(id='c1'")
    assert "None" not in repr(claim)


def test_a_record_pickles_and_hashes() -> None:
    claim = decoding.read(claim_json(), Claim)
    assert pickle.loads(pickle.dumps(claim)) == claim
    assert len({claim, decoding.read(claim_json(), Claim)}) == 1


@pytest.mark.parametrize(
    "amount",
    [
        '"0"',
        '"-1.5"',
        '"00.10"',
        '"12345678901234567890.123456789012345678"',
    ],
)
def test_an_amount_keeps_its_digits(amount: str) -> None:
    assert str(decoding.read(claim_json(amount), Claim).amount) == str(Decimal(amount.strip('"')))


@pytest.mark.parametrize(
    "amount",
    [
        '"NaN"',
        '"Infinity"',
        '" 1.5"',
        '"1.5\\n"',
        '"1_000"',
        '"\u0661"',
        '"1e5"',
        '"+1"',
        '".5"',
        '"1."',
        '""',
        '"123456789012345678901"',
        '"0.1234567890123456789"',
        "1.5",
        "1",
        "null",
        "true",
    ],
)
def test_only_a_plain_decimal_is_an_amount(amount: str) -> None:
    with pytest.raises(msgspec.ValidationError, match="amount"):
        decoding.read(claim_json(amount), Claim)


@pytest.mark.parametrize(
    "time",
    ['"2026-01-31T23:59:59"', '"2026-02-30T00:00:00Z"', '"yesterday"', "0", "null"],
)
def test_an_invalid_time_or_one_without_a_zone_is_refused(time: str) -> None:
    with pytest.raises(msgspec.ValidationError, match="created_at"):
        decoding.read(claim_json(created_at=time), Claim)


@pytest.mark.parametrize("missing", ["id", "amount", "created_at", "updated_at"])
def test_a_missing_required_member_is_an_error(missing: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=missing):
        decoding.read(claim_json().replace(missing.encode(), b"x"), Claim)


def test_an_identity_shows_its_controls() -> None:
    control = Control(
        id="k1",
        identity_id="i1",
        type="SELL_ONLY",
        set_by="CLIENT",
        is_overridable=True,
        created_at=MOMENT,
    )
    data = (
        '{"id":"i1","customer_id":"default","status":"DISABLED","status_details":{"active_controls":'
        '[{"id":"k1","identity_id":"i1","type":"SELL_ONLY","set_by":"CLIENT","is_overridable":true,'
        f'"created_at":{TIME},"deleted_at":null}}],"permitted_actions":["SELL"]}},'
        f'"user_disabled":true,"admin_disabled":false,"created_at":{TIME},"updated_at":{TIME}}}'
    ).encode()
    identity = decoding.read(data, Identity)
    assert identity.status_details == StatusDetails(
        active_controls=(control,), permitted_actions=("SELL",)
    )


texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)
amounts = st.decimals(min_value=-(10**9), max_value=10**9, places=18)
times = st.datetimes(timezones=st.just(UTC))
pairs = st.dictionaries(texts, texts, max_size=3)


def optional(value: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | value


@given(
    st.one_of(
        st.builds(
            Claim,
            id=texts,
            payout_group_id=texts,
            claim_type=texts,
            onchain_status=texts,
            amount=amounts,
            addresses=optional(st.lists(texts, max_size=3).map(tuple)),
            confirmed_at=optional(times),
            created_at=times,
            updated_at=times,
        ),
        st.builds(
            Orchestration,
            id=texts,
            customer_id=texts,
            status=texts,
            source_amount=optional(amounts),
            source_transfer=optional(st.builds(Transfer, transfer_id=optional(texts))),
            destination=optional(
                st.builds(Destination, fiat=st.builds(FiatDestination, memo=optional(texts)))
            ),
            created_at=times,
            updated_at=times,
            metadata=optional(pairs),
        ),
        st.builds(
            PayoutGroup,
            id=texts,
            ledger=texts,
            balance=optional(amounts),
            created_at=times,
            updated_at=times,
        ),
        st.builds(RewardAddress, id=texts, ledger=texts, address=texts, created_at=times),
    )
)
def test_encoding_and_decoding_give_an_equal_record(record: msgspec.Struct) -> None:
    assert decoding.read(arguments.record(record), type(record)) == record


def test_a_record_is_read_by_msgspec_itself() -> None:
    claim = msgspec.json.decode(claim_json('"0.000000000000000001"'), type=Claim)
    assert claim == decoding.read(claim_json('"0.000000000000000001"'), Claim)
    assert msgspec.json.decode(b"[" + claim_json() + b"]", type=list[Claim])[0].id == claim.id


@pytest.mark.parametrize("amount", ["0.000000000000000000", "0.0000001", "1.50", "1000"])
def test_to_dict_gives_values_for_json_and_load(amount: str) -> None:
    claim = decoding.read(claim_json(f'"{amount}"'), Claim)
    members = claim.to_dict()
    assert members["amount"] == amount
    assert decoding.read(json.dumps(members).encode(), Claim) == claim
    assert "tx_hash" not in members
    with comptroller.open(":memory:") as service:
        members["payout_group_id"] = "11111111-1111-4111-8111-111111111111"
        assert service.load("claims", [members]).inserted == 1


def test_to_dict_includes_nested_records() -> None:
    with comptroller.open(":memory:") as service:
        service.identities.put(id="alice", metadata={"a": "1"}, user_disabled=True)
        members = json.loads(json.dumps(service.identities.get("alice").to_dict()))
    assert members["metadata"] == {"a": "1"}
    assert members["status_details"]["active_controls"][0]["type"] == "SELL_ONLY"
