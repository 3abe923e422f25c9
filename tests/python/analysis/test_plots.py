"""Pictures: every report has one, for no rows, for many rows and for extreme values."""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from typing import Any

import comptroller
import pytest
from lines import at, claim, load

pytest.importorskip("sqlglot")
pytest.importorskip("duckdb")
pytest.importorskip("polars")
pytest.importorskip("altair")
pytest.importorskip("vl_convert")

import polars
from comptroller.analysis.registry import REPORTS
from comptroller.analysis.report import Report
from pictures import data_of, drawn_rows, notes_of, rewritten, svg_of, width_of
from report_stores import NAMES, reported

#: The maximum number of rows in a picture.
MAX_ROWS = 5_000
EMPTY = [name for name in NAMES if name not in ("group_statement", "history")]


@pytest.mark.parametrize("theme", ["light", "dark", "page"])
@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_saved_without_a_network(
    reports: dict[str, Report], name: str, theme: str
) -> None:
    report = reports[name]
    assert len(report)
    svg = svg_of(report.plot(theme))
    assert "<script" not in svg
    assert width_of(svg) <= 650
    if theme != "page":
        assert report.title in svg
        assert f"{len(report):,} row" in svg


@pytest.mark.parametrize("name", NAMES)
def test_equal_rows_give_equal_pictures(reports: dict[str, Report], name: str) -> None:
    assert len({reports[name].plot().to_json() for _ in range(4)}) == 1


def test_a_picture_is_saved_as_png(reports: dict[str, Report], tmp_path: Any) -> None:
    path = tmp_path / "picture.png"
    reports["claims_summary"].plot().save(str(path))
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", EMPTY)
def test_an_empty_report_has_a_message(operator: comptroller.Service, name: str) -> None:
    report = reported(operator, name)
    assert not len(report)
    svg = svg_of(report.plot())
    assert f"Nothing to show: {report.definition.empty}" in svg.replace("&#39;", "'")


@pytest.mark.parametrize(
    "by",
    [
        (),
        ("chain",),
        ("status",),
        ("status", "chain", "asset"),
        ("group", "hour"),
        ("status", "hour"),
        ("customer", "week"),
        ("claim_type", "month"),
    ],
)
def test_claims_are_drawn_for_any_keys(furnished: comptroller.Service, by: tuple[str, ...]) -> None:
    for name in ("claims_summary", "confirmation_times", "failures"):
        picture = reported(furnished, name, by=by).plot()
        assert 0 < drawn_rows(picture) <= MAX_ROWS
        assert width_of(svg_of(picture)) <= 650


def summary(rows: dict[str, Any], keys: tuple[str, ...]) -> Report:
    """Returns a summary of generated claims."""
    amounts = polars.col("claims").cast(polars.Decimal(38, 18))
    counted = {"confirmed": polars.col("claims"), "failed": polars.lit(0)}
    asset = {"asset": polars.lit("ETH")}
    frame = polars.DataFrame(rows).with_columns(
        confirmed_amount=amounts, waiting_amount=amounts, **counted, **asset
    )
    return Report(REPORTS["claims_summary"], keys, frame)


@pytest.mark.parametrize(
    ("name", "measure", "expected"),
    [
        ("claims_summary", "claims", "log scale"),
        ("failures", "failures", "log scale"),
        ("restrictions", "active", "log scale"),
        ("orchestration_flow", "orchestrations", '"symlog"'),
        ("reconciliation", "deviation", "log scale"),
        ("confirmation_times", "p99_seconds", "log scale"),
        ("stuck_claims", "age_seconds", "log scale"),
        ("anomalies", "score", "log scale"),
        ("group_statement", "claimed", "log scale"),
        ("cohort", "groups", "<1%"),
    ],
)
def test_a_dominant_row_leaves_the_others_readable(
    reports: dict[str, Report], name: str, measure: str, expected: str
) -> None:
    # The last row of a statement is the whole month, with a null key.
    known = [polars.col(key).is_not_null() for key in reports[name].keys] or [polars.lit(True)]
    number = polars.selectors.numeric() - polars.selectors.by_name(
        *("age_months", "step"), require_all=False
    )

    def dwarfed(frame: polars.DataFrame) -> polars.DataFrame:
        if measure not in frame.columns:
            return frame
        among = polars.when(polars.all_horizontal(known)).then(polars.col(measure))
        largest = polars.int_range(polars.len()) == among.arg_max()
        times = polars.when(largest).then(10_000_000).otherwise(1)
        return frame.with_columns((number * times).cast(polars.Float64))

    picture = rewritten(reports[name], dwarfed).plot()
    assert expected in json.dumps(picture.to_dict())
    assert width_of(svg_of(picture)) <= 650


