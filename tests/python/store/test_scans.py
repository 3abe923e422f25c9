"""Lists, streams and exports are equal whether tables are read by pages or with SQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import comptroller
import pyarrow as pa
import pytest
from examples import KINDS, exported, loaded, short_line
from lines import claim, load, solana
from report_stores import fill

WITH_SQL = "COMPTROLLER_ONLY_SQL"
INTERIOR = 5  # the kind of a page
SINCE = "2026-01-01T00:00:00Z"
FILTERS: dict[str, list[dict[str, Any]]] = {
    "claims": [
        {"statuses": "FAILED"},
        {"statuses": ["PENDING", "CONFIRMED"], "customer_id": "default"},
        {"start_time": SINCE},
        {"jurisdiction": "CH", "chain": "INK"},
        {"chain": "no such chain"},
        {"customer_id": "nobody"},
    ],
    "orchestrations": [{"status": ["CREATED", "SUCCEEDED"]}, {"created_at_gte": SINCE}],
    "controls": [{"include_deleted": True}, {"active_at": SINCE}, {"type": "FROZEN"}],
    "payout_groups": [{"name_prefix": "a"}, {"customer_id": "default"}],
}
Answer = TypeVar("Answer")


@dataclass
class Both:
    """The services of one store that read its tables by pages, and with SQL."""

    by_pages: comptroller.Service
    with_sql: comptroller.Service

    def answers(self, ask: Callable[[comptroller.Service], Answer]) -> tuple[Answer, Answer]:
        return ask(self.by_pages), ask(self.with_sql)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """A sample of every kind, of two customers, partly in the write-ahead log."""
    folder = tmp_path_factory.mktemp("scans")
    path = folder / "store.db"
    with comptroller.open(path) as service:
        fill(service, folder, claims=3_000, seed=9)
        long = (claim(addresses=[solana() for _ in range(count)]) for count in range(0, 100, 7))
        load(service, "claims", *long)  # as long as a page, and longer
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(WITH_SQL, "1")
            other = comptroller.open(path, read_only=True)
        with other:
            yield Both(service, other)


def records(service: comptroller.Service, kind: str, **asked: Any) -> pa.Table:
    stream = getattr(service, kind.replace("-", "_")).stream
    return pa.table(stream(**asked))


@pytest.mark.parametrize("kind", KINDS)
def test_streams(both: Both, kind: str) -> None:
    if kind == "balances":  # shown with their addresses
        return
    by_pages, with_sql = both.answers(lambda service: records(service, kind))
    assert by_pages.num_rows > 0
    assert by_pages.equals(with_sql)
    for column in by_pages.column_names:
        one, other = both.answers(partial(records, kind=kind, columns=[column]))
        assert one.equals(other)


@pytest.mark.parametrize(
    ("kind", "filters"),
    [(kind, filters) for kind, several in FILTERS.items() for filters in several],
    ids=str,
)
def test_filters(both: Both, kind: str, filters: dict[str, Any]) -> None:
    by_pages, with_sql = both.answers(lambda service: records(service, kind, **filters))
    assert by_pages.equals(with_sql)


@pytest.mark.parametrize("order", ["ASC", "DESC"])
@pytest.mark.parametrize(
    ("kind", "filters"),
    [
        *((kind.replace("-", "_"), {}) for kind in KINDS),
        *((kind, filters) for kind, several in FILTERS.items() for filters in several),
        ("reward_addresses", {"include_balance": True}),
    ],
    ids=str,
)
def test_lists(both: Both, kind: str, filters: dict[str, Any], order: str) -> None:
    def pages(service: comptroller.Service) -> list[Any]:
        resource = getattr(service, kind)
        found = [resource.list(limit=7, order=order, **filters)]
        while len(found) < 40 and (cursor := found[-1].next_page_cursor):
            found.append(resource.list(limit=7, order=order, page_cursor=cursor, **filters))
        return [page.items for page in found]

    by_pages, with_sql = both.answers(pages)
    assert by_pages == with_sql


@pytest.mark.parametrize("format", ["ndjson", "csv"])
@pytest.mark.parametrize("kind", KINDS)
def test_exports(both: Both, kind: str, format: str, tmp_path: Path) -> None:
    def export(service: comptroller.Service) -> bytes:
        assert service.export(kind, tmp_path / "rows", format) > 0
        return (tmp_path / "rows").read_bytes()

    by_pages, with_sql = both.answers(export)
    assert by_pages == with_sql


def test_a_list_reports_a_row_that_the_table_lacks(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with comptroller.open(path) as service:
        load(service, "claims", *(claim() for _ in range(300)))
    with sqlite3.connect(path) as connection:
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'claims' AND type = 'table'"
        ).fetchone()
    connection.close()
    damaged = bytearray(path.read_bytes())
    page = memoryview(damaged)[(root - 1) * 4096 : root * 4096]
    assert page[0] == INTERIOR
    first_child = int.from_bytes(page[12:14])
    page[first_child + 4] += 1  # the last key of the first leaf, which has no such key
    path.write_bytes(damaged)
    with comptroller.open(path, read_only=True) as service, pytest.raises(comptroller.Unusable):
        list(service.claims.iter(limit=100))


def _changed_claims(path: Path, statement: str) -> Path:
    """Makes a store of three claims and changes it by SQL."""
    with comptroller.open(path) as service:
        loaded(service, "claims", *(short_line("claims", id=f"c{number}") for number in range(3)))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)
    return path


@pytest.mark.parametrize("form", ["ndjson", "csv"])
def test_an_export_of_a_damaged_row_writes_nothing(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], form: str
) -> None:
    path = _changed_claims(tmp_path / "a.db", "UPDATE claims SET claim_type = 999999999")
    with comptroller.open(path) as service, pytest.raises(comptroller.Unusable):
        service.export("claims", "-", form)
    assert capfdbinary.readouterr().out == b""


@pytest.mark.parametrize("key", [10**9, 2**62, 2**63 - 2])
def test_an_export_takes_no_time_for_absent_keys(tmp_path: Path, key: int) -> None:
    path = _changed_claims(tmp_path / "a.db", f"UPDATE claims SET key = {key} WHERE key = 2")
    with comptroller.open(path) as service:
        rows = exported(service, "claims", tmp_path)
    assert [row["id"] for row in rows] == ["c0", "c2", "c1"]
