"""Frames of pandas: a value has one outcome, whatever its column and the options are."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from comptroller import InvalidRequest, Service
from comptroller.bulk import tables
from examples import accounted, short_line

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
tzutc = pytest.importorskip("dateutil.tz").tzutc
np = pytest.importorskip("numpy")
pl = pytest.importorskip("polars")

OPTIONS: list[dict[str, Any]] = [{}, {"rename": {"id": "id"}}]
UNRELATED: list[dict[str, Any]] = [{}, {"decimal": ","}]
NOON = datetime(2026, 7, 1, 12)
ZURICH = pd.Timestamp(NOON, tz="Europe/Zurich")


def claims(**columns: Any) -> Any:
    """Returns a frame of two claims, with additional or replaced columns."""
    rows = [short_line("claims", id=f"c-{number}", amount="1") for number in range(2)]
    return pd.DataFrame(rows).assign(**columns)


# Columns of objects with a day, a local time, or a time of a zone; their times in UTC, None if
# one is refused.
DAY, TEN = datetime(2026, 7, 1, tzinfo=UTC), datetime(2026, 7, 1, 10, tzinfo=UTC)
MIXED: dict[str, tuple[list[object], list[datetime | None]]] = {
    "day and zone": ([NOON.date(), ZURICH], [DAY, TEN]),
    "zone and day": ([ZURICH, NOON.date()], [TEN, DAY]),
    "day and local": ([NOON.date(), pd.Timestamp(NOON)], [DAY, None]),
    "zone and local": ([ZURICH, pd.Timestamp(NOON)], [TEN, None]),
    "zone and datetime": ([ZURICH, NOON], [TEN, None]),
    "zones": ([ZURICH, ZURICH.tz_convert("Asia/Kolkata")], [TEN, TEN]),
    "day and text": ([NOON.date(), "2026-07-01T12:00:00+02:00"], [DAY, TEN]),
}


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("dtype", ["object", "category"])
@pytest.mark.parametrize("case", MIXED)
def test_each_time_of_a_column_of_objects_is_read_by_itself(
    operator: Service, case: str, dtype: str, options: dict[str, Any]
) -> None:
    given, expected = MIXED[case]
    frame = claims(created_at=pd.Series(given, dtype=object).astype(dtype))
    result = accounted(operator.load("claims", frame, keep_going=True, **options))
    found = {each.id: each.created_at for each in operator.claims.iter()}
    assert found == {f"c-{n}": time for n, time in enumerate(expected) if time is not None}
    assert [each.member for each in result.rejections] == ["created_at"] * expected.count(None)


LATE = pd.Timestamp(np.datetime64(10**12, "s")).tz_localize("UTC")  # in the year 33658
ALIKE: dict[str, tuple[list[object], bool]] = {
    "days": ([NOON.date(), None], True),
    "times": ([ZURICH, pd.NaT], True),
    "times of Python": ([DAY, TEN], True),
    "a zone without a hash": ([DAY.replace(tzinfo=tzutc()), None], True),
    "day and time": ([NOON.date(), NOON], False),
    "zones": (MIXED["zones"][0], False),
    "times that Python lacks": ([LATE, ZURICH.tz_convert("UTC")], False),
}


@pytest.mark.parametrize("case", ALIKE)
def test_times_of_one_class_and_zone_are_read_as_a_column(case: str) -> None:
    values, is_column = ALIKE[case]
    frame = claims(created_at=pd.Series(values, dtype=object))
    assert (tables.arrow_of_pandas(frame) is not None) is is_column


def test_times_of_one_zone_that_python_lacks_are_rejected(operator: Service) -> None:
    frame = claims(created_at=pd.Series([LATE, ZURICH.tz_convert("UTC")], dtype=object))
    result = accounted(operator.load("claims", frame, keep_going=True))
    assert [each.line for each in result.rejections] == [1]
    assert operator.claims.get("c-1").created_at == TEN


def test_a_query_and_a_reconciliation_read_mixed_times_alike(operator: Service) -> None:
    frame = claims(created_at=pd.Series([NOON.date(), ZURICH], dtype=object))
    operator.load("claims", frame)
    assert operator.reconcile("claims", frame, on="id").is_equal
    sql = "SELECT CAST(created_at AS TEXT) AS text FROM theirs ORDER BY id"
    texts = [row["text"] for row in operator.query(sql, theirs=frame).to_dicts()]
    assert texts == ["2026-07-01", "2026-07-01T12:00:00+02:00"]


SHORT = ["float16", "float32", "Float32", "halffloat[pyarrow]", "float[pyarrow]"]


@pytest.mark.parametrize("dtype", [*SHORT, "float64", "Float64", "double[pyarrow]"])
def test_floats_of_every_dtype_are_their_shortest_decimals(operator: Service, dtype: str) -> None:
    amounts = pd.Series([0.1, None]).astype(dtype)
    result = accounted(
        operator.load("claims", claims(amount=amounts), floats="shortest", keep_going=True)
    )
    assert (result.inserted, result.floats, result.rejections[0].member) == (1, 1, "amount")
    assert operator.claims.get("c-0").amount == Decimal("0.1")


@pytest.mark.parametrize("dtype", SHORT)
def test_a_query_reads_floats_of_every_dtype_as_their_shortest_decimals(
    operator: Service, dtype: str
) -> None:
    frame = pd.DataFrame({"x": pd.Series([0.1]).astype(dtype)})
    (row,) = operator.query("SELECT x FROM t", t=frame).to_dicts()
    assert row["x"] == 0.1


IDS = ["a", "b"]
INDEXES: dict[str, Any] = {
    "of texts": pd.Index(IDS, name="id"),
    "of two levels": pd.MultiIndex.from_arrays([[3, 4], IDS], names=[None, "id"]),
    "of categories": pd.CategoricalIndex(IDS, name="id"),
}


@pytest.mark.parametrize("options", UNRELATED, ids=str)
@pytest.mark.parametrize("index", INDEXES)
def test_the_levels_of_an_index_that_have_names_are_columns(
    operator: Service, index: str, options: dict[str, Any]
) -> None:
    frame = claims().drop(columns="id").set_index(INDEXES[index])
    result = accounted(operator.load("claims", frame, **options))
    assert (result.inserted, result.unknown_members) == (2, {})
    assert {each.id for each in operator.claims.iter()} == {*IDS}


@pytest.mark.parametrize("options", UNRELATED, ids=str)
@pytest.mark.parametrize("name", [None, "amount"])
def test_an_index_of_numbers_is_a_column_if_it_has_a_name(
    operator: Service, name: str | None, options: dict[str, Any]
) -> None:
    frame = claims(amount=["0", "1"])
    indexed = frame.drop(columns="amount") if name else frame
    indexed.index = pd.RangeIndex(2, name=name)
    result = accounted(operator.load("claims", indexed, **options))
    assert (result.inserted, result.unknown_members) == (2, {})
    assert [operator.claims.get(f"c-{n}").amount for n in range(2)] == [0, 1]


@pytest.mark.parametrize("options", UNRELATED, ids=str)
@pytest.mark.parametrize("index", [["x", "y"], None])
def test_a_level_of_an_index_with_the_name_of_a_column_is_dropped(
    operator: Service, index: list[str] | None, options: dict[str, Any]
) -> None:
    frame = claims().set_index("id", drop=False)
    if index:
        frame.index = pd.MultiIndex.from_arrays([["1", "2"], index], names=["amount", "id"])
    result = accounted(operator.load("claims", frame, **options))
    assert (result.inserted, result.unknown_members) == (2, {})
    assert {each.id for each in operator.claims.iter()} == {"c-0", "c-1"}


@pytest.mark.parametrize("options", UNRELATED, ids=str)
def test_a_duplicate_column_or_level_is_refused(operator: Service, options: dict[str, Any]) -> None:
    frame = claims()
    with pytest.raises(InvalidRequest, match="has the column 'id' more than once; rename one"):
        operator.load("claims", pd.concat([frame, frame[["id"]]], axis=1), **options)
    frame.index = pd.MultiIndex.from_arrays([[1, 2], [3, 4]], names=["x", "x"])
    with pytest.raises(InvalidRequest, match="has the level of the index 'x' more than once"):
        operator.load("claims", frame, **options)


FAR: dict[str, Any] = {
    "timestamp[s]": (10**12, pa.timestamp("s", "UTC")),
    "timestamp[us]": (2**62, pa.timestamp("us", "UTC")),
    "date32": (2**30, pa.date32()),
}


@pytest.mark.parametrize("options", UNRELATED, ids=str)
@pytest.mark.parametrize("type", FAR)
def test_a_time_that_python_lacks_is_rejected_by_itself(
    operator: Service, type: str, options: dict[str, Any]
) -> None:
    ticks, dtype = FAR[type]
    size = pa.int32() if type == "date32" else pa.int64()
    times = pd.Series(pd.arrays.ArrowExtensionArray(pa.array([ticks, 0], size).cast(dtype)))
    frame = claims(created_at=times, note=times)
    result = accounted(operator.load("claims", frame, keep_going=True, **options))
    assert [(each.line, each.member) for each in result.rejections] == [(1, "created_at")]
    assert [each.id for each in operator.claims.iter()] == ["c-1"]


TICKS = pa.array([10**15, 0]).cast(pa.timestamp("ms", "UTC"))  # the first in the year 33658
DAYS = pa.array([2**30, 0], pa.int32()).cast(pa.date32())
LONG = pa.array([2**62, 0]).cast(pa.duration("ms"))
OFFSETS = pa.array([0, 1, 2], pa.int32())
WITHIN: dict[str, Any] = {
    "list": pa.ListArray.from_arrays(OFFSETS, TICKS),
    "list of structs": pa.ListArray.from_arrays(OFFSETS, pa.StructArray.from_arrays([DAYS], ["a"])),
    "struct": pa.StructArray.from_arrays([TICKS], ["a"]),
    "map": pa.MapArray.from_arrays(OFFSETS, pa.array(["a", "a"]), TICKS),
    "durations": pa.ListArray.from_arrays(OFFSETS, LONG),
}


def arrow_column(values: Any) -> Any:
    return pd.Series(pd.arrays.ArrowExtensionArray(values))


FRAMES: dict[str, Any] = {
    "pandas": lambda columns: claims(**{n: arrow_column(each) for n, each in columns.items()}),
    "polars": lambda columns: pl.DataFrame(claims()).with_columns(
        pl.Series(n, each) for n, each in columns.items()
    ),
    "arrow": lambda columns: pa.table(pa.Table.from_pandas(claims()).to_pydict() | columns),
}


@pytest.mark.parametrize("options", UNRELATED, ids=str)
@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("type", WITHIN)
def test_a_far_time_within_an_unknown_column_does_not_matter(
    operator: Service, type: str, library: str, options: dict[str, Any]
) -> None:
    frame = FRAMES[library]({"note": WITHIN[type]})
    result = accounted(operator.load("claims", frame, **options))
    assert (result.inserted, result.unknown_members) == (2, {"note": 2})


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("type", WITHIN)
def test_a_far_time_within_a_member_does_not_end_the_load(
    operator: Service, type: str, library: str
) -> None:
    frame = FRAMES[library]({"addresses": WITHIN[type]})
    result = accounted(operator.load("claims", frame, keep_going=True, decimal=","))
    assert 1 in [each.line for each in result.rejections]


@pytest.mark.parametrize("member", ["amount", "error_message", "claim_schedule_id"])
@pytest.mark.parametrize("far", [TICKS, LONG, pa.array([10**9, 0], pa.date32())], ids=str)
def test_a_far_time_is_no_value_of_another_member(operator: Service, far: Any, member: str) -> None:
    for library in FRAMES.values():
        frame = library({member: far})
        result = accounted(operator.load("claims", frame, keep_going=True, decimal=","))
        assert [each.line for each in result.rejections] == [1, 2]


def test_a_struct_with_a_duplicate_name_is_a_list_of_pairs() -> None:
    twice = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    assert tables._python_value(twice[0]) == [("a", 1), ("a", 2)]


@pytest.mark.parametrize("options", UNRELATED, ids=str)
def test_a_far_duration_of_an_unknown_column_does_not_matter(
    operator: Service, options: dict[str, Any]
) -> None:
    far = pd.arrays.ArrowExtensionArray(pa.array([2**62, 0], pa.duration("s")))
    result = accounted(operator.load("claims", claims(note=pd.Series(far)), **options))
    assert (result.inserted, result.unknown_members) == (2, {"note": 2})


@pytest.mark.parametrize("options", UNRELATED, ids=str)
def test_records_within_a_column_are_read(operator: Service, options: dict[str, Any]) -> None:
    control = short_line("controls", created_at=datetime(2026, 1, 1, tzinfo=UTC))
    details = {"active_controls": np.array([control], dtype=object), "permitted_actions": []}
    row = short_line("identities", status_details=details)
    result = accounted(operator.load("identities", pd.DataFrame([row]), **options))
    assert result.rejections == []
