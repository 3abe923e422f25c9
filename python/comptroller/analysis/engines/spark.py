"""Spark, from Parquet files."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars
from sqlglot import exp

from comptroller.analysis.assemble import STORE, Statement
from comptroller.bulk.streams import Rows, reading
from comptroller.errors import require

require("pyspark", "the engine spark", "spark")
from py4j.protocol import Py4JJavaError  # noqa: E402
from pyspark.errors import ArithmeticException  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402

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
        session: gets the tables as views. By default a new one beside the active one, or on this
            machine, whose views no other engine sees.
    """

    def __init__(self, session: SparkSession | None = None) -> None:
        if session is None:
            session = (SparkSession.getActiveSession() or local_session()).newSession()
        self._session = session
        for name, value in SETTINGS.items():
            self._session.conf.set(name, value)
        self._folder = TemporaryDirectory(prefix="comptroller-")

    def read(self, table: str, stream: Rows) -> None:
        """Copies a table to a Parquet file that this machine's executors can read."""
        with reading(polars.exceptions.ComputeError):
            frame = polars.DataFrame(stream)
        words = polars.col(polars.Categorical).cast(polars.String)
        path = Path(self._folder.name) / f"{table}.parquet"
        frame.with_columns(words).write_parquet(path)
        self.scan(table, str(path))

    def scan(self, table: str, path: str) -> None:
        """Takes a table from a Parquet file or dataset, wherever Spark finds its path."""
        self._session.read.parquet(path).createOrReplaceTempView(f"store_{table}")

    def run(self, statement: Statement, values: Mapping[str, Any]) -> polars.DataFrame:
        """The rows, through Arrow."""
        bound = {name: _aware(values[name]) for name in statement.parameters}
        try:
            rows = self._session.sql(_translated(statement.tree.copy()), args=bound)
            return polars.DataFrame(rows.toArrow())
        except ArithmeticException as error:
            raise OverflowError(str(error)) from error
        except Py4JJavaError as error:  # of several stages that failed at once
            if "SparkArithmeticException" not in str(error):
                raise
            raise OverflowError(str(error)) from error

    def sql(self, statement: Statement, values: Mapping[str, Any]) -> str:
        """What runs, with the values in it."""
        return _translated(statement.with_values(values))

    def close(self) -> None:
        """Drops the copies; the views of the session stay until other tables take their place."""
        self._folder.cleanup()


def _translated(query: exp.Query) -> str:
    """A statement for Spark, whose tables of the store are views such as ``store_claims``."""
    for node in list(query.find_all(exp.Table, exp.CTE, exp.DataType)):
        if isinstance(node, exp.Table) and node.db == STORE:
            node.set("this", exp.to_identifier(f"store_{node.name}"))
            node.set("db", None)
        elif isinstance(node, exp.CTE):
            node.set("materialized", None)  # a word that it does not know
        elif isinstance(node, exp.DataType) and node.is_type("TIMESTAMP", "TIMESTAMPNTZ"):
            node.replace(exp.DataType.build("TIMESTAMPTZ"))  # as its own times are, in UTC
    for quotient in list(query.find_all(exp.Div)):  # of whole numbers and decimals it rounds
        for side in ("this", "expression"):
            quotient.set(side, exp.cast(quotient.args[side], "DOUBLE"))
    return query.sql("spark", pretty=True)


def _aware(value: Any) -> Any:
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value


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
