"""Streams of a store in each library, compared with the pages of its lists."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import comptroller
import msgspec
import pytest
from comptroller import Closed, Forbidden, InvalidRequest, Service
from examples import KINDS, accounted, line, loaded, ndjson, short_line

pa = pytest.importorskip("pyarrow")

NOUNS = [kind.replace("-", "_") for kind in KINDS]


@pytest.fixture(name="store", scope="module")
def _store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A sample of every kind, and records of another customer."""
    folder = tmp_path_factory.mktemp("sample")
    comptroller.sample("all", rows=600, seed=3, out=folder)
    with comptroller.open(folder / "store.db") as store:
        for kind in KINDS:
            assert accounted(store.load(kind, folder / f"{kind}.ndjson")).committed
        store.load("claims", comptroller.sample("claims", rows=20, seed=4, customer="acme"))
        yield store


def plain(value: Any) -> Any:
    """Returns a record as dicts and lists, as Arrow returns it."""
    if isinstance(value, msgspec.Struct):
        return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return list(value.items())
    return value


def by_key(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row.get("id", row.get("address_id")), str(row.get("at"))))


@pytest.mark.parametrize("resource", NOUNS)
def test_a_stream_equals_the_pages(store: Service, resource: str) -> None:
    face = getattr(store, resource)
    options = {"reward_addresses": {"include_balance": True}}.get(resource, {})
    pages = [plain(record) for record in face.iter(**options)]
    assert pages
    assert by_key(face.stream(**options).to_arrow().to_pylist()) == by_key(pages)


@pytest.mark.parametrize("resource", NOUNS)
def test_polars_gets_the_same_frame_both_ways(store: Service, resource: str) -> None:
    polars = pytest.importorskip("polars")
    stream = getattr(store, resource).stream()
    frame = stream.to_polars()
    assert frame.schema == polars.DataFrame(stream).schema
    assert frame.to_arrow().to_pylist() == stream.to_arrow().to_pylist()


def test_a_stream_keeps_its_store_open(tmp_path: Path) -> None:
    with comptroller.open(tmp_path / "store.db") as svc:
        loaded(svc, "claims", line("claims"))
    stream = comptroller.open(tmp_path / "store.db").claims.stream()
    assert stream.to_arrow().num_rows == 1
    assert pa.table(stream).num_rows == 1


def test_amounts_times_and_closed_sets_have_their_types(store: Service) -> None:
    schema = pa.schema(store.claims.stream())
    assert schema.field("amount").type == pa.decimal128(38, 18)
    assert schema.field("created_at").type == pa.timestamp("us", "UTC")
    assert pa.types.is_dictionary(schema.field("onchain_status").type)
    assert schema.field("addresses").type.value_type == pa.string()
    assert schema.names == list(comptroller.Claim.__struct_fields__)


# ---- libraries -----------------------------------------------------------------------------------


def by_polars(stream: Any) -> tuple[int, Decimal]:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(stream)
    return frame.height, frame["amount"].sum()


def by_lazy_polars(stream: Any) -> tuple[int, Decimal]:
    polars = pytest.importorskip("polars")
    frame = polars.LazyFrame(stream).select(polars.len(), polars.col("amount").sum()).collect()
    return frame.row(0)


def by_duckdb(stream: Any) -> tuple[int, Decimal]:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        connection.register("claims", stream)
        # Two scans of one registered object, in one query and again.
        joined = "SELECT count(*) FROM claims a JOIN claims b USING (id)"
        assert connection.execute(joined).fetchone() == (620,)
        return connection.execute("SELECT count(*), sum(amount) FROM claims").fetchone()


def by_arrow(stream: Any) -> tuple[int, Decimal]:
    import pyarrow.compute

    table = pa.table(stream)
    return table.num_rows, pyarrow.compute.sum(table["amount"]).as_py()


def by_batches(stream: Any) -> tuple[int, Decimal]:
    reader = pa.RecordBatchReader.from_stream(stream)
    amounts = [amount for batch in reader for amount in batch["amount"].to_pylist()]
    return len(amounts), sum(amounts)


def by_pandas(stream: Any) -> tuple[int, Decimal]:
    frame = pytest.importorskip("pandas").DataFrame.from_arrow(stream)
    return len(frame), sum(frame["amount"], Decimal())


def by_narwhals(stream: Any) -> tuple[int, Decimal]:
    narwhals = pytest.importorskip("narwhals.stable.v2")
    frame = narwhals.from_arrow(stream, backend="pyarrow")
    return len(frame), frame["amount"].sum()


def by_to_polars(stream: Any) -> tuple[int, Decimal]:
    pytest.importorskip("polars")
    frame = stream.to_polars()
    assert str(frame.schema["created_at"]) == "Datetime(time_unit='us', time_zone='UTC')"
    return frame.height, frame["amount"].sum()


def by_to_pandas(stream: Any) -> tuple[int, Decimal]:
    pytest.importorskip("pandas")
    frame = stream.to_pandas()
    assert str(frame["created_at"].dtype) == "datetime64[us, UTC]"
    return len(frame), frame["amount"].sum()


@pytest.mark.parametrize(
    "take",
    [
        by_polars,
        by_lazy_polars,
        by_duckdb,
        by_arrow,
        by_batches,
        by_pandas,
        by_narwhals,
        by_to_polars,
        by_to_pandas,
    ],
)
def test_every_library_reads_a_stream_repeatedly(
    store: Service, take: Callable[[Any], tuple[int, Decimal]]
) -> None:
    total = sum((claim.amount for claim in store.claims.iter()), Decimal())
    stream = store.claims.stream()
    assert [take(stream), take(stream)] == [(620, total)] * 2


