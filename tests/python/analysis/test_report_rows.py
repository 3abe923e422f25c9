"""Rows of reports for other tools: their key, exact zeros, copies, pandas, Excel and Altair."""

from __future__ import annotations

import copy
import pickle
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import comptroller
import pytest
from comptroller.analysis.report import Report
from lines import claim, load, orchestration
from report_stores import NAMES, fill, reported
from reporting import only, ran


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A store with records of every kind."""
    folder: Path = tmp_path_factory.mktemp("sampled")
    with comptroller.open(folder / "store.db") as svc:
        fill(svc, folder, claims=1_000, seed=5)
        yield svc


@pytest.mark.parametrize("name", NAMES)
def test_the_keys_of_a_report_identify_its_rows(sampled: comptroller.Service, name: str) -> None:
    report = reported(sampled, name)
    frame = report.to_polars()
    assert set(report.keys) <= set(frame.columns)
    assert frame.select(report.keys).is_unique().all()


@pytest.mark.parametrize("name", NAMES)
def test_a_report_can_be_pickled_and_copied(sampled: comptroller.Service, name: str) -> None:
    report = reported(sampled, name)
    for twin in (pickle.loads(pickle.dumps(report)), copy.deepcopy(report)):
        assert isinstance(twin, Report)
        assert twin.to_dicts() == report.to_dicts()
        assert (twin.sql, twin.summary, twin.keys) == (report.sql, report.summary, report.keys)


def test_a_zero_is_exactly_zero(operator: comptroller.Service) -> None:
    load(operator, "claims", claim(amount="0", onchain_status="CONFIRMED"))
    (row,) = ran(operator, "claims_summary", ())
    assert [str(row[each]) for each in ("confirmed_amount", "failed_amount")] == ["0", "0"]


def test_the_amount_of_orchestrations_is_null_where_none_is_known(
    operator: comptroller.Service,
) -> None:
    moves = (("A", None), ("B", "2"), ("B", None), ("C", "0"))
    for asset, amount in moves:
        paid = {} if amount is None else {"source_amount": amount}
        load(operator, "orchestrations", orchestration(source_asset=asset, **paid))
    rows = ran(operator, "orchestration_flow")
    assert only(rows, "source_asset", "source_amount") == [("A", None), ("B", Decimal(2)), ("C", 0)]


def test_amounts_are_floats_for_pandas_on_request_only(sampled: comptroller.Service) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    report = sampled.reports.claims_summary(("month",))
    exact, lossy = report.to_pandas(), report.to_pandas(amounts="float")
    assert "decimal" in str(exact.dtypes["confirmed_amount"])
    assert str(lossy.dtypes["confirmed_amount"]) == "float64"
    amounts = [float(each) for each in exact["confirmed_amount"]]
    assert lossy["confirmed_amount"].tolist() == pytest.approx(amounts, rel=1e-14)
    assert isinstance(exact["month"][0], date)
    with pytest.raises(comptroller.InvalidRequest, match="amounts: 'money' is not allowed"):
        report.to_pandas(amounts="money")
    altair = pytest.importorskip("altair")
    assert isinstance(lossy, pandas.DataFrame)
    chart = altair.Chart(lossy).mark_bar().encode(x="month:T", y="confirmed_amount")
    (rows,) = chart.to_dict()["datasets"].values()
    assert isinstance(rows[0]["confirmed_amount"], float)
