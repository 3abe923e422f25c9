"""Streams, exports and loads of a remote service equal those of an opened store."""

from __future__ import annotations

import errno
import gc
import io
import sqlite3
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import comptroller
import pytest
from comptroller import errors
from comptroller.remote import copies
from comptroller.remote.copies import Copy
from comptroller.values import KINDS
from in_process import opener
from lines import claim, refused

Opener = Callable[..., comptroller.Service]

CASES = [
    *((kind, {}) for kind in KINDS),
    ("identities", {"control_types": ["SELL_ONLY", "CLOSED", "FROZEN", "DORMANT"]}),
    ("controls", {"include_deleted": True}),
    ("controls", {"active_at": "2026-03-01T00:00:00Z"}),
    ("orchestrations", {"status": ["FAILED", "PROCESSING"]}),
    ("payout-groups", {"ledger": "ETHEREUM"}),
    ("reward-addresses", {"include_balance": True}),
    ("reward-addresses", {"include_balance": True, "balance_timestamp": "2026-06-26T00:00:00Z"}),
    ("claims", {"jurisdiction": "DE", "statuses": ["CONFIRMED"]}),
]
COLUMNS = {
    "identities": ["id", "status", "created_at"],
    "reward-addresses": ["status", "balance", "id"],
    "balances": ["balance", "address_id"],
}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a sample of every kind for acme, and of claims for another customer."""
    folder = tmp_path_factory.mktemp("sampled")
    comptroller.sample("all", 300, seed=3, customer="acme", out=folder)
    with comptroller.open(folder / "sampled.db") as service:
        for kind in KINDS:
            assert service.load(kind, folder / f"{kind}.ndjson", customer_id="acme").committed
        service.load("claims", comptroller.sample("claims", 5, seed=4), customer_id="globex")
    return folder / "sampled.db"


@pytest.fixture(scope="module")
def here(shared_path: Path) -> Iterator[Opener]:
    """Opens the store for a caller."""
    with ExitStack() as closing:
        yield lambda **how: closing.enter_context(comptroller.open(shared_path, **how))


@pytest.fixture(scope="module")
def remote_as(shared_path: Path) -> Iterator[Opener]:
    """Connects to the store."""
    with ExitStack() as closing:
        yield opener(shared_path, closing)


def resource(service: comptroller.Service, kind: str) -> Any:
    return getattr(service, kind.replace("-", "_"))


def table(service: comptroller.Service, kind: str, filters: Any, columns: Any = None) -> Any:
    return pytest.importorskip("pyarrow").table(resource(service, kind).stream(columns, **filters))


def in_order(rows: Any) -> list[Any]:
    return sorted(rows.to_pylist(), key=repr)


@pytest.mark.parametrize("how", [{}, {"customer": "acme"}], ids=["operator", "client"])
@pytest.mark.parametrize(("kind", "filters"), CASES)
def test_a_stream_has_the_same_rows(
    here: Opener, remote_as: Opener, how: Any, kind: str, filters: Any
) -> None:
    if how and kind == "balances":
        with refused("insufficient-scope", 403):
            resource(remote_as(**how), kind).stream()
        return
    for columns in (None, COLUMNS.get(kind, ["created_at", "id"])):
        near = table(here(**how), kind, filters, columns)
        far = table(remote_as(**how), kind, filters, columns)
        assert far.schema == near.schema
        assert in_order(far) == in_order(near)
        assert near.num_rows


@pytest.mark.parametrize("how", [{}, {"customer": "acme"}], ids=["operator", "client"])
@pytest.mark.parametrize("format", ["ndjson", "csv"])
@pytest.mark.parametrize(("kind", "filters"), CASES)
def test_an_export_has_the_same_content(
    here: Opener, remote_as: Opener, tmp_path: Path, how: Any, format: str, kind: str, filters: Any
) -> None:
    if how and kind == "balances":
        with refused("insufficient-scope", 403):
            remote_as(**how).export(kind, tmp_path / "never")
        assert list(tmp_path.iterdir()) == []
        return
    near, far = tmp_path / "near", tmp_path / "far"
    rows = here(**how).export(kind, near, format, **filters)
    assert remote_as(**how).export(kind, far, format, **filters) == rows > 0
    if how:  # in the order of the list, not of arrival
        assert sorted(far.read_bytes().splitlines()) == sorted(near.read_bytes().splitlines())
    else:
        assert far.read_bytes() == near.read_bytes()


@pytest.mark.parametrize("kind", ["controls", "payout-groups", "reward-addresses", "claims"])
def test_a_client_gets_no_operator_columns(remote_as: Opener, kind: str) -> None:
    acme = remote_as(customer="acme")
    assert "customer_id" not in table(acme, kind, {}).column_names
    with refused("invalid-request", 400):
        resource(acme, kind).stream(["customer_id"])


def test_a_stream_can_be_read_repeatedly(open_remote: Opener) -> None:
    arrow = pytest.importorskip("pyarrow")
    operator = open_remote()
    before = operator.claims.stream(["id"])
    operator.claims.put(claim(id="later"))
    first, second = arrow.table(before), arrow.table(before)
    assert first == second
    assert "later" not in first["id"].to_pylist()
    assert "later" in arrow.table(operator.claims.stream())["id"].to_pylist()


def test_a_stream_ends_with_its_service(open_remote: Opener) -> None:
    arrow = pytest.importorskip("pyarrow")
    operator = open_remote()
    stream = operator.claims.stream()
    operator.close()
    with pytest.raises(errors.Closed, match="closed"):
        arrow.table(stream)


def test_an_unreferenced_copy_is_removed(open_remote: Opener) -> None:
    def open_files() -> int:
        gc.collect()
        return len(list(Path("/proc/self/fd").iterdir()))

    if not Path("/proc/self/fd").exists():
        pytest.skip("this system does not show its open files")
    operator = open_remote()
    operator.claims.stream()
    before = open_files()
    for _ in range(5):
        operator.claims.stream()
    assert open_files() == before


@pytest.fixture
def open_remote(store_path: Path) -> Iterator[Opener]:
    with ExitStack() as closing:
        yield opener(store_path, closing)


def test_progress_reports_bytes_and_rows(open_remote: Opener, tmp_path: Path) -> None:
    path = comptroller.sample("claims", 20_000, out=tmp_path / "claims.ndjson")
    reports: list[tuple[int, int | None, int]] = []
    result = open_remote().load("claims", path, progress=lambda *each: reports.append(each))
    assert result.inserted == 20_000
    for done, total, rows in reports:
        assert 0 <= done <= path.stat().st_size == total
        assert 0 <= rows <= 20_000
    assert reports == sorted(reports)


def test_an_exception_of_progress_ends_a_remote_load(open_remote: Opener) -> None:
    class Endless(io.RawIOBase):
        """Yields bytes without end."""

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            size = len(buffer) // 2 * 2
            buffer[:size] = b"{}" * (size // 2)
            return size

    def stop(*_figures: object) -> None:
        raise KeyboardInterrupt

    operator = open_remote()
    before = len(list(operator.claims.iter()))
    with pytest.raises(KeyboardInterrupt):
        operator.load("claims", Endless(), keep_going=False, progress=stop)
    assert len(list(operator.claims.iter())) == before
    assert operator.claims.put(claim()).id  # the store is not locked


def test_an_invalid_path_is_unusable(open_remote: Opener, tmp_path: Path) -> None:
    for path in (tmp_path / "absent" / "x", tmp_path):
        with pytest.raises(errors.Unusable, match="cannot be written"):
            open_remote().export("claims", path)


# ---- the memory of a copy ------------------------------------------------------------------------


class ManyIdentities:
    """A remote service with as many implied identities, and as many others, as given."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.has_read_changes = False

    def is_operator(self) -> bool:
        return True

    def export_pieces(self, kind: str, parameters: Any) -> Iterator[bytes]:
        raise AssertionError(kind, parameters)

    def pages(self, kind: str, _parameters: Any) -> Iterator[list[dict[str, Any]]]:
        key, prefixes = ("id", "ab") if kind == "identities" else ("identity_id", "ac")
        for start in range(0, self.count, 1_000):
            numbers = range(start, min(start + 1_000, self.count))
            yield [self.row(key, f"{prefix}-{n}") for n in numbers for prefix in prefixes]

    @staticmethod
    def row(key: str, id: str) -> dict[str, Any]:
        row = {key: id, "customer_id": "acme", "created_at": "2026-01-01T00:00:00.000000Z"}
        return row | ({"updated_at": row["created_at"]} if key == "id" else {})

    def changes(self, _resource: str) -> Iterator[dict[str, Any]]:
        self.has_read_changes = True
        for n in range(self.count):
            yield {"id": f"a-{n}", "operation": "controls.load"}
            yield {"id": f"c-{n}", "operation": "identities.put"}
        yield {"id": "a-0", "operation": "identities.put"}


