"""Runs the tests of loads with a database."""

from __future__ import annotations

from contextlib import closing

import pytest
from comptroller import Service
from examples import KINDS, LINES, loaded
from postgresql_server import Connection
from test_load_formats import *  # noqa: F403
from test_loading import *  # noqa: F403
from test_sources import (  # noqa: F401
    test_a_file_without_data_is_not_taken_for_its_end,
    test_a_load_that_waits_for_a_pipe_can_be_interrupted,
    test_rows_are_iterated_on_the_calling_thread,
)

pytestmark = pytest.mark.slow

# It reads a store file with sqlite3; the test below replaces it.
del test_a_rejected_line_creates_no_customer  # noqa: F821


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "balances"])
def test_a_rejected_line_creates_no_customer_in_a_database(
    operator: Service, store_path: str, kind: str
) -> None:
    for needed in KINDS[: KINDS.index(kind) + 1]:
        loaded(operator, needed, LINES[needed])
    line = LINES[kind] | {"customer_id": "ghost"}
    assert operator.load(kind, [line], keep_going=True).rejected == 1
    with closing(Connection(store_path)) as connection:
        rows = connection.execute("SELECT text FROM customers JOIN symbols USING (key)")
    assert rows == [("default",)]
