"""Names of payout groups and reward addresses in reports, and as arguments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import comptroller
import pytest
from comptroller.analysis import open_exports
from lines import address, at, balance, claim, group, load
from reporting import only, ran

ONE, TWO, THREE = (f"01900000-0000-7000-8000-0000000000{each}" for each in ("aa", "bb", "cc"))
EVM = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"


@pytest.fixture
def named(operator: comptroller.Service) -> comptroller.Service:
    """Three groups, two of which have one name; claims of them and of a group that is unknown."""
    names = {ONE: "Treasury", TWO: "Twins", THREE: "Twins"}
    load(
        operator,
        "payout-groups",
        *(group(id=id, name=name, asset_type="ETH") for id, name in names.items()),
    )
    for each in names:
        load(
            operator,
            "claims",
            claim(payout_group_id=each, addresses=[EVM], onchain_status="FAILED"),
        )
    load(operator, "claims", claim(payout_group_id="01900000-0000-7000-8000-0000000000dd"))
    load(
        operator, "reward-addresses", address(address=EVM, name="Cold wallet", payout_group_id=ONE)
    )
    return operator


def test_groups_and_addresses_have_their_names(named: comptroller.Service) -> None:
    rows = ran(named, "claims_summary", ("group",))
    assert list(rows[0])[:3] == ["group", "group_name", "asset"]
    assert [row["group_name"] for row in rows] == ["Treasury", "Twins", "Twins", None]
    rows = ran(named, "claims_summary", ("address", "chain"))
    assert only(rows, "address", "address_name") == [(EVM, "Cold wallet"), (None, None)]
    assert named.reports.claims_summary(("group",)).keys == ("group", "asset")
    confirmed = {"onchain_status": "CONFIRMED", "confirmed_at": at(9)}
    load(named, "claims", claim(payout_group_id=ONE, **confirmed))
    rows = ran(named, "reconciliation")
    assert [row["group_name"] for row in rows] == ["Treasury", "Twins", "Twins"]
    (first, *_) = ran(named, "group_statement", ONE, "2026-01")
    assert (first["group"], first["group_name"]) == (ONE, "Treasury")


def test_a_history_takes_the_unique_name_of_a_group(named: comptroller.Service) -> None:
    assert ran(named, "history", "Treasury") == ran(named, "history", ONE)
    assert named.reports.history("Treasury").given["id"] == "Treasury"
    with pytest.raises(
        comptroller.InvalidRequest, match=f"2 payout groups.*'Twins': {TWO}, {THREE}"
    ):
        named.reports.history("Twins")
    with pytest.raises(comptroller.NotFound, match="or address Nobody"):
        named.reports.history("Nobody")
    load(named, "claims", claim(id="Treasury", payout_group_id=TWO))
    assert ran(named, "history", "Treasury")[0]["record"] == "claim"
    assert not ran(named, "history", ONE, until="2020-01-01")
    details = [row["detail"] for row in ran(named, "history", ONE) if row["record"] == "address"]
    assert details[0].lower() == f"cold wallet ({EVM})"
    assert ran(named, "history", ONE)[0]["record"] != "claim"


def test_tables_show_names_first_and_ids_last(named: comptroller.Service) -> None:
    by_group = named.reports.claims_summary(("group",))
    shown = by_group.head(9)
    assert (shown.columns[0], shown.columns[-1]) == ("group_name", "group")
    assert shown["group"].to_list() == [
        *("01900000-0000…00aa", "01900000-0000…00bb", "01900000-0000…00cc"),
        "01900000-0000-7000-8000-0000000000dd",
    ]
    assert by_group.to_polars()["group"][0] == ONE
    html = by_group.html()
    assert html.index("Treasury") < html.index("01900000-0000…00aa")
    assert named.reports.stuck_claims().head(1).columns[-1] == "id"
    without = named.reports.claims_summary(("group",), group="01900000-0000-7000-8000-0000000000dd")
    assert without.head(9).columns[0] == "group"
    assert "group_name" not in without.head(9).columns


def test_charts_have_names_and_ids(named: comptroller.Service) -> None:
    chart = json.dumps(
        named.reports.claims_summary(("group",)).plot().to_dict(), ensure_ascii=False
    )
    assert "Treasury · 01900000-0000…00aa" in chart
    assert '"01900000-0000…00dd"' in chart
    assert "Treasury" in named.reports.claims_summary(("group",)).html()


def test_a_unique_name_is_accepted_and_echoed(named: comptroller.Service) -> None:
    by_id = ran(named, "failures", group=ONE.upper())
    report = named.reports.failures(group="Treasury")
    assert report.to_dicts() == by_id
    assert "group Treasury" in report.summary
    statement = named.reports.group_statement("Treasury", "2026-01")
    assert "group Treasury" in statement.summary
    assert ran(named, "failures", group=["Treasury", TWO]) != by_id


def test_an_ambiguous_name_is_refused_with_the_ids(named: comptroller.Service) -> None:
    with pytest.raises(comptroller.InvalidRequest) as refused:
        named.reports.failures(group="Twins")
    for part in ("group: 2 payout groups have the name 'Twins'", TWO, THREE, "give the id"):
        assert part in str(refused.value)
    for report in (named.reports.failures, named.reports.overview):
        with pytest.raises(comptroller.NotFound, match="there is no payout group TREASURY"):
            report(group="TREASURY")
    with pytest.raises(
        comptroller.NotFound, match="there is no payout group 01900000-0000-7000-8000-0000000000FF"
    ):
        named.reports.group_statement("01900000-0000-7000-8000-0000000000FF", "2026-01")


def test_names_are_empty_where_groups_may_not_be_read(
    named: comptroller.Service, open_as: Any, tmp_path: Path
) -> None:
    client = open_as(customer="default", scopes=["rewards:read_claims"])
    assert only(ran_only(client), "group", "group_name")[0] == (ONE, None)
    with pytest.raises(comptroller.Forbidden):
        client.reports.failures(group="Treasury")
    named.export("claims", tmp_path / "claims.parquet", format="parquet")
    exports = open_exports(tmp_path)
    assert exports.claims_summary(("group",)).to_dicts()[0]["group_name"] is None
    with pytest.raises(comptroller.InvalidRequest, match="there is no payout_groups"):
        exports.claims_summary(("jurisdiction",))


def ran_only(svc: comptroller.Service) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = svc.reports.claims_summary(("group",)).to_dicts()
    return rows


def test_findings_name_the_group(named: comptroller.Service) -> None:
    names = {ONE: "1", TWO: "1", THREE: "9"}
    for id, amount in names.items():
        held = address(payout_group_id=id)
        load(named, "reward-addresses", held)
        load(named, "balances", balance(address_id=held["id"], at=at(0), balance="100"))
        paid = {"onchain_status": "CONFIRMED", "confirmed_at": at(60), "asset_type": "ETH"}
        load(named, "claims", claim(payout_group_id=id, amount=amount, **paid))
    texts = [each.text for each in named.reports.overview().findings]
    assert [text for text in texts if f"most unusual Twins, {THREE}" in text]
