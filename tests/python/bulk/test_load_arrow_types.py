"""Every type of Arrow has the outcome with an option that it has without one."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from comptroller import InvalidRequest, Service
from examples import accounted, short_line

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

OPTIONS: list[dict[str, Any]] = [{}, {"decimal": ","}, {"tz": "Asia/Tokyo"}]
LONG = Decimal("12345678901234567890.123456789012345678")


def claims(**columns: Any) -> Any:
    """Returns a pyarrow table of one claim, with additional or replaced columns."""
    row = {name: [value] for name, value in short_line("claims", amount="1").items()}
    return pa.table({**row, **columns})


# Columns of members, and their value in the store.
READ: list[tuple[str, Any, str]] = [
    ("amount", pa.array([Decimal("1.50")], pa.decimal128(10, 4)), "1.5"),
    ("amount", pa.array([LONG], pa.decimal256(76, 18)), str(LONG)),
    ("amount", pa.array([Decimal(1200)], pa.decimal128(5, -2)), "1200"),
    ("amount", pa.array([Decimal(1200)], pa.decimal256(60, -2)), "1200"),
    ("amount", pa.array([Decimal("0.00")], pa.decimal64(5, 2)), "0"),
    ("tx_hash", pa.array([Decimal("1.50")], pa.decimal128(10, 4)), "1.5"),
    ("created_at", pa.array([1], pa.timestamp("ns", "+05:30")), "1970-01-01 00:00:00+00:00"),
    ("created_at", pa.array([1], pa.timestamp("s", "-05:30")), "1970-01-01 00:00:01+00:00"),
    ("created_at", pa.array([1], pa.timestamp("s", "UTC")), "1970-01-01 00:00:01+00:00"),
    ("addresses", pa.array([["0x1"]], pa.list_view(pa.string())), "('0x1',)"),
    ("addresses", pa.array([["0x1"]], pa.large_list_view(pa.string_view())), "('0x1',)"),
    ("claim_schedule_id", pa.array([b"a" * 16], pa.uuid()), "61616161-6161-6161-6161-616161616161"),
]
LIBRARIES: dict[str, Any] = {
    "pyarrow": lambda table: table,
    "reader": lambda table: table.to_reader(),
    "pandas": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
}


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(("member", "array", "stored"), READ, ids=str)
def test_types_that_polars_lacks_are_read_with_any_option(
    operator: Service,
    capfd: pytest.CaptureFixture[str],
    member: str,
    array: Any,
    stored: str,
    library: str,
    options: dict[str, Any],
) -> None:
    frame = LIBRARIES[library](claims(**{member: array}))
    assert accounted(operator.load("claims", frame, **options)).rejections == []
    (claim,) = operator.claims.list().items
    assert str(getattr(claim, member)) == stored
    assert capfd.readouterr().err == ""


def test_a_day_in_milliseconds_begins_in_the_zone(operator: Service) -> None:
    days = pa.array([date(2026, 1, 31)], pa.date64())
    assert accounted(operator.load("claims", claims(created_at=days), tz="Asia/Tokyo")).inserted
    (claim,) = operator.claims.list().items
    assert claim.created_at.isoformat() == "2026-01-30T15:00:00+00:00"


# Values that no member can have; polars made another time of the first.
REJECTED: list[tuple[str, Any]] = [
    ("created_at", pa.array([2**62], pa.timestamp("s", "UTC"))),
    ("created_at", pa.array([2**62], pa.timestamp("ms", "+01:00"))),
    ("amount", pa.array([Decimal(10**60)], pa.decimal256(76, 2))),
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize(("member", "array"), REJECTED, ids=str)
def test_a_value_that_is_too_large_is_rejected_by_itself(
    operator: Service, member: str, array: Any, options: dict[str, Any]
) -> None:
    table = claims(**{member: array})
    (rejection,) = accounted(operator.load("claims", table, **options)).rejections
    assert (rejection.line, rejection.member) == (1, member)


RUNS = pa.RunEndEncodedArray.from_arrays([1], ["a"])
UNION = pa.UnionArray.from_dense(
    pa.array([0], pa.int8()), pa.array([0], pa.int32()), [pa.array(["a"])]
)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("array", [RUNS, UNION], ids=["runs", "union"])
def test_a_refused_type_is_refused_by_name(
    operator: Service, array: Any, options: dict[str, Any]
) -> None:
    with pytest.raises(InvalidRequest, match="has the Arrow type") as refused:
        operator.load("claims", claims(tx_hash=array), **options)
    assert [each.field for each in refused.value.errors] == ["tx_hash"]


UNKNOWN: list[Any] = [
    RUNS,
    UNION,
    pa.array([Decimal(1)], pa.decimal256(76, 2)),
    pa.array([[Decimal(1)]], pa.list_(pa.decimal256(76, 2))),
    pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
    pa.array([["a"]], pa.list_view(pa.string())),
    pa.array([{"a": 1}], pa.struct({"a": pa.timestamp("s", "+05:30")})),
    pa.array([2**62], pa.timestamp("s")),
    pa.array(["{}"], pa.json_()),
    pa.array([0], pa.date64()),
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("array", UNKNOWN, ids=lambda array: str(array.type))
def test_a_column_that_is_not_a_member_may_have_any_type(
    operator: Service, capfd: pytest.CaptureFixture[str], array: Any, options: dict[str, Any]
) -> None:
    result = accounted(operator.load("claims", claims(zz=array), **options))
    assert (result.inserted, result.unknown_members) == (1, {"zz": 1})
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("zone", ["UTC", "+05:30"])
def test_short_floats_of_parquet_are_their_shortest_decimals(
    operator: Service, tmp_path: Path, zone: str
) -> None:
    halves = pa.array([0.1]).cast(pa.float16())
    times = pa.array([0], pa.timestamp("us", zone))
    parquet.write_table(claims(amount=halves, created_at=times), tmp_path / "x.parquet")
    accounted(operator.load("claims", tmp_path / "x.parquet", floats="shortest"))
    (claim,) = operator.claims.list().items
    assert claim.amount == Decimal("0.1")


@pytest.mark.parametrize("source", ["frame", "parquet"])
@pytest.mark.parametrize("member", ["amount", "tx_hash"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_decimals_have_no_zeros_of_their_scale(
    operator: Service, tmp_path: Path, member: str, source: str, options: dict[str, Any]
) -> None:
    frame = pl.DataFrame([short_line("claims") | {"amount": "1", member: Decimal("1.50")}])
    frame = frame.cast({member: pl.Decimal(10, 4)})
    frame.write_parquet(tmp_path / "x.parquet")
    given = frame if source == "frame" else tmp_path / "x.parquet"
    accounted(operator.load("claims", given, **options))
    (claim,) = operator.claims.list().items
    assert str(getattr(claim, member)) == "1.5"
