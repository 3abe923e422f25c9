"""Metrics of the server for Prometheus."""

from __future__ import annotations

import collections
import math
import os
import shutil
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import accumulate
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector

from comptroller._core import Store
from comptroller.errors import Error
from comptroller.http.exchange import Answer, Exchange
from comptroller.http.metrics_page import MetricsPage
from comptroller.http.shared_metrics import SharedMetrics
from comptroller.local import LocalHost

#: The upper bounds of the histogram of durations.
SECONDS = (0.001, 0.005, 0.02, 0.1, 0.5, 2.5)
_METHODS = frozenset({"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"})
_NO_ROUTE = "none"  # the route of an unknown path
_CLIENT_CLOSED = 499  # the status if the client disconnected before the response
_LIFETIME_S = 1.0


class Metrics:
    """Counts the responses of an application; an observer with the resource `/metrics`.

    For the thread of the application's event loop, except `count_loaded`.

    Args:
        host: the host of the store, whose commits and file size are shown.
        clock: returns seconds.
        others: further collectors to show.
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
        self._registry.register(_PendingLog(host.store))
        self._rows = Counter(
            "comptroller_rows_loaded",
            "Records that loads stored, by kind.",
            ["kind"],
            registry=self._registry,
        )
        self._expiry: Gauge | None = None  # without TLS
        if host.path is not None:
            self._watch(host.path)
        self._clock = clock
        # Generating the text holds the GIL for milliseconds.
        self._page = MetricsPage(partial(generate_latest, self._registry), clock, _LIFETIME_S)

    def _watch(self, path: str) -> None:
        size = Gauge(
            "comptroller_store_bytes",
            "Size of the store file and of its write-ahead log.",
            ["file"],
            registry=self._registry,
        )
        size.labels("store").set_function(lambda: _size(path))
        size.labels("wal").set_function(lambda: _size(path + "-wal"))
        free = Gauge(
            "comptroller_store_free_bytes",
            "Space on the file system of the store that its user may use.",
            registry=self._registry,
        )
        free.set_function(lambda: _free(path))

    def certificate_expires(self, at_s: float) -> None:
        """Shows when the certificate chain in use expires, in seconds since 1970."""
        if self._expiry is None:
            self._expiry = Gauge(
                "comptroller_tls_certificate_expiry_timestamp_seconds",
                "Time at which the first certificate of the server's chain expires.",
                registry=self._registry,
            )
        self._expiry.set(at_s)

    def share(self, folder: Path, number: int) -> SharedMetrics:
        """Shows the metrics of all workers from now on; see SharedMetrics."""
        shared = SharedMetrics(self._registry, folder, number)
        self._page = MetricsPage(shared.text, self._clock, 0)  # `text` has a cache
        return shared

    def __call__(self, exchange: Exchange, seconds: float) -> None:
        """Counts a response."""
        method = exchange.method if exchange.method in _METHODS else "other"
        self._answers.count(exchange.route or _NO_ROUTE, method, exchange.status, seconds)

    def count_refused(self, status: int) -> None:
        """Counts a request that did not reach the application."""
        self._answers.count_request(_NO_ROUTE, "other", status)

    def add(self, counts: Counted) -> None:
        """Adds counts of responses with status 200 that are counted elsewhere, as by the core."""
        self._answers.others.append(counts)

    def count_loaded(self, kind: str, rows: int) -> None:
        """Counts the records that a load stored. Callable from any thread."""
        self._rows.labels(kind).inc(rows)

    def resources(self) -> dict[str, dict[str, Answer]]:
        """Returns the resource `/metrics` by path and method."""
        return {"/metrics": {"GET": self._show}}

    async def _show(self, exchange: Exchange) -> None:
        text = await self._page.text()
        await exchange.answer(200, CONTENT_TYPE_PLAIN_0_0_4.encode(), text)


#: Returns route, method, counts by duration as in _Times, and the total seconds.
Counted = Callable[[], Iterable[tuple[str, str, list[int], float]]]


class _Times:
    """The counts of a route's responses by duration; the last is of those above all bounds."""

    __slots__ = ("counts", "sum")

    def __init__(self) -> None:
        self.counts = [0] * (len(SECONDS) + 1)
        self.sum = 0.0


class _Answers(Collector):
    """Counts responses without locks, which the counters of prometheus_client take."""

    def __init__(self) -> None:
        self._requests: dict[tuple[str, str, int], int] = {}
        self._times: dict[str, _Times] = {}
        self.others: list[Counted] = []

    def count_request(self, route: str, method: str, status: int) -> None:
        key = (route, method, status or _CLIENT_CLOSED)
        self._requests[key] = self._requests.get(key, 0) + 1

    def count(self, route: str, method: str, status: int, seconds: float) -> None:
        self.count_request(route, method, status)
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
        # An atomic copy, because another thread may count at the same time.
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
            "Time from the head of a request to the end of its response, by route.",
            labels=["route"],
        )
        for route, (by_duration, sum_s) in times.items():
            seconds.add_metric([route], _buckets(SECONDS, by_duration), sum_s)
        yield seconds


class _Commits(Collector):
    """The histogram of writes by commit, as the store counts them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def collect(self) -> Iterator[Metric]:
        by_size, writes = self._store.commits()
        yield HistogramMetricFamily(
            "comptroller_commit_writes",
            "Writes in one commit, without loads.",
            buckets=_buckets((1 << doublings for doublings in range(len(by_size))), [*by_size, 0]),
            sum_value=writes,
        )


class _PendingLog(Collector):
    """The size of what a checkpoint has to write; no value while the store cannot be read."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def collect(self) -> Iterator[Metric]:
        pending = GaugeMetricFamily(
            "comptroller_wal_pending_bytes",
            "Bytes of the write-ahead log that are not in the store file yet.",
        )
        with suppress(Error):
            _bytes, pending_bytes, _is_large = self._store.log_size()
            pending.add_metric([], pending_bytes)
        yield pending


def _buckets(bounds: Iterable[float], counts: list[int]) -> list[tuple[str, float]]:
    """Returns cumulative counts by upper bound, as Prometheus expects; the last is the total."""
    names = [*(str(float(bound)) for bound in bounds), "+Inf"]
    return list(zip(names, accumulate(counts), strict=True))


def _free(path: str) -> float:
    try:
        return shutil.disk_usage(Path(path).parent).free
    except OSError:  # the folder was removed
        return math.nan


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116
    except FileNotFoundError:
        return 0
