"""Reports as CSV, Excel and Parquet files, in Python and on the command line."""

from __future__ import annotations

import csv
import json
from datetime import date
from decimal import Decimal
from pathlib import Path

import comptroller
import pytest
from command_line import Run
from lines import claim, group, load

pytest.importorskip("sqlglot")
pytest.importorskip("duckdb")
pytest.importorskip("polars")
pytest.importorskip("xlsxwriter")
pytest.importorskip("fastexcel")  # with which polars reads the sheets

import polars
from comptroller.analysis.report import Report
from report_stores import NAMES, all_reports

LONG = "1234567890.123456789012345678"


def of_amounts(svc: comptroller.Service, *amounts: str) -> Report:
    paid = {"onchain_status": "CONFIRMED", "confirmed_at": "2026-01-01T00:00:00Z"}
    for index, amount in enumerate(amounts):
        created = f"2026-01-0{index + 1}T00:00:00Z"
        load(svc, "claims", claim(amount=amount, created_at=created, **paid))
    return svc.reports.claims_summary(by=("day",))


@pytest.mark.parametrize("name", NAMES)
def test_every_report_is_a_file(furnished: comptroller.Service, tmp_path: Path, name: str) -> None:
    report = all_reports(furnished)[name]
    whole = report.to_polars()
    report.to_parquet(tmp_path / "report.parquet")
    assert polars.read_parquet(tmp_path / "report.parquet").equals(whole)
    report.to_csv(tmp_path / "report.csv")
    with (tmp_path / "report.csv").open(newline="", encoding="utf-8") as file:
        header, *lines = csv.reader(file)
    assert (header, len(lines)) == (whole.columns, len(whole))
    report.to_excel(tmp_path / "report.xlsx")
    sheet = polars.read_excel(tmp_path / "report.xlsx", sheet_name=name)
    assert (sheet.columns, len(sheet)) == (whole.columns, len(whole))
    for column in whole:
        kept = sheet[column.name]
        assert kept.null_count() == column.null_count()
        if column.dtype.is_decimal():
            shown = [None if each is None else Decimal(str(each)) for each in kept]
            assert shown == column.to_list()


def test_amounts_are_numbers_only_where_excel_keeps_them(
    operator: comptroller.Service, tmp_path: Path
) -> None:
    short = of_amounts(operator, "0.000000000000000001", "0.1", "123456789012345")
    short.to_excel(tmp_path / "short.xlsx")
    kept = polars.read_excel(tmp_path / "short.xlsx", sheet_name="claims_summary")
    assert kept["day"].to_list() == [date(2026, 1, day) for day in (1, 2, 3)]
    assert kept["confirmed_amount"].to_list() == [1e-18, 0.1, 123456789012345.0]
    longer = of_amounts(operator, LONG)
    longer.to_excel(tmp_path / "long.xlsx")
    kept = polars.read_excel(tmp_path / "long.xlsx", sheet_name="claims_summary")
    assert kept["confirmed_amount"].to_list()[-1] == "123456789012345"
    assert kept["confirmed_amount"].to_list()[0] == "1234567890.123456789012345679"


def test_texts_are_never_formulas(operator: comptroller.Service, tmp_path: Path) -> None:
    load(operator, "payout-groups", named := group(name="=1+1"))
    load(operator, "claims", claim(payout_group_id=named["id"]))
    report = operator.reports.claims_summary(by=("group",))
    report.to_excel(tmp_path / "groups.xlsx")
    kept = polars.read_excel(tmp_path / "groups.xlsx", sheet_name="claims_summary")
    assert kept["group_name"].to_list() == ["=1+1"]
    report.to_csv(tmp_path / "groups.csv")
    assert ",'=1+1," in (tmp_path / "groups.csv").read_text(encoding="utf-8")


def test_a_sheet_says_what_the_columns_mean(operator: comptroller.Service, tmp_path: Path) -> None:
    report = of_amounts(operator, "1")
    report.to_excel(tmp_path / "summary.xlsx")
    about = polars.read_excel(tmp_path / "summary.xlsx", sheet_name="about", has_header=False)
    meanings = dict(about.rows())
    assert meanings["formula"] == report.formula
    assert meanings.keys() > report.definition.columns.keys()


@pytest.mark.parametrize("method", ["to_csv", "to_excel", "to_parquet"])
def test_a_wrong_suffix_and_a_store_are_refused(
    operator: comptroller.Service, store_path: Path, tmp_path: Path, method: str
) -> None:
    report = of_amounts(operator, "1")
    with pytest.raises(comptroller.InvalidRequest, match=r"path: .*report.txt does not end in \."):
        getattr(report, method)(tmp_path / "report.txt")
    suffix = {"to_csv": ".csv", "to_excel": ".xlsx", "to_parquet": ".parquet"}[method]
    link = tmp_path / f"link{suffix}"
    link.symlink_to(store_path)
    with pytest.raises(comptroller.InvalidRequest, match=r"path: .* is a file of the open store"):
        getattr(report, method)(link)
    assert len(operator.claims.list()) == 1


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".parquet", ".html", ".XLSX"])
def test_a_command_writes_a_report(run: Run, tmp_path: Path, suffix: str) -> None:
    assert run("sample", "claims", "--rows", "50", "--out", "claims.ndjson").code == 0
    assert run("load", "claims", "claims.ndjson").code == 0
    ended = run("report", "failures", "--out", f"failures{suffix}")
    assert (ended.code, ended.out) == (0, f"failures written to failures{suffix}\n")
    assert (tmp_path / f"failures{suffix}").stat().st_size
    ended = run("report", "--out", f"again{suffix}", "failures", "--json")
    assert json.loads(ended.out) == {"file": f"again{suffix}", "reports": ["failures"]}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("failures", "--out", "x.txt"), 2, "--out x.txt: unknown suffix; end it in .csv, .xlsx"),
        (("failures", "--out", "x"), 2, "--out x: unknown suffix"),
        (("--out", "x.csv"), 2, "--out x.csv: name a report; a page of all reports is .html"),
        (("failures", "--out", "x.csv", "--html", "y.html"), 2, "give one of them"),
        (("failures", "--out", "store.csv"), 1, "--out: store.csv belongs to the store"),
    ],
)
def test_wrong_files_are_refused(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    with comptroller.open(tmp_path / "store.csv"):
        pass
    assert run("sample", "claims", "--rows", "5", "--out", "claims.ndjson").code == 0
    assert run("load", "claims", "claims.ndjson").code == 0
    ended = run("report", *arguments)
    assert ended.code == code
    assert message in " ".join(ended.err.split())
    assert not (tmp_path / "x.csv").exists()
