"""Exports to CSV, Parquet and Excel load to an equal store, whatever the texts are."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import comptroller
import pytest
from comptroller import InvalidRequest, Service
from examples import KINDS, LINES, accounted, line
from hypothesis import HealthCheck, example, given, settings, strategies as st

for needed in ("polars", "duckdb", "xlsxwriter", "python_calamine"):
    pytest.importorskip(needed)

SUFFIXES = (".csv", ".parquet", ".xlsx")
FREE_TEXTS = {
    "identities": ["ref_id"],
    "controls": ["reason", "deletion_reason"],
    "orchestrations": ["source_asset", "ref_id"],
    "payout-groups": ["name", "rate_id"],
    "reward-addresses": ["name"],
    "claims": ["error_message", "claim_schedule_id", "tx_hash"],
    "balances": [],
}
pieces = st.sampled_from(
    [
        "=",
        "+",
        "-",
        "@",
        "'",
        '"',
        " ",
        ",",
        ";",
        "a",
        "1",
        "\n",
        "\t",
        "\r",
        "\u00e4",
        "\U0001f600",
        "_x000D_",
    ]
)
texts = st.lists(pieces, max_size=6).map("".join) | st.text(max_size=6)


def assert_equal(service: Service, other: Service, folder: Path) -> None:
    for kind in KINDS:
        count = service.export(kind, folder / "all.ndjson")
        result = accounted(other.load(kind, folder / "all.ndjson", dry_run=True))
        assert result.unchanged == count, (kind, result)
        assert other.export(kind, folder / "all.ndjson") == count


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(deadline=None, max_examples=8, suppress_health_check=[HealthCheck.too_slow])
@given(values=st.lists(texts, min_size=12, max_size=12))
@example(
    values=["", "'", "''", "=x", "'=x", "''  =x", " =x", "'a", "1.50", "true", "{}", "2026-01-01"]
)
@example(
    values=["_x000D_", "\r", "\n", "\t=", "null", "NaN", "[]", "-", "  ", "\u2028", "0x1", "1e3"]
)
@example(
    values=[
        *("\ufffe", "a\uffffb", "_xFFFE_", "_xffff_", "_xFFFF", "_xFFFE_\ufffe"),
        *("'\uffff", "=\ufffe", "\uffff_x0041_", "_xD83D_\ufffe", "\U0001fffe", "x"),
    ]
)
def test_an_export_loads_to_an_equal_store(suffix: str, values: list[str]) -> None:
    with (
        TemporaryDirectory() as name,
        comptroller.open(":memory:") as service,
        comptroller.open(":memory:") as other,
    ):
        folder = Path(name)
        for kind in KINDS:
            rows = [line(kind)]
            if kind != "balances":
                rows += [
                    line(kind, **_changes(kind, number, value))
                    for number, value in enumerate(values)
                ]
            accounted(service.load(kind, rows, keep_going=True))
        for kind in KINDS:
            service.export(kind, folder / f"{kind}{suffix}")
            result = accounted(other.load(kind, folder / f"{kind}{suffix}"))
            assert result.rejected == 0, (kind, result.rejections)
        assert_equal(service, other, folder)


def _changes(kind: str, number: int, value: str) -> dict[str, Any]:
    free = FREE_TEXTS[kind]
    changes: dict[str, Any] = {free[number % len(free)]: value}
    if "id" in LINES[kind]:
        old = str(LINES[kind]["id"])
        changes["id"] = f"{old[:-2]}{number + 50}"
    if "metadata" in LINES[kind]:
        changes["metadata"] = {"key": value} if number % 2 else {}
    if kind == "reward-addresses":
        changes["address"] = "0x" + f"{number + 1:040x}"
    return changes


@pytest.mark.parametrize("suffix", [".ndjson", *SUFFIXES])
def test_identities_that_only_controls_name_are_no_lines(
    operator: Service, tmp_path: Path, suffix: str
) -> None:
    accounted(operator.load("controls", [line("controls", identity_id="implied")]))
    assert operator.export("identities", tmp_path / f"none{suffix}") == 0
    accounted(operator.load("identities", [line("identities", id="=own")]))
    assert operator.export("identities", tmp_path / f"o{suffix}") == 1
    with comptroller.open(":memory:") as other:
        for kind in ("identities", "controls"):
            operator.export(kind, tmp_path / f"{kind}{suffix}")
            accounted(other.load(kind, tmp_path / f"{kind}{suffix}"))
        assert_equal(operator, other, tmp_path)


@pytest.mark.parametrize("name", ["o.xls", "o.txt", "claims.csv.gz"])
def test_an_unknown_suffix_is_refused(operator: Service, tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidRequest, match="names no format"):
        operator.export("claims", tmp_path / name)
    assert not (tmp_path / name).exists()
    operator.export("claims", tmp_path / name, format="ndjson")


def test_amounts_of_an_excel_file_are_text(operator: Service, tmp_path: Path) -> None:
    calamine = pytest.importorskip("python_calamine")
    operator.load("claims", [line("claims")])
    assert operator.export("claims", tmp_path / "claims.xlsx") == 1
    workbook = calamine.load_workbook(tmp_path / "claims.xlsx")
    header, row = workbook.get_sheet_by_index(0).to_python()
    assert row[header.index("amount")] == LINES["claims"]["amount"]


def test_a_cell_has_at_most_32767_utf_16_code_units(operator: Service, tmp_path: Path) -> None:
    pairs = {f"{number:064}": "\U0001f600" * 512 for number in range(40)}
    accounted(operator.load("identities", [line("identities", metadata=pairs)]))
    with pytest.raises(InvalidRequest, match=r"at most 32,767 UTF-16 code units"):
        operator.export("identities", tmp_path / "identities.xlsx")
