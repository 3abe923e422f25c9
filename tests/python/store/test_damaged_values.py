"""A value that is not of the type of its column, or of its closed set, is refused by STRICT tables,
reported by a check, and never shown as another value."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import comptroller
import pytest
from examples import KINDS, LINES, exported, loaded

pa = pytest.importorskip("pyarrow")

WITH_SQL = "COMPTROLLER_ONLY_SQL"
# A kind, a column, and a value that SQLite stores in it only if the table is not STRICT.
OF_WRONG_TYPE: list[tuple[str, str, str]] = [
    ("claims", "onchain_status", "'FAILED'"),
    ("claims", "onchain_status", "1.5"),
    ("claims", "confirmed_at", "'2026-01-31'"),
    ("claims", "confirmed_at", "1.5"),
    ("claims", "amount", "x'31'"),
    ("claims", "amount", "NULL"),
    ("claims", "claim_type", "'CLAIM_ALL'"),
    ("claims", "blockchain", "x'00'"),
    ("claims", "error_message", "x'00'"),
    ("identities", "ref_id", "x'00'"),
    ("identities", "metadata", "x'7b7d'"),
    ("controls", "is_overridable", "'yes'"),
    ("controls", "deleted_by", "x'00'"),
    ("orchestrations", "status", "NULL"),
    ("orchestrations", "source", "x'7b7d'"),
    ("payout-groups", "schedule_type", "'DAILY'"),
    ("payout-groups", "last_claim_all_at", "'now'"),
    ("reward-addresses", "ledger", "'ETHEREUM'"),
    ("reward-addresses", "customer_id", "'default'"),
]
# Values of the right type, or of ANY, that mean nothing.
MEANINGLESS: list[tuple[str, str, str]] = [
    ("claims", "onchain_status", "99"),
    ("claims", "onchain_status", "-1"),
    ("claims", "claim_type", "999999"),
    ("claims", "created_at", "9000000000000000000"),
    ("claims", "id", "7"),
    ("claims", "tx_hash", "7"),
    ("claims", "tx_hash", "1.5"),
    ("claims", "tx_hash", "x'01'"),
    ("claims", "addresses", "x'010203'"),
    ("claims", "addresses", "7"),
    ("controls", "is_overridable", "2"),
    ("payout-groups", "schedule_type", "7"),
    ("reward-addresses", "ledger", "7"),
]


@pytest.fixture(name="full", scope="module")
def _full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed store with two complete records of most kinds; the second one is damaged later."""
    path = tmp_path_factory.mktemp("values") / "store.db"
    with comptroller.open(path) as svc:
        for kind in KINDS:
            loaded(svc, kind, LINES[kind])
        loaded(svc, "claims", LINES["claims"] | {"id": "claim-2"})
        loaded(svc, "identities", LINES["identities"] | {"id": "bob"})
        loaded(svc, "controls", LINES["controls"] | {"id": "control-2", "identity_id": "bob"})
        loaded(svc, "orchestrations", LINES["orchestrations"] | {"id": "orchestration-2"})
    return path


@pytest.fixture(name="path")
def _path(full: Path, tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    path.write_bytes(full.read_bytes())
    return path


@pytest.fixture(name="open_both")
def _open_both(path: Path) -> Callable[[], Iterator[comptroller.Service]]:
    """Opens the store to read its tables by pages, then with SQL."""

    def opened() -> Iterator[comptroller.Service]:
        for with_sql in ("", "1"):
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv(WITH_SQL, with_sql)
                service = comptroller.open(path, read_only=True)
            with service:
                yield service

    return opened


def table_of(kind: str) -> str:
    return kind.replace("-", "_")


def plant(path: Path, kind: str, column: str, value: str, *, keep_strict: bool) -> int:
    """Stores a value in the last row, as a SQLite without STRICT tables would; returns its key."""
    table = table_of(kind)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        (definition,) = other.execute(
            "SELECT sql FROM sqlite_schema WHERE name = ?", (table,)
        ).fetchone()

        def define(sql: str) -> None:
            other.execute("PRAGMA writable_schema = ON")
            other.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (sql, table))
            other.execute("PRAGMA writable_schema = RESET")

        define(definition.removesuffix(" STRICT").replace(" NOT NULL", ""))
        (key,) = other.execute(f"SELECT max(key) FROM {table}").fetchone()
        other.execute(f"UPDATE {table} SET {column} = {value} WHERE key = {key}")
        if keep_strict:
            define(definition)
    assert isinstance(key, int)
    return key


def refusal_of(read: Callable[[], Any]) -> str:
    with pytest.raises((comptroller.Unusable, OSError)) as refused:  # pyarrow raises OSError
        read()
    return str(refused.value)


def reads_of(
    service: comptroller.Service, kind: str, column: str, folder: Path
) -> dict[str, Callable[[], Any]]:
    """Returns the reads that show a column of all rows."""
    resource = getattr(service, table_of(kind))
    reads: dict[str, Callable[[], Any]] = {
        "stream": lambda: pa.table(resource.stream()),
        "column": lambda: pa.table(resource.stream(columns=[column])),
        "export": lambda: exported(service, kind, folder),
        "CSV": lambda: service.export(kind, folder / "out.csv", format="csv"),
    }
    if column not in {"created_at", "customer_id"}:  # a list finds rows by these
        reads["list"] = resource.list
    return reads


@pytest.mark.parametrize(("kind", "column", "value"), OF_WRONG_TYPE)
def test_a_strict_table_refuses_a_value_of_another_type(
    path: Path, kind: str, column: str, value: str
) -> None:
    with closing(sqlite3.connect(path)) as other, pytest.raises(sqlite3.IntegrityError):
        other.execute(f"UPDATE {table_of(kind)} SET {column} = {value}")


@pytest.mark.parametrize("keep_strict", [True, False])
@pytest.mark.parametrize(("kind", "column", "value"), OF_WRONG_TYPE + MEANINGLESS)
def test_readers_and_check_name_the_damaged_value(
    path: Path,
    open_both: Callable[[], Iterator[comptroller.Service]],
    tmp_path: Path,
    kind: str,
    column: str,
    value: str,
    keep_strict: bool,
) -> None:
    key = plant(path, kind, column, value, keep_strict=keep_strict)
    place = f"{table_of(kind)}.{column} of key {key}: "
    for service in open_both():
        reads = reads_of(service, kind, column, tmp_path)
        for name, read in reads.items():
            assert place in refusal_of(read), name
        found = service.check()
        assert not found["ok"]
        messages = " ".join(finding["message"] for finding in found["findings"])
        assert f"{table_of(kind)}.{column}" in messages
        assert f"key {key}" in messages
        with suppress(comptroller.Error):
            getattr(service, table_of(kind)).list()


def test_get_and_reports_name_the_damaged_value(path: Path) -> None:
    plant(path, "claims", "onchain_status", "'FAILED'", keep_strict=False)
    with comptroller.open(path, read_only=True) as service:
        expected = "claims.onchain_status of key 2: it is text instead of an integer"
        assert expected in refusal_of(lambda: service.claims.get("claim-2"))
        assert expected in refusal_of(lambda: service.reports.claims_summary().to_polars())
        assert service.claims.get("claim-1").id == "claim-1"
