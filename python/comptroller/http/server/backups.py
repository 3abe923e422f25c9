"""The time of the last backup, for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

_PATTERN = "*.db"  # not the files that SQLite leaves beside a store


class Backups(Collector):
    """Shows the time of the newest backup in a folder, as its file states it.

    A backup that does not complete, is deleted, or is on a volume that is not mounted or cannot be
    read does not count. Without a backup the time is 0, so that an alert on its age fires.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def collect(self) -> Iterator[Metric]:
        """Reads the folder; prometheus_client calls this for each page of metrics."""
        yield GaugeMetricFamily(
            "comptroller_last_backup_timestamp_seconds",
            "Time of the newest backup in the folder of the backups; 0 without a backup.",
            value=max(self._times(), default=0),
        )

    def _times(self) -> Iterator[float]:
        with suppress(OSError):  # such as a stale mount
            for path in self._folder.glob(_PATTERN):
                with suppress(OSError):  # it was deleted meanwhile
                    yield path.stat().st_mtime