@pytest.mark.parametrize("name", NAMES)
def test_every_report_with_ten_rows_has_a_picture(reports: dict[str, Report], name: str) -> None:
    report = rewritten(reports[name], lambda frame: frame.tail(10))
    svg = svg_of(report.plot())
    assert "Nothing to show" not in svg
    assert width_of(svg) <= 650


def test_the_drawn_values_sum_to_the_rows(reports: dict[str, Report]) -> None:
    def rows(name: str) -> polars.DataFrame:
        return reports[name].to_polars()

    def drawn(name: str, member: str) -> list[dict[str, Any]]:
        return data_of(reports[name].plot(), member)

    for measure, what in (("failures", "failed"), ("made_good", "recovered later")):
        bars = [bar for bar in drawn("failures", "what") if bar["what"] == what]
        assert sum(bar["claims"] for bar in bars) == rows("failures")[measure].sum() > 0
    flow = rows("orchestration_flow")
    cells = {(cell["row"], cell["column"]): cell for cell in drawn("orchestration_flow", "value")}
    assert sum(cell["value"] for cell in cells.values()) == flow["orchestrations"].sum() > 0
    controls = rows("restrictions")
    standing = sum(each["active"] for each in drawn("restrictions", "active"))
    assert standing == controls["active"].sum() > 0
    changes = [each["value"] for each in drawn("restrictions", "value")]
    assert sum(each for each in changes if each > 0) == controls["created"].sum() > 0
    assert -sum(each for each in changes if each < 0) == controls["deleted"].sum() > 0
    for name in ("stuck_claims", "anomalies"):
        member = {"stuck_claims": "status", "anomalies": "score"}[name]
        assert len(drawn(name, member)) == len(rows(name))


def test_days_without_a_score_hide_no_scored_day(reports: dict[str, Report]) -> None:
    def crowded(frame: polars.DataFrame) -> polars.DataFrame:
        scored = frame.filter(polars.col("score").is_not_null()).head(10)
        unscored = scored.head(1).with_columns(score=polars.lit(None, polars.Float64))
        return polars.concat([*[unscored] * 3_000, scored])

    report = rewritten(reports["anomalies"], crowded)
    scored = report.to_polars()["score"].count()
    points = data_of(report.plot(), "known")
    assert len(points) == 2_000
    assert sum(point["known"] for point in points) == scored > 0


def test_a_million_rows_are_reduced_and_counted() -> None:
    hours = polars.datetime_range(at(), at() + timedelta(hours=9_999), "1h", eager=True)
    groups = polars.DataFrame({"group": [f"g{number}" for number in range(100)]})
    frame = groups.join(polars.DataFrame({"hour": hours.dt.replace_time_zone("UTC")}), how="cross")
    report = summary({**frame.to_dict(), "claims": [1] * len(frame)}, ("group", "hour"))
    picture = report.plot()
    assert drawn_rows(picture) <= MAX_ROWS
    piled = data_of(picture, "claims")
    assert sum(row["claims"] for row in piled) == 1_000_000
    assert {"94 others", "g0"} < {row["series"] for row in piled}


def test_the_oldest_stuck_claims_are_drawn_and_the_others_counted() -> None:
    count = 20_000
    rows = {
        "id": [str(number) for number in range(count)],
        "group": "g",
        "chain": "INK",
        "status": "SUBMITTED",
        "asset": "ETH",
        "amount": None,
        "age_seconds": [float(number) for number in range(count)],
        "threshold_seconds": -1.0,
    }
    picture = Report(REPORTS["stuck_claims"], (), polars.DataFrame(rows)).plot()
    assert drawn_rows(picture) <= MAX_ROWS
    assert "18,000 others" in json.dumps(picture.to_dict())


def test_counts_are_drawn_over_all_assets_and_amounts_by_asset(
    operator: comptroller.Service,
) -> None:
    for number, asset in enumerate(("ETH", "RPL", "LDO", "ETH")):
        made = {"onchain_status": "PENDING", "amount": f"{10**number}", "asset_type": asset}
        load(operator, "claims", claim(**made))
    for by in (("status",), ("status", "day"), ("status", "asset"), ("chain",), ("day",)):
        expected = json.dumps(operator.reports.claims_summary(by).plot().to_dict())
        for asset in ("ETH", "RPL", "LDO"):
            assert f"waiting amount ({asset})" in expected
    picture = operator.reports.claims_summary(("status",)).plot()
    assert [row["claims"] for row in data_of(picture, "claims")] == [4]
    assert sorted(row["waiting_amount"] for row in data_of(picture, "waiting_amount")) == [
        10,
        100,
        1001,
    ]


