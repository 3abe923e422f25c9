"""Options of a load, and mapping files, that make members of the columns that others named."""

from __future__ import annotations

import io
import json
import uuid
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import comptroller
import pytest
from comptroller import InvalidRequest, Service
from comptroller.bulk.mapping import ID_NAMESPACE
from examples import GROUP, NOON, accounted, line, short_line

pl = pytest.importorskip("polars")
xlsxwriter = pytest.importorskip("xlsxwriter")

SWISS = """Nummer;Gruppe;Betrag;Erstellt
R-1;GRP-001;1.655,39;31.01.2026 13:00
R-2;GRP-001;0,10;01.02.2026
"""
OPTIONS: dict[str, Any] = {
    "rename": {
        "Nummer": "id",
        "Gruppe": "payout_group_id",
        "Betrag": "amount",
        "Erstellt": "created_at",
    },
    "constants": {"claim_type": "CLAIM_ALL", "onchain_status": "PENDING"},
    "decimal": ",",
    "tz": "Europe/Zurich",
    "ids": "uuid5",
}
MAPPING = """
decimal = ","
tz = "Europe/Zurich"
ids = "uuid5"

[rename]
Nummer = "id"
Gruppe = "payout_group_id"
Betrag = "amount"
Erstellt = "created_at"

[constants]
claim_type = "CLAIM_ALL"
onchain_status = "PENDING"
"""


def assert_swiss(service: Service) -> None:
    first, second = (service.claims.get(id) for id in ("R-1", "R-2"))
    assert (first.amount, second.amount) == (Decimal("1655.39"), Decimal("0.1"))
    assert first.created_at == datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert second.created_at == datetime(2026, 1, 31, 23, tzinfo=UTC)
    assert first.payout_group_id == str(uuid.uuid5(ID_NAMESPACE, "GRP-001"))


def as_rows() -> list[dict[str, str]]:
    names, *rows = (text.split(";") for text in SWISS.splitlines())
    return [dict(zip(names, row, strict=True)) for row in rows]


@pytest.mark.parametrize("source", ["a file", "a frame", "rows", "ndjson", "json"])
def test_options_apply_to_every_source(operator: Service, source: str) -> None:
    rows = as_rows()
    given: dict[str, Any] = {
        "a file": io.BytesIO(SWISS.encode()),
        "a frame": pl.DataFrame(rows),
        "rows": rows,
        "ndjson": io.BytesIO("".join(json.dumps(row) + "\n" for row in rows).encode()),
        "json": io.BytesIO(json.dumps({"items": rows}, indent=1).encode()),
    }
    assert accounted(operator.load("claims", given[source], **OPTIONS)).inserted == 2
    assert_swiss(operator)


