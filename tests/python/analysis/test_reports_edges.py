"""Unusual stores: every report and picture works, and DuckDB and Spark agree."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import comptroller
import pytest
from lines import address, at, balance, claim, control, fresh, group, load, orchestration
from report_stores import NAMES
from spark_session import MARKS

pytest.importorskip("sqlglot")
pytest.importorskip("duckdb")
pytest.importorskip("polars")
pytest.importorskip("altair")

import polars
from comptroller.analysis.query import open_query
from comptroller.analysis.report import Report

LARGEST = "99999999999999999999.999999999999999999"
LEAST = "0.000000000000000001"
GROUP = "01900000-0000-7000-8000-0000000000aa"
CONFIRMED = {"onchain_status": "CONFIRMED", "submitted_at": at(5), "confirmed_at": at(35)}
FAILED = {"onchain_status": "FAILED", "error_message": "out of gas"}
Lines = dict[str, list[dict[str, Any]]]


def whole(*claims: dict[str, Any], held: str = "32", moved: str = "1") -> Lines:
    """Records of every kind around some claims of one group."""
    owned = address(payout_group_id=GROUP)
    return {
        "payout-groups": [group(id=GROUP, asset_type="ETH", jurisdiction="CH")],
        "reward-addresses": [owned],
        "balances": [balance(address_id=owned["id"], balance=held)],
        "controls": [control(identity_id=fresh("owner"))],
        "orchestrations": [
            orchestration(source_asset="EUR", destination_asset="USDC", source_amount=moved)
        ],
        "claims": [claim(**{"payout_group_id": GROUP, **each}) for each in claims],
    }


BACKWARDS = {
    "created_at": at(days=40),
    "submitted_at": at(days=30),
    "confirmed_at": at(days=20),
    "updated_at": at(days=10),
    "onchain_status": "CONFIRMED",
}
EDGES: dict[str, Lines] = {
    "nothing": {},
    "one claim": {"claims": [claim()]},
    "all failed": whole(FAILED, {**FAILED, "error_message": None}, {**FAILED, "amount": LEAST}),
    "clocks out of order": {
        **whole(BACKWARDS, {**BACKWARDS, "onchain_status": "SUBMITTED", "confirmed_at": None}),
        "orchestrations": [
            orchestration(status="COMPLETED", created_at=at(60), updated_at=at(0)),
        ],
        "controls": [control(identity_id="odd", created_at=at(60), deleted_at=at(0))],
    },
    "unknown words": {
        "payout-groups": [group(id=GROUP, asset_type="X'\"", jurisdiction="ZZ-9", ledger="INK")],
        "claims": [claim(payout_group_id=GROUP, blockchain="\u202e<b>", asset_type="💰")],
        "orchestrations": [orchestration(source_asset="$", destination_asset="\u2028")],
        "controls": [control(identity_id="odd", reason_code="NOBODY_KNOWS")],
    },
    "a missing group": {"claims": [claim(**CONFIRMED), claim(**FAILED)]},
    "both ends of the range": whole(
        {**CONFIRMED, "amount": "99999999999999999999.999999999999999998"},
        {**CONFIRMED, "amount": LEAST, "created_at": "9999-12-31T23:59:59.999999Z"},
        held=LARGEST,
        moved=LARGEST,
    ),
    "a sum past 38 digits": {
        **whole({**CONFIRMED, "amount": LARGEST}, {**CONFIRMED, "amount": LEAST}),
        "orchestrations": [
            orchestration(source_amount=LARGEST),
            orchestration(source_amount=LEAST),
        ],
    },
}
#: The subject of a report if no record exists.
UNKNOWN = {
    "group_statement": "payout group",
    "history": "claim, identity, payout group or address",
}


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, comptroller.Service]]:
    """A store for each unusual case."""
    folder = tmp_path_factory.mktemp("edges")
    opened = {}
    for number, (edge, kinds) in enumerate(EDGES.items()):
        opened[edge] = comptroller.open(folder / f"{number}.db")
        for kind, lines in kinds.items():
            load(opened[edge], kind, *lines)
    yield opened
    for svc in opened.values():
        svc.close()


def outcome(svc: comptroller.Service, name: str, engine: str) -> Report | str:
    """Returns the report, or its error."""
    given: dict[str, Any] = {}
    if name == "group_statement":
        given = {"group": GROUP, "month": "2026-01"}
    elif name == "history":
        given = {"id": GROUP}
    elif name == "anomalies":
        given = {"measure": "amount"}
    try:
        report: Report = getattr(svc.reports, name)(**given, engine=engine)
    except comptroller.Error as error:
        return str(error)
    return report


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("name", NAMES)
def test_every_report_is_computed_and_drawn(
    stores: dict[str, comptroller.Service], tmp_path: Path, name: str, edge: str
) -> None:
    result = outcome(stores[edge], name, "duckdb")
    if edge in ("nothing", "one claim", "a missing group") and name in UNKNOWN:
        assert result == f"not-found: there is no {UNKNOWN[name]} {GROUP}"
    else:
        assert isinstance(result, Report)
        result.plot().save(str(tmp_path / "picture.svg"))
        assert repr(result)
        assert result._repr_html_()


@pytest.mark.parametrize("edge", [pytest.param(edge, marks=MARKS) for edge in EDGES])
def test_every_engine_gives_the_same_rows(
    stores: dict[str, comptroller.Service], edge: str, request: pytest.FixtureRequest
) -> None:
    pytest.importorskip("pyspark")
    request.getfixturevalue("spark")
    for name in NAMES:
        here, there = (outcome(stores[edge], name, each) for each in ("duckdb", "spark"))
        if isinstance(here, Report) and isinstance(there, Report):
            assert there.to_polars().schema == here.to_polars().schema, name
            assert there.to_dicts() == here.to_dicts(), name
        else:
            assert there == here, name


def test_money_is_exact_in_every_report(stores: dict[str, comptroller.Service]) -> None:
    for name in NAMES:
        report = outcome(stores["all failed"], name, "duckdb")
        assert isinstance(report, Report)
        money = {"amount", "claimed", "holdings", "value", "median", "mad"}
        for column, type in report.to_polars().schema.items():
            parts = set(column.split("_"))
            if parts & money and not parts & {"share", "average", "days", "rate"}:
                assert type == polars.Decimal(38, 18), f"{name}: {column}"


def test_a_damaged_store_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with comptroller.open(path) as svc:
        load(svc, "claims", claim())
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("UPDATE claims SET amount = 'much'")
    with comptroller.open(path, read_only=True) as svc:
        for name in ("claims_summary", "cohort"):
            message = outcome(svc, name, "duckdb")
            assert isinstance(message, str)
            assert message.startswith("unusable: the store is damaged")
        with (
            open_query(svc, "SELECT sum(amount) FROM claims") as asked,
            pytest.raises(comptroller.Unusable, match="the store is damaged"),
        ):
            next(asked.rows())


def test_a_client_with_only_claims_has_reports_on_claims(
    open_as: Callable[..., comptroller.Service],
) -> None:
    reader = open_as(customer="default", scopes=["rewards:read_claims"])
    for name in ("claims_summary", "confirmation_times", "failures", "anomalies"):
        assert getattr(reader.reports, name)().to_dicts() == []
        with pytest.raises(comptroller.Forbidden, match="rewards:read_payout_groups"):
            getattr(reader.reports, name)("jurisdiction")
