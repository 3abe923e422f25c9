"""Reports inside PostgreSQL have the rows and the types of those on DuckDB, and copy nothing."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import comptroller
import pytest
from command_line import Run
from lines import claim, load
from postgresql_server import GUARDED, PASSWORD, Connection, Server

pytest.importorskip("sqlglot")
pytest.importorskip("duckdb")
pytest.importorskip("polars")
pytest.importorskip("psycopg")

from comptroller.analysis.engines import postgresql as engine_module
from comptroller.analysis.registry import REPORTS
from comptroller.analysis.tables import ServiceTables
from random_stores import fill_randomly
from report_stores import NAMES, fill
from test_reports_edges import EDGES, GROUP, LARGEST, LEAST, outcome
from test_reports_random import questions

_PART = "s3cret"


@pytest.fixture(scope="module")
def furnished(
    shared_path: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[comptroller.Service]:
    """The shared database, with records of every kind."""
    with comptroller.open(shared_path) as svc:
        fill(svc, tmp_path_factory.mktemp("inside"), claims=2_000, seed=5)
        yield svc


@pytest.fixture
def nothing_streamed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes a copy of a table fail."""

    def refuse(_tables: ServiceTables, _engine: object, table: str, *_more: object) -> None:
        raise AssertionError(f"{table} was streamed")

    monkeypatch.setattr(ServiceTables, "copy_to", refuse)


def both(svc: comptroller.Service, name: str, given: dict[str, Any]) -> tuple[Any, Any]:
    """Returns a report of each engine; checks that rows and types are equal."""
    here, there = (
        getattr(svc.reports, name)(**given, engine=engine) for engine in ("duckdb", "postgresql")
    )
    assert there.to_polars().schema == here.to_polars().schema, (name, given)
    assert there.to_dicts() == here.to_dicts(), (name, given)
    assert there.defaults == here.defaults
    return here, there


def ran_inside(report: Any) -> bool:
    """Whether the SQL of a report is that of the database."""
    return "FROM public." in report.sql and "main." not in report.sql


ASKED: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in NAMES if name not in ("group_statement", "history")),
    ("claims_summary", {"by": ()}),
    ("claims_summary", {"by": ("jurisdiction", "week", "status"), "tz": "America/New_York"}),
    ("claims_summary", {"by": ("address", "claim_type"), "since": "2026-05-20"}),
    ("claims_summary", {"by": ("customer", "hour"), "until": "2026-05-25", "tz": "Asia/Kolkata"}),
    ("claims_summary", {"status": ["FAILED", "CONFIRMED"], "chain": ["INK"], "asset": "ETH"}),
    ("claims_summary", {"customer": "default", "jurisdiction": ["CH", "DE", "no such"]}),
    ("claims_summary", {"by": ("quarter", "schedule", "group")}),
    ("confirmation_times", {"by": ("chain", "month"), "tz": "Africa/Cairo"}),
    ("confirmation_times", {"by": ("schedule",), "as_of": "2026-05-25T12:00:00Z"}),
    ("stuck_claims", {"percentile": 0.5}),
    ("failures", {"by": ("chain", "day"), "tz": "America/Sao_Paulo"}),
    ("failing_schedules", {"least": 1}),
    ("restrictions", {"by": ("customer", "week"), "tz": "Pacific/Auckland"}),
    ("restricted", {"on": "2026-05-20", "tz": "Europe/Zurich"}),
    ("reconciliation", {"tolerance": 0.1, "tz": "Europe/Zurich"}),
    ("cohort", {"asset": "ETH"}),
    ("anomalies", {"by": ("chain",), "band": 2.0, "tz": "America/Havana"}),
    ("anomalies", {"by": ("schedule",), "band": 2.0, "measure": "amount"}),
    ("orchestration_flow", {"since": "2026-05-20", "asset": ["EUR", "USDC"]}),
]


@pytest.mark.parametrize(("name", "given"), ASKED, ids=lambda each: str(each)[:60])
def test_a_report_equals_that_of_duckdb(
    furnished: comptroller.Service, name: str, given: dict[str, Any]
) -> None:
    here, there = both(furnished, name, given)
    assert ran_inside(there)
    assert "main." in here.sql
    if here.distribution is not None:
        assert there.distribution.equals(here.distribution)


def test_a_report_of_a_group_equals_that_of_duckdb(furnished: comptroller.Service) -> None:
    rows = furnished.reports.reconciliation().to_polars()
    (top,) = rows.top_k(1, by="claimed").to_dicts()
    month = f"{top['month']:%Y-%m}"
    both(furnished, "group_statement", {"group": top["group"], "month": month, "tz": "Asia/Beirut"})
    (first,) = furnished.claims.list(limit=1).items
    for subject in (top["group"], first.id, *(first.addresses or ())[:1]):
        here, _there = both(furnished, "history", {"id": subject})
        assert len(here)
    both(furnished, "history", {"id": top["group"], "status": "FAILED", "since": "2026-05-20"})


