"""Loads that build b-trees and loads by statements give the same result and store."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import comptroller
import pytest
from comptroller import LoadResult, Service
from examples import GROUP, LATER, LINES, NOON
from held_writer import WhileWriting

BY_STATEMENTS = "COMPTROLLER_ONLY_SQL"
MIB = 1 << 20
SYMBOLS = {
    ("customers", "key"),
    *(("journal", column) for column in ("actor", "operation", "resource")),
    ("orchestrations", "status"),
    ("payout_groups", "id"),
    ("payout_groups", "onchain_status"),
    ("jurisdiction_changes", "group_id"),
}
SYMBOL_COLUMNS = {
    "customer_id",
    "reason_code",
    "source_asset",
    "destination_asset",
    "orchestration_rule_id",
    "payout_group_id",
    "asset_type",
    "jurisdiction",
    "claim_type",
    "claim_schedule_id",
    "blockchain",
}
ROWS = 3000  # more than 1 MiB, below which a load always uses statements

FOREIGN_GROUP = "00000000-0000-4000-8000-00000000ffff"
EVM = "0x" + "ab" * 20

Line = dict[str, Any]


def claim(number: int, **members: Any) -> Line:
    created = f"2026-01-{1 + number % 28:02}T12:00:{number * 7 % 60:02}.{number:06}Z"
    statuses = ("PENDING", "SUBMITTED", "CONFIRMED", "FAILED")
    return {
        **LINES["claims"],
        "id": f"00000000-0000-7000-8000-{number * 7919 % 1_000_003:012x}",
        "payout_group_id": f"00000000-0000-4000-8000-{number % 40:012}",
        "claim_type": ("CLAIM_ALL", "PARTIAL")[number % 2],
        "onchain_status": statuses[number % 4],
        "blockchain": ("ETHEREUM", "ARBITRUM", None)[number % 3] or "INK",
        "created_at": created,
        "updated_at": created,
        "confirmed_at": created,
        **members,
    }


def orchestration(number: int, **members: Any) -> Line:
    line = {
        **LINES["orchestrations"],
        "id": f"00000000-0000-7000-8000-{number * 7919 % 1_000_003:012x}",
        "status": ("COMPLETED", "FAILED")[number % 2],
        "source_asset": f"ASSET{number % 7}",
        "created_at": f"2026-02-{1 + number % 28:02}T00:00:00Z",
        "updated_at": f"2026-03-{1 + number % 28:02}T00:00:00Z",
        **members,
    }
    for count, name in enumerate(("ref_id", "profile_id", "orchestration_rule_id", "destination")):
        if number % (count + 2) == 0:
            del line[name]
    return line


def of(make: Callable[..., Line], rows: int = ROWS, **members: Any) -> Iterator[Line]:
    return (make(number, **members) for number in range(rows))


def duplicates() -> Iterator[Line]:
    """Equal lines, and changes, one of a CLAIM_ALL that is no longer confirmed."""
    for number in range(ROWS):
        yield claim(number)
        if number % 5 == 0 and number:
            yield claim(number - 4)
        if number % 50 == 0 and number:
            change = {"updated_at": "2027-01-01T00:00:00Z", "error_message": "changed"}
            yield claim(number - 1, **change)
            yield claim(number - 2, **change, confirmed_at="2025-01-01T00:00:00Z")


def refusals() -> Iterator[Line | str]:
    """More rejections than are listed, before and after lines that wait for the end."""
    for number in range(ROWS):
        yield claim(number)
        yield claim(number, id=f"taken-{number}", payout_group_id=FOREIGN_GROUP)
        if number % 2:
            yield claim(number // 2, amount="7", error_message="of the same age")
        if number % 3 == 0:
            yield "{" if number % 2 else claim(number, id=f"new-{number}", amount="-1")


def early_refusals_that_wait() -> Iterator[Line | str]:
    """More rejections than are listed, those of waiting lines first."""
    yield from of(claim)
    yield from of(claim, 600, amount="7", error_message="of the same age")
    yield from ["{"] * 600


def sizes() -> Iterator[Line]:
    """Records of sizes around the limits of a page, and up to 1 MiB."""
    for number in range(1000):
        yield claim(number, addresses=[EVM] * 150, error_message="n" * (1 + number))
    for count in (200, 3_000, 15_000, 20_000):
        yield claim(count, addresses=[EVM] * count)
        yield claim(count + 1, addresses=[EVM.upper().replace("X", "x")] * count)


CASES: dict[str, tuple[str, Callable[[], Iterable[Line | str]]]] = {
    "claims": ("claims", lambda: of(claim)),
    "orchestrations": ("orchestrations", lambda: of(orchestration)),
    "duplicates": ("claims", duplicates),
    "refusals": ("claims", refusals),
    "early refusals that wait": ("claims", early_refusals_that_wait),
    "ties": ("claims", lambda: of(claim, created_at=NOON, updated_at=LATER)),
    "text ids": (
        "claims",
        lambda: (claim(number, id=f"{'Claim' * (number % 60)}-{number}") for number in range(ROWS)),
    ),
    "many customers": (
        "claims",
        lambda: (
            claim(
                n, customer_id=f"c{n % 30}", payout_group_id=f"10000000-0000-4000-8000-{n % 30:012}"
            )
            for n in range(ROWS)
        ),
    ),
    "one each": (
        "claims",
        lambda: (
            claim(n, customer_id=f"c{n}", payout_group_id=f"10000000-0000-4000-8000-{n:012}")
            for n in range(ROWS)
        ),
    ),
    "sizes": ("claims", sizes),
    "long keys": (
        "orchestrations",
        lambda: (orchestration(n, profile_id="p" * (n % 128) + str(n)) for n in range(ROWS)),
    ),
}


def file_of(lines: Iterable[Line | str], path: Path) -> Path:
    def text(line: Line | str) -> str:
        if isinstance(line, str):
            return line
        return json.dumps({name: value for name, value in line.items() if value is not None})

    path.write_text("".join(text(line) + "\n" for line in lines))
    assert path.stat().st_size > MIB
    return path


def furnished(path: Path) -> Service:
    """A store that has some of the groups, one of another customer."""
    svc = comptroller.open(path)
    groups = [
        {**LINES["payout-groups"], "id": f"00000000-0000-4000-8000-{number:012}"}
        for number in range(20)
    ]
    groups.append({**LINES["payout-groups"], "id": FOREIGN_GROUP, "customer_id": "another"})
    groups[8]["jurisdiction"] = "FR"
    assert svc.load("payout-groups", groups).committed
    return svc


def schema_changes(path: Path) -> int:
    with sqlite3.connect(path) as connection:
        (cookie,) = connection.execute("PRAGMA schema_version").fetchone()
    connection.close()
    return int(cookie)


# The keys of symbols, and what depends on the time of a load.
DIFFERENT = {("symbols", "key"), ("journal", "recorded_at"), ("journal", "hashes")}


def everything(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All rows and the schema, with the texts of symbols instead of their keys."""
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()

    def expression(table: str, column: str) -> str:
        if (table, column) not in SYMBOLS and column not in SYMBOL_COLUMNS:
            return column
        return f"(SELECT text FROM symbols WHERE key = {table}.{column})"

    rows = {}
    for (name,) in tables:
        if name in ("secrets", "sqlite_stat1"):
            continue
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({name})")]
        selected = ", ".join(
            expression(name, column) for column in columns if (name, column) not in DIFFERENT
        )
        rows[name] = connection.execute(f"SELECT {selected} FROM {name} ORDER BY 1").fetchall()
    schema = connection.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY 1, 2")
    rows["schema"] = schema.fetchall()
    connection.close()
    return rows


