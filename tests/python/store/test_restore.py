"""Another program restores a backup into the file of an open store, in one transaction."""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import comptroller
import pytest
from comptroller import Service
from comptroller._core import Principal
from examples import LINES, group_id, line, loaded
from test_load_ways import ROWS, claim, file_of, furnished, of

pa = pytest.importorskip("pyarrow")

NUMBERS = range(3)
CUSTOMERS = ("acme", "zeta")
# Gives texts that the records refer to the keys of others.
SWAPPED = """
UPDATE symbols SET text = text || '!' WHERE text IN ('acme', 'zeta', 'DE', 'CH');
UPDATE symbols SET text = CASE text WHEN 'acme!' THEN 'zeta' WHEN 'zeta!' THEN 'acme'
  WHEN 'DE!' THEN 'CH' ELSE 'DE' END WHERE text LIKE '%!';
"""


def restore(backup: Path, path: Path) -> None:
    with closing(sqlite3.connect(backup)) as source, closing(sqlite3.connect(path)) as target:
        source.backup(target)


def changed(path: Path, backup: Path, sql: str) -> Path:
    """Makes a backup of a store, and changes it."""
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(backup)) as target:
        source.backup(target)
        target.executescript(sql)
    return backup


def schema_version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("PRAGMA schema_version").fetchone()[0])


def everything(svc: Service) -> dict[str, list[str]]:
    """Returns what a caller reads of each kind: pages, records by id, streams."""
    found = {}
    for kind in ("identities", "payout_groups", "reward_addresses", "claims", "orchestrations"):
        resource = getattr(svc, kind)
        records = list(resource.iter())
        found[kind] = [repr(each) for each in records]
        found[kind] += [repr(resource.get(each.id)) for each in records]
        found[kind] += sorted(map(repr, pa.table(resource.stream()).to_pylist()))
    for jurisdiction in ("DE", "CH"):
        found[jurisdiction] = [repr(svc.payout_groups.list(jurisdiction=jurisdiction).items)]
    return found


@pytest.fixture(name="path")
def _path(store_path: Path) -> Path:
    with comptroller.open(store_path) as svc:
        for number, customer in enumerate(CUSTOMERS):
            for each in NUMBERS:
                place = 10 * number + each
                members: dict[str, Any] = {"customer_id": customer}
                group = group_id(place)
                loaded(svc, "identities", line("identities", id=f"{customer}-{each}", **members))
                loaded(
                    svc,
                    "orchestrations",
                    line(
                        "orchestrations",
                        id=f"o-{place}",
                        identity_id=f"{customer}-{each}",
                        **members,
                    ),
                )
                loaded(
                    svc,
                    "payout-groups",
                    line(
                        "payout-groups",
                        id=group,
                        name=f"of {customer}",
                        last_claim_all_at=...,
                        jurisdiction="DE" if number else "CH",
                        **members,
                    ),
                )
                address = f"0x{place:040x}"
                loaded(
                    svc,
                    "reward-addresses",
                    line(
                        "reward-addresses",
                        id=group,
                        payout_group_id=group,
                        address=address,
                        **members,
                    ),
                )
                loaded(
                    svc, "claims", line("claims", id=f"c-{place}", payout_group_id=group, **members)
                )
    return store_path  # fmt: skip


@pytest.fixture(name="callers")
def _callers(path: Path) -> Iterator[list[Service]]:
    with (
        comptroller.open(path) as operator,
        comptroller.open(path, customer="acme") as client,
        comptroller.open(path, read_only=True) as reader,
    ):
        yield [operator, client, reader]


def test_every_read_shows_the_restored_content(
    path: Path, callers: list[Service], tmp_path: Path
) -> None:
    swapped = changed(path, tmp_path / "swapped.db", SWAPPED)
    before = [everything(svc) for svc in callers]
    restore(swapped, path)
    after = [everything(svc) for svc in callers]
    with comptroller.open(swapped) as operator, comptroller.open(swapped, customer="acme") as acme:
        assert after == [everything(operator), everything(acme), everything(operator)]
    assert after != before


def test_writes_after_a_restore_refer_to_the_restored_texts(
    path: Path, callers: list[Service], tmp_path: Path
) -> None:
    operator, client, _reader = callers
    operator.identities.put(id="first", customer_id="zeta")  # caches the key of the text
    client.controls.create(identity_id="acme-0", type="CLOSED", reason_code="CUSTOMER_REQUEST")
    restore(changed(path, tmp_path / "swapped.db", SWAPPED), path)
    operator.identities.put(id="second", customer_id="zeta")
    client.controls.create(identity_id="zeta-0", type="CLOSED", reason_code="CUSTOMER_REQUEST")
    with closing(sqlite3.connect(path)) as connection:
        stored = "SELECT id, customer_id FROM readable_identities WHERE id = 'second'"
        assert connection.execute(stored).fetchall() == [("second", "zeta")]
        made = "SELECT identity_id, customer_id FROM readable_controls ORDER BY identity_id"
        assert connection.execute(made).fetchall() == [("acme-0", "zeta"), ("zeta-0", "acme")]


