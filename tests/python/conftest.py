"""Fixtures: a store for each test, and services opened for the operator and for clients."""

from __future__ import annotations

import gc
import io
import json
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import comptroller
import postgresql_server
import pytest
from command_line import Ended, Run
from comptroller._core import Principal, Store
from hypothesis import settings

# Disabled, because a loaded machine must not fail tests; derandomized for reproducible failures.
settings.register_profile("suite", deadline=None, derandomize=True)
settings.load_profile("suite")
# Commands inherit ignored signals: SIGHUP under nohup, SIGINT in the background of a script.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

#: Nearly half of the time, for what rarely breaks alone: browsers, notebooks, documents, fuzzed
#: requests, other servers, kills.
SLOW = {
    *("test_cli_endings", "test_deployment", "test_docs", "test_docs_page", "test_export_equal"),
    *("test_external_issuers", "test_foreign_pages", "test_generated_client"),
    *("test_load_ends", "test_load_progress"),
    *("test_notebooks", "test_oauth_document", "test_other_servers", "test_pictures"),
    *("test_query_text", "test_replicate", "test_report_page", "test_reports_random"),
    *("test_schemathesis", "test_server_bounds"),
    "test_workers",
}


#: The tests that need a PostgreSQL server.
POSTGRESQL = Path(__file__).parent / "postgresql"
_RUN_LOCK = pytest.StashKey[Path]()
_RUN = pytest.StashKey[ExitStack]()


def pytest_configure(config: pytest.Config) -> None:
    """Lock what the servers of this test run wait for; see `postgresql_server.run_lock`."""
    assigned: dict[str, Any] | None = getattr(config, "workerinput", None)
    if assigned is None:
        config.stash[_RUN] = ExitStack()
        config.stash[_RUN_LOCK] = config.stash[_RUN].enter_context(postgresql_server.run_lock())
    else:
        config.stash[_RUN_LOCK] = Path(assigned["run_lock"])


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of xdist the lock of the test run."""
    node.workerinput["run_lock"] = str(node.config.stash[_RUN_LOCK])


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not collect the modules that `make test` excludes: schemathesis generates requests when it
    collects its tests, and every worker collects all tests.
    """
    expression = config.getoption("markexpr")
    if collection_path.stem in SLOW and "not slow" in expression:
        return True
    if collection_path == POSTGRESQL and "not postgresql" in expression:
        return True
    return None


def pytest_collection_finish() -> None:
    """Exclude the collected tests, which exist until the end, from garbage collection."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Let the interpreter free the collected tests; otherwise nanobind reports leaks."""
    gc.unfreeze()
    if _RUN in config.stash:
        config.stash[_RUN].close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that `make test` leaves to `make check`."""
    for item in items:
        if item.path.stem in SLOW:
            item.add_marker("slow")
        if POSTGRESQL in item.path.parents:
            item.add_marker("postgresql")


@pytest.fixture(scope="session")
def run_lock(pytestconfig: pytest.Config) -> Path:
    """The lock of the test run."""
    return pytestconfig.stash[_RUN_LOCK]


Furnish = Callable[[comptroller.Service], None]


@pytest.fixture(scope="module")
def furnish_template() -> Furnish | None:
    """What fills the stores of a module; a module may replace it."""
    return None


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty store, which tests copy because creating one takes longer."""
    path = tmp_path_factory.mktemp("empty") / "empty.db"
    comptroller.open(path).close()
    return path