def test_a_mapping_file_holds_the_options(operator: Service, tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(MAPPING)
    result = operator.load("claims", io.BytesIO(SWISS.encode()), mapping=tmp_path / "m.toml")
    assert accounted(result).inserted == 2
    assert_swiss(operator)
    with pytest.raises(InvalidRequest, match="no_such"):
        operator.load("claims", [], mapping=tmp_path / "no_such.toml")


def test_options_of_the_call_are_added_to_those_of_the_file(
    operator: Service, tmp_path: Path
) -> None:
    (tmp_path / "m.toml").write_text(MAPPING.replace('Betrag = "amount"', ""))
    result = operator.load(
        "claims",
        io.BytesIO(SWISS.encode()),
        mapping=tmp_path / "m.toml",
        rename={"Betrag": "amount"},
        constants={"onchain_status": "FAILED", "asset_type": "ETH"},
    )
    assert accounted(result).inserted == 2
    assert_swiss(operator)
    first = operator.claims.get("R-1")
    assert (first.claim_type, first.onchain_status, first.asset_type) == (
        *("CLAIM_ALL", "FAILED", "ETH"),
    )


@pytest.mark.parametrize("source", ["rows", "frame", "pandas", "csv", "json"])
def test_a_renamed_column_that_is_absent_is_refused(operator: Service, source: str) -> None:
    rows = [claim(Betrag="1")]
    frame = pl.DataFrame(rows)
    given: dict[str, Any] = {
        "rows": lambda: rows,
        "frame": lambda: frame,
        "pandas": lambda: pytest.importorskip("pandas").DataFrame(rows),
        "csv": lambda: io.BytesIO(frame.write_csv().encode()),
        "json": lambda: io.BytesIO(json.dumps(rows).encode()),
    }
    with pytest.raises(InvalidRequest, match="'Betrg' is not a column; did you mean 'Betrag'"):
        operator.load("claims", given[source](), rename={"Betrg": "amount"})
    for empty in ([], io.BytesIO(b""), pl.DataFrame()):
        assert operator.load("claims", empty, rename={"Betrg": "amount"}).read == 0


@pytest.mark.parametrize("options", [{}, {"tz": "UTC"}])
def test_columns_that_arrow_lacks_are_read(operator: Service, options: dict[str, Any]) -> None:
    row = claim(id="a")
    texts = pl.DataFrame([row])
    columns: dict[str, Any] = {
        "payout_group_id": pl.Series([uuid.UUID(GROUP)], dtype=pl.Object),
        "amount": pl.Series([7], dtype=pl.Int128),
        "note": pl.Series([object()], dtype=pl.Object),
    }
    for name, column in columns.items():
        result = operator.load(
            "claims", texts.with_columns(column.alias(name)), dry_run=True, **options
        )
        assert (result.inserted, result.rejections) == (1, []), name
    fine = texts.with_columns(pl.col("amount").cast(pl.Decimal(38, 20)))
    assert operator.load("claims", fine, **options).inserted == 1


def test_zero_has_no_sign_and_infinity_is_named(operator: Service) -> None:
    for source in ([claim(amount=-0.0)], pl.DataFrame([claim(amount=-0.0)])):
        result = operator.load("claims", source, floats="shortest", dry_run=True)
        assert (result.inserted, result.floats) == (1, 1)
    for source in ([claim(amount=float("inf"))], pl.DataFrame([claim(amount=float("inf"))])):
        result = operator.load("claims", source, floats="shortest")
        assert result.rejections[0].message == "amount: inf is not a finite number"


@pytest.mark.parametrize("addresses", [["0x1", "0x2"], '["0x1", "0x2"]'])
def test_a_constant_may_be_a_list(operator: Service, addresses: object) -> None:
    row = claim()
    for source in (
        [row],
        pl.DataFrame([row]),
        io.BytesIO(pl.DataFrame([row]).write_csv().encode()),
        io.BytesIO(json.dumps(row).encode()),
    ):
        operator.load("claims", source, constants={"addresses": addresses})
        assert operator.claims.list().items[0].addresses == ("0x1", "0x2")


def claim(**changes: object) -> dict[str, Any]:
    return short_line("claims", **changes)


@pytest.mark.parametrize(
    ("time", "why"),
    [
        ("2026-03-29T02:30:00", "does not exist in Europe/Zurich"),
        ("2026-10-25 02:30", "exists twice in Europe/Zurich"),
        (datetime(2026, 10, 25, 2, 30), "exists twice in Europe/Zurich"),
    ],
)
def test_a_local_time_that_is_not_one_instant_is_rejected(
    operator: Service, time: object, why: str
) -> None:
    rows = [claim(id="a"), claim(id="b", created_at=time)]
    result = accounted(operator.load("claims", rows, keep_going=True, tz="Europe/Zurich"))
    assert (result.inserted, result.rejected, result.rejections[0].line) == (1, 1, 2)
    assert result.rejections[0].message.startswith("created_at: ")
    assert why in result.rejections[0].message


@pytest.mark.parametrize(
    ("given", "options", "wanted"),
    [
        ("03/04/2026", {"dayfirst": True}, datetime(2026, 4, 3, tzinfo=UTC)),
        (
            "03/04/2026 1:05",
            {"dayfirst": False, "tz": "UTC"},
            datetime(2026, 3, 4, 1, 5, tzinfo=UTC),
        ),
        ("2026-04-03", {"tz": "Europe/Zurich"}, datetime(2026, 4, 2, 22, tzinfo=UTC)),
        (date(2026, 4, 3), {"tz": "Europe/Zurich"}, datetime(2026, 4, 2, 22, tzinfo=UTC)),
        (date(2026, 4, 3), {}, datetime(2026, 4, 3, tzinfo=UTC)),
        ("2026-04-03T01:00:00+02:00", {"tz": "UTC"}, datetime(2026, 4, 2, 23, tzinfo=UTC)),
        (NOON, {"tz": "Europe/Zurich"}, datetime(2026, 1, 31, 12, tzinfo=UTC)),
    ],
)
def test_times_are_read(
    operator: Service, given: object, options: dict[str, Any], wanted: datetime
) -> None:
    result = accounted(operator.load("claims", [claim(created_at=given)], **options))
    assert result.inserted == 1, result.rejections
    assert operator.claims.list().items[0].created_at == wanted


@pytest.mark.parametrize(
    ("change", "options", "why"),
    [
        ({"created_at": "03/04/2026"}, {"tz": "UTC"}, "give dayfirst"),
        ({"created_at": "2026-04-03 12:00"}, {"decimal": ","}, "has no time zone; give tz"),
        ({"amount": "1.5"}, {"decimal": ","}, "not a number with a decimal comma"),
        ({"amount": "1,5,5"}, {"decimal": ","}, "not a number with a decimal comma"),
        ({"amount": 1.5}, {"decimal": ","}, 'floats="shortest"'),
        ({"amount": float("inf")}, {"floats": "shortest"}, "is not a finite number"),
        ({"amount": "1.234,50"}, {}, 'give decimal=","'),
        ({"created_at": "2026-04-03T12:00:00"}, {}, "has no time zone; give tz"),
        ({"created_at": "03/04/2026"}, {}, "give dayfirst"),
        ({"amount": 1.5}, {}, 'floats="shortest"'),
        ({"amount": Decimal("1e400")}, {}, "has too many digits"),
        ({"created_at": 1769860800123}, {}, 'date_format="iso"'),
        ({"created_at": "03.04.26"}, {"tz": "UTC"}, "'03.04.26' has no year of four digits"),
        ({"created_at": "3/4/26 12:00"}, {"dayfirst": True}, "write the year in full"),
        ({"id": 1e17}, {"decimal": ","}, "1e+17 is a number, not a value of this member"),
        ({"payout_group_id": 1001}, {"ids": "uuid5"}, "must be a string, not 1001"),
    ],
)
def test_an_ambiguous_value_is_rejected_by_name(
    operator: Service, change: dict[str, object], options: dict[str, Any], why: str
) -> None:
    result = accounted(operator.load("claims", [claim(**change)], **options))
    assert result.rejected == 1
    assert next(iter(change)) in result.rejections[0].message
    assert why in result.rejections[0].message


# texts, and the amounts that they are with a decimal comma; None if they are none
WITH_COMMA = [
    ("1234", "1234"),
    ("0", "0"),
    ("0,5", "0.5"),
    ("1.655", "1655"),
    ("1.234.567,89", "1234567.89"),
    ("1 234 567", "1234567"),
    ("1\u00a0234,5", "1234.5"),
    ("1\u202f234\u202f567", "1234567"),
    ("1'234'567,5", "1234567.5"),
    ("1\u2019234,567", "1234.567"),
    ("0.123", None),
    ("00.125", None),
    ("0.123,5", None),
    ("1'234.567", None),
    ("1\u2019234.567", None),
    ("1 234.567", None),
    ("1.234'567", None),
    ("1.234 567,5", None),
    ("1,234.5", None),
]


@pytest.mark.parametrize("source", ["rows", "a frame"])
def test_thousands_have_one_mark_and_no_leading_zero(operator: Service, source: str) -> None:
    rows = [claim(id=f"c-{n}", amount=text) for n, (text, _) in enumerate(WITH_COMMA)]
    given = pl.DataFrame(rows) if source == "a frame" else rows
    result = accounted(operator.load("claims", given, decimal=",", keep_going=True))
    found = {each.id: each.amount for each in operator.claims.iter()}
    assert found == {
        f"c-{n}": Decimal(amount) for n, (_, amount) in enumerate(WITH_COMMA) if amount
    }
    assert {each.message for each in result.rejections} == {
        f"amount: {text!r} is not a number with a decimal comma"
        for text, amount in WITH_COMMA
        if amount is None
    }


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"rename": {"a": "betrag"}}, "rename: 'betrag' is not a member of claims"),
        ({"constants": {"kind": "x"}}, "constants: 'kind' is not a member"),
        ({"rename": {"Betrag": 5}}, "rename: {'Betrag': 5} is not allowed; give the member of"),
        ({"constants": []}, r"constants: \[\] is not allowed; give the value of each member"),
        ({"tz": "Zurich"}, "tz: 'Zurich' is not allowed; give a known time zone"),
        ({"decimal": ";"}, """decimal: ';' is not allowed; give "." or ",\""""),
        ({"ids": "uuid4"}, """ids: 'uuid4' is not allowed; give "uuid5\""""),
        ({"separator": "::"}, "separator: '::' is not allowed; give one ASCII character"),
        ({"dayfirst": "yes"}, "dayfirst: 'yes' is not allowed; give true or false"),
        ({"renamed": {}}, "did you mean 'rename'"),
    ],
)
def test_an_invalid_option_is_refused(operator: Service, options: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidRequest, match=why):
        operator.load("claims", [claim()], **options)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('decmal = ","', "decmal: unknown argument; did you mean 'decimal'"),
        ("decimal = ,", "is not TOML in UTF-8: Invalid value"),
        ('tz = "Zuerich"', "tz: 'Zuerich' is not allowed; give a known time zone"),
        ('sheet = "\u00fc"', "is not TOML in UTF-8"),
    ],
)
def test_what_is_wrong_in_a_mapping_file_names_the_file(
    operator: Service, tmp_path: Path, text: str, why: str
) -> None:
    (tmp_path / "m.toml").write_text(text, encoding="latin-1")
    with pytest.raises(InvalidRequest, match=f"mapping: .*m.toml:? {why}"):
        operator.load("claims", [claim()], mapping=tmp_path / "m.toml", decimal=",")


