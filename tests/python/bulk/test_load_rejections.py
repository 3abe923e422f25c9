"""The rejected lines of a load: as a table, in groups, and as a file to correct."""

from __future__ import annotations

import csv
import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import comptroller
import pytest
from command_line import Run
from comptroller import InvalidRequest, LoadResult, Rejection, Service
from comptroller.bulk.mapping import ColumnMapping
from comptroller.bulk.rejects import Rejects, Rows
from examples import accounted, short_line
from test_load_tables import FORMATS

pl = pytest.importorskip("polars")
for needed in ("python_calamine", "xlsxwriter"):
    pytest.importorskip(needed)

FAULTS = {"c-1": {"amount": "1e3"}, "c-3": {"onchain_status": "DONE"}, "c-4": {"amount": "-2"}}
BY_MEMBER = [("amount", "invalid-request", 2), ("onchain_status", "invalid-request", 1)]


def rows() -> list[dict[str, Any]]:
    return [
        short_line("claims", id=f"c-{n}", note=f"n{n}", **FAULTS.get(f"c-{n}", {}))
        for n in range(6)
    ]


SOURCES: dict[str, Any] = {
    "rows": rows,
    "polars": lambda: pl.DataFrame(rows()),
    "pyarrow": lambda: pl.DataFrame(rows()).to_arrow(),
    "pandas": lambda: pl.DataFrame(rows()).to_pandas(),
    **{suffix: lambda write=write: io.BytesIO(write(rows())) for suffix, write in FORMATS.items()},
}


def read_csv(path: Path) -> list[dict[str, str]]:
    text = path.read_text(encoding="utf-8")
    separator = next(each for each in "\t;," if each in text.partition("\n")[0])
    return list(csv.DictReader(io.StringIO(text, newline=""), delimiter=separator))


def groups(result: LoadResult) -> list[tuple[str | None, str, int]]:
    return [(each.member, each.code, each.lines) for each in result.summary()]


def test_a_very_long_number_is_shown_as_it_was_given(operator: Service) -> None:
    """Without its exponent it would need 400 MB."""
    result = operator.load("claims", [{"id": "c", "amount": Decimal("1E400000000")}])
    (rejection,) = result.rejections
    assert (rejection.member, rejection.value) == ("amount", "1E+400000000")


@pytest.mark.parametrize("source", SOURCES)
def test_rejected_rows_have_their_id_member_and_value(
    operator: Service, tmp_path: Path, source: str
) -> None:
    result = accounted(operator.load("claims", SOURCES[source](), rejects=tmp_path / "r.csv"))
    first = 1 if source in (".csv", ".tsv", ".xlsx") else 0
    found = [(each.line, each.id, each.member, each.value) for each in result.rejections]
    if source == ".json":
        found = [(1 + int(str(id)[2:]), id, *rest) for _, id, *rest in found]
    assert found == [
        (2 + first, "c-1", "amount", "1e3"),
        (4 + first, "c-3", "onchain_status", "DONE"),
        (5 + first, "c-4", "amount", "-2"),
    ]
    assert groups(result) == BY_MEMBER
    written = read_csv(tmp_path / "r.csv")
    assert [row["id"] for row in written] == ["c-1", "c-3", "c-4"]
    assert [row["rejected_member"] for row in written] == ["amount", "onchain_status", "amount"]
    assert all(row["rejected_message"] and row["rejected_line"] for row in written)
    if source != "pandas":  # its other columns are not in the lines
        assert [row["note"] for row in written] == ["n1", "n3", "n4"]


@pytest.mark.parametrize("source", SOURCES)
def test_corrected_rejects_load(operator: Service, tmp_path: Path, source: str) -> None:
    rejects = tmp_path / "r.csv"
    operator.load("claims", SOURCES[source](), keep_going=True, rejects=rejects)
    text = rejects.read_text(encoding="utf-8").replace("1e3", "1000").replace("DONE", "FAILED")
    rejects.write_text(text.replace("-2", "2"), encoding="utf-8")
    assert accounted(operator.load("claims", rejects)).inserted == 3