def test_reports_and_exports_show_the_restored_content(
    path: Path, callers: list[Service], tmp_path: Path
) -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("sqlglot")
    swapped = changed(path, tmp_path / "swapped.db", SWAPPED)

    def read(svc: Service) -> Any:
        svc.export("payout-groups", tmp_path / "export.csv")
        report = svc.reports.claims_summary(by=["customer"])
        return (tmp_path / "export.csv").read_bytes(), report.to_dicts()

    before = read(callers[0])
    restore(swapped, path)
    with comptroller.open(swapped) as svc:
        assert read(callers[0]) == read(svc) != before


def test_a_restore_changes_the_schema_version_of_an_equal_schema(
    path: Path, tmp_path: Path
) -> None:
    backup = changed(path, tmp_path / "backup.db", "")
    before = schema_version(path)
    while schema_version(backup) != before:
        with closing(sqlite3.connect(backup)) as connection:
            connection.execute(f"PRAGMA schema_version = {before}")
    restore(backup, path)
    assert schema_version(path) != before


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("PRAGMA user_version = 1", "schema version 1.* open it again, which migrates it"),
        ("PRAGMA user_version = 99", "schema version 99.*upgrade comptroller"),
        ("PRAGMA application_id = 1", "another program; restore a backup"),
        ("DROP TABLE claims; PRAGMA user_version = 2", "schema version 2"),
    ],
)
def test_restored_content_that_is_no_store_of_this_version_is_refused(
    path: Path, callers: list[Service], tmp_path: Path, sql: str, why: str
) -> None:
    sound = changed(path, tmp_path / "sound.db", "")
    operator, client, reader = callers
    before = everything(operator)
    restore(changed(path, tmp_path / "other.db", sql), path)
    for svc in callers:
        for read in (svc.claims.list, lambda svc=svc: pa.table(svc.claims.stream())):
            with pytest.raises((comptroller.Unusable, OSError), match=why):
                read()
        with pytest.raises(comptroller.Unusable, match=why):
            svc.identities.get("acme-0")
    with pytest.raises(comptroller.Unusable, match=why):
        operator.identities.put(id="new")
    with pytest.raises(comptroller.Unusable, match=why):
        client.controls.create(identity_id="acme-0", type="CLOSED", reason_code="CUSTOMER_REQUEST")
    restore(sound, path)
    assert everything(operator) == everything(reader) == before


def test_cursors_of_the_restored_store_are_accepted(
    path: Path, callers: list[Service], tmp_path: Path
) -> None:
    backup = changed(path, tmp_path / "backup.db", "UPDATE secrets SET value = randomblob(32)")
    old = callers[0].claims.list(limit=2).next_page_cursor
    restore(backup, path)
    with comptroller.open(backup, read_only=True) as svc:
        page = svc.claims.list(limit=2)
        rest = svc.claims.list(limit=2, page_cursor=page.next_page_cursor)
    for svc in (callers[0], callers[2]):
        assert svc.claims.list(limit=2) == page
        assert svc.claims.list(limit=2, page_cursor=page.next_page_cursor) == rest
        with pytest.raises(comptroller.InvalidRequest):
            svc.claims.list(limit=2, page_cursor=old)


def test_codes_from_before_a_restore_are_not_used(
    path: Path, callers: list[Service], tmp_path: Path
) -> None:
    swapped = changed(path, tmp_path / "swapped.db", SWAPPED)
    equal = changed(path, tmp_path / "equal.db", "")
    store = callers[0].host.store  # type: ignore[attr-defined]

    def coded() -> Any:
        return store.stream(Principal(), "payout_groups", ["customer_id"], []).compact(
            ["customer_id"]
        )

    first, second = coded(), coded()
    restore(equal, path)
    assert pa.table(first).column(0).to_pylist() == [0] * 3 + [1] * 3
    restore(swapped, path)
    with pytest.raises(OSError, match="unavailable: the store was restored during the read"):
        pa.table(second)
    assert coded().texts() == {"customer_id": ["zeta", "acme"]}


class Beside:
    """The progress callback of a load, which restores a backup while the load reads its file."""

    def __init__(self, backup: Path, path: Path) -> None:
        self._restore: threading.Thread | None = threading.Thread(
            target=restore, args=(backup, path)
        )

    def __call__(self, *_progress: object) -> None:
        if self._restore is not None:
            self._restore.start()
            self._restore.join(60)
            self._restore = None


def test_a_load_that_a_restore_overtakes_begins_again(tmp_path: Path) -> None:
    path, swapped = tmp_path / "store.db", tmp_path / "swapped.db"
    source = file_of(
        of(claim, customer_id="acme", payout_group_id=group_id(999)), tmp_path / "lines.ndjson"
    )
    with furnished(path) as svc:
        svc.identities.put(id="a", customer_id="acme")
        svc.identities.put(id="z", customer_id="zeta")
        svc.identities.put(id="last", customer_id="last")
        changed(path, swapped, SWAPPED)
        result = svc.load("claims", source, progress=Beside(swapped, path))
        assert (result.inserted, result.rejected) == (ROWS, 0)
    with closing(sqlite3.connect(path)) as connection:
        stored = connection.execute("SELECT DISTINCT customer_id FROM readable_claims").fetchall()
    assert stored == [("acme",)]
    with comptroller.open(path, read_only=True) as svc:
        found = [each["message"] for each in svc.check()["findings"]]
        # The program that swapped the texts altered records behind the journal's back.
        assert [
            each for each in found if not re.search("altered|as it was (written|inserted)", each)
        ] == []


assert LINES  # the examples that the fixture changes
