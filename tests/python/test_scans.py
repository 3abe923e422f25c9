"""Lists, streams and exports are equal whether tables are read by pages or with SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import comptroller
import pyarrow as pa
import pytest
from examples import KINDS
from lines import claim, load, solana
from report_stores import fill

WITH_SQL = "COMPTROLLER_SCAN_WITH_SQL"
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


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[comptroller.Service]:
    """A sample of every kind, of two customers, partly in the write-ahead log."""
    folder = tmp_path_factory.mktemp("scans")
    with comptroller.open(folder / "store.db") as service:
        fill(service, folder, claims=3_000, seed=9)
        long = (claim(addresses=[solana() for _ in range(count)]) for count in range(0, 100, 7))
        load(service, "claims", *long)  # as long as a page, and longer
        yield service


def both(ask: Callable[[], Answer]) -> tuple[Answer, Answer]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(WITH_SQL, raising=False)
        by_pages = ask()
        patch.setenv(WITH_SQL, "1")
        return by_pages, ask()


def records(service: comptroller.Service, kind: str, **asked: Any) -> pa.Table:
    stream = getattr(service, kind.replace("-", "_")).stream
    return pa.table(stream(**asked))


@pytest.mark.parametrize("kind", KINDS)
def test_streams(store: comptroller.Service, kind: str) -> None:
    if kind == "balances":  # shown with their addresses
        return
    by_pages, with_sql = both(lambda: records(store, kind))
    assert by_pages.num_rows > 0
    assert by_pages.equals(with_sql)
    for column in by_pages.column_names:
        one, other = both(lambda column=column: records(store, kind, columns=[column]))  # type: ignore[misc]
        assert one.equals(other)


@pytest.mark.parametrize(
    ("kind", "filters"),
    [(kind, filters) for kind, several in FILTERS.items() for filters in several],
    ids=str,
)
def test_filters(store: comptroller.Service, kind: str, filters: dict[str, Any]) -> None:
    by_pages, with_sql = both(lambda: records(store, kind, **filters))
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
def test_lists(store: comptroller.Service, kind: str, filters: dict[str, Any], order: str) -> None:
    resource = getattr(store, kind)

    def pages() -> list[Any]:
        found = [resource.list(limit=7, order=order, **filters)]
        while len(found) < 40 and (cursor := found[-1].next_page_cursor):
            found.append(resource.list(limit=7, order=order, page_cursor=cursor, **filters))
        return [page.items for page in found]

    by_pages, with_sql = both(pages)
    assert by_pages == with_sql


@pytest.mark.parametrize("format", ["ndjson", "csv"])
@pytest.mark.parametrize("kind", KINDS)
def test_exports(store: comptroller.Service, kind: str, format: str, tmp_path: Path) -> None:
    def export() -> bytes:
        assert store.export(kind, tmp_path / "rows", format) > 0
        return (tmp_path / "rows").read_bytes()

    by_pages, with_sql = both(export)
    assert by_pages == with_sql