def test_two_columns_for_one_member_are_refused(operator: Service) -> None:
    result = operator.load("claims", [claim(Betrag="1")], rename={"Betrag": "amount"})
    assert "another column also sets it" in result.rejections[0].message


def test_constants_fill_members_that_a_row_does_not_set(operator: Service) -> None:
    rows = [claim(id="a", asset_type="RPL"), claim(id="b")]
    operator.load("claims", rows, constants={"asset_type": "ETH"})
    assert [operator.claims.get(id).asset_type for id in ("a", "b")] == ["RPL", "ETH"]


def test_uuids_stay_and_equal_ids_meet(operator: Service) -> None:
    operator.load("payout-groups", [line("payout-groups", id="GRP-001")], ids="uuid5")
    operator.load("claims", [claim(payout_group_id=GROUP)], ids="uuid5")
    (group,) = operator.payout_groups.list().items
    assert group.id == str(uuid.uuid5(ID_NAMESPACE, "GRP-001"))
    assert operator.claims.list().items[0].payout_group_id == GROUP


SHORTEST = {
    "Float64": {1655.39: "1655.39", 0.1: "0.1", 1e-7: "0.0000001", -0.0: "0"},
    "Float32": {1655.39: "1655.39", 0.1: "0.1", 1e-7: "0.0000001", 16777216.0: "16777216"},
    "Float16": {1000.5: "1000.5", 0.1: "0.1", 6e-8: "0.00000006", -0.0: "0", 65504.0: "65500"},
}


