"""Exported records load back to an equal store."""

from __future__ import annotations

import io
import json
import random
from datetime import datetime
from pathlib import Path
from typing import Any

import comptroller
import pytest
from comptroller import Service
from examples import (
    EARLIER,
    EVM_ADDRESSES,
    GROUP,
    KINDS,
    LATER,
    NOON,
    accounted,
    loaded,
    ndjson,
    short_line,
)
from hypothesis import given, settings
from hypothesis import strategies as st


def export_all(service: Service, folder: Path) -> dict[str, bytes]:
    folder.mkdir(exist_ok=True)
    for kind in KINDS:
        service.export(kind, folder / kind)
    return {kind: (folder / kind).read_bytes() for kind in KINDS}


def load_all(service: Service, files: dict[str, bytes], kinds: Any = KINDS) -> None:
    for kind in kinds:
        result = accounted(service.load(kind, io.BytesIO(files[kind])))
        assert result.committed, result.rejections
        assert (result.rejected, result.unknown_members) == (0, {})


@pytest.fixture(name="sampled", scope="module")
def _sampled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("sample")
    comptroller.sample("all", rows=2000, seed=7, out=folder)
    return {kind: (folder / f"{kind}.ndjson").read_bytes() for kind in KINDS}


def test_a_sample_is_equal_after_two_stores(sampled: dict[str, bytes], tmp_path: Path) -> None:
    with comptroller.open(":memory:") as one, comptroller.open(":memory:") as other:
        load_all(one, sampled)
        first = export_all(one, tmp_path)
        assert [data.count(b"\n") for data in first.values()] == [
            data.count(b"\n") for data in sampled.values()
        ]
        load_all(other, first)
        assert export_all(other, tmp_path) == first
        assert other.check()["ok"]


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_kinds_and_lines_does_not_matter(
    sampled: dict[str, bytes], tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    shuffled = {}
    for kind, data in sampled.items():
        lines = data.splitlines(keepends=True)
        chance.shuffle(lines)
        shuffled[kind] = b"".join(lines)
    # Only balances need their address to exist.
    kinds = [kind for kind in KINDS if kind != "balances"]
    chance.shuffle(kinds)
    with comptroller.open(":memory:") as one, comptroller.open(":memory:") as other:
        load_all(one, sampled)
        load_all(other, shuffled, [*kinds, "balances"])
        straight, mixed = (export_all(service, tmp_path) for service in (one, other))
        for kind in KINDS:
            assert sorted(straight[kind].splitlines()) == sorted(mixed[kind].splitlines()), kind
        assert other.check()["ok"]


# ---- made by hypothesis --------------------------------------------------------------------------

MOMENTS = st.datetimes().map(lambda moment: moment.isoformat(timespec="microseconds") + "Z")
PRINTABLE = st.characters(min_codepoint=0x21, max_codepoint=0x7E)
IDS = st.text(PRINTABLE, min_size=1, max_size=128)
# Any text without surrogates and C0 controls is valid and comes back unchanged.
CHARACTERS = st.characters(min_codepoint=0x20, exclude_categories=["Cs"])


def texts(most: int, least: int = 1) -> st.SearchStrategy[str]:
    return st.text(CHARACTERS, min_size=least, max_size=min(most, 40)) | st.just("ü" * most)


CAPITALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
WORDS = st.builds(
    str.__add__, st.sampled_from(CAPITALS), st.text(CAPITALS + "0123456789_", max_size=63)
)
DIGITS = "0123456789"
AMOUNTS = st.text(DIGITS, min_size=1, max_size=20) | st.builds(
    "{}.{}".format,
    st.text(DIGITS, min_size=1, max_size=20),
    st.text(DIGITS, min_size=1, max_size=18),
)
METADATA = st.dictionaries(texts(64), texts(512, 0), max_size=4)
ANY_UUIDS = st.uuids().map(str)
HASHES = IDS | st.binary(min_size=32, max_size=32).map(lambda data: "0x" + data.hex())
ADDRESS_LISTS = st.lists(
    IDS | st.binary(min_size=20, max_size=20).map(lambda data: "0x" + data.hex()), max_size=3
)
TRANSFERS = st.fixed_dictionaries({}, optional={"transfer_id": texts(128), "status": WORDS})
CRYPTO = st.fixed_dictionaries(
    {}, optional={"address_id": texts(128), "address": texts(128), "network": texts(128)}
)
PROFILE = st.fixed_dictionaries({}, optional={"profile_id": IDS})


def fiat(member: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={member: texts(128), "memo": texts(1024, 0)})


def ends(member: str) -> st.SearchStrategy[dict[str, Any]]:
    sides = {"crypto": CRYPTO, "fiat": fiat(member), "profile": PROFILE}
    return st.fixed_dictionaries({}, optional=sides)


def record(required: dict[str, Any], **optional: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"id": IDS, "created_at": MOMENTS} | required, optional=optional)


