"""Spark, from Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars

from comptroller.analysis.engines import TIMES, tables_in, too_large
from comptroller.streams import ArrowStream, reading, require

require("pyspark", "the engine spark", "comptroller[spark]")
from py4j.protocol import Py4JJavaError  # noqa: E402
from pyspark.errors import ArithmeticException  # noqa: E402
from pyspark.sql import DataFrame, SparkSession  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402, N812

#: Without the second, Spark drops the 18th digit of money; without the third, a sum that is too
#: large is null to it.
SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.ansi.enabled": "true",
}


class Spark:
    """Runs reports in a Spark session.

    Args:
        session: the one to use; the active one, or one on this machine, when left out.
    """

    def __init__(self, session: SparkSession | None = None) -> None:
        self._session = session or SparkSession.getActiveSession() or local_session()
        for name, value in SETTINGS.items():
            self._session.conf.set(name, value)

    @contextmanager
    def open(self, streams: Mapping[str, ArrowStream]) -> Iterator[Mapping[str, Any]]:
        """The tables, copied to Parquet files that this machine's executors can read."""
        with TemporaryDirectory(prefix="comptroller-") as folder:
            for name, stream in streams.items():
                with reading(polars.exceptions.ComputeError):
                    frame = polars.DataFrame(stream)
                words = polars.col(polars.Categorical).cast(polars.String)
                frame.with_columns(words).write_parquet(Path(folder) / f"{name}.parquet")
            with self.read(folder) as tables:
                yield {name: tables[name] for name in streams}

    @contextmanager
    def read(self, folder: str | PathLike[str]) -> Iterator[Mapping[str, Any]]:
        """The tables as data frames over the files."""
        yield {name: self.table(name, str(path)) for name, path in tables_in(folder).items()}

    def table(self, name: str, path: str) -> DataFrame:
        """A table of a Parquet file or dataset, wherever Spark finds its path."""
        frame = self._session.read.parquet(path)
        return frame.withColumns(
            {f"{time}_us": F.unix_micros(time) for time in TIMES[name] if time in frame.columns}
        )

    def collect(self, frame: Any) -> polars.DataFrame:
        """The rows, through Arrow."""
        try:
            return polars.DataFrame(frame.toArrow())
        except ArithmeticException as error:
            raise too_large() from error
        except Py4JJavaError as error:  # of several stages that failed at once
            if "SparkArithmeticException" not in str(error):
                raise
            raise too_large() from error


def local_session() -> SparkSession:
    """A session on two cores of this machine, without a web page."""
    building = SparkSession.builder.master("local[2]").appName("comptroller")
    for name, value in {
        **SETTINGS,
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
    }.items():
        building = building.config(name, value)
    return building.getOrCreate()