@pytest.fixture(scope="module")
def template(
    empty: Path, furnish_template: Furnish | None, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The store that the tests of a module copy."""
    if furnish_template is None:
        return empty
    path = Path(shutil.copyfile(empty, tmp_path_factory.mktemp("template") / "furnished.db"))
    with comptroller.open(path) as operator:
        furnish_template(operator)
    return path


def _opener(path: Path, closing: ExitStack) -> Callable[..., comptroller.Service]:
    def opened(**how: Any) -> comptroller.Service:
        return closing.enter_context(comptroller.open(path, **how))

    return opened


@pytest.fixture
def store_path(tmp_path: Path, template: Path) -> Path:
    """The path of the test's store."""
    return Path(shutil.copyfile(template, tmp_path / "store.db"))


@pytest.fixture
def open_as(store_path: Path) -> Iterator[Callable[..., comptroller.Service]]:
    """Opens the test's store for a caller; closes it at the end."""
    with ExitStack() as closing:
        yield _opener(store_path, closing)


@pytest.fixture
def here(tmp_path: Path) -> Iterator[comptroller.Service]:
    """The target store of a pull."""
    with comptroller.open(tmp_path / "here.db") as service:
        yield service


@pytest.fixture
def operator(open_as: Callable[..., comptroller.Service]) -> comptroller.Service:
    """The operator of the test's store."""
    return open_as()


@pytest.fixture
def operator_actor() -> str:
    """The created_by and deleted_by of the operator of the test's store."""
    return "operator"


@pytest.fixture
def acme(open_as: Callable[..., comptroller.Service]) -> comptroller.Service:
    """A client of the customer acme, with every client scope."""
    return open_as(customer="acme")


@pytest.fixture
def globex(open_as: Callable[..., comptroller.Service]) -> comptroller.Service:
    """A client of another customer of the same store."""
    return open_as(customer="globex")


@pytest.fixture(scope="module")
def shared_path(tmp_path_factory: pytest.TempPathFactory, template: Path) -> Path:
    """The path of a store that the tests of a module share, for reads and rejected requests."""
    return Path(shutil.copyfile(template, tmp_path_factory.mktemp("shared") / "store.db"))


@pytest.fixture(scope="module")
def shared_open_as(shared_path: Path) -> Iterator[Callable[..., comptroller.Service]]:
    """Opens the module's shared store for a caller."""
    with ExitStack() as closing:
        yield _opener(shared_path, closing)


@pytest.fixture(scope="module")
def shared_operator(shared_open_as: Callable[..., comptroller.Service]) -> comptroller.Service:
    """The operator of the module's shared store."""
    return shared_open_as()


@pytest.fixture(scope="module")
def shared_acme(shared_open_as: Callable[..., comptroller.Service]) -> comptroller.Service:
    """A client of acme at the module's shared store."""
    return shared_open_as(customer="acme")


class CoreClient:
    """Calls the core directly, with bodies and parameters that the Python API cannot produce."""

    def __init__(self, path: Path, customer: str | None) -> None:
        self._store = Store(str(path))
        self._principal = Principal(customer)

    def __call__(
        self,
        operation: str,
        parameters: dict[str, str] | list[tuple[str, str]] | None = None,
        body: bytes | str | dict[str, Any] | None = None,
        key: str | None = None,
    ) -> dict[str, Any]:
        """Returns the JSON result of an operation."""
        pairs = list(parameters.items()) if isinstance(parameters, dict) else parameters or []
        if isinstance(body, dict):
            body = json.dumps(body)
        raw = body.encode() if isinstance(body, str) else body
        answer, _replayed = self._store.call(self._principal, operation, pairs, raw, key)
        decoded: dict[str, Any] = json.loads(answer)
        return decoded

    def close(self) -> None:
        self._store.close()


@pytest.fixture
def core_client(store_path: Path) -> Iterator[CoreClient]:
    """The operator, calling the core directly."""
    opened = CoreClient(store_path, None)
    yield opened
    opened.close()


@pytest.fixture
def acme_core_client(store_path: Path) -> Iterator[CoreClient]:
    """A client of acme, calling the core directly."""
    opened = CoreClient(store_path, "acme")
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def shared_core_client(shared_path: Path) -> Iterator[CoreClient]:
    """The operator of the module's shared store, calling the core directly."""
    opened = CoreClient(shared_path, None)
    yield opened
    opened.close()


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in a temporary directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COMPTROLLER_DB", raising=False)
    monkeypatch.delenv("COMPTROLLER_STATE", raising=False)
    monkeypatch.delenv("COMPTROLLER_ACTOR", raising=False)
    monkeypatch.setenv("COLUMNS", "80")

    def running(*words: str, given: bytes = b"") -> Ended:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        from comptroller.cli import main

        code = main(words)
        return Ended(code, *capfd.readouterr())

    return running


@pytest.fixture
def registry(store_path: Path) -> Any:
    """The client file of the test's store."""
    from comptroller.http.oauth import clients

    return clients.file_of(str(store_path))


@pytest.fixture
def key_file(store_path: Path) -> Any:
    """The key file of the test's store."""
    from comptroller.http.oauth import keys

    return keys.file_of(str(store_path))


@pytest.fixture
def place() -> Iterator[Any]:
    """An external issuer that publishes its keys."""
    from external_issuer import a_place

    with a_place() as found:
        yield found


@pytest.fixture
def guest(operator: comptroller.Service, place: Any) -> Any:
    """The test's store, served with tokens of the external issuer."""
    from external_issuer import Guest

    return Guest(operator, place.url)


@pytest.fixture(scope="module")
def served(shared_path: Path, shared_operator: comptroller.Service) -> Any:
    """The module's store, served with its own tokens."""
    from token_server import Served

    return Served(shared_path, shared_operator)


@pytest.fixture(scope="module")
def known(served: Any) -> Any:
    """A client of that store."""
    return served.register()


@pytest.fixture(scope="module")
def furnished(
    shared_operator: comptroller.Service, tmp_path_factory: pytest.TempPathFactory
) -> comptroller.Service:
    """The module's store, with records for every report."""
    from report_stores import furnish

    furnish(shared_operator, tmp_path_factory.mktemp("made"))
    return shared_operator


@pytest.fixture(scope="module")
def reports(furnished: comptroller.Service) -> Any:
    """Every report of that store, by its name."""
    from report_stores import all_reports

    return all_reports(furnished)


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """A Spark session for all reports of a module."""
    from comptroller.analysis.engines.spark import local_session

    running = local_session()
    running.sparkContext.setLogLevel("ERROR")
    yield running
    running.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium."""
    sync_api = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no chromium here: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        # Its sandbox does not work in a container; it opens only pages of the tests.
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()