class Ways:
    """Loads one file both ways and compares the stores."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self._monkeypatch = monkeypatch

    def load(self, way: str, kind: str, source: Path, **options: Any) -> tuple[LoadResult, Path]:
        if way == "statements":
            self._monkeypatch.setenv(BY_STATEMENTS, "1")
        else:
            self._monkeypatch.delenv(BY_STATEMENTS, raising=False)
        path = self.folder / f"{way}.db"
        with furnished(path) as svc:
            before = schema_changes(path)
            result = svc.load(kind, source, **options)
            if result.committed:
                # Statements drop and create every index; adopting a copy counts once.
                assert (schema_changes(path) - before == 1) == (way == "trees")
            assert svc.check()["ok"]
            svc.export(kind, self.folder / f"{way}.ndjson")
        return result, path

    def compare(self, kind: str, source: Path, **options: Any) -> LoadResult:
        trees, built = self.load("trees", kind, source, **options)
        statements, filled = self.load("statements", kind, source, **options)
        assert trees == statements
        assert everything(built) == everything(filled)
        exports = [(self.folder / f"{way}.ndjson").read_bytes() for way in ("trees", "statements")]
        assert exports[0] == exports[1]
        return trees


@pytest.fixture(name="ways")
def _ways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ways:
    return Ways(tmp_path, monkeypatch)


@pytest.mark.parametrize("case", CASES)
def test_both_ways_leave_the_same_store(ways: Ways, tmp_path: Path, case: str) -> None:
    kind, lines = CASES[case]
    result = ways.compare(kind, file_of(lines(), tmp_path / "lines.ndjson"))
    assert result.read > 0


def test_a_dry_run_gives_the_same_result(ways: Ways, tmp_path: Path) -> None:
    source = file_of(duplicates(), tmp_path / "lines.ndjson")
    assert not ways.compare("claims", source, dry_run=True).committed


def test_waiting_lines_have_a_limit(ways: Ways, tmp_path: Path) -> None:
    """Changes of more than 32 MiB are applied before the end of the file is read."""

    def lines() -> Iterator[Line]:
        for number in range(60):
            yield claim(number)
        for number in range(60):
            yield claim(number, updated_at="2027-01-01T00:00:00Z", addresses=[EVM] * 13_500)
        for number in range(60, 100):
            yield claim(number)

    source = file_of(lines(), tmp_path / "lines.ndjson")
    result = ways.compare("claims", source)
    assert (result.inserted, result.updated) == (100, 60)
    with furnished(tmp_path / "stream.db") as svc:  # a stream continues after the taken lines
        assert svc.load("claims", io.BytesIO(source.read_bytes())) == result
        assert svc.check()["ok"]


def test_a_table_with_rows_is_filled_by_statements(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with furnished(path) as svc:
        svc.claims.put(claim(ROWS + 1, payout_group_id=GROUP))
        before = schema_changes(path)
        source = file_of(of(claim), tmp_path / "lines.ndjson")
        assert svc.load("claims", source).inserted == ROWS
        assert schema_changes(path) == before
        assert svc.check()["ok"]


def test_an_index_may_name_a_column_several_times(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    furnished(path).close()
    with closing(sqlite3.connect(path)) as connection:
        columns = ", ".join(["error_message"] * 8)
        connection.execute(f"CREATE INDEX mine ON claims ({columns})")
    claims = file_of(of(claim, error_message="failed " * 60), tmp_path / "claims.ndjson")
    with comptroller.open(path) as svc:
        assert svc.load("claims", claims).committed
    assert len(everything(path)["claims"]) == ROWS


def test_an_open_reader_keeps_its_snapshot_and_follows(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with furnished(path) as svc:
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM claims").fetchone() == (0,)
        source = file_of(of(claim), tmp_path / "lines.ndjson")
        assert svc.load("claims", source).inserted == ROWS
        assert svc.claims.list(limit=1).items
        assert reader.execute("SELECT count(*) FROM claims").fetchone() == (0,)
        reader.execute("COMMIT")
        assert reader.execute("SELECT count(*) FROM claims").fetchone() == (ROWS,)
        reader.close()


def test_a_foreign_write_during_the_load_rolls_it_back(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    source = file_of(of(claim), tmp_path / "lines.ndjson").read_bytes()

    def write() -> None:
        with closing(sqlite3.connect(path)) as other, other:
            other.execute("INSERT INTO symbols (text) VALUES ('foreign')")

    with furnished(path) as svc:
        with pytest.raises(comptroller.Unavailable, match="another program wrote"):
            svc.load("claims", io.BytesIO(source), progress=WhileWriting(write))
        assert not svc.claims.list(limit=1).items
        assert svc.check()["ok"]
        assert svc.load("claims", io.BytesIO(source)).inserted == ROWS
    assert {file.name for file in tmp_path.glob("store.db-filling*")} == set()


def test_a_file_that_replaces_the_store_during_the_load_is_not_changed(tmp_path: Path) -> None:
    path, other = tmp_path / "store.db", tmp_path / "other.db"
    source = file_of(of(claim), tmp_path / "lines.ndjson").read_bytes()
    with comptroller.open(other) as svc:
        svc.identities.put(id="of-the-other-store")
    before = other.read_bytes()
    rename = WhileWriting(lambda: other.rename(path))
    with (
        furnished(path) as svc,
        pytest.raises(comptroller.Unusable, match="moved, replaced or removed"),
    ):
        svc.load("claims", io.BytesIO(source), progress=rename)
    assert path.read_bytes() == before