@pytest.mark.parametrize("source", ["frame", "parquet", "arrow", "pandas"])
@pytest.mark.parametrize("dtype", SHORTEST)
def test_floats_are_the_shortest_decimals_and_counted(
    operator: Service, tmp_path: Path, dtype: str, source: str
) -> None:
    amounts = [*SHORTEST[dtype], None]
    frame = pl.DataFrame([claim(id=f"c-{n}", amount=each) for n, each in enumerate(amounts)])
    frame = frame.with_columns(pl.col("amount").cast(getattr(pl, dtype)))
    given: Any = frame
    if source == "parquet":
        given = tmp_path / "x.parquet"
        frame.write_parquet(given)
    elif source == "arrow":
        given = pytest.importorskip("pyarrow").table(frame)
    elif source == "pandas":
        numpy = pytest.importorskip("numpy")
        column = numpy.array([*SHORTEST[dtype], numpy.nan], dtype=dtype.lower())
        given = pytest.importorskip("pandas").DataFrame(frame.to_dicts()).assign(amount=column)
    result = accounted(operator.load("claims", given, floats="shortest", keep_going=True))
    known = len(SHORTEST[dtype])
    assert (result.inserted, result.rejected, result.floats) == (known, 1, known)
    shown = [operator.claims.get(f"c-{n}").amount for n in range(known)]
    assert shown == [Decimal(each) for each in SHORTEST[dtype].values()]