TIMED = {"customer_id": IDS, "updated_at": MOMENTS}
RECORDS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "identities": record(TIMED, ref_id=texts(128), metadata=METADATA),
    "controls": record(
        {
            "customer_id": st.just("acme"),
            "identity_id": IDS,
            "type": st.sampled_from(["SELL_ONLY", "CLOSED", "FROZEN", "DORMANT"]),
            "set_by": st.sampled_from(["CLIENT", "PROVIDER"]),
            "is_overridable": st.booleans(),
            "deleted_at": MOMENTS,
        },
        reason_code=WORDS,
        reason=texts(1024, 0),
        created_by=texts(128),
        deleted_by=texts(128),
        deletion_reason=texts(1024, 0),
    ),
    "orchestrations": record(
        TIMED | {"status": WORDS},
        **dict.fromkeys(("profile_id", "identity_id", "account_id"), IDS),
        ref_id=texts(128),
        source_asset=texts(128),
        destination_asset=texts(128),
        source_amount=AMOUNTS | AMOUNTS.map(lambda amount: "-" + amount),
        source_transfer=TRANSFERS,
        destination_transfer=TRANSFERS,
        fail_reason=st.fixed_dictionaries({}, optional={"detail": texts(1024, 0)}),
        source=ends("deposit_instructions_id"),
        destination=ends("bank_account_id"),
        orchestration_rule_id=IDS,
        metadata=METADATA,
    ),
    "payout-groups": record(
        TIMED
        | {
            "id": ANY_UUIDS,
            "ledger": st.sampled_from(["ETHEREUM", "INK", "XLAYER", "ARBITRUM_ONE"]),
            "onchain_status": WORDS,
            "balance": AMOUNTS,
            "claimer_address": st.sampled_from(EVM_ADDRESSES),
            "manager_address": st.sampled_from(EVM_ADDRESSES),
            "destination_address": st.sampled_from(EVM_ADDRESSES),
        },
        asset_type=texts(128),
        rate_id=texts(128),
        jurisdiction=texts(128),
        name=texts(256),
        onchain_group_id=texts(128),
        balance_at=MOMENTS,
        last_claim_all_at=MOMENTS,
        schedule_type=st.just("DAILY"),
    ),
    "reward-addresses": record(
        {
            "id": ANY_UUIDS,
            "customer_id": IDS,
            "ledger": st.just("ETHEREUM"),
            "address": st.sampled_from(EVM_ADDRESSES),
            "status": WORDS,
        },
        name=texts(256),
    ),
    "claims": record(
        TIMED
        | {
            "payout_group_id": ANY_UUIDS,
            "claim_type": WORDS,
            "onchain_status": st.sampled_from(["PENDING", "SUBMITTED", "CONFIRMED", "FAILED"]),
            "amount": AMOUNTS,
        },
        claim_schedule_id=texts(128),
        tx_hash=HASHES,
        addresses=ADDRESS_LISTS,
        error_message=texts(1024, 0),
        blockchain=texts(128),
        asset_type=texts(128),
        submitted_at=MOMENTS,
        confirmed_at=MOMENTS,
    ),
}
KEYS = {"reward-addresses": "address"}


def several(kind: str) -> st.SearchStrategy[list[dict[str, Any]]]:
    key = KEYS.get(kind, "id")
    return st.lists(RECORDS[kind], min_size=1, max_size=4, unique_by=lambda row: row[key])


@pytest.mark.parametrize("kind", RECORDS)
@settings(max_examples=8)
@given(data=st.data())
def test_records_of_every_shape_come_back_unchanged(
    tmp_path_factory: pytest.TempPathFactory, kind: str, data: st.DataObject
) -> None:
    rows = data.draw(several(kind))
    path = tmp_path_factory.getbasetemp() / f"{kind}.ndjson"
    with comptroller.open(":memory:") as one, comptroller.open(":memory:") as other:
        result = loaded(one, kind, *rows)
        assert (result.inserted, result.rejections) == (len(rows), [])
        assert one.export(kind, path) == len(rows)
        first = path.read_bytes()
        key = KEYS.get(kind, "id")
        shown = {row[key]: row for row in map(json.loads, first.splitlines())}
        assert shown == {row[key]: row for row in rows}
        assert other.load(kind, io.BytesIO(first)).inserted == len(rows)
        other.export(kind, path)
        assert path.read_bytes() == first
        assert one.load(kind, io.BytesIO(ndjson(rows))).unchanged == len(rows)


# ---- stores that go on apart ---------------------------------------------------------------------

CLAIM = {"id": "c", "payout_group_id": GROUP, "claim_type": "CLAIM_ALL", "amount": "1"}
CONFIRMED = {"onchain_status": "CONFIRMED", "confirmed_at": LATER, "updated_at": LATER}
FUTURE = "2199-01-01T00:00:00.000000Z"


def passed_on(one: Service, other: Service, folder: Path, kind: str) -> comptroller.LoadResult:
    """Loads one store's export of a kind into another; returns the result."""
    one.export(kind, folder / "passed-on")
    return other.load(kind, folder / "passed-on")