def test_the_export_of_many_identities_needs_little_memory(tmp_path: Path) -> None:
    origin = ManyIdentities(20_000)
    tracemalloc.start()
    try:
        copy = Copy(origin, "identities", [], for_export=True)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 << 20
    assert copy.export(str(tmp_path / "out.ndjson"), "ndjson") == 20_001


def test_a_client_without_implied_identities_does_not_read_the_feed(tmp_path: Path) -> None:
    class Empty(ManyIdentities):
        @staticmethod
        def row(key: str, id: str) -> dict[str, Any]:
            row = ManyIdentities.row(key, id)
            return row | ({"identity_id": f"other-{id}"} if "identity_id" in row else {})

    origin = Empty(10)
    copy = Copy(origin, "identities", [], for_export=True)
    assert copy.export(str(tmp_path / "out.ndjson"), "ndjson") == 20
    assert not origin.has_read_changes


@pytest.mark.parametrize(
    "failure",
    [
        sqlite3.OperationalError("database or disk is full"),
        OSError(errno.ENOSPC, "the disk is full"),
    ],
)
def test_an_export_that_fills_the_disk_is_refused(
    monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    def without_space(*_given: object) -> None:
        raise failure

    monkeypatch.setattr(copies._Candidates, "add", without_space)
    with pytest.raises(errors.Unavailable, match="disk is full"):
        Copy(ManyIdentities(1), "identities", [], for_export=True)