def test_the_command_line_takes_a_mapping_file_and_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    main = pytest.importorskip("comptroller.cli").main
    monkeypatch.chdir(tmp_path)
    (tmp_path / "swiss.csv").write_text(SWISS)
    (tmp_path / "m.toml").write_text(MAPPING)

    def run(*words: str) -> str:
        assert main([*words, "--db", "store.db"]) == 0
        return capsys.readouterr().out

    assert "All lines were stored." in run("load", "claims", "swiss.csv", "--map", "m.toml")
    words = ["--decimal", ",", "--tz", "Europe/Zurich", "--ids", "uuid5", "--json"]
    for column, member in OPTIONS["rename"].items():
        words += ["--rename", f"{column}={member}"]
    for member, value in OPTIONS["constants"].items():
        words += ["--constant", f"{member}={value}"]
    assert json.loads(run("load", "claims", "swiss.csv", *words))["unchanged"] == 2
    assert_swiss(comptroller.open("store.db"))


def test_saved_answers_of_get_controls_need_their_identity(operator: Service) -> None:
    items = [
        line("controls", id=f"control-{type}", type=type, identity_id=...)
        for type in ("CLOSED", "FROZEN", "DORMANT")
    ]
    answer = json.dumps({"items": items}).encode()
    result = accounted(operator.load("controls", io.BytesIO(answer)))
    assert 'constants={"identity_id": ...}' in result.rejections[2].message
    result = operator.load("controls", io.BytesIO(answer), constants={"identity_id": "alice"})
    assert accounted(result).inserted == 3


def test_every_spelling_of_a_uuid_is_the_same_id(operator: Service) -> None:
    plain = GROUP.replace("-", "")
    rows = [
        {**short_line("claims"), "id": each, "payout_group_id": each}
        for each in (GROUP, plain, "{" + GROUP.upper() + "}")
    ]
    operator.load("claims", pl.DataFrame(rows), ids="uuid5")
    assert {each.payout_group_id for each in operator.claims.iter()} == {GROUP}


@pytest.mark.parametrize(
    "id", ["0190c7a4_5d3e_7cc3_98c4_dc0c0c07", "0x90c7a45d3e7cc398c4dc0c0c07398f", "\u0660" * 32]
)
def test_an_id_that_resembles_a_uuid_is_another_id(operator: Service, id: str) -> None:
    operator.load("claims", [claim(payout_group_id=id)], ids="uuid5")
    (found,) = operator.claims.list().items
    assert found.payout_group_id == str(uuid.uuid5(ID_NAMESPACE, id))


def test_the_end_of_a_control_is_a_time_like_any_other(operator: Service) -> None:
    row = {**short_line("controls"), "created_at": "01.02.2026 12:00"}
    row |= {"deleted_at": "02.02.2026 12:00", "deletion_reason": "done"}
    result = operator.load("controls", pl.DataFrame([row]), tz="UTC")
    assert result.inserted == 1, result.rejections
    (control,) = operator.controls.iter(include_deleted=True)
    assert control.deleted_at == datetime(2026, 2, 2, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "given",
    [
        "2026-03-01T01:00:00.000000+0100",
        "2026-03-01 01:00:00+01:00",
        "2026-03-01 01:00:00+01",
        "2026-03-01 00:00:00Z",
        "2026-03-01t00:00:00z",
        " 2026-02-28 19:00:00-0500 ",
    ],
)
def test_times_as_libraries_write_them_are_read(operator: Service, given: str) -> None:
    row = {**short_line("claims"), "created_at": given}
    content = io.StringIO()
    pl.DataFrame([row]).write_csv(content)
    file = io.BytesIO(content.getvalue().encode())
    for source, options in ((file, {}), (pl.DataFrame([row]), {"tz": "UTC"})):
        result = operator.load("claims", source, **options)
        assert result.rejected == 0, result.rejections
    (claim,) = operator.claims.iter()
    assert claim.created_at == datetime(2026, 3, 1, tzinfo=UTC)


def test_a_sheet_without_rows_is_no_rows(operator: Service, tmp_path: Path) -> None:
    path = tmp_path / "empty.xlsx"
    pl.DataFrame({"id": []}, schema={"id": pl.String}).write_excel(path)
    result = operator.load("claims", path, constants={"claim_type": "CLAIM_ALL"})
    assert result.read == 0


@pytest.mark.parametrize("given", ["2026-03-01Z", "2026-03-01+02:00", "01.03.2026 -05"])
def test_a_day_with_an_offset_is_rejected(operator: Service, given: str) -> None:
    rows = pl.DataFrame([{**short_line("claims"), "created_at": given}])
    assert operator.load("claims", rows, tz="UTC").rejected == 1