@pytest.mark.parametrize("by", [("status",), ("chain",), ("day",), ("chain", "day"), ()])
def test_charts_of_claims_draw_confirmed_amounts(
    operator: comptroller.Service, by: tuple[str, ...]
) -> None:
    for status, amount in (("CONFIRMED", "1"), ("FAILED", "20"), ("PENDING", "300")):
        load(operator, "claims", claim(onchain_status=status, amount=amount, asset_type="ETH"))
    picture = operator.reports.claims_summary(by).plot()
    assert sum(row["confirmed_amount"] for row in data_of(picture, "confirmed_amount")) == 1
    shown = json.dumps(picture.to_dict())
    assert "confirmed amount (ETH)" in shown
    assert "claims of all statuses" in shown
    assert "waiting_amount" not in shown
    days = operator.reports.anomalies(measure="amount", band=0)
    if len(days):
        assert "confirmed amount: distance" in json.dumps(days.plot().to_dict())


@pytest.mark.parametrize("by", [("chain",), ("chain", "day")])
def test_a_dominant_series_does_not_hide_the_others(by: tuple[str, ...]) -> None:
    chains = ["BIG", "A", "B", "C"]
    rows: dict[str, Any] = {"chain": chains, "day": [at()] * 4, "claims": [10**9, 1, 2, 3]}
    expected = json.dumps(summary(rows, by).plot().to_dict())
    assert '"symlog"' in expected
    assert "log scale" in expected
    assert ("one has 100.0%" in expected) == (len(by) == 2)


@pytest.mark.parametrize(
    "amount", ["99999999999999999999.999999999999999999", "0.000000000000000001"]
)
def test_amounts_at_the_limits_of_their_range_are_drawn(
    operator: comptroller.Service, amount: str
) -> None:
    moments = {"submitted_at": at(10), "confirmed_at": at(5), "updated_at": at(days=9)}
    load(
        operator,
        "claims",
        claim(amount=amount, onchain_status="CONFIRMED", blockchain="INK", **moments),
        claim(amount="0", onchain_status="SUBMITTED", blockchain="INK", **moments),
        claim(amount="0", onchain_status="FAILED", created_at=at(days=800)),
    )
    for name in EMPTY:
        svg_of(reported(operator, name).plot())
    for by in ((), "status", ("status", "day")):
        svg_of(operator.reports.claims_summary(by).plot())


def test_times_at_the_limits_of_their_range_are_drawn(operator: comptroller.Service) -> None:
    first, last = "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"
    ended = {"onchain_status": "CONFIRMED", "submitted_at": last, "confirmed_at": first}
    load(operator, "claims", claim(created_at=first, **ended), claim(created_at=last, **ended))
    for by in ("hour", "week", "month"):
        svg_of(operator.reports.claims_summary(by).plot())
        svg_of(operator.reports.confirmation_times(by).plot())


def test_groups_with_equal_labels_are_not_merged() -> None:
    names = [f"c{number}" for number in range(100)] + ["95 others"]
    report = summary(
        {"chain": names, "day": [at()] * 101, "claims": [1] * 100 + [50]}, ("chain", "day")
    )
    drawn = {row["series"]: row["claims"] for row in data_of(report.plot(), "claims")}
    assert drawn["(1) 95 others"] == 50
    assert drawn["(2) 95 others"] == 95


def test_an_unknown_theme_is_refused(operator: comptroller.Service) -> None:
    with pytest.raises(comptroller.InvalidRequest, match="theme: must be one of light, dark"):
        operator.reports.claims_summary().plot("sepia")


@pytest.mark.parametrize("missing", ["altair", "vl_convert"])
def test_missing_modules_are_named(
    operator: comptroller.Service, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    report = operator.reports.claims_summary()
    monkeypatch.setitem(sys.modules, missing, None)
    for act in (report.plot, report.html):
        with pytest.raises(comptroller.MissingExtra, match=f"{missing}.*its extra .charts."):
            act()


def test_lines_replace_a_stack_only_if_one_series_would_hide_others(
    operator: comptroller.Service,
) -> None:
    months = [at(days=0), at(days=40)]
    for asset, groups in (("ETH", 1), ("RPL", 2)):
        for month in months:
            for number in range(groups):
                amount = "1000000" if number == 0 else "1"
                members = {"asset_type": asset, "amount": amount, "created_at": month}
                load(operator, "claims", claim(claim_type=f"{asset}{number}", **members))
    alone = operator.reports.claims_summary(by=["month", "asset"]).plot()
    assert not any("lines" in note for note in notes_of(alone))
    beside = operator.reports.claims_summary(by=["month", "claim_type", "asset"]).plot()
    (note,) = (note for note in notes_of(beside) if "lines" in note)
    assert note == "waiting amount (RPL): one has 100.0%, so lines instead of a stack."
