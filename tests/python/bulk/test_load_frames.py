"""Data frames and other Arrow streams as the source of a load."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import comptroller
import pytest
from comptroller import InvalidRequest, LoadResult, Service, Stream
from examples import KINDS, NOON, accounted, line, short_line

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")
pd = pytest.importorskip("pandas")
np = pytest.importorskip("numpy")
duckdb = pytest.importorskip("duckdb")

NOON_TIME = datetime.fromisoformat(NOON)


def relation(stream: Stream) -> Any:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    return connection.from_arrow(stream)


LIBRARIES: dict[str, Callable[[Stream], Any]] = {
    "the stream itself": lambda stream: stream,
    "polars": Stream.to_polars,
    "pandas": Stream.to_pandas,
    "pyarrow": Stream.to_arrow,
    "pyarrow, in batches": lambda stream: stream.to_arrow().to_reader(max_chunksize=7),
    "DuckDB": relation,
}


@pytest.fixture(name="filled", scope="module")
def _filled(tmp_path_factory: pytest.TempPathFactory) -> Service:
    service = comptroller.open(":memory:")
    folder = tmp_path_factory.mktemp("sample")
    comptroller.sample("all", rows=300, seed=11, out=folder)
    assert list(service.load_all(folder)) == list(KINDS)
    for kind in KINDS:
        service.load(kind, [line(kind)], keep_going=True)
    service.identities.put(id="noted", metadata={"a": "1", "ü": "", '"': "\\"})
    service.identities.put(id="unnoted", metadata={})
    return service


def streamed(service: Service, kind: str) -> Stream:
    filters = {"include_deleted": True} if kind == "controls" else {}
    stream: Stream = getattr(service, kind.replace("-", "_")).stream(**filters)
    return stream


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_stream_loads_back_to_an_equal_store(
    filled: Service, library: str, tmp_path: Path
) -> None:
    with comptroller.open(":memory:") as other:
        for kind in KINDS:
            result = accounted(other.load(kind, LIBRARIES[library](streamed(filled, kind))))
            assert result.committed, (kind, result.rejections)
            assert result.unknown_members == {}
        for kind in KINDS:
            filled.export(kind, tmp_path / "rows")
            result = accounted(other.load(kind, tmp_path / "rows", dry_run=True))
            assert result.unchanged == result.read, kind
        assert other.check()["ok"]


def test_a_slice_of_a_table_is_read_correctly(filled: Service) -> None:
    table = filled.claims.stream().to_arrow()
    with comptroller.open(":memory:") as other:
        assert accounted(other.load("claims", table.slice(5, 7))).inserted == 7
        ids = [claim.id for claim in other.claims.list(order="ASC").items]
    assert sorted(ids) == sorted(table["id"].slice(5, 7).to_pylist())


def claims(**columns: Any) -> Any:
    """Returns a pyarrow table of one claim, with additional or replaced columns."""
    row = {name: [value] for name, value in short_line("claims").items()}
    return pa.table({**row, **columns})


def loaded(service: Service, table: Any) -> LoadResult:
    return accounted(service.load("claims", table))


@pytest.mark.parametrize(
    ("array", "shown"),
    [
        (pa.array([Decimal("1.50")], pa.decimal128(38, 18)), "1.5"),
        (pa.array([Decimal("12345678901234567890.123456789012345678")]), None),
        (pa.array([Decimal("0.000000000000000001")]), None),
        (pa.array([Decimal("1.25")], pa.decimal32(9, 2)), None),
        (pa.array([Decimal("1.25")], pa.decimal64(18, 2)), None),
        (pa.array([Decimal("1.25")], pa.decimal256(76, 20)), None),
        (pa.array([Decimal(1200)], pa.decimal128(5, -2)), "1200"),
        (pa.array([Decimal(0)], pa.decimal128(5, -2)), "0"),
        (pa.array([7], pa.int8()), "7"),
        (pa.array([2**64 - 1], pa.uint64()), str(2**64 - 1)),
        (pa.array(["1.50"], pa.large_string()), "1.50"),
        (pa.array(["12345678901234.50"], pa.string_view()), "12345678901234.50"),
        (pa.array(["1.50"]).dictionary_encode(), "1.50"),
    ],
)
def test_amounts_are_exact(operator: Service, array: Any, shown: str | None) -> None:
    assert loaded(operator, claims(amount=array)).inserted == 1
    (claim,) = operator.claims.list().items
    assert str(claim.amount) == shown or (shown is None and claim.amount == array[0].as_py())


@pytest.mark.parametrize(
    ("ticks", "unit", "wanted"),
    [
        (1, "s", NOON_TIME.replace(year=1970, month=1, day=1, hour=0, second=1)),
        (1, "us", datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=1)),
        (1_999, "ns", datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=1)),
        (-1, "ns", datetime(1970, 1, 1, tzinfo=UTC) - timedelta(microseconds=1)),
        (-1_500, "ms", datetime(1970, 1, 1, tzinfo=UTC) - timedelta(milliseconds=1500)),
    ],
)
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "+02:00"])
def test_times_are_exact(
    operator: Service, ticks: int, unit: str, zone: str, wanted: datetime
) -> None:
    times = pa.array([ticks], pa.timestamp(unit, zone))
    assert loaded(operator, claims(created_at=times, updated_at=times)).inserted == 1
    (claim,) = operator.claims.list().items
    assert claim.created_at == wanted


@pytest.mark.parametrize(
    "array",
    [
        pa.array([["0x1", "0x2"]]),
        pa.array([["0x1", "0x2"]], pa.large_list(pa.large_string())),
        pa.array([["0x1", "0x2"]], pa.list_(pa.string(), 2)),
        pa.array([["0x1", "0x2"]], pa.list_view(pa.string())),
        pa.array([["0x1", "0x2"]], pa.large_list_view(pa.string_view())),
        pa.array([["0x0"], ["0x1", "0x2"]]).slice(1),
    ],
)
def test_lists_of_every_layout_are_read(operator: Service, array: Any) -> None:
    assert loaded(operator, claims(addresses=array)).inserted == 1
    (claim,) = operator.claims.list().items
    assert claim.addresses == ("0x1", "0x2")


@pytest.mark.parametrize(
    "array",
    [
        pa.array([{"a": "1", "b": None}], pa.struct({"a": pa.string(), "b": pa.string()})),
        pa.array([[("a", "1")]], pa.map_(pa.string(), pa.string())),
        pa.array([[{"key": "a", "value": "1"}]]),
        pa.array([[["a", "1"]]]),
    ],
)
def test_metadata_may_be_a_map_or_its_representation_in_a_library(
    operator: Service, array: Any
) -> None:
    row = {name: [value] for name, value in short_line("orchestrations").items()}
    accounted(operator.load("orchestrations", pa.table({**row, "metadata": array})))
    (found,) = operator.orchestrations.list().items
    assert found.metadata == {"a": "1"}


@pytest.mark.parametrize(
    "array", [pa.nulls(1), pa.array([None], pa.float64()), pa.array([None], pa.timestamp("ns"))]
)
def test_empty_cells_are_unset_members(operator: Service, array: Any) -> None:
    result = loaded(
        operator, claims(confirmed_at=array, error_message=pa.array([None], pa.large_string()))
    )
    assert (result.inserted, result.unknown_members) == (1, {})


@pytest.mark.parametrize(
    ("column", "array", "why"),
    [
        ("amount", pa.array([1.5]), "is a float"),
        ("amount", pa.array([1.5], pa.float32()), "is a float"),
        ("created_at", pa.array([NOON_TIME.replace(tzinfo=None)]), "no time zone"),
        ("created_at", pa.array([1], pa.time64("us")), "ttu"),
        ("claim_schedule_id", pa.array([NOON_TIME.date()]), "is a date or a time"),
        ("claim_schedule_id", pa.array([NOON_TIME.date()], pa.date64()), "is a date or a time"),
        ("id", pa.array([NOON_TIME]), "is a date or a time"),
        ("addresses", pa.array([[NOON_TIME.date()]]), "is a date or a time"),
        ("id", pa.array([1.0]), "is a float, and the member is no number"),
        ("id", pa.array([b"a"]), "is bytes"),
        ("id", pa.array([b"a" * 16], pa.binary(16)), "is bytes"),
    ],
)
def test_an_inexact_column_is_refused_by_name(
    operator: Service, column: str, array: Any, why: str
) -> None:
    with pytest.raises(InvalidRequest, match=why) as refused:
        operator.load("claims", claims(**{column: array}))
    assert [error.field for error in refused.value.errors] == [column]
    assert operator.claims.list().items == []


def test_the_message_about_floats_recommends_no_cast(operator: Service) -> None:
    with pytest.raises(InvalidRequest, match='floats="shortest"') as refused:
        operator.load("claims", claims(amount=pa.array([1655.39])))
    assert "cast" not in str(refused.value)


def test_a_refused_column_names_the_row_of_its_first_value(operator: Service) -> None:
    rows = [short_line("claims", id=f"c-{n}") | {"amount": None} for n in range(5000)]
    table = pa.Table.from_pylist(rows)
    amounts = pa.array([None] * 4999 + [1.5])
    table = table.set_column(table.schema.get_field_index("amount"), "amount", amounts)
    batches = table.to_batches(max_chunksize=3000)
    with pytest.raises(InvalidRequest, match=r"float.* \(row 5000\)"):
        operator.load("claims", pa.Table.from_batches(batches))


@pytest.mark.parametrize("type", [pa.float16(), pa.float32(), pa.float64()])
def test_nan_is_an_unset_member(operator: Service, type: Any) -> None:
    result = loaded(operator, claims(error_message=pa.array([float("nan")], type)))
    assert (result.inserted, result.unknown_members) == (1, {})
    rejected = loaded(operator, claims(amount=pa.array([float("nan")], type)))
    assert "amount: " in rejected.rejections[0].message


@pytest.mark.parametrize("type", [pa.date32(), pa.date64()])
def test_a_date_is_its_start_and_a_uuid_an_id(operator: Service, type: Any) -> None:
    group = uuid.UUID(int=7)
    groups = pa.array([group.bytes], pa.uuid())
    days = pa.array([NOON_TIME.date()], type)
    assert loaded(operator, claims(created_at=days, payout_group_id=groups)).inserted == 1
    (claim,) = operator.claims.list().items
    assert (claim.created_at, claim.payout_group_id) == (
        NOON_TIME.replace(hour=0),
        str(group),
    )


class Own:
    """A value of a column that is not a member."""


@pytest.mark.parametrize("column", ["own", "mixed", "raw"])
def test_columns_that_are_no_members_never_matter(operator: Service, column: str) -> None:
    others = {"own": [Own(), None], "mixed": [1, "a"], "raw": [b"a", [1]]}
    rows = [short_line("claims", id=f"c-{n}") for n in range(2)]
    frame = pd.DataFrame(rows).assign(**{column: others[column]})
    result = accounted(operator.load("claims", frame))
    lines = {"own": 1, "mixed": 2, "raw": 2}
    assert (result.inserted, result.unknown_members) == (2, {column: lines[column]})
    dicts = [row | {column: each} for row, each in zip(rows, others[column], strict=True)]
    assert accounted(operator.load("claims", dicts)).unchanged == 2


def test_a_mixed_column_is_refused_by_name_and_row(operator: Service) -> None:
    rows = [short_line("claims", id=f"c-{n}", amount=each) for n, each in enumerate(["1", 2.5])]
    result = accounted(operator.load("claims", pd.DataFrame(rows), keep_going=True))
    (rejection,) = result.rejections
    assert (rejection.line, result.inserted) == (2, 1)
    assert rejection.message.startswith("amount: 2.5 is a float")


@pytest.mark.parametrize(
    "missing",
    [float("nan"), np.float64("nan"), pd.NaT, pd.NA, np.datetime64("NaT"), Decimal("NaN")],
)
def test_missing_values_of_rows_are_unset(operator: Service, missing: object) -> None:
    rows = [short_line("claims", confirmed_at=missing, other=missing)]
    result = accounted(operator.load("claims", rows))
    assert (result.inserted, result.unknown_members) == (1, {})


def test_scalars_of_numpy_and_dates_are_values(operator: Service) -> None:
    row = short_line("claims", amount=np.int64(7), created_at=NOON_TIME.date())
    assert accounted(operator.load("claims", [row])).inserted == 1
    (claim,) = operator.claims.list().items
    assert (claim.amount, claim.created_at) == (7, NOON_TIME.replace(hour=0))


def test_bytes_of_a_member_are_refused_by_name_and_row(operator: Service) -> None:
    result = accounted(operator.load("claims", [short_line("claims", tx_hash=b"x")]))
    assert result.rejections[0].line == 1
    assert "tx_hash: a bytes cannot be written" in result.rejections[0].message


def test_an_invalid_line_is_rejected_alone(operator: Service) -> None:
    times = pa.array([2**62, 0], pa.timestamp("ms", "UTC"))
    huge = pa.array([Decimal(10**75), Decimal(1)], pa.decimal256(76, 0))
    for column, array in (("created_at", times), ("amount", huge), ("id", pa.array([1, 2]))):
        rows = [short_line("claims", id=f"{column}-{n}") for n in range(2)]
        table = pa.Table.from_pylist(rows)
        place = table.schema.get_field_index(column)
        table = table.set_column(place, column, array)
        result = accounted(operator.load("claims", table, keep_going=True))
        assert result.rejections[0].line == 1
        assert column in result.rejections[0].message
        assert result.inserted == (0 if column == "id" else 1)


def test_unknown_columns_of_any_type_are_counted(operator: Service) -> None:
    extra = {"ratio": [1.5], "day": [NOON_TIME.date()], "raw": [b"x"], "empty": pa.nulls(1)}
    result = loaded(operator, claims(**extra))
    assert (result.inserted, result.unknown_members) == (1, {"ratio": 1, "day": 1, "raw": 1})


def test_a_frame_of_pandas_is_read_by_its_rows(operator: Service) -> None:
    rows = [short_line("claims", id=f"c-{n}", amount=Decimal("1.50") * n) for n in range(16)]
    frame = pd.DataFrame(rows)
    frame["created_at"] = pd.to_datetime(frame["created_at"])
    frame["updated_at"] = pd.to_datetime(frame["created_at"], utc=True)
    frame["confirmed_at"] = pd.NaT
    assert accounted(operator.load("claims", frame)).inserted == 16
    assert accounted(operator.load("claims", frame.set_index("id"))).unchanged == 16


def test_an_invalid_or_failing_table_is_refused(operator: Service) -> None:
    def failing() -> Any:
        yield claims().to_batches()[0]
        raise OSError("the cable is cut")

    twice = pa.Table.from_arrays([pa.array(["a"])] * 2, names=["id", "id"])
    broken = pa.RecordBatchReader.from_batches(claims().schema, failing())
    no_table = pa.chunked_array([["a"]])
    for source, why in ((no_table, "no columns"), (twice, "more than once"), (broken, "cable")):
        with pytest.raises(InvalidRequest, match=why):
            operator.load("claims", source)
    assert operator.claims.list().items == []
    with pytest.raises(InvalidRequest, match="kind"):
        operator.load("claim", claims())


def test_a_load_in_pieces_reports_its_rows(operator: Service) -> None:
    count = 20_000
    ids = [f"c-{number}" for number in range(count)]
    row = short_line("claims")
    table = pa.table({**{name: [value] * count for name, value in row.items()}, "id": ids})
    row_counts: list[int] = []
    result = operator.load(
        "claims", table, progress=lambda _done, _total, rows: row_counts.append(rows)
    )
    assert (result.inserted, row_counts == sorted(row_counts)) == (count, True)


# ---- folders -------------------------------------------------------------------------------------


def test_a_folder_loads_each_kind_with_its_own_result(operator: Service, tmp_path: Path) -> None:
    comptroller.sample("all", rows=40, out=tmp_path)
    (tmp_path / "README.md").write_text("not a record")
    (tmp_path / "payout-groups.ndjson").rename(tmp_path / "payout_groups.jsonl")
    results = operator.load_all(tmp_path)
    assert list(results) == list(KINDS)
    assert all(accounted(result).committed for result in results.values())
    assert {result.unchanged for result in operator.load_all(tmp_path).values()} == {
        result.read for result in results.values()
    }


def test_a_folder_load_ends_after_a_kind_that_stored_nothing(
    operator: Service, tmp_path: Path
) -> None:
    comptroller.sample("all", rows=40, out=tmp_path)
    (tmp_path / "controls.ndjson").write_text("{}\n")
    results = operator.load_all(tmp_path)
    assert [(kind, result.committed) for kind, result in results.items()] == [
        ("identities", True),
        ("controls", False),
    ]
    assert list(operator.load_all(tmp_path, keep_going=True)) == list(KINDS)


@pytest.mark.parametrize(
    ("names", "why"),
    [
        ([], "no file of a kind"),
        (["notes.txt"], "no file of a kind"),
        (["claim.ndjson"], "not named after a kind"),
        (["claims.ndjson", "claims.json"], "both have claims"),
        (["reward-addresses.ndjson", "reward_addresses.ndjson.gz"], "both have reward-addresses"),
    ],
)
def test_an_ambiguous_folder_is_refused(
    operator: Service, tmp_path: Path, names: list[str], why: str
) -> None:
    for name in names:
        (tmp_path / name).write_text("")
    with pytest.raises(InvalidRequest, match=why):
        operator.load_all(tmp_path)
    with pytest.raises(InvalidRequest, match="cannot be read"):
        operator.load_all(tmp_path / "absent")
