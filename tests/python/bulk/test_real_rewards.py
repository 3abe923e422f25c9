"""Six intervals of real rewards: every sum equals the published one, to 18 digits."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import comptroller
import pytest
from comptroller import Service
from examples import accounted
from places import ROOT

REWARDS = ROOT / "notebooks" / "data" / "rocket-pool"
KINDS = ("payout-groups", "reward-addresses", "claims")
TOTALS = json.loads((REWARDS / "totals.json").read_text())
SUMS = {
    (moment.replace("Z", "+00:00"), asset): Decimal(amount)
    for moment, assets in TOTALS["amount"].items()
    for asset, amount in assets.items()
    if TOTALS["claims"][moment][asset]
}
COUNTS = {
    (moment.replace("Z", "+00:00"), asset): count
    for moment, assets in TOTALS["claims"].items()
    for asset, count in assets.items()
    if count
}


def load(service: Service, kinds: Iterable[str] = KINDS) -> None:
    for kind in kinds:
        result = accounted(service.load(kind, REWARDS / f"{kind}.ndjson.gz"))
        assert result.committed
        assert result.inserted == result.read
        assert result.unknown_members == {}


@pytest.fixture(name="rewards", scope="module")
def _rewards(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with comptroller.open(tmp_path_factory.mktemp("rewards") / "rewards.db") as service:
        load(service)
        yield service


def summed(rows: Iterable[tuple[Any, str, Decimal]]) -> dict[tuple[str, str], Decimal]:
    totals: dict[tuple[str, str], Decimal] = {}
    with localcontext(prec=60):
        for moment, asset, amount in rows:
            key = (moment.isoformat(), asset)
            totals[key] = totals.get(key, Decimal()) + amount
    return totals


def through_pages(service: Service) -> dict[tuple[str, str], Decimal]:
    return summed((c.created_at, c.asset_type or "", c.amount) for c in service.claims.iter())


def through_the_stream(service: Service) -> dict[tuple[str, str], Decimal]:
    pytest.importorskip("pyarrow")
    table = service.claims.stream(["created_at", "asset_type", "amount"]).to_arrow()
    return summed(zip(*table.to_pydict().values(), strict=True))


def through_duckdb(service: Service) -> dict[tuple[str, str], Decimal]:
    duckdb = pytest.importorskip("duckdb")
    query = """
        SELECT strftime(created_at, '%Y-%m-%dT%H:%M:%S+00:00'), asset_type, sum(amount)
        FROM claims GROUP BY ALL"""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("claims", service.claims.stream())
        return {
            (moment, asset): total for moment, asset, total in connection.execute(query).fetchall()
        }


def through_polars(service: Service) -> dict[tuple[str, str], Decimal]:
    polars = pytest.importorskip("polars")
    sums = (
        service.claims.stream()
        .to_polars()
        .group_by("created_at", "asset_type")
        .agg(polars.col("amount").sum())
    )
    return {(moment.isoformat(), asset): total for moment, asset, total in sums.iter_rows()}


WAYS = [through_pages, through_the_stream, through_duckdb, through_polars]


@pytest.mark.parametrize("sums", WAYS)
def test_each_interval_and_asset_sums_to_its_published_total(rewards: Service, sums: Any) -> None:
    assert sums(rewards) == SUMS


@pytest.mark.parametrize("form", ["ndjson"])
def test_the_sums_survive_an_export_and_a_load(rewards: Service, tmp_path: Path, form: str) -> None:
    with comptroller.open(tmp_path / "other.db") as other:
        for kind in KINDS:
            path = tmp_path / f"{kind}.ndjson"
            count = rewards.export(kind, path)
            assert accounted(other.load(kind, path)).inserted == count
        assert through_pages(other) == through_the_stream(other) == SUMS
        assert other.check()["ok"]


def test_all_claims_load_completely(rewards: Service) -> None:
    claims = list(rewards.claims.iter())
    assert len(claims) == sum(COUNTS.values()) == 16_233
    assert Counter((c.created_at.isoformat(), c.asset_type) for c in claims) == COUNTS
    assert rewards.check()["ok"]
    groups = {group.id: group for group in rewards.payout_groups.iter()}
    assert all(groups[claim.payout_group_id].asset_type == claim.asset_type for claim in claims)


def test_claims_may_come_before_their_groups(rewards: Service, tmp_path: Path) -> None:
    with comptroller.open(tmp_path / "other.db") as other:
        load(other, reversed(KINDS))
        for kind in KINDS:
            for service, name in ((rewards, "one"), (other, "other")):
                service.export(kind, tmp_path / name)
            assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
        assert len(list(other.claims.iter(jurisdiction="ZZ"))) == 16_233
        assert other.check()["ok"]


def test_csv_keeps_every_amount(rewards: Service, tmp_path: Path) -> None:
    import csv

    rewards.export("claims", tmp_path / "claims.csv", "csv")
    with (tmp_path / "claims.csv").open(newline="") as file:
        amounts = {row["id"]: row["amount"] for row in csv.DictReader(file)}
    assert {claim.id: str(claim.amount) for claim in rewards.claims.iter()} == amounts
