"""polars, inside this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from typing import Any

import polars

from comptroller.analysis.engines import TIMES, tables_in, too_large
from comptroller.streams import ArrowStream, reading


class Polars:
    """Runs reports in polars."""

    @contextmanager
    def open(self, streams: Mapping[str, ArrowStream]) -> Iterator[Mapping[str, Any]]:
        """The tables as lazy frames over rows in memory."""
        with reading(polars.exceptions.ComputeError):
            frames = {name: polars.DataFrame(stream) for name, stream in streams.items()}
        yield {name: _told(name, frame.lazy()) for name, frame in frames.items()}

    @contextmanager
    def read(self, folder: str | PathLike[str]) -> Iterator[Mapping[str, Any]]:
        """The tables as lazy frames over the files."""
        yield {
            name: _told(name, polars.scan_parquet(path, hive_partitioning=False))
            for name, path in tables_in(folder).items()
        }

    def collect(self, frame: Any) -> polars.DataFrame:
        """The rows; in the streaming engine, since the other wraps sums that are too large."""
        try:
            collected: polars.DataFrame = frame.collect(engine="streaming")
        except polars.exceptions.ComputeError as error:
            if "overflow in decimal" not in str(error):
                raise
            raise too_large() from error
        return collected


def _told(name: str, frame: polars.LazyFrame) -> polars.LazyFrame:
    columns = frame.collect_schema().names()
    return frame.with_columns(
        polars.col(polars.Categorical).cast(polars.String),
        *(
            polars.col(time).dt.epoch("us").alias(f"{time}_us")
            for time in TIMES[name]
            if time in columns
        ),
    )
