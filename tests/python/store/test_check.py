"""The findings of a check of damaged stores."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from decimal import Decimal
from pathlib import Path

import comptroller
import pytest
from examples import ADDRESS, GROUP, KINDS, LINES, loaded, short_line

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pandas")
pytest.importorskip("polars")

# SQL that damages a store, and the check that finds the damage.
DAMAGES: list[tuple[str, str]] = [
    ("UPDATE controls SET identity_id = 'bob'", "controls"),
    ("UPDATE controls SET identity_key = 999", "controls"),
    ("UPDATE controls SET customer_id = (SELECT key FROM symbols WHERE text = 'acme')", "controls"),
    ("UPDATE controls SET type = 99", "controls"),
    ("UPDATE controls SET covered_until = 0", "controls"),
    ("UPDATE controls SET reason_code = 999999", "controls"),
    ("DROP INDEX controls_active; " + "INSERT INTO controls (id, type, set_by, is_overridable, "
     "created_at, identity_id, customer_id, identity_key, identity_created_at) SELECT 'twin', type,"
     " set_by, is_overridable, created_at, identity_id, customer_id, identity_key,"
     " identity_created_at FROM controls", "controls"),
    ("UPDATE identities SET created_at = created_at + 1", "controls"),
    ("UPDATE identities SET customer_id = 999999", "identities"),
    ("UPDATE identities SET metadata = '{'", "identities"),
    ("UPDATE identities SET metadata = '[]'", "identities"),
    ("UPDATE claims SET amount = '1e3'", "claims"),
    ("UPDATE claims SET amount = '-1'", "claims"),
    ("UPDATE claims SET onchain_status = 7", "claims"),
    ("UPDATE claims SET jurisdiction = NULL", "claims"),
    ("UPDATE claims SET customer_id = (SELECT key FROM symbols WHERE text = 'acme')", "claims"),
    ("UPDATE claims SET id = 'a b' WHERE id = 'claim-1'", "claims"),
    ("UPDATE claims SET payout_group_id = 999999", "claims"),
    ("UPDATE claims SET id = x'' WHERE id = 'claim-1'", "claims"),
    ("UPDATE claims SET id = x'0102' WHERE id = 'claim-1'", "claims"),
    ("UPDATE claims SET tx_hash = x'01'", "claims"),
    ("UPDATE claims SET addresses = x'010203'", "claims"),
    ("UPDATE payout_groups SET last_claim_all_at = NULL", "payout_groups"),
    ("UPDATE payout_groups SET claim_all_confirmed_at = 0", "payout_groups"),
    ("INSERT INTO jurisdiction_changes VALUES (999999, 0, 0, 1)", "payout_groups"),
    ("UPDATE payout_groups SET ledger = 3", "reward_addresses"),
    ("UPDATE payout_groups SET balance = 'much'", "payout_groups"),
    ("UPDATE reward_addresses SET customer_id = 999999", "reward_addresses"),
    ("UPDATE reward_addresses SET ledger = 3", "reward_addresses"),
    ("UPDATE balances SET address_id = 'nobody'", "balances"),
    ("UPDATE balances SET balance = 'NaN'", "balances"),
    ("UPDATE orchestrations SET customer_id = (SELECT key FROM symbols WHERE text = 'FAILED')",
     "orchestrations"),
    ("UPDATE orchestrations SET status = 999999", "orchestrations"),
    ("UPDATE orchestrations SET source_amount = '1.'", "orchestrations"),
    ("UPDATE orchestrations SET source = 'here'", "orchestrations"),
]  # fmt: skip


@pytest.fixture(name="full", scope="module")
def _full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed store with one complete record of every kind."""
    path = tmp_path_factory.mktemp("full") / "store.db"
    with comptroller.open(path) as svc:
        for kind in KINDS:
            loaded(svc, kind, LINES[kind])
        confirmed = {"onchain_status": "CONFIRMED", "confirmed_at": "2026-01-31T12:00:00Z"}
        loaded(svc, "claims", short_line("claims", id="claim-2", **confirmed))
        svc.identities.put(id="somebody", customer_id="acme")
    return path


