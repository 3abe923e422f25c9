"""The deliveries of webhooks, for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from comptroller.webhooks.endpoint import Counts


class Deliveries(Collector):
    """Shows what this process delivered.

    Args:
        counts: the counts of the process.
    """

    def __init__(self, counts: Counts) -> None:
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        """Reads the counts; prometheus_client calls this for each page of metrics."""
        attempts = CounterMetricFamily(
            "comptroller_webhook_attempts",
            "Requests to the receivers of webhooks, by outcome.",
            labels=["outcome"],
        )
        attempts.add_metric(["delivered"], self._counts.delivered)
        attempts.add_metric(["failed"], self._counts.failed)
        yield attempts
        yield CounterMetricFamily(
            "comptroller_webhooks_paused",
            "Webhooks that were paused because an event could not be delivered.",
            value=self._counts.paused,
        )