def test_nothing_is_streamed(furnished: comptroller.Service, nothing_streamed: None) -> None:
    group = furnished.payout_groups.list(limit=1).items[0].id
    subjects = {"group_statement": {"group": group, "month": "2026-05"}, "history": {"id": group}}
    for name in REPORTS:
        given = subjects.get(name, {})
        assert ran_inside(getattr(furnished.reports, name)(**given, engine="postgresql")), name
    assert furnished.reports.overview(engine="postgresql").left_out == {}


def test_sql_runs_in_psql(furnished: comptroller.Service, shared_path: str) -> None:
    report = furnished.reports.failures(by="chain", since="2026-05-20", engine="postgresql")
    with closing(Connection(shared_path)) as other:
        rows = other.execute(report.sql)
    assert [(row[0], int(row[3] or 0)) for row in rows] == [
        (row["chain"], row["failures"]) for row in report.to_dicts()
    ]


@pytest.mark.parametrize("edge", EDGES)
def test_an_unusual_store(store_path: str, server: Server, edge: str) -> None:
    with comptroller.open(store_path) as svc:
        for kind, lines in EDGES[edge].items():
            load(svc, kind, *lines)
        for name in NAMES:
            here, there = (outcome(svc, name, each) for each in ("duckdb", "postgresql"))
            if isinstance(here, str) or isinstance(there, str):
                assert there == here, name
            else:
                assert there.to_polars().schema == here.to_polars().schema, name
                assert there.to_dicts() == here.to_dicts(), name
                assert there.has_unknown_sums == here.has_unknown_sums, name


@pytest.mark.parametrize("seed", range(3))
def test_a_random_store(store_path: str, seed: int) -> None:
    with comptroller.open(store_path) as svc:
        for name, given in questions(fill_randomly(svc, seed)):
            both(svc, name, given)


def test_texts_have_the_order_of_their_bytes(server: Server) -> None:
    """In a database whose own collation has another order."""
    name = "test_collated"
    server.drop(name)
    how = "TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en' LOCALE 'C' ENCODING 'UTF8'"
    try:
        server.execute(f"CREATE DATABASE {name} {how}")
    except RuntimeError as error:
        if "ICU is not supported" not in str(error):
            raise
        pytest.skip("the server has no ICU")
    try:
        with comptroller.open(server.address(name)) as svc:
            chains = ("b", "A", "a", "B", "_", "Z", "ä", "é", "e")
            lines = (
                claim(blockchain=each, asset_type=each, onchain_status="FAILED", error_message=each)
                for each in chains
            )
            load(svc, "claims", *lines)
            for report in ("claims_summary", "failures", "cohort", "anomalies"):
                both(svc, report, {})
            both(svc, "history", {"id": svc.claims.list().items[0].id})
    finally:
        server.drop(name)