@pytest.fixture(name="path")
def _path(full: Path, tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    path.write_bytes(full.read_bytes())
    return path


def test_an_intact_store_has_no_findings(path: Path) -> None:
    with comptroller.open(path, read_only=True) as svc:
        found = svc.check()
    assert (found["ok"], found["findings"]) == (True, [])
    assert found["engine"].startswith("SQLite 3.")
    assert len(found["copies"]) <= 1
    assert found["rows"] == {
        "identities": 2,
        "controls": 1,
        "orchestrations": 1,
        "payout_groups": 1,
        "reward_addresses": 1,
        "balances": 1,
        "claims": 2,
    }


@pytest.mark.parametrize(("damage", "expected"), DAMAGES)
def test_each_damage_is_found(path: Path, damage: str, expected: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(damage)
    with comptroller.open(path, read_only=True) as svc:
        found = svc.check()
    assert not found["ok"]
    assert expected in {finding["check"] for finding in found["findings"]}
    assert all(finding["message"] for finding in found["findings"])


@pytest.mark.parametrize("damage", [damage for damage, _ in DAMAGES])
def test_reading_damaged_records_gives_a_result_or_an_error(path: Path, damage: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(damage)
    with comptroller.open(path, read_only=True) as svc:
        for kind in KINDS:
            resource = getattr(svc, kind.replace("-", "_"))
            for read in (resource.list, lambda resource=resource: pa.table(resource.stream())):
                with suppress(comptroller.Error, OSError):  # pyarrow raises OSError
                    read()


def test_an_inconsistent_index_is_found(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            """
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = replace(sql, 'created_at)', 'amount)')
              WHERE name = 'claims_by_customer';
            """
        )
    with comptroller.open(path, read_only=True) as svc:
        found = svc.check()
    assert not found["ok"]
    assert {finding["check"] for finding in found["findings"]} == {"integrity"}


def test_overwritten_pages_are_found_or_refused(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for page in range(3, len(data) // 4096):
        data[page * 4096 : page * 4096 + 64] = b"\xa5" * 64
    path.write_bytes(data)
    try:
        with comptroller.open(path, read_only=True) as svc:
            found = svc.check()
            assert not found["ok"]
            with pytest.raises(comptroller.Unusable):
                svc.reward_addresses.get(ADDRESS)
    except comptroller.Unusable:
        pass


def test_a_changed_digit_in_the_file_is_found_but_not_by_a_read(path: Path) -> None:
    """Pages have no checksums, so a read shows the changed value."""
    balance = LINES["payout-groups"]["balance"]
    changed = balance[:-1] + "2"
    data = path.read_bytes()
    assert data.count(balance.encode()) == 1
    path.write_bytes(data.replace(balance.encode(), changed.encode()))
    with comptroller.open(path, read_only=True) as svc:
        assert svc.payout_groups.get(GROUP).balance == Decimal(changed)
        found, verified = svc.check(), svc.journal.verify()
    assert not found["ok"]
    assert {finding["check"] for finding in found["findings"]} == {"payout_groups"}
    assert [finding.check for finding in verified.findings] == ["payout_groups"]


def test_a_check_writes_nothing(path: Path) -> None:
    before = path.read_bytes()
    with comptroller.open(path, read_only=True) as svc:
        svc.check()
    assert path.read_bytes() == before


DAMAGED_TEXTS = [
    ("identities", "UPDATE identities SET metadata = '{\"a'"),
    ("identities", "UPDATE identities SET metadata = '{\"a\":1}'"),
    ("identities", "UPDATE identities SET metadata = '[]'"),
    ("orchestrations", "UPDATE orchestrations SET metadata = 'here'"),
    ("orchestrations", "UPDATE orchestrations SET source = '{'"),
    ("orchestrations", "UPDATE orchestrations SET fail_reason = '[]'"),
    ("claims", "UPDATE claims SET addresses = '[\"a'"),
    ("claims", "UPDATE claims SET addresses = CAST(x'5b22ff225d' AS TEXT)"),
    ("claims", "UPDATE claims SET error_message = CAST(x'ff61ff' AS TEXT)"),
    ("claims", "UPDATE symbols SET text = CAST(x'ff' AS TEXT) WHERE text = 'ETHEREUM'"),
]


@pytest.mark.parametrize(("resource", "damage"), DAMAGED_TEXTS)
def test_damaged_text_is_reported(path: Path, resource: str, damage: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(damage)
    with comptroller.open(path, read_only=True) as svc:
        face = getattr(svc, resource)
        for read in (face.list, lambda: face.get(LINES[resource]["id"])):
            with pytest.raises(comptroller.Unusable, match="the store is damaged"):
                read()
        stream = face.stream()
        for read in (stream.to_arrow, stream.to_pandas, stream.to_polars):
            with pytest.raises(comptroller.Unusable, match=r"^unusable: the store is damaged"):
                read()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE claims SET amount = '1e3'",
        "UPDATE claims SET tx_hash = CAST(x'ff' AS TEXT)",
        "UPDATE claims SET id = CAST(x'ff' AS TEXT) WHERE id = 'claim-1'",
    ],
)
def test_a_damaged_value_is_reported(path: Path, damage: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(damage)
    with (
        comptroller.open(path, read_only=True) as svc,
        pytest.raises(comptroller.Unusable, match="the store is damaged"),
    ):
        list(svc.claims.iter())


def test_damaged_text_is_not_exported(path: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE identities SET metadata = '{'")
        connection.commit()
    with comptroller.open(path, read_only=True) as svc:
        with pytest.raises(comptroller.Unusable, match="the store is damaged"):
            svc.export("identities", tmp_path / "export")
        assert not (tmp_path / "export").exists()
