"""What the server did, in numbers for Prometheus."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from itertools import accumulate
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.core import HistogramMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector

from comptroller._core import Store
from comptroller.http.exchange import Exchange
from comptroller.local import LocalHost

if TYPE_CHECKING:
    from comptroller.http.app import Answer

_SECONDS = (0.001, 0.005, 0.02, 0.1, 0.5, 2.5)
_METHODS = frozenset({"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"})
_NOWHERE = "none"  # the route of what is at no path
_NOBODY = 499  # the status of an answer for which nobody waited any more


class Metrics:
    """Counts what one application answers: an observer of it, with a page to read the counts.

    For the thread of the application's event loop, but for `loaded`.

    Args:
        host: the store's, whose commits are shown, and its size where it keeps a file.
    """

    def __init__(self, host: LocalHost) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._requests = Counter(
            "comptroller_requests",
            "Requests answered, by route, method and status.",
            ["route", "method", "status"],
            registry=self._registry,
        )
        self._seconds = Histogram(
            "comptroller_request_seconds",
            "Time from a request's head to the end of its answer, by route.",
            ["route"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._rows = Counter(
            "comptroller_rows_loaded",
            "Records that loads kept, by kind.",
            ["kind"],
            registry=self._registry,
        )
        self._registry.register(_Commits(host.store))
        if host.path is not None:
            self._watch(host.path)
        # Looking up a child by its labels costs more than counting.
        self._counters: dict[tuple[str, str, int], Counter] = {}
        self._histograms: dict[str, Histogram] = {}

    def _watch(self, path: str) -> None:
        size = Gauge(
            "comptroller_store_bytes",
            "Size of the store's file, and of the log beside it.",
            ["file"],
            registry=self._registry,
        )
        size.labels("store").set_function(lambda: _size(path))
        size.labels("wal").set_function(lambda: _size(path + "-wal"))

    def __call__(self, exchange: Exchange, seconds: float) -> None:
        """Counts an answer."""
        route = exchange.route or _NOWHERE
        method = exchange.method if exchange.method in _METHODS else "other"
        key = (route, method, exchange.status or _NOBODY)
        counter = self._counters.get(key)
        if counter is None:
            counter = self._counters[key] = self._requests.labels(*key)
        counter.inc()
        histogram = self._histograms.get(route)
        if histogram is None:
            histogram = self._histograms[route] = self._seconds.labels(route)
        histogram.observe(seconds)

    def loaded(self, kind: str, rows: int) -> None:
        """Counts the records that a load kept. From any thread."""
        self._rows.labels(kind).inc(rows)

    def resources(self) -> dict[str, dict[str, Answer]]:
        """The page of the counts, by path and method."""
        return {"/metrics": {"GET": self._page}}

    async def _page(self, exchange: Exchange) -> None:
        # It takes long enough to keep others waiting.
        text = await asyncio.to_thread(generate_latest, self._registry)
        await exchange.answer(200, CONTENT_TYPE_PLAIN_0_0_4.encode(), text)


class _Commits(Collector):
    """How many writes were committed together, as the store counts them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def collect(self) -> Iterator[HistogramMetricFamily]:
        by_size, writes = self._store.commits()
        sums = list(accumulate(by_size))
        yield HistogramMetricFamily(
            "comptroller_commit_writes",
            "Writes that one commit made durable; loads are not among them.",
            buckets=[
                *((str(float(1 << i)), count) for i, count in enumerate(sums)),
                ("+Inf", sums[-1]),
            ],
            sum_value=writes,
        )


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116
    except FileNotFoundError:
        return 0
