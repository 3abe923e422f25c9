"""Long checks of the promises: `make torture [PROMISE=n]` runs them and writes their results.

A module names its promise with `pytestmark = pytest.mark.promise(3)`, or `promise(3, minutes=12)`
if a test needs more than 10 minutes. `alone=True` leaves it out of the run of all promises. The
first line of a test's docstring names the check.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import comptroller
import pytest
import results
from promises import PROMISES

# Commands inherit an ignored signal, such as that of a run in the background of a script.
signal.signal(signal.SIGINT, signal.default_int_handler)

MINUTES_OF_A_TEST = 10
MINUTES_OF_ALL = 60
MINUTES_OF_ONE_PROMISE = 180
#: The time that an interrupted test has to end what it started.
END_WITHIN_S = 60
_NAMES = pytest.StashKey[dict[int, list[str]]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--promise` is also given, and empty, if all checks run: only then the page is written."""
    parser.addoption("--promise", help="run the checks of this promise, and write the results")


def pytest_configure(config: pytest.Config) -> None:
    """Begins the hour of all checks."""
    signal.signal(signal.SIGALRM, _interrupt)
    config.pluginmanager.register(Run(config), "torture-run")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keeps the checks of the given promise, or those of all, in the order of their promises."""
    names = config.stash[_NAMES] = {}
    for item in items:
        names.setdefault(_promise(item).number, []).append(_name(item))
    number = config.getoption("promise")
    kept = [
        item
        for item in items
        if (_promise(item).number == int(number) if number else not _promise(item).is_alone)
    ]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = sorted(kept, key=_promise)


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> dict[str, Any]:
    """What a check measured: label to value."""
    found: dict[str, Any] = {}
    request.node.user_properties.append(("figures", found))
    return found


@pytest.fixture(scope="session")
def million_claims(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of the customer `default` with 1,000,000 claims; copied by tests that write."""
    folder = tmp_path_factory.mktemp("million")
    comptroller.sample("all", 1_000_000, out=folder)
    with comptroller.open(folder / "store.db") as service:
        service.load_all(folder)
    for lines in folder.glob("*.ndjson"):
        lines.unlink()
    return folder / "store.db"


class Run:
    """A run: its deadline, and the outcomes of its checks."""

    def __init__(self, config: pytest.Config) -> None:
        self._promise = config.getoption("promise")
        self._chosen = {"PROMISE": self._promise, "CHECK": config.getoption("keyword")}
        minutes = MINUTES_OF_ONE_PROMISE if self._promise else MINUTES_OF_ALL
        self._deadline = time.monotonic() + minutes * 60
        self._checks: dict[int, list[results.Check]] = {}
        self._seconds = 0.0
        # If a test does not react to the alarm, for example because a call holds the GIL.
        watchdog = threading.Timer(minutes * 60 + 2 * END_WITHIN_S, _end)
        watchdog.daemon = True
        watchdog.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Interrupts a test when its time is over, again and again until it ends."""
        allowed_s = min(_promise(item).minutes * 60, self._deadline - time.monotonic())
        signal.setitimer(signal.ITIMER_REAL, max(allowed_s, 1), END_WITHIN_S)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Keeps the outcome of a test when it ends, or when one of its phases fails."""
        report = yield
        self._seconds = report.duration + (0 if call.when == "setup" else self._seconds)
        if call.when == "call" or not report.passed:
            figures = dict(report.user_properties).get("figures", {})
            self._checks.setdefault(_promise(item).number, []).append(
                results.Check(_name(item), figures, self._seconds, report.outcome)
            )
        return report

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Writes the page."""
        if self._promise is not None and self._checks:
            sizes = [f"{k}={v} " for k, v in sorted(os.environ.items()) if k.startswith("TORTURE_")]
            chosen = [f" {k}={v}" for k, v in self._chosen.items() if v]
            command = f"{''.join(sizes)}make torture{''.join(chosen)}"
            results.write(self._checks, command, session.config.stash[_NAMES])


def _name(item: pytest.Item) -> str:
    """Returns the name of a check: the first line of its docstring, and its case."""
    name: str = (item.obj.__doc__ or item.name).strip().partition("\n")[0].rstrip(".")  # type: ignore[attr-defined]
    if getattr(item, "callspec", None):
        name += f" ({item.callspec.id})"  # type: ignore[attr-defined]
    return name


class _Promise(NamedTuple):
    """What a marker says of a test."""

    number: int
    minutes: float
    is_alone: bool


def _promise(item: pytest.Item) -> _Promise:
    """Returns the promise that a test checks, and the minutes that the test may take."""
    marker = item.get_closest_marker("promise")
    if marker is None or marker.args[0] not in PROMISES:
        raise pytest.UsageError(
            f"{item.nodeid}: no promise; pytest.mark.promise(1..{len(PROMISES)})"
        )
    minutes = marker.kwargs.get("minutes", MINUTES_OF_A_TEST)
    return _Promise(marker.args[0], minutes, marker.kwargs.get("alone", False))


def _interrupt(*_: object) -> NoReturn:
    pytest.fail("the time of this check is over", pytrace=True)


def _end() -> None:
    """Ends this process and all that it started."""
    started: dict[int, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parent = status.read_text().rpartition(")")[2].split()[1]
            started.setdefault(int(parent), []).append(int(status.parent.name))
    left = started.get(os.getpid(), [])
    for pid in left:
        left += started.get(pid, [])
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    os._exit(1)
