"""Connections that are lost: what runs again, and what the caller learns."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import comptroller
import pytest
from lines import claim, load, made_group
from postgresql_proxy import Batch, Proxy
from postgresql_server import Connection, Server
from serving import Serving, serving

pytest.importorskip("httpx2")

_GROUPS = "/rewards/payout-groups"
_GROUP = {
    "ledger": "ETHEREUM",
    "asset_type": "ETH",
    "jurisdiction": "CH",
    "name": "North",
    "claimer_address": "0x0000000000000000000000000000000000000001",
}


@contextmanager
def waiting(address: str, svc: comptroller.Service) -> Iterator[tuple[Connection, Future[Any]]]:
    """Holds a lock for which a read of claims waits; yields the session with the lock."""
    with closing(Connection(address)) as other, ThreadPoolExecutor(1) as thread:
        other.execute("BEGIN")
        other.execute("LOCK TABLE claims IN ACCESS EXCLUSIVE MODE")
        try:
            yield other, thread.submit(lambda: [each.id for each in svc.claims.list()])
        finally:
            other.execute("ROLLBACK")


def end_waiting(session: Connection, running: Future[Any], before: str = "0") -> str:
    """Ends the connection that waits for the lock, other than `before`; returns its process."""
    while not (
        ended := session.execute(
            "SELECT pid, pg_terminate_backend(pid) FROM pg_locks JOIN pg_database AS d"
            " ON d.oid = database WHERE datname = current_database() AND NOT granted"
            " AND pid <> " + before
        )
    ):
        assert not running.done(), running.result()
    return str(ended[0][0])


def test_a_read_runs_again_once(store_path: str) -> None:
    with comptroller.open(store_path) as svc:
        load(svc, "claims", claim(id="c"))
        with waiting(store_path, svc) as (session, running):
            end_waiting(session, running)
            session.execute("COMMIT")
            assert running.result() == ["c"]
            session.execute("BEGIN")
        with waiting(store_path, svc) as (session, running):
            end_waiting(session, running, end_waiting(session, running))
            with pytest.raises(comptroller.Unavailable, match="database"):
                running.result()
        assert [each.id for each in svc.claims.list()] == ["c"]


def test_a_read_has_a_time_limit_of_the_address(store_path: str) -> None:
    address = store_path + "&options=-ccomptroller.read_timeout%3D100ms"
    with (
        comptroller.open(address) as svc,
        waiting(store_path, svc) as (_, running),
        pytest.raises(comptroller.Unavailable, match="statement timeout"),
    ):
        running.result(timeout=20)


def test_a_write_with_a_key_is_repeated_by_the_server(store_path: str, tmp_path: Path) -> None:
    """The server of the database ends each first connection at its commit."""
    comptroller.open(store_path).close()
    with closing(Connection(store_path)) as session:
        session.execute("CREATE SEQUENCE attempts")
        session.execute(
            "CREATE FUNCTION end_backend() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN"
            " IF nextval(''attempts'') = 1 THEN PERFORM pg_terminate_backend(pg_backend_pid());"
            " END IF; RETURN NULL; END'"
        )
        session.execute(
            "CREATE CONSTRAINT TRIGGER ends AFTER INSERT ON payout_groups DEFERRABLE INITIALLY"
            " DEFERRED FOR EACH ROW EXECUTE FUNCTION end_backend()"
        )
        words = ("--auth", "off", "--state", str(tmp_path / "state"))
        with serving(*words, cwd=tmp_path, db=store_path) as server:
            lost = server.ask("POST", _GROUPS, json=_GROUP)
            assert (lost.status_code, lost.json()["code"]) == (504, "outcome-unknown")
            session.execute("ALTER SEQUENCE attempts RESTART")
            headers = {"Idempotency-Key": "k"}
            made = server.ask("POST", _GROUPS, json=_GROUP, headers=headers)
            assert made.status_code == 200, made.text
            assert server.ask("POST", _GROUPS, json=_GROUP, headers=headers).text == made.text
            assert len(server.get(_GROUPS).json()["items"]) == 1


class _LostAnswers:
    """Loses the answer of the server to the next COMMIT, and calls `when_lost`.

    Attributes:
        proxy: the proxy that loses it.
        address: the database of the test behind it.
    """

    def __init__(self, server: Server, store_path: str, user: str = "comptroller") -> None:
        self.is_armed = False
        self.when_lost: Callable[[], object] = lambda: None
        self.proxy = Proxy(server, self.before)
        database = store_path.rpartition("?")[0].rpartition("/")[2]
        self.address = self.proxy.server.address(database, user)

    @contextmanager
    def serving(self, folder: Path) -> Iterator[Serving]:
        """Starts a server with this address; the next COMMIT loses its answer."""
        words = ("--auth", "off", "--no-webhooks", "--state", str(folder / "state"))
        with serving(*words, cwd=folder, db=self.address) as web:
            self.is_armed = True
            yield web

    def before(self, batch: Batch) -> bool:
        loses = self.is_armed and b"COMMIT\0" in batch.data
        if loses:
            self.is_armed = False
            self.when_lost()
        return not loses


@pytest.mark.parametrize("over_http", [False, True])
def test_a_committed_write_whose_answer_was_lost_is_not_executed_again(
    server: Server, store_path: str, tmp_path: Path, over_http: bool
) -> None:
    answers = _LostAnswers(server, store_path)
    with answers.proxy, comptroller.open(store_path) as direct:
        made: Any
        if over_http:
            with answers.serving(tmp_path) as web:
                answer = web.ask("POST", _GROUPS, json=_GROUP, headers={"Idempotency-Key": "k"})
                assert answer.status_code == 200, answer.text
                assert answer.headers["idempotent-replayed"] == "true"
                made = answer.json()["group"]["id"]
        else:
            with comptroller.open(answers.address) as svc:
                answers.is_armed = True
                made = made_group(svc, idempotency_key="k").id
        assert not answers.is_armed
        assert [each.id for each in direct.payout_groups.list()] == [made]


@pytest.mark.parametrize("over_http", [False, True])
def test_the_outcome_remains_unknown_if_the_write_cannot_be_repeated(
    server: Server, store_path: str, tmp_path: Path, over_http: bool
) -> None:
    answers = _LostAnswers(server, store_path)
    answers.when_lost = answers.proxy.refuse
    _require_unknown(answers, store_path, tmp_path, over_http=over_http)


@pytest.mark.parametrize("over_http", [False, True])
def test_the_outcome_remains_unknown_if_the_next_connection_is_forbidden(
    server: Server, store_path: str, tmp_path: Path, over_http: bool
) -> None:
    """The server says why it refuses the connection, and not that it is only for now."""
    user = f"locked_out_{os.getpid()}"
    server.execute(f"CREATE ROLE {user} SUPERUSER LOGIN")
    try:
        answers = _LostAnswers(server, store_path, user)
        answers.when_lost = lambda: server.execute(f"ALTER ROLE {user} NOLOGIN")
        _require_unknown(answers, store_path, tmp_path, over_http=over_http)
    finally:
        server.execute(f"DROP ROLE {user}")


def _require_unknown(
    answers: _LostAnswers, store_path: str, tmp_path: Path, *, over_http: bool
) -> None:
    with answers.proxy, comptroller.open(store_path) as direct:
        if over_http:
            with answers.serving(tmp_path) as web:
                answer = web.ask("POST", _GROUPS, json=_GROUP, headers={"Idempotency-Key": "k"})
                assert (answer.status_code, answer.json()["code"]) == (504, "outcome-unknown")
        else:
            with comptroller.open(answers.address) as svc:
                answers.is_armed = True
                with pytest.raises(comptroller.OutcomeUnknown):
                    made_group(svc, idempotency_key="k")
        assert not answers.is_armed
        while not direct.payout_groups.list():  # the COMMIT is sent after the caller has the error
            pass
