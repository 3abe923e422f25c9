"""Counts of what the server did, for Prometheus."""

from __future__ import annotations

import asyncio
import collections
import os
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import accumulate
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, ProcessCollector
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector

from comptroller._core import Store
from comptroller.http.exchange import Answer, Exchange
from comptroller.http.remembered import Remembered
from comptroller.http.shared_metrics import SharedMetrics
from comptroller.local import LocalHost

#: The bounds of the durations that are counted.
SECONDS = (0.001, 0.005, 0.02, 0.1, 0.5, 2.5)
_METHODS = frozenset({"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"})
_NOWHERE = "none"  # the route of what is at no path
_NOBODY = 499  # the status of an answer for which nobody waited any more


class Metrics:
    """Counts what one application answers: an observer of it, with a page to read the counts.

    For the thread of the application's event loop, but for `loaded`.

    Args:
        host: the store's, whose commits are shown, and its size where it keeps a file.
        clock: seconds.
        others: shown on the same page.
    """

    def __init__(
        self, host: LocalHost, clock: Callable[[], float], others: Iterable[Collector]
    ) -> None:
        self._registry = CollectorRegistry()
        for other in others:
            self._registry.register(other)
        ProcessCollector(registry=self._registry)
        self._answers = _Answers()
        self._registry.register(self._answers)
        self._registry.register(_Commits(host.store))
        self._rows = Counter(
            "comptroller_rows_loaded",
            "Records that loads kept, by kind.",
            ["kind"],
            registry=self._registry,
        )
        if host.path is not None:
            self._watch(host.path)
        # The text takes milliseconds to make, and the interpreter's lock with it.
        self._text: Callable[[], bytes] = Remembered(
            partial(generate_latest, self._registry), clock
        )

    def _watch(self, path: str) -> None:
        size = Gauge(
            "comptroller_store_bytes",
            "Size of the store's file, and of the log beside it.",
            ["file"],
            registry=self._registry,
        )
        size.labels("store").set_function(lambda: _size(path))
        size.labels("wal").set_function(lambda: _size(path + "-wal"))

    def share(self, folder: Path, number: int) -> SharedMetrics:
        """Shows from now on what this worker and the others publish; see SharedMetrics."""
        shared = SharedMetrics(self._registry, folder, number)
        self._text = shared.text
        return shared

    def __call__(self, exchange: Exchange, seconds: float) -> None:
        """Counts an answer."""
        method = exchange.method if exchange.method in _METHODS else "other"
        self._answers.count(exchange.route or _NOWHERE, method, exchange.status, seconds)

    def add(self, counts: Counted) -> None:
        """Adds answers that something else counts, all with status 200."""
        self._answers.others.append(counts)

    def loaded(self, kind: str, rows: int) -> None:
        """Counts the records that a load kept. From any thread."""
        self._rows.labels(kind).inc(rows)

    def resources(self) -> dict[str, dict[str, Answer]]:
        """The page of the counts, by path and method."""
        return {"/metrics": {"GET": self._page}}

    async def _page(self, exchange: Exchange) -> None:
        text = await asyncio.to_thread(self._text)
        await exchange.answer(200, CONTENT_TYPE_PLAIN_0_0_4.encode(), text)


#: Gives route, method, how many answers took how long as in _Times, and their seconds in all.
Counted = Callable[[], Iterable[tuple[str, str, list[int], float]]]


class _Times:
    """How many answers of a route took how long; the last count is of those above all bounds."""

    __slots__ = ("counts", "sum")

    def __init__(self) -> None:
        self.counts = [0] * (len(SECONDS) + 1)
        self.sum = 0.0


class _Answers(Collector):
    """The answers, in plain numbers: the library's own counters lock at every step."""

    def __init__(self) -> None:
        self._requests: dict[tuple[str, str, int], int] = {}
        self._times: dict[str, _Times] = {}
        self.others: list[Counted] = []

    def count(self, route: str, method: str, status: int, seconds: float) -> None:
        key = (route, method, status or _NOBODY)
        self._requests[key] = self._requests.get(key, 0) + 1
        times = self._times.get(route)
        if times is None:
            times = self._times[route] = _Times()
        times.counts[bisect_left(SECONDS, seconds)] += 1
        times.sum += seconds

    def collect(self) -> Iterator[Metric]:
        requests = CounterMetricFamily(
            "comptroller_requests",
            "Requests answered, by route, method and status.",
            labels=["route", "method", "status"],
        )
        # Copied in one step, since another thread counts meanwhile.
        counts = collections.Counter(dict(self._requests.items()))
        times = {route: ([*each.counts], each.sum) for route, each in list(self._times.items())}
        for route, method, by_duration, sum_s in (
            row for others in self.others for row in others()
        ):
            if any(by_duration):
                counts[route, method, 200] += sum(by_duration)
                before, before_s = times.get(route, ([0] * len(by_duration), 0.0))
                both = [a + b for a, b in zip(before, by_duration, strict=True)]
                times[route] = both, before_s + sum_s
        for (route, method, status), count in counts.items():
            requests.add_metric([route, method, str(status)], count)
        yield requests
        seconds = HistogramMetricFamily(
            "comptroller_request_seconds",
            "Time from a request's head to the end of its answer, by route.",
            labels=["route"],
        )
        for route, (by_duration, sum_s) in times.items():
            seconds.add_metric([route], _buckets(SECONDS, by_duration), sum_s)
        yield seconds


class _Commits(Collector):
    """How many writes were committed together, as the store counts them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def collect(self) -> Iterator[Metric]:
        by_size, writes = self._store.commits()
        yield HistogramMetricFamily(
            "comptroller_commit_writes",
            "Writes that one commit made durable; loads are not among them.",
            buckets=_buckets((1 << doublings for doublings in range(len(by_size))), [*by_size, 0]),
            sum_value=writes,
        )


def _buckets(bounds: Iterable[float], counts: list[int]) -> list[tuple[str, float]]:
    """The counts up to each bound, as the format has them; the last is of all."""
    names = [*(str(float(bound)) for bound in bounds), "+Inf"]
    return list(zip(names, accumulate(counts), strict=True))


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116
    except FileNotFoundError:
        return 0