def test_a_later_confirmation_does_not_prevent_the_next_load(
    operator: Service, tmp_path: Path
) -> None:
    group = short_line("payout-groups", id=GROUP)
    loaded(operator, "payout-groups", group)
    loaded(operator, "claims", CLAIM | {"onchain_status": "PENDING", "created_at": NOON})
    with comptroller.open(":memory:") as other:
        for kind in ("payout-groups", "claims"):
            assert passed_on(operator, other, tmp_path, kind).inserted == 1
        loaded(operator, "claims", CLAIM | CONFIRMED | {"created_at": NOON})
        raised = operator.payout_groups.get(GROUP)
        assert raised.last_claim_all_at is not None
        assert passed_on(operator, other, tmp_path, "payout-groups").updated == 1
        assert other.payout_groups.get(GROUP) == raised
        assert passed_on(operator, other, tmp_path, "claims").updated == 1
        # An older line of the group changes nothing.
        assert other.load("payout-groups", [group]).unchanged == 1
        assert other.payout_groups.get(GROUP) == raised


def test_a_conflicting_group_is_rejected(
    operator: Service,
) -> None:
    loaded(operator, "payout-groups", short_line("payout-groups", id=GROUP))
    other = short_line("payout-groups", id=GROUP, name="other", last_claim_all_at=LATER)
    assert operator.load("payout-groups", [other]).rejections[0].code == "already-exists"
    assert operator.payout_groups.get(GROUP).last_claim_all_at is None


WRITES: dict[str, Any] = {
    "update": ("identities", lambda s: s.identities.update("alice", metadata={"a": "b"})),
    "put": ("identities", lambda s: s.identities.put(id="alice", ref_id="other")),
    "rename": ("payout-groups", lambda s: s.payout_groups.update(GROUP, name="other")),
    "observe": ("payout-groups", lambda s: s.payout_groups.observe(GROUP, rate_id="other")),
    "submit": ("claims", lambda s: s.claims.submit("claim-1", tx_hash="t")),
    "fail": ("claims", lambda s: s.claims.fail("claim-1", error_message="no")),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_write_survives_a_reload_of_lines_with_a_later_time(operator: Service, name: str) -> None:
    kind, write = WRITES[name]
    ids = {"identities": "alice", "payout-groups": GROUP, "claims": "claim-1"}
    line = short_line(kind, id=ids[kind], updated_at=FUTURE)
    loaded(operator, kind, line)
    written = write(operator)
    assert written.updated_at > datetime.fromisoformat(FUTURE)
    (rejection,) = operator.load(kind, [line]).rejections
    assert rejection.code in ("already-exists", "illegal-transition")
    resource = getattr(operator, kind.replace("-", "_"))
    assert resource.get(ids[kind]) == written


def test_an_implied_identity_is_implied_in_a_copy(operator: Service, tmp_path: Path) -> None:
    loaded(operator, "controls", short_line("controls", identity_id="bob"))
    for form in ("ndjson", "csv"):
        assert operator.export("identities", tmp_path / form, form) == 0
    assert [row["id"] for row in operator.identities.stream(["id"]).to_arrow().to_pylist()] == [
        "bob"
    ]
    with comptroller.open(":memory:") as other:
        for kind in ("identities", "controls"):
            assert passed_on(operator, other, tmp_path, kind).rejected == 0
        assert other.identities.list() == operator.identities.list()
        for service in (operator, other):
            assert service.check()["ok"]
            line = short_line("identities", id="bob", created_at=EARLIER)
            assert service.load("identities", [line]).inserted == 1
            assert service.export("identities", tmp_path / "own") == 1


def test_writes_to_an_implied_identity_are_exported(operator: Service, tmp_path: Path) -> None:
    loaded(operator, "controls", short_line("controls", identity_id="bob"))
    operator.identities.update("bob", metadata={"a": "b"})
    with comptroller.open(":memory:") as other:
        assert passed_on(operator, other, tmp_path, "identities").inserted == 1
        assert other.identities.get("bob").metadata == {"a": "b"}


@pytest.mark.parametrize("who", ["operator", "client"])
def test_an_update_keeps_an_identity_implied(operator: Service, open_as: Any, who: str) -> None:
    loaded(operator, "controls", short_line("controls", identity_id="bob", customer_id="acme"))
    service = operator if who == "operator" else open_as(customer="acme")
    written = service.identities.update("bob", metadata={"a": "b"})
    line = short_line("identities", id="bob", customer_id="acme", created_at=EARLIER, ref_id="r")
    assert operator.load("identities", [line]).inserted == 1
    bob = operator.identities.get("bob")
    assert bob.ref_id == "r"
    # Writes after the line are kept.
    assert (bob.metadata, bob.updated_at) == ({"a": "b"}, written.updated_at)


def test_a_put_makes_an_implied_identity_explicit(operator: Service) -> None:
    loaded(operator, "controls", short_line("controls", identity_id="bob"))
    operator.identities.put(id="bob")
    line = short_line("identities", id="bob", created_at=EARLIER)
    assert operator.load("identities", [line]).rejections[0].code == "already-exists"
