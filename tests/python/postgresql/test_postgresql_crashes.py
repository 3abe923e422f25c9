"""One process of the database is killed: the server ends all of them, and recovers, although it has
the same start. With `synchronous_commit = off` it loses the last writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress

import comptroller
import pytest
from postgresql_server import Connection, Server, wait_until

DATABASE = "crashed"


@pytest.fixture(name="address")
def _address(own_server: Server) -> Iterator[str]:
    """A database that writes its log late."""
    address = own_server.create(DATABASE)
    own_server.execute("ALTER SYSTEM SET wal_writer_delay = '10s'")
    own_server.execute("SELECT pg_reload_conf()")
    own_server.execute(f"ALTER DATABASE {DATABASE} SET synchronous_commit = off")
    return address


def crash(server: Server) -> None:
    before = sessions(server) | {"recovering"}
    assert server.kill_connection(DATABASE) == 1
    wait_until(lambda: not before & sessions(server))


def sessions(server: Server) -> set[str | None]:
    """Returns the sessions of the database, and one that exists while the server recovers."""
    with suppress(RuntimeError):
        sql = f"SELECT pid FROM pg_stat_activity WHERE datname = '{DATABASE}'"
        return {pid for (pid,) in server.execute(sql)}
    return {"recovering"}


def test_an_answered_write_survives_a_crash(own_server: Server, address: str) -> None:
    with comptroller.open(address) as svc:
        svc.identities.put(id="alice", customer_id="acme")
    with comptroller.open(address) as svc:
        svc.identities.put(id="bob", customer_id="acme")
        crash(own_server)
        assert sorted(each.id for each in svc.identities.list()) == ["alice", "bob"]
        svc.identities.put(id="carol", customer_id="other")
        assert svc.check()["ok"]


def test_words_that_a_crash_lost_are_stored_again(own_server: Server, address: str) -> None:
    """They may have numbers that other words have now. The server loses them only if it has not
    written them for another reason, so the test removes them.
    """
    with comptroller.open(address) as svc, closing(Connection(address)) as other:
        svc.identities.put(id="alice", customer_id="acme")
        other.execute("INSERT INTO symbols (text) VALUES ('lost')")
        assert not list(svc.identities.list(customer_id=["lost"]))
        crash(own_server)
        own_server.execute("DELETE FROM symbols WHERE text = 'lost'", DATABASE)
        svc.identities.put(id="bob", customer_id="lost")
        svc.identities.put(id="carol", customer_id="other")
        assert {each.id: each.customer_id for each in svc.identities.list()} == {
            "alice": "acme",
            "bob": "lost",
            "carol": "other",
        }
        assert svc.check()["ok"]


def test_a_crash_changes_the_version(own_server: Server, address: str) -> None:
    """Snapshots of other content may have the same text."""
    with comptroller.open(address) as svc:
        before = svc.host.store.version()
        assert svc.host.store.version() == before
        crash(own_server)
        with suppress(comptroller.Unavailable):
            svc.identities.list()
        assert svc.host.store.version() != before