def test_a_history_as_of_an_earlier_time(store_path: str) -> None:
    with comptroller.open(store_path) as svc:
        group = fill_randomly(svc, 1)
        times = sorted({each.recorded_at for each in svc.journal.iter()})
        for time in (times[len(times) // 2], times[-1]):
            both(svc, "history", {"id": group, "as_of_recorded": time})


def test_a_sum_past_38_digits(store_path: str) -> None:
    with comptroller.open(store_path) as svc:
        confirmed = {"onchain_status": "CONFIRMED", "asset_type": "ETH"}
        load(svc, "claims", *(claim(**confirmed, amount=each) for each in (LARGEST, LEAST)))
        _here, there = both(svc, "claims_summary", {"by": ()})
        assert there.to_dicts()[0]["confirmed_amount"] is None
        assert there.has_unknown_sums


def test_what_the_database_cannot_run_is_streamed(
    furnished: comptroller.Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = both(furnished, "claims_summary", {"chain": ["INK", "\0"]})
    assert there.sql == here.sql
    monkeypatch.setattr(engine_module, "_OLDEST", 990_000)
    here, there = both(furnished, "failures", {})
    assert there.sql == here.sql


def test_others_are_refused(shared_path: str, tmp_path: Path) -> None:
    def refused(svc: comptroller.Service) -> None:
        with pytest.raises(comptroller.InvalidRequest, match="engine: postgresql is for the op"):
            svc.reports.claims_summary(engine="postgresql")
        with pytest.raises(comptroller.InvalidRequest, match="use duckdb"):
            svc.reports.overview(engine="postgresql")

    with comptroller.open(shared_path, customer="acme") as client:
        refused(client)
    with comptroller.open(shared_path, scopes=["operator:write"]) as writer:
        refused(writer)
    with comptroller.open(tmp_path / "store.db") as svc:
        refused(svc)
        svc.export("claims", tmp_path / "claims.parquet")
    exported = comptroller.analysis.open_exports(tmp_path)
    with pytest.raises(comptroller.InvalidRequest, match="use duckdb"):
        exported.claims_summary(engine="postgresql")


def test_a_reader_of_a_standby_and_a_schema(server: Server, store_path: str) -> None:
    with comptroller.open(store_path) as svc:
        load(svc, "claims", claim())
    with comptroller.open(store_path, read_only=True) as reader:
        assert both(reader, "claims_summary", {})[1].to_dicts()
    with closing(Connection(store_path)) as other:
        other.execute('CREATE SCHEMA "Own books"')
    address = f"{store_path}&options=-csearch_path%3D%22Own%5C%20books%22"
    with comptroller.open(address) as svc:
        assert both(svc, "claims_summary", {})[1].to_dicts() == []


@pytest.mark.usefixtures("furnished")
def test_the_command(run: Run, monkeypatch: pytest.MonkeyPatch, shared_path: str) -> None:
    monkeypatch.setenv("COMPTROLLER_DB", shared_path)
    words = ("report", "claims-summary", "--by", "chain", "--json")
    inside = run(*words, "--engine", "postgresql")
    assert inside.code == 0, inside.err
    streamed = run(*words)
    assert inside.out == streamed.out


@pytest.fixture
def guarded(server: Server, store_path: str) -> str:
    """The address of the test's database, with a password."""
    database = store_path.partition("@/")[2].partition("?")[0]
    return server.address(database, GUARDED, PASSWORD)


def test_no_error_shows_the_password(guarded: str, server: Server, store_path: str) -> None:
    with comptroller.open(guarded) as svc:
        load(svc, "claims", claim())
        assert both(svc, "claims_summary", {})[1].to_dicts()
        server.execute(f"ALTER ROLE {GUARDED} NOLOGIN")
        try:
            with pytest.raises(comptroller.Unavailable) as failed:
                svc.reports.claims_summary(engine="postgresql")
        finally:
            server.execute(f"ALTER ROLE {GUARDED} LOGIN")
        shown = "".join(traceback.format_exception(failed.value))
        assert _PART not in f"{shown} {svc.reports!r} {vars(svc.host)} {svc.host.database!r}"


def test_a_slow_statement_is_unavailable(server: Server, store_path: str) -> None:
    with comptroller.open(store_path) as svc:
        database = store_path.partition("@/")[2].partition("?")[0]
        server.execute(f"ALTER DATABASE {database} SET statement_timeout = '200ms'")
        with locked(store_path), pytest.raises(comptroller.Unavailable, match="statement timeout"):
            svc.reports.claims_summary(engine="postgresql")


@contextmanager
def locked(address: str) -> Iterator[Connection]:
    """Holds a lock for which a report waits; yields the session with the lock."""
    with closing(Connection(address)) as other:
        other.execute("BEGIN")
        other.execute("LOCK TABLE claims IN ACCESS EXCLUSIVE MODE")
        yield other


def test_a_lost_connection_is_unavailable(store_path: str) -> None:
    end = (
        "SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_database AS d ON d.oid = database"
        " WHERE datname = current_database() AND NOT granted AND pid <> pg_backend_pid()"
    )
    with comptroller.open(store_path) as svc, locked(store_path) as other:

        def end_waiting() -> None:
            while not other.execute(end):
                pass

        ending = threading.Thread(target=end_waiting)
        ending.start()
        with pytest.raises(comptroller.Unavailable, match="the report failed in the database"):
            svc.reports.claims_summary(engine="postgresql")
        ending.join()


def test_ctrl_c_cancels_the_statement(store_path: str) -> None:
    waits = (
        "SELECT 1 FROM pg_locks JOIN pg_database AS d ON d.oid = database"
        " WHERE datname = current_database() AND NOT granted"
    )
    command = ["report", "claims_summary", "--engine", "postgresql", "--db", store_path]
    with (
        locked(store_path) as other,
        subprocess.Popen(
            [sys.executable, "-m", "comptroller", *command], stderr=subprocess.PIPE, text=True
        ) as running,
    ):
        while not other.execute(waits):
            assert running.poll() is None
        running.send_signal(signal.SIGINT)
        assert running.wait(30) == 130
        assert running.stderr is not None
        assert "interrupted" in running.stderr.read()
        assert other.execute(waits) == []


def test_a_damaged_store_is_reported(store_path: str) -> None:
    with comptroller.open(store_path) as svc:
        load(svc, "claims", claim(payout_group_id=GROUP))
        with closing(Connection(store_path)) as other:
            other.execute("UPDATE claims SET amount = 'much'")
        with pytest.raises(comptroller.Unusable, match="the store is damaged"):
            svc.reports.claims_summary(engine="postgresql")
