"""The deliveries of webhooks, for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from comptroller.errors import Error
from comptroller.service import Service
from comptroller.webhooks.endpoint import Counts


class Deliveries(Collector):
    """Shows what this process delivered, and how many webhooks of the store are paused.

    Args:
        service: the service of the operator.
        counts: the counts of the process.
    """

    def __init__(self, service: Service, counts: Counts) -> None:
        self._service = service
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        """Reads the counts; prometheus_client calls this for each page of metrics."""
        attempts = CounterMetricFamily(
            "comptroller_webhook_attempts",
            "Requests of this server to the receivers of webhooks, by outcome.",
            labels=["outcome"],
        )
        attempts.add_metric(["delivered"], self._counts.delivered)
        attempts.add_metric(["failed"], self._counts.failed)
        yield attempts
        paused = GaugeMetricFamily(
            "comptroller_webhooks_paused",
            "Webhooks that are paused, by a process that delivers or by an update.",
        )
        with suppress(Error):  # the store cannot be read now
            webhooks = self._service.webhooks.list()
            paused.add_metric([], sum(each.status == "PAUSED" for each in webhooks))
        yield paused
