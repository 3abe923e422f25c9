"""Runs the tests of reports with a database, and compares its reports with those of a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import comptroller
import pytest
from postgresql_server import Server

pytest.importorskip("sqlglot")
pytest.importorskip("duckdb")
pytest.importorskip("polars")
pytest.importorskip("psycopg")

import test_reports_random
from report_stores import NAMES, furnish, reported
from test_reports_claims_summary import *  # noqa: F403

pytestmark = pytest.mark.slow

# They are about the arguments, not the store.
del test_invalid_arguments_of_the_summary_are_refused  # noqa: F821
del test_a_period_that_ends_before_it_begins_is_refused  # noqa: F821


def test_a_report_equals_its_query(operator: comptroller.Service) -> None:
    test_reports_random.test_a_report_equals_its_query(operator, seed=0)


@pytest.fixture(scope="module")
def equal_stores(
    server: Server, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[comptroller.Service, comptroller.Service]]:
    """A store file, and a database that is a copy of it."""
    folder, name = tmp_path_factory.mktemp("equal"), f"reports_{os.getpid()}"
    with ExitStack() as closing:
        file = closing.enter_context(comptroller.open(folder / "store.db"))
        furnish(file, folder)
        address = server.create(name)
        closing.callback(server.drop, name)
        file.copy_to(address)
        yield file, closing.enter_context(comptroller.open(address))


@pytest.mark.parametrize("name", NAMES)
def test_a_report_equals_that_of_a_file(
    equal_stores: tuple[comptroller.Service, comptroller.Service],
    tmp_path: Path,
    name: str,
) -> None:
    file, database = equal_stores
    for path, svc, engine in (
        (tmp_path / "file.csv", file, "duckdb"),
        (tmp_path / "streamed.csv", database, "duckdb"),
        (tmp_path / "inside.csv", database, "postgresql"),
    ):
        reported(svc, name, engine=engine).to_csv(path)
    expected = (tmp_path / "file.csv").read_bytes()
    assert expected.count(b"\n") > 1
    assert (tmp_path / "streamed.csv").read_bytes() == expected
    assert (tmp_path / "inside.csv").read_bytes() == expected
