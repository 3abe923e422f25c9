"""A write-ahead log that a forgotten reader keeps from shrinking is reported."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from command_line import Run
from comptroller import Service

pytest.importorskip("httpx2")
pytest.importorskip("prometheus_client")

from asgi_client import Asked
from comptroller.http import EveryoneIsOperator, app
from comptroller.http.server.log_growth import LogGrowth
from prometheus_client.parser import text_string_to_metric_families
from serving import serving

LARGE = 64 << 20


class Forgotten:
    """Another program that keeps a read transaction open."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._reader = sqlite3.connect(path, isolation_level=None)

    def read(self) -> None:
        self._reader.execute("BEGIN")
        self._reader.execute("SELECT count(*) FROM claims").fetchall()

    def end(self) -> None:
        """Ends the transaction; then the log is written to the file."""
        self._reader.execute("COMMIT")
        with closing(sqlite3.connect(self._path)) as connection:
            assert connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0

    def grow(self) -> None:
        """Begins to read, and makes the log larger than is usual."""
        self.read()
        with closing(sqlite3.connect(self._path)) as connection, connection:
            connection.execute("REPLACE INTO secrets VALUES ('large', zeroblob(?))", [LARGE])

    def close(self) -> None:
        self._reader.close()


@pytest.fixture(name="forgotten")
def _forgotten(operator: Service, store_path: Path) -> Iterator[Forgotten]:
    assert operator.check()["ok"]  # the store stays open
    with closing(Forgotten(store_path)) as forgotten:
        yield forgotten


def pending(service: Service) -> float:
    with Asked(app(service, authenticator=EveryoneIsOperator())) as ask:
        text = ask("GET", "/metrics").text
    values = {
        sample.name: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    return float(values["comptroller_wal_pending_bytes"])


def test_check_and_metrics_report_the_log(
    operator: Service, store_path: Path, forgotten: Forgotten, run: Run
) -> None:
    assert operator.check()["notices"] == []
    assert pending(operator) < LARGE
    forgotten.grow()
    assert pending(operator) > LARGE
    found = operator.check()
    assert found["ok"]
    assert [notice["check"] for notice in found["notices"]] == ["log"]
    ended = run("check", "--db", str(store_path))
    assert ended.code == 0
    assert "Notice: 64 MiB of the write-ahead log are not in the store's file" in ended.out
    forgotten.end()
    assert pending(operator) == 0
    assert operator.check()["notices"] == []


def test_the_server_warns_once_until_the_log_has_shrunk(
    operator: Service, forgotten: Forgotten, caplog: pytest.LogCaptureFixture
) -> None:
    growth = LogGrowth(operator.host.store)  # type: ignore[attr-defined]

    def warnings() -> list[str]:
        growth.look()
        growth.look()
        found = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
        caplog.clear()
        return found

    assert warnings() == []
    forgotten.grow()
    (warning,) = warnings()
    assert warning.startswith("64 MiB of the write-ahead log are not in the store's file")
    assert warnings() == []
    forgotten.end()
    assert warnings() == []
    forgotten.grow()
    assert warnings() == [warning]
    operator.close()
    assert warnings() == []


def test_a_server_looks_when_it_starts(store_path: Path, forgotten: Forgotten) -> None:
    pytest.importorskip("httptools")
    forgotten.grow()
    with serving("--auth", "off", "--db", str(store_path), cwd=store_path.parent) as server:
        assert server.get("/health").status_code in (200, 404)
        _code, _out, log = server.end()
    assert log.count("MiB of the write-ahead log") == 1
