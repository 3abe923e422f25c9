"""Sample data: reproducible, with valid references, and suitable for all reports."""

from __future__ import annotations

import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import comptroller
import pytest
from comptroller import InvalidRequest, Service, Unusable
from examples import KINDS, REQUIRED, accounted

ROWS = 4000


def read(kind: str, **how: Any) -> bytes:
    return comptroller.sample(kind, **how).read()


def records(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(text) for text in data.splitlines()]


@pytest.fixture(name="folder", scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return comptroller.sample("all", rows=ROWS, out=tmp_path_factory.mktemp("sample") / "all")


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_bytes(kind: str) -> None:
    first = read(kind, rows=200, seed=5)
    assert read(kind, rows=200, seed=5) == first
    assert read(kind, rows=200, seed=6) != first
    assert len(records(first)) == 200
    assert first.endswith(b"\n")
    assert read(kind, rows=0) == b""


@pytest.mark.parametrize("kind", KINDS)
def test_every_row_has_the_requested_customer(kind: str) -> None:
    # A line without a customer gets the customer of its load, by default `default`.
    for customer, expected in ((None, {None, "default"}), ("acme", {"acme"})):
        rows = records(read(kind, rows=50, customer=customer))
        if kind != "balances":
            assert {row.get("customer_id") for row in rows} <= expected
        assert all(set(REQUIRED[kind]) <= row.keys() for row in rows)
        assert len({row.get("id", (row.get("address_id"), row.get("at"))) for row in rows}) == 50


def test_all_kinds_load_with_valid_references(operator: Service, folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == {f"{kind}.ndjson" for kind in KINDS}
    for kind in KINDS:
        result = accounted(operator.load(kind, folder / f"{kind}.ndjson"))
        assert result.committed
        assert result.inserted == result.read > 0
        assert result.unknown_members == {}
    found = operator.check()
    assert found["ok"], found
    assert found["rows"]["claims"] == ROWS
    groups = {group.id: group for group in operator.payout_groups.iter()}
    identities = {identity.id for identity in operator.identities.iter()}
    assert {claim.payout_group_id for claim in operator.claims.iter()} <= groups.keys()
    assert {address.payout_group_id for address in operator.reward_addresses.iter()} <= {
        None,
        *groups,
    }
    moves = operator.orchestrations.iter()
    assert {move.identity_id for move in moves if move.identity_id} <= identities
    assert {c.identity_id for c in operator.controls.iter(include_deleted=True)} <= identities


def test_a_sample_is_realistic(operator: Service, folder: Path) -> None:
    for kind in KINDS:
        operator.load(kind, folder / f"{kind}.ndjson")
    claims = list(operator.claims.iter())
    states = Counter(claim.onchain_status for claim in claims)
    assert set(states) == {"PENDING", "SUBMITTED", "CONFIRMED", "FAILED"}
    assert states.most_common(1)[0][0] == "CONFIRMED"
    messages = {claim.error_message for claim in claims if claim.onchain_status == "FAILED"}
    assert len(messages) >= 3
    assert None not in messages
    busiest = Counter(claim.payout_group_id for claim in claims).most_common()
    assert busiest[0][1] > 5 * busiest[-1][1]
    for claim in claims:
        if claim.onchain_status == "CONFIRMED":
            assert claim.submitted_at is not None
            assert claim.confirmed_at is not None
            assert claim.created_at <= claim.submitted_at <= claim.confirmed_at
        assert claim.created_at <= claim.updated_at
    assert {move.status for move in operator.orchestrations.iter()} == {
        *("PROCESSING", "COMPLETED", "FAILED"),
    }
    types = {control.type for control in operator.controls.iter(include_deleted=True)}
    assert {"DORMANT", "FROZEN"} <= types


@pytest.mark.parametrize("resource", ["payout-groups", "payout_groups"])
def test_a_sample_is_a_file_that_a_load_takes(operator: Service, resource: str) -> None:
    with comptroller.sample(resource, rows=3) as file:
        assert isinstance(file, io.BufferedIOBase)
        assert operator.load("payout-groups", file, customer_id="acme").inserted == 3


def test_a_sample_may_be_written_to_a_file(tmp_path: Path) -> None:
    path = tmp_path / "claims.ndjson"
    path.write_text("old")
    assert comptroller.sample("claims", rows=10, out=str(path)) == path
    assert path.read_bytes() == read("claims", rows=10)
    assert [entry.name for entry in tmp_path.iterdir()] == ["claims.ndjson"]


@pytest.mark.parametrize(
    ("kind", "how", "field"),
    [
        ("claim", {}, "kind"),
        ("all", {}, "out"),
        ("claims", {"rows": -1}, "rows"),
        ("claims", {"rows": 1.5}, "rows"),
        ("claims", {"rows": True}, "rows"),
        ("claims", {"customer": "a b"}, "customer"),
    ],
)
def test_malformed_tokens_are_refused(kind: str, how: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        comptroller.sample(kind, **how)
    assert [error.field for error in refused.value.errors] == [field]


@pytest.mark.parametrize(("kind", "place"), [("claims", "absent/rows"), ("claims", "folder"),
                                             ("all", "file"), ("all", "file/rows")])  # fmt: skip
def test_an_unwritable_destination_is_unusable(tmp_path: Path, kind: str, place: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(Unusable):
        comptroller.sample(kind, rows=10, out=tmp_path / place)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["claims.parquet", "claims.ndjson.gz", "claims.CSV"])
def test_a_sample_is_not_written_under_the_name_of_another_format(
    tmp_path: Path, name: str
) -> None:
    with pytest.raises(InvalidRequest, match=r"end it in one of \.ndjson, \.jsonl, \.json"):
        comptroller.sample("claims", rows=10, out=tmp_path / name)
    assert not list(tmp_path.iterdir())
    for accepted in ("claims", "claims.NDJSON", "claims.jsonl", "claims.json"):
        comptroller.sample("claims", rows=10, out=tmp_path / accepted)
    comptroller.sample("all", rows=10, out=tmp_path / "sample.2026")


@pytest.mark.parametrize("beside", ["", "-wal", "-shm", "-lock", "-opening-lock", "-filling"])
def test_a_sample_never_replaces_a_store(operator: Service, store_path: Path, beside: str) -> None:
    with pytest.raises(InvalidRequest, match=r"(belongs to the|is a file of the open) store"):
        comptroller.sample("claims", rows=3, out=f"{store_path}{beside}")
    assert operator.check()["ok"]


def test_a_sample_keeps_a_link(tmp_path: Path) -> None:
    (tmp_path / "rows").touch()
    (tmp_path / "link").symlink_to("rows")
    assert comptroller.sample("claims", rows=3, out=tmp_path / "link") == tmp_path / "link"
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "rows").read_bytes() == read("claims", rows=3)
