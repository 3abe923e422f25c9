"""The metrics of several worker processes, combined from a file that each of them writes."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Event, Lock, Thread

import msgspec
from prometheus_client.core import Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from comptroller.errors import unavailable

_PUBLISH_EVERY_S = 1.0
#: How long the start and the end of a worker wait for a collector that blocks; less than the time
#: in which a worker must end after a second signal.
_WITHIN_S = 1.0
_SHOWN_FOR_S = 60
_OF_PROCESS = "process_"
_ADDED = ("counter", "histogram")
_CREATED = "_created"
_SUFFIX = ".json"
_log = logging.getLogger(__name__)


class _Family(msgspec.Struct):
    """A published metric; a sample has a name, labels and a value."""

    name: str
    help: str
    type: str
    samples: list[tuple[str, dict[str, str], float]]


class _Published(msgspec.Struct):
    """The file of one worker."""

    pid: int
    families: list[_Family]


class SharedMetrics:
    """Publishes the metrics of one worker each second, and shows those of all workers.

    Counters and histograms are summed. Metrics of a process have its id as the label `pid`. A
    worker shows only published values, so that a counter never decreases, whichever worker shows
    it and however a worker ends. A replacement of a worker continues its counts. If a running
    worker has not published for a minute, because a collector blocks, no metrics are shown.

    Threads may share an instance.

    Args:
        own: the metrics of this process; may be collected in any thread.
        folder: a folder private to the workers of one supervisor.
        number: the number of this worker, unique among the running workers.
    """

    def __init__(self, own: Collector, folder: Path, number: int) -> None:
        self._own = own
        self._folder = folder
        self._file = folder / f"{number}{_SUFFIX}"
        before = _read(self._file)
        self._before = [
            family
            for family in (before.families if before else ())
            if family.type in _ADDED and not family.name.startswith(_OF_PROCESS)
        ]
        self._lock = Lock()
        self._shown = b""
        self._shown_files: list[tuple[str, int, int]] = []
        self._shown_pids: dict[str, int] = {}  # of running workers, by file name

    @contextmanager
    def publishing(self) -> Iterator[None]:
        """Publishes at the start, then each second, and at the end of the scope.

        The start and the end wait at most a second for a collector that blocks.
        """
        has_begun, ended = Event(), Event()

        def publish() -> None:
            is_last = False
            while not is_last:
                is_last = ended.is_set()
                self._try_to(self._publish)
                has_begun.set()
                ended.wait(_PUBLISH_EVERY_S)

        # So that a collector that blocks from the start is noticed, too.
        self._try_to(partial(self._write, self._before))
        thread = Thread(target=publish, daemon=True)
        thread.start()
        has_begun.wait(_WITHIN_S)
        try:
            yield
        finally:
            ended.set()
            thread.join(_WITHIN_S)

    def text(self) -> bytes:
        """Returns the metrics of all workers; cached until a worker publishes or ends.

        Raises Unavailable if a running worker has not published for a minute.
        """
        with self._lock:
            files = _files(self._folder)
            if files != self._shown_files or not all(map(_is_running, self._shown_pids.values())):
                self._show(files)
            oldest_ns = min((ns for name, _, ns in files if name in self._shown_pids), default=0)
            if self._shown_pids and time.time_ns() - oldest_ns > _SHOWN_FOR_S * 10**9:
                raise unavailable("the metrics of a worker were not collected for a minute")
            return self._shown

    def _show(self, files: list[tuple[str, int, int]]) -> None:
        published = {name: part for name, *_ in files if (part := _read(self._folder / name))}
        running = {name: part.pid for name, part in published.items() if _is_running(part.pid)}
        families = (
            family
            for name, part in published.items()
            for family in part.families
            if name in running or not family.name.startswith(_OF_PROCESS)
        )
        self._shown = generate_latest(_Page(families))
        self._shown_files, self._shown_pids = files, running

    def _try_to(self, publish: Callable[[], None]) -> None:
        try:
            publish()
        except OSError as error:
            _log.warning("the metrics of this worker were not published: %s", error.strerror)
        except Exception:
            _log.exception("the metrics of this worker were not published")

    def _publish(self) -> None:
        own = [_family(metric) for metric in self._own.collect()]
        self._write(_add([*self._before, *own]))

    def _write(self, families: list[_Family]) -> None:
        new = self._file.with_suffix(".new")
        new.write_bytes(msgspec.json.encode(_Published(os.getpid(), families)))
        new.replace(self._file)


class _Page(Collector):
    """Adapts families to a collector of prometheus_client."""

    def __init__(self, families: Iterable[_Family]) -> None:
        self._families = _add(families)

    def collect(self) -> Iterator[Metric]:
        for family in self._families:
            metric = Metric(family.name, family.help, family.type)
            for name, labels, value in family.samples:
                metric.add_sample(name, labels, value)
            yield metric


def _family(metric: Metric) -> _Family:
    of_process = {"pid": str(os.getpid())} if metric.name.startswith(_OF_PROCESS) else {}
    samples = [(each.name, {**each.labels, **of_process}, each.value) for each in metric.samples]
    return _Family(metric.name, metric.documentation, metric.type, samples)


def _add(families: Iterable[_Family]) -> list[_Family]:
    """Merges families by name: sums counts, and keeps the last of other samples."""
    found: dict[str, _Family] = {}
    values: dict[str, dict[tuple[str, tuple[tuple[str, str], ...]], float]] = {}
    for family in families:
        found.setdefault(family.name, family)
        sums = values.setdefault(family.name, {})
        for name, labels, value in family.samples:
            key = name, tuple(labels.items())
            if family.type not in _ADDED or key not in sums:
                sums[key] = value
            elif name.endswith(_CREATED):  # a time, of which the first counts
                sums[key] = min(sums[key], value)
            else:
                sums[key] += value
    return [
        _Family(
            name,
            family.help,
            family.type,
            [(sample, dict(labels), value) for (sample, labels), value in values[name].items()],
        )
        for name, family in found.items()
    ]


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError):  # another user may have reused the id
        return False
    return True


def _files(folder: Path) -> list[tuple[str, int, int]]:
    """Returns the files of all workers, with inode and time, which change at each write."""
    found = []
    for path in folder.iterdir():
        if path.suffix == _SUFFIX:
            with suppress(FileNotFoundError):
                state = path.stat()
                found.append((path.name, state.st_ino, state.st_mtime_ns))
    return sorted(found)


def _read(file: Path) -> _Published | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=_Published)
    except FileNotFoundError:
        return None