@pytest.mark.parametrize("suffix", ["", ".csv", ".parquet"])
def test_all_rejected_rows_are_written_and_counted(
    operator: Service, tmp_path: Path, suffix: str
) -> None:
    many = [short_line("claims", id=f"c-{n}", amount=f"{n}x") for n in range(2500)]
    source = io.BytesIO(FORMATS[suffix](many)) if suffix else many
    result = accounted(operator.load("claims", source, rejects=tmp_path / "r.csv"))
    assert len(result.rejections) == 1000
    assert groups(result) == [("amount", "invalid-request", 2500)]
    written = read_csv(tmp_path / "r.csv")
    assert [row["amount"] for row in written] == [f"{n}x" for n in range(2500)]
    assert [row["rejected_value"] for row in written] == [f"{n}x" for n in range(2500)]


def test_rows_with_the_columns_of_others_are_written_as_they_are(
    operator: Service, tmp_path: Path
) -> None:
    text = "Nummer;Betrag;Erstellt\nR-1;1,5;31.02.2026\nR-2;eins;01.02.2026\nR-3;1,5;01.02.2026\n"
    (tmp_path / "x.csv").write_text(text)
    result = accounted(
        operator.load(
            "claims",
            tmp_path / "x.csv",
            rename={"Nummer": "id", "Betrag": "amount", "Erstellt": "created_at"},
            constants={
                **{n: v for n, v in short_line("claims").items() if n not in ("id", "amount")},
            },
            decimal=",",
            keep_going=True,
            rejects=tmp_path / "r.csv",
        )
    )
    assert sorted(groups(result)) == [
        ("amount", "invalid-request", 1),
        ("created_at", "invalid-request", 1),
    ]
    written = read_csv(tmp_path / "r.csv")
    assert [(row["Nummer"], row["Betrag"], row["rejected_line"]) for row in written] == [
        ("R-1", "1,5", "2"),
        ("R-2", "eins", "3"),
    ]


def test_a_row_that_is_no_line_is_counted_by_its_member(operator: Service, tmp_path: Path) -> None:
    given = [short_line("claims", id=f"c-{n}", tx_hash=b"x") for n in range(3)]
    result = accounted(operator.load("claims", given, rejects=tmp_path / "r.csv"))
    assert groups(result) == [("tx_hash", "invalid-request", 3)]
    assert (result.rejections[2].id, result.rejections[2].member) == ("c-2", "tx_hash")
    assert [row["id"] for row in read_csv(tmp_path / "r.csv")] == ["c-0", "c-1", "c-2"]


def test_lines_that_are_no_records_are_kept_as_text(operator: Service, tmp_path: Path) -> None:
    content = b'{"id": \n[1]\n\xff\n'
    result = operator.load("claims", io.BytesIO(content), rejects=tmp_path / "r.csv")
    assert [row["row"] for row in read_csv(tmp_path / "r.csv")] == ['{"id": ', "[1]", "\\xff"]
    assert sum(each.lines for each in result.summary()) == 3


