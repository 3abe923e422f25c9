"""The readable views of a store: one for each table, with names, ids and ISO times."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import comptroller
import pytest
from comptroller import Service, records
from examples import HASH, KINDS, LINES, line, loaded, short_line

RECORDS = {
    "identities": records.Identity,
    "controls": records.Control,
    "orchestrations": records.Orchestration,
    "payout-groups": records.PayoutGroup,
    "reward-addresses": records.RewardAddress,
    "claims": records.Claim,
    "balances": records.Balance,
}
# Members that are derived from other records have no column.
DERIVED = {
    "identities": {"status", "status_details", "user_disabled", "admin_disabled"},
    "reward-addresses": {"balance"},
}

#: Members that have several stored forms, as changes of the complete line of a kind.
FORMS: list[tuple[str, dict[str, Any]]] = [
    ("claims", {"id": "0190abcd-0000-7000-8000-00000000000f"}),
    ("claims", {"id": "1"}),
    ("claims", {"tx_hash": HASH.upper().replace("X", "x")}),
    ("claims", {"tx_hash": "signature"}),
    ("claims", {"addresses": []}),
    ("claims", {"addresses": ["one", "two"]}),
    ("claims", {"addresses": ["0x" + "00" * 20, "0x" + "ff" * 20]}),
    ("claims", {"created_at": "0001-01-01T00:00:00.000000Z"}),
    ("claims", {"created_at": "1969-12-31T23:59:59.999999Z"}),
    ("claims", {"created_at": "1969-12-31T23:59:59.000001Z"}),
    ("claims", {"created_at": "9999-12-31T23:59:59.999999Z"}),
    ("claims", {"created_at": "2000-02-29T00:00:00.000001Z"}),
    ("claims", {"claim_type": "A_NEWER_WORD"}),
    ("claims", {"blockchain": "ünï 'quoted'"}),
    *(("claims", {"onchain_status": w}) for w in ("SUBMITTED", "CONFIRMED", "FAILED")),
    *(("controls", {"type": word}) for word in ("SELL_ONLY", "FROZEN", "DORMANT")),
    ("controls", {"set_by": "PROVIDER"}),
    ("controls", {"deleted_at": "2026-02-01T00:00:00.000000Z"}),
    *(("payout-groups", {"ledger": ledger}) for ledger in ("INK", "XLAYER", "ARBITRUM_ONE")),
]


def rows(path: Path, kind: str) -> list[dict[str, Any]]:
    """Reads the views with SQLite alone."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        view = f"readable_{kind.replace('-', '_')}"
        return [dict(row) for row in connection.execute(f"SELECT * FROM {view}")]


@pytest.fixture(name="full")
def _full(operator: Service, store_path: Path) -> Path:
    for kind in KINDS:
        loaded(operator, kind, LINES[kind])
    return store_path


@pytest.mark.parametrize("kind", KINDS)
def test_the_columns_are_the_members_of_the_record(full: Path, kind: str) -> None:
    (row,) = rows(full, kind)
    expected = [
        name for name in RECORDS[kind].__struct_fields__ if name not in DERIVED.get(kind, ())
    ]
    assert list(row) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_the_values_are_those_of_the_line(full: Path, kind: str) -> None:
    (row,) = rows(full, kind)
    for name, value in LINES[kind].items():
        if isinstance(value, bool):
            assert row[name] == int(value)
        elif isinstance(value, (dict, list)):
            assert json.loads(row[name]) == value
        else:
            assert row[name] == value
    assert {name for name, value in row.items() if value is not None} <= LINES[kind].keys()


@pytest.mark.parametrize(("kind", "changes"), FORMS)
def test_every_form_of_a_value_is_readable(
    operator: Service, store_path: Path, kind: str, changes: dict[str, Any]
) -> None:
    loaded(operator, kind, line(kind, **changes))
    (row,) = rows(store_path, kind)
    for name, value in changes.items():
        assert (json.loads(row[name]) if isinstance(value, list) else row[name]) == value


def test_an_unset_member_is_null(operator: Service, store_path: Path) -> None:
    loaded(operator, "claims", short_line("claims"))
    (row,) = rows(store_path, "claims")
    expected = set(short_line("claims")) | {"updated_at", "customer_id"}
    assert {name for name, value in row.items() if value is not None} == expected


def test_the_views_of_a_sample_equal_its_lists(
    operator: Service, store_path: Path, tmp_path: Path
) -> None:
    comptroller.sample("all", rows=300, out=tmp_path / "sample")
    for kind in KINDS:
        count = operator.load(kind, tmp_path / "sample" / f"{kind}.ndjson").inserted
        shown = rows(store_path, kind)
        assert len(shown) == count > 0
        for row in shown:
            for name, value in row.items():
                if name.endswith("_at") and value is not None:
                    assert (len(value), value[10], value[-1]) == (27, "T", "Z")
                assert not isinstance(value, bytes)


def test_a_reader_sees_writes_while_it_is_open(full: Path, operator: Service) -> None:
    with closing(sqlite3.connect(f"file:{full}?mode=ro", uri=True)) as connection:
        count = "SELECT count(*) FROM readable_claims"
        assert connection.execute(count).fetchone() == (1,)
        operator.claims.put(short_line("claims", id="other"))
        assert connection.execute(count).fetchone() == (2,)
    # Closing the other connection releases no lock of this process.
    operator.claims.put(short_line("claims", id="third"))
    assert operator.check()["ok"]


def test_changed_views_are_created_again(store_path: Path) -> None:
    comptroller.open(store_path).close()
    with closing(sqlite3.connect(store_path)) as connection:
        connection.execute("DROP VIEW readable_claims")
        connection.execute("DROP VIEW readable_controls")
        connection.execute("CREATE VIEW readable_controls AS SELECT 1 AS id")
        connection.commit()
    with comptroller.open(store_path) as svc:
        loaded(svc, "claims", LINES["claims"])
        assert rows(store_path, "claims")[0]["id"] == "claim-1"
        assert rows(store_path, "controls") == []
