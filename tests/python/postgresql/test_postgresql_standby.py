"""A hot standby: reads, writes that are refused, and its promotion."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import comptroller
import pytest
from lines import claim, identity, load
from postgresql_server import Connection, Server, wait_until


def address_of(database: str, *servers: Server, more: str = "") -> str:
    """Returns an address with several hosts."""
    folders = quote(",".join(str(each.folder) for each in servers), safe="")
    return f"postgresql://comptroller@/{database}?host={folders}{more}"


def ids(svc: comptroller.Service) -> list[str]:
    return sorted(each.id for each in svc.identities.list())


def test_reads_of_a_standby_and_its_promotion(own_server: Server, tmp_path: Path) -> None:
    primary = own_server
    primary_only = primary.create("replicated")
    with comptroller.open(primary_only) as svc:
        svc.identities.put(id="alice", customer_id="acme")
        load(svc, "claims", *(claim() for _ in range(100)))
    with primary.standby() as standby:
        both = address_of("replicated", primary, standby)
        for more in ("&target_session_attrs=prefer-standby", "&target_session_attrs=read-only"):
            with comptroller.open(both + more, read_only=True) as reader:
                assert ids(reader) == ["alice"]
                assert reader.export("claims", tmp_path / "claims.csv") == 100
                assert reader.journal.verify().ok
                assert reader.check()["ok"]
                with pytest.raises(comptroller.ReadOnly):
                    reader.identities.put(id="bob", customer_id="acme")
        with pytest.raises(comptroller.Unavailable, match="accepts only reads"):
            comptroller.open(address_of("replicated", standby))
        with comptroller.open(both) as svc:
            svc.identities.put(id="bob", customer_id="acme")
            assert ids(svc) == ["alice", "bob"]
            wait_until(lambda: standby.has_all_of(primary))
            primary.stop()
            with pytest.raises(comptroller.Unavailable):
                svc.identities.put(id="nobody", customer_id="acme")
            standby.promote()
            svc.identities.put(id="carol", customer_id="acme")
            assert ids(svc) == ["alice", "bob", "carol"]
            assert svc.journal.verify().ok


def test_each_commit_changes_the_version_of_a_standby(own_server: Server) -> None:
    """Also one of several writes that ran at once: its snapshots do not name those that run."""
    primary = own_server
    address = primary.create("replicated")
    comptroller.open(address).close()
    with (
        primary.standby() as standby,
        comptroller.open(standby.address("replicated"), read_only=True) as reader,
        closing(Connection(address)) as first,
        closing(Connection(address)) as second,
    ):
        for number, each in enumerate((first, second)):
            each.execute("BEGIN")
            each.execute(f"CREATE TABLE made_{number} ()")
        with closing(Connection(address)) as third:
            third.execute("CREATE TABLE made_later ()")
        versions = []
        for each in (second, first):
            wait_until(lambda: standby.has_all_of(primary))
            versions.append(reader.host.store.version())
            each.execute("COMMIT")
        wait_until(lambda: standby.has_all_of(primary))
        versions.append(reader.host.store.version())
        assert len({*versions}) == 3


def test_a_failover_that_loses_writes_leaves_no_word_of_them(own_server: Server) -> None:
    """The new primary gives the numbers of lost words to others. A running program must not."""
    primary = own_server
    with comptroller.open(primary.create("replicated")) as svc:
        svc.identities.put(id="alice", customer_id="acme")
    with (
        primary.standby() as standby,
        comptroller.open(address_of("replicated", primary, standby)) as svc,
    ):
        svc.identities.put(id="bob", customer_id="acme")
        wait_until(lambda: standby.has_all_of(primary))
        standby.execute("ALTER SYSTEM SET primary_conninfo = ''")
        standby.execute("SELECT pg_reload_conf()")
        receivers = "SELECT count(*) FROM pg_stat_wal_receiver"
        wait_until(lambda: standby.execute(receivers) == [("0",)])
        for number in range(20):
            svc.identities.put(id=f"lost-{number}", customer_id=f"customer-{number}")
        primary.stop()
        standby.promote()
        with comptroller.open(standby.address("replicated")) as other:
            for number in range(20):
                other.identities.put(id=f"other-{number}", customer_id=f"stranger-{number}")
            load(other, "identities", identity(id="loaded", customer_id="newcomer"))
        written = {f"lost-{number}": f"customer-{number}" for number in range(20)}
        for id, customer in written.items():
            svc.identities.put(id=id, customer_id=customer)
        written |= {f"other-{number}": f"stranger-{number}" for number in range(20)}
        written |= {"alice": "acme", "bob": "acme", "loaded": "newcomer"}
        assert {each.id: each.customer_id for each in svc.identities.iter()} == written
        assert svc.journal.verify().ok
        assert svc.check()["findings"] == []