def test_without_rejected_rows_the_file_has_none(operator: Service, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("of an earlier load")
    operator.load("claims", [short_line("claims")], rejects=tmp_path / "r.csv")
    assert read_csv(tmp_path / "r.csv") == []


def test_formulas_in_rejected_rows_are_escaped(operator: Service, tmp_path: Path) -> None:
    bad = short_line("claims", id="=x", tx_hash="=cmd()", amount="x")
    for source in ([bad], io.BytesIO(FORMATS[".csv"]([bad]))):
        operator.load("claims", source, rejects=tmp_path / "r.csv")
        assert read_csv(tmp_path / "r.csv")[0]["tx_hash"] == "'=cmd()"


def test_rejections_and_their_summary_are_tables(operator: Service) -> None:
    pytest.importorskip("pyarrow")
    result = operator.load("claims", rows())
    assert result.rejections.to_polars().columns == [  # type: ignore[attr-defined]
        *("line", "id", "member", "value", "code", "message")
    ]
    assert pl.DataFrame(result.summary().to_arrow())["lines"].to_list() == [2, 1]
    assert result.summary().to_pandas()["member"].tolist() == ["amount", "onchain_status"]
    assert isinstance(result.rejections[0], Rejection)


def test_controls_without_an_identity_are_explained(operator: Service) -> None:
    row = {**short_line("controls"), "identity_id": None}
    result = operator.load("controls", [row])
    assert 'constants={"identity_id": ...}' in result.rejections[0].message
    assert 'constants={"identity_id": ...}' in result.summary()[0].message


def test_the_command_line_writes_rejects(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(FORMATS[".csv"](rows()))
    ended = run("load", "claims", str(tmp_path / "x.csv"), "--rejects", str(tmp_path / "r.csv"))
    assert ended.code == 1
    assert len(read_csv(tmp_path / "r.csv")) == 3
    ended = run("load", "claims", str(tmp_path / "x.csv"), "--json")
    assert [each["lines"] for each in json.loads(ended.out)["rejection_groups"]] == [2, 1]


@pytest.mark.parametrize("name", ["r", "r.txt", "r.tsv", "r.csv.gz", "rejects.2026-01-01"])
def test_rejects_have_any_name_that_is_of_no_other_format(
    operator: Service, tmp_path: Path, name: str
) -> None:
    operator.load("claims", [short_line("claims", amount="x")], rejects=tmp_path / name)
    assert operator.load("claims", tmp_path / name).rejected == 1


@pytest.mark.parametrize("name", ["r.json", "r.NDJSON", "r.jsonl", "r.parquet", "r.xlsx"])
def test_rejects_have_no_name_of_another_format(
    operator: Service, tmp_path: Path, name: str
) -> None:
    with pytest.raises(InvalidRequest, match="is not named as CSV"):
        operator.load("claims", [short_line("claims")], rejects=tmp_path / name)


def test_rejects_replace_no_file_of_the_load_and_no_store(
    operator: comptroller.Service, tmp_path: Path
) -> None:
    source = tmp_path / "claims.csv"
    source.write_text("id\na\n")
    mapping = tmp_path / "map.toml"
    mapping.write_text('decimal = ","\n')
    other = tmp_path / "other.db"
    comptroller.open(other).close()
    kept = {path: path.read_bytes() for path in (source, mapping, other)}
    for path in (*kept, tmp_path / "nowhere" / "rejects.csv"):
        with pytest.raises(comptroller.InvalidRequest, match="rejects"):
            operator.load("claims", source, mapping=mapping, rejects=path, keep_going=True)
    assert {path: path.read_bytes() for path in kept} == kept


def test_a_column_name_is_no_formula(operator: comptroller.Service, tmp_path: Path) -> None:
    source, rejects = tmp_path / "claims.csv", tmp_path / "rejects.csv"
    source.write_text("id,=cmd|calc!A0\na,1\n")
    operator.load("claims", source, rejects=rejects)
    assert rejects.read_text().startswith("id,'=cmd|calc!A0,")


SWISS = """Nummer;Gruppe;Betrag;Erstellt;Notiz
R-1;G;acht;31.01.2026 13:00;=x
R-2;G;-1.234,50;1.2.2026;
"""
HOW: dict[str, Any] = {
    "rename": {"Nummer": "id", "Gruppe": "payout_group_id", "Betrag": "amount"}
    | {"Erstellt": "created_at", "Notiz": "error_message"},
    "constants": {"claim_type": "CLAIM_ALL", "onchain_status": "FAILED"},
    "decimal": ",",
    "tz": "Europe/Zurich",
    "ids": "uuid5",
}


def swiss_rows() -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(SWISS), delimiter=";"))


