"""Reports give equal answers with enumerations of chains and assets, and with texts."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import comptroller
import pytest
from lines import claim, load

pytest.importorskip("sqlglot")
pytest.importorskip("duckdb")
pytest.importorskip("polars")

from comptroller.analysis.engines import duckdb as engine
from random_stores import fill_randomly
from report_stores import NAMES

#: Their order differs between bytes, cases, languages and numbers.
TEXTS = (
    *("a", "B", "Z", "ä", "10", "9", "日本", "\U0001f600", "it's", '"quoted"', "back\\slash"),
    *("NULL", "null", "%", "--", "two words", "'); DROP TABLE claims; --", "\u202e"),
)
BY = {
    "claims_summary": ["chain", "asset", ("asset", "chain"), ("chain", "status"), ()],
    "confirmation_times": ["chain", "asset", "month"],
    "failures": ["chain", "asset"],
    "anomalies": ["chain", "asset"],
}


def answers(svc: comptroller.Service, group: str) -> list[Any]:
    """Returns the types and the rows of each report, in order."""
    found = []
    own = {
        "group_statement": {"group": group, "month": "2026-02"},
        "history": {"id": group},
        "anomalies": {"band": 0.1},
    }
    for name in NAMES:
        for by in BY.get(name, [None]):
            named = own.get(name, {}) | ({} if by is None else {"by": by})
            frame = getattr(svc.reports, name)(**named).to_polars()
            found.append((name, by, frame.schema, frame.to_dicts()))
    return found


def fill_with_unusual_texts(svc: comptroller.Service, _seed: int) -> str:
    group = "01900000-0000-7000-8000-0000000000aa"
    pairs = product((*TEXTS, None), (*reversed(TEXTS), None))
    statuses = ("CONFIRMED", "FAILED", "PENDING")
    rows = [
        claim(
            payout_group_id=group,
            blockchain=chain,
            asset_type=asset,
            onchain_status=statuses[number % 3],
            created_at=f"2026-02-{number % 28 + 1:02d}T00:00:00Z",
        )
        for number, (chain, asset) in enumerate(pairs)
    ]
    load(svc, "claims", *rows)
    return group


def fill_without_chains(svc: comptroller.Service, _seed: int) -> str:
    row = claim(blockchain=None, asset_type=None)
    load(svc, "claims", row)
    return str(row["payout_group_id"])


@pytest.mark.parametrize("most", [3, 10_000])
@pytest.mark.parametrize("fill", [fill_randomly, fill_with_unusual_texts, fill_without_chains])
def test_enumerations_do_not_change_answers(
    operator: comptroller.Service,
    store_path: Path,
    fill: Any,
    most: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    group = fill(operator, 1)
    with comptroller.open(store_path, read_only=True) as plain, monkeypatch.context() as never:
        never.setattr(engine, "_REPEATED", ["id"])  # which has no codes
        expected = answers(plain, group)
    assert any(rows for *_, rows in expected)
    monkeypatch.setattr(engine, "_MAX_ENUMERATED", most)
    assert answers(operator, group) == expected


@pytest.mark.parametrize(("most", "kind"), [(3, "varchar"), (10_000, "enum")])
def test_columns_have_short_types(
    operator: comptroller.Service, most: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_with_unusual_texts(operator, 1)
    monkeypatch.setattr(engine, "_MAX_ENUMERATED", most)
    tables = engine.DuckDB()
    tables.read("claims", operator.claims.stream())
    rows = tables._connection.table("claims")
    types = {name: type.id for name, type in zip(rows.columns, rows.types, strict=True)}
    assert types["asset_type"] == types["blockchain"] == kind
    assert types["onchain_status"] == "enum"
    assert types["payout_group_id"] == "uuid"
    assert types["created_at"] == "timestamp"
    tables.close()


def test_a_chain_in_the_middle_of_a_table_is_not_lost(operator: comptroller.Service) -> None:
    chains = {0: "first", 2_500: "middle", 4_999: "last"}
    load(operator, "claims", *(claim(blockchain=chains.get(number)) for number in range(5_000)))
    tables = engine.DuckDB()
    tables.read("claims", operator.claims.stream())
    counts = "SELECT blockchain::VARCHAR, count(*) FROM claims GROUP BY ALL ORDER BY ALL"
    assert tables._connection.execute(counts).fetchall() == [
        ("first", 1),
        ("last", 1),
        ("middle", 1),
        (None, 4_997),
    ]
    tables.close()


@pytest.mark.parametrize("kind", ["claims", "balances"])
def test_a_table_of_a_closed_service_is_closed(operator: comptroller.Service, kind: str) -> None:
    stream = getattr(operator, kind).stream()
    operator.close()
    tables = engine.DuckDB()
    with pytest.raises(comptroller.Closed):
        tables.read(kind, stream)
    tables.close()


@pytest.mark.parametrize("count", [1, 64, 65, 5_000])
def test_a_store_in_memory_has_its_chains(count: int) -> None:
    with comptroller.open(":memory:") as svc:
        load(svc, "claims", *(claim(blockchain=f"chain {number % 3}") for number in range(count)))
        rows = svc.reports.claims_summary(by="chain").to_polars()
        assert rows["chain"].to_list() == [f"chain {number}" for number in range(min(count, 3))]
        assert rows["claims"].sum() == count
