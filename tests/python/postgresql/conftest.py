"""Fixtures that put a database in the place of a test's store."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import comptroller
import postgresql_server
import pytest
from interleavings import Interleavings, opened
from postgresql_server import Server

Furnish = Callable[[comptroller.Service], None]
_numbers = count()


@pytest.fixture(scope="session")
def server(run_lock: Path) -> Server:
    """The server of the test run."""
    try:
        return postgresql_server.shared(run_lock)
    except postgresql_server.Missing as missing:
        pytest.skip(str(missing))


@pytest.fixture
def own_server() -> Iterator[Server]:
    """A server that the test may stop and restart."""
    try:
        with postgresql_server.run_lock() as lock:
            yield postgresql_server.start(lock)
    except postgresql_server.Missing as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def stores(server: Server) -> Iterator[Server]:
    """Where tests find their databases: the server, or pgbouncer before it if the variable
    COMPTROLLER_TEST_POOLED is set.
    """
    if "COMPTROLLER_TEST_POOLED" not in os.environ:
        yield server
        return
    with server.pooler() as pooler:
        yield pooler


def _name() -> str:
    """Returns the name of a new database; workers share the server."""
    return f"test_{os.getpid()}_{next(_numbers)}"


@pytest.fixture(scope="session")
def empty(server: Server) -> str:
    """The name of a database with an empty store. The keys of its texts are those of a large one:
    they need more than two bytes.
    """
    name = _name()
    comptroller.open(server.create(name)).close()
    server.execute("ALTER TABLE symbols ALTER COLUMN key RESTART WITH 40000", name)
    return name


@pytest.fixture(scope="module")
def template(server: Server, empty: str, furnish_template: Furnish | None) -> Iterator[str]:
    """The name of the database that the tests of a module copy."""
    if furnish_template is None:
        yield empty
        return
    name = _name()
    with comptroller.open(server.create(name, empty)) as operator:
        furnish_template(operator)
    yield name
    server.drop(name)


@pytest.fixture
def store_path(server: Server, stores: Server, template: str) -> Iterator[str]:
    """The address of the test's database."""
    name = _name()
    server.create(name, template)
    yield stores.address(name)
    server.drop(name)


@pytest.fixture(scope="module")
def shared_path(server: Server, stores: Server, template: str) -> Iterator[str]:
    """The address of a database that the tests of a module share."""
    name = _name()
    server.create(name, template)
    yield stores.address(name)
    server.drop(name)


@pytest.fixture(scope="module")
def interleavings(
    server: Server, shared_path: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Interleavings]:
    """A database in which two writes meet."""
    with opened(server, shared_path, tmp_path_factory.mktemp("state")) as made:
        yield made