SWISS_SOURCES: dict[str, Any] = {
    "csv": lambda: io.BytesIO(SWISS.encode()),
    "utf-16": lambda: io.BytesIO(SWISS.encode("utf-16")),
    "rows": swiss_rows,
    "ndjson": lambda: io.BytesIO(FORMATS[".ndjson"](swiss_rows())),
    "json": lambda: io.BytesIO(FORMATS[".json"](swiss_rows())),
    "frame": lambda: pl.DataFrame(swiss_rows()),
    "pandas": lambda: pl.DataFrame(swiss_rows()).to_pandas(),
    "xlsx": lambda: io.BytesIO(FORMATS[".xlsx"](swiss_rows())),
}


@pytest.mark.parametrize("options", [{}, {"separator": ";"}])
@pytest.mark.parametrize("source", SWISS_SOURCES)
def test_rejects_load_with_the_options_of_their_source(
    operator: Service, tmp_path: Path, source: str, options: dict[str, str]
) -> None:
    rejects = tmp_path / "r.csv"
    result = operator.load("claims", SWISS_SOURCES[source](), rejects=rejects, **HOW, **options)
    assert result.rejected == 2
    text = rejects.read_text(encoding="utf-8").replace("acht", "8").replace("-1.", "1.")
    rejects.write_text(text, encoding="utf-8")
    again = accounted(operator.load("claims", rejects, **HOW, **options))
    assert (again.inserted, again.rejections) == (2, [])
    amounts = {each.id: str(each.amount) for each in operator.claims.iter()}
    assert amounts == {"R-1": "8", "R-2": "1234.50"}
    assert operator.claims.get("R-1").error_message == "=x"


def test_numbers_of_a_sheet_have_the_decimal_comma_of_the_load(
    operator: Service, tmp_path: Path
) -> None:
    frame = pl.DataFrame([short_line("claims", id="a", amount=1.5, onchain_status="X")])
    frame.write_excel(tmp_path / "x.xlsx")
    how: dict[str, Any] = {"decimal": ",", "rejects": tmp_path / "r.csv"}
    assert operator.load("claims", tmp_path / "x.xlsx", floats="shortest", **how).rejected == 1
    text = (tmp_path / "r.csv").read_text().replace(",X,", ",FAILED,")
    (tmp_path / "r.csv").write_text(text)
    assert accounted(operator.load("claims", tmp_path / "r.csv", decimal=",")).inserted == 1
    assert str(operator.claims.get("a").amount) == "1.5"


def test_the_summary_counts_each_reason(operator: Service) -> None:
    """Values, also quoted ones, do not make another reason; other messages do."""
    row = {
        "payout_group_id": "00000000-0000-4000-8000-000000000001",
        "claim_type": "CLAIM_ALL",
        "onchain_status": "PENDING",
        "created_at": "2026-01-01T00:00:00Z",
    }
    amounts: list[object] = [*(f"{n} CHF" for n in range(700)), *([None] * 30), "-1", "-2"]
    rows = [{**row, "id": f"c{n}", "amount": amount} for n, amount in enumerate(amounts)]
    result = operator.load("claims", rows)
    assert [each.lines for each in result.summary()] == [702, 30]
    assert [each.message.partition(" a ")[0] for each in result.summary()] == [
        "amount: must be",
        "amount: is required",
    ]


def test_rejects_of_a_load_that_begins_again_are_forgotten(tmp_path: Path) -> None:
    file = Rejects(str(tmp_path / "r.csv"), "claims", ColumnMapping())
    rejection = {"line": 1, "code": "invalid-request", "message": "first " * 9}
    file.take(json.dumps(rejection).encode(), b'{"id": "c-1"}')
    file.take(json.dumps({**rejection, "line": 2}).encode(), b'{"id": "c-2"}')
    file.take(None, b"")
    file.take(json.dumps({**rejection, "message": "second"}).encode(), b'{"id": "c-1"}')
    file.write(lambda each: (each, None), Rows(None, None, ",", is_escaped=False), [], 1)
    file.close()
    assert [row["rejected_message"] for row in read_csv(tmp_path / "r.csv")] == ["second"]