# ---- columns and filters -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "filters",
    [
        {"statuses": "FAILED"},
        {"statuses": ["FAILED", "PENDING"]},
        {"chain": "ETHEREUM", "statuses": "CONFIRMED"},
        {"customer_id": "acme"},
        {"customer_id": "nobody"},
        {"jurisdiction": "DE"},
    ],
)
def test_a_stream_takes_the_filters_of_the_list(store: Service, filters: dict[str, Any]) -> None:
    expected = {claim.id for claim in store.claims.iter(**filters)}
    found = store.claims.stream("id", **filters).to_arrow()
    assert set(found["id"].to_pylist()) == expected
    assert found.num_rows == len(expected)


def test_bounds_are_inclusive_as_they_are_in_the_list(store: Service) -> None:
    middle = store.claims.list(limit=300).items[-1].created_at
    tick = timedelta(microseconds=1)
    counts = [
        store.claims.stream("id", **bounds).to_arrow().num_rows
        for bounds in (
            {"start_time": middle},
            {"end_time": middle - tick},
            {"end_time": middle, "start_time": middle},
        )
    ]
    assert counts[0] + counts[1] == 620
    assert counts[2] >= 1


@pytest.mark.parametrize("resource", NOUNS)
def test_columns_have_the_requested_order(store: Service, resource: str) -> None:
    face = getattr(store, resource)
    whole = face.stream().to_arrow()
    names = [*reversed(whole.column_names)][:3]
    assert face.stream(names).to_arrow().equals(whole.select(names))


@pytest.mark.parametrize(
    ("columns", "filters", "field"),
    [
        ("colour", {}, "columns"),
        (["id", "id"], {}, "columns"),
        ([], {}, "columns"),
        (None, {"status": "FAILED"}, "status"),
        (None, {"statuses": "LOST"}, "statuses"),
    ],
)
def test_invalid_arguments_of_a_stream_are_refused_immediately(
    store: Service, columns: Any, filters: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        store.claims.stream(columns, **filters)
    assert [error.field for error in refused.value.errors] == [field]


# ---- access and snapshots ------------------------------------------------------------------------


def test_a_client_streams_its_own_records(operator: Service, acme: Service) -> None:
    loaded(operator, "claims", short_line("claims", customer_id="acme", id="own"), line("claims"))
    table = acme.claims.stream().to_arrow()
    assert table["id"].to_pylist() == ["own"]
    assert "customer_id" not in table.column_names
    with pytest.raises(Forbidden):
        acme.claims.stream(customer_id="default")
    with pytest.raises(Forbidden):
        acme.balances.stream()


def test_an_empty_store_gives_an_empty_table_of_the_same_columns(
    operator: Service, store: Service
) -> None:
    for resource in NOUNS:
        empty = getattr(operator, resource).stream().to_arrow()
        assert empty.num_rows == 0
        assert empty.schema == getattr(store, resource).stream().to_arrow().schema


def test_a_stream_ends_with_its_block(operator: Service) -> None:
    accounted(operator.load("claims", [short_line("claims")]))
    with operator.claims.stream() as stream:
        assert pa.table(stream).num_rows == 1
    stream.close()
    for read in (stream.to_polars, stream.__arrow_c_stream__, stream.__arrow_c_schema__):
        with pytest.raises(Closed, match="the stream is closed"):
            read()
    assert operator.claims.stream().to_arrow().num_rows == 1


def test_a_stream_of_a_closed_service_is_closed(operator: Service) -> None:
    stream = operator.claims.stream()
    operator.close()
    with pytest.raises(Closed):
        operator.claims.stream()
    with pytest.raises((Closed, OSError, pa.ArrowException)):
        stream.to_arrow()


def test_a_stream_is_a_snapshot_during_writes(store_path: Path) -> None:
    with comptroller.open(store_path) as service:
        # More rows than one chunk has; every write changes the first and the last row.
        rows = comptroller.sample("claims", rows=70_000)
        assert service.load("claims", rows).committed
        ends = [short_line("claims", id=name, error_message="0") for name in ("one", "two")]
        loaded(service, "claims", *ends)
        written = threading.Event()
        stop = threading.Event()

        def write() -> None:
            for number in range(1, 10_000):
                moment = f"2026-02-01T00:00:00.{number:06}Z"
                changes = {"error_message": str(number), "updated_at": moment}
                more = short_line("claims", id=f"more-{number}")
                data = ndjson([ends[0] | changes, more, ends[1] | changes])
                assert accounted(service.load("claims", io.BytesIO(data))).committed
                written.set()
                if stop.is_set():
                    return

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for _ in range(3):
                reader = pa.RecordBatchReader.from_stream(
                    service.claims.stream(["id", "error_message"])
                )
                batches = [reader.read_next_batch()]
                written.clear()
                assert written.wait(timeout=30)
                batches += list(reader)
                shown = dict(
                    row
                    for batch in batches
                    for row in zip(*batch.to_pydict().values(), strict=True)
                )
                number = int(shown["one"])
                assert shown["two"] == str(number)
                more = sum(name.startswith("more-") for name in shown)
                assert (more, len(shown)) == (number, 70_002 + number)
        finally:
            stop.set()
            writer.join()


def test_a_load_does_not_wait_for_an_idle_stream(store_path: Path) -> None:
    with comptroller.open(store_path) as service:
        # More rows than one chunk has, so that the stream keeps its snapshot.
        service.load("claims", comptroller.sample("claims", rows=70_000))
        reader = pa.RecordBatchReader.from_stream(service.claims.stream(["id"]))
        reader.read_next_batch()
        started = time.monotonic()
        loaded(service, "claims", short_line("claims", id="one"))
        assert time.monotonic() - started < 4  # SQLite waits 5 s for a reader
        reader.close()
