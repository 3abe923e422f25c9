"""The engine Spark, which reads Parquet files."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
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

#: allowPrecisionLoss would drop the 18th fraction digit of amounts. Without ansi, a sum that
#: overflows would be null.
SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.ansi.enabled": "true",
}


class Spark:
    """Runs reports in a Spark session.

    Args:
        session: the session to use; the tables become temporary views in it. By default a new
            session of the active Spark application, or of a local one.
    """

    def __init__(self, session: SparkSession | None = None) -> None:
        if session is None:
            session = (SparkSession.getActiveSession() or local_session()).newSession()
        self._session = session
        for name, value in SETTINGS.items():
            self._session.conf.set(name, value)
        self._folder = TemporaryDirectory(prefix="comptroller-")

    def read(self, table: str, stream: Rows) -> None:
        """Copies a table to a Parquet file, which local executors can read."""
        with reading(polars.exceptions.ComputeError):
            frame = polars.DataFrame(stream)
        words = polars.col(polars.Categorical).cast(polars.String)
        path = Path(self._folder.name) / f"{table}.parquet"
        frame.with_columns(words).write_parquet(path)
        self.scan(table, str(path))

    def scan(self, table: str, path: str) -> None:
        """Defines a table as a Parquet file or dataset at any path that Spark can read."""
        self._session.read.parquet(path).createOrReplaceTempView(f"store_{table}")

    def run(self, statement: Statement, values: Mapping[str, Any]) -> polars.DataFrame:
        """Runs a statement; returns its rows."""
        bound = {name: _bindable(values[name]) for name in statement.parameters}
        try:
            rows = self._session.sql(_translate(statement.tree.copy()), args=bound)
            return polars.DataFrame(rows.toArrow())
        except ArithmeticException as error:
            raise OverflowError(str(error)) from error
        except Py4JJavaError as error:  # raised if several stages fail at once
            if "SparkArithmeticException" not in str(error):
                raise
            raise OverflowError(str(error)) from error

    def sql(self, statement: Statement, values: Mapping[str, Any]) -> str:
        """Returns the SQL of a statement with its values, for display."""
        return _translate(statement.with_values(values))

    def close(self) -> None:
        """Deletes the copied files; the session keeps its views."""
        self._folder.cleanup()


def _translate(query: exp.Expr) -> str:
    """Translates a statement for Spark, where the tables are views such as ``store_claims``."""
    for zoned in list(query.find_all(exp.AtTimeZone)):
        is_local = isinstance(zoned.this, exp.Cast) and zoned.this.is_type("TIMESTAMPTZ")
        name = "from_utc_timestamp" if is_local else "to_utc_timestamp"
        zoned.replace(exp.Anonymous(this=name, expressions=[zoned.this, zoned.args["zone"]]))
    for node in list(query.find_all(exp.Table, exp.CTE, exp.DataType)):
        if isinstance(node, exp.Table) and node.db == STORE:
            node.set("this", exp.to_identifier(f"store_{node.name}"))
            node.set("db", None)
        elif isinstance(node, exp.CTE):
            node.set("materialized", None)  # not supported by Spark
        elif isinstance(node, exp.DataType) and node.is_type("TIMESTAMP", "TIMESTAMPNTZ"):
            node.replace(exp.DataType.build("TIMESTAMPTZ"))  # Spark's own type; the zone is UTC
    for ranks in list(query.find_all(exp.PercentileDisc)):  # Spark's would not spill to disk
        ranks.replace(exp.cast(exp.null(), "ARRAY<BIGINT>"))
    for quotient in list(query.find_all(exp.Div)):  # Spark rounds quotients of decimals
        for side in ("this", "expression"):
            quotient.set(side, exp.cast(quotient.args[side], "DOUBLE"))
    order = query.args.get("order")
    # Spark's optimizer fails if the anomalies are sorted by columns before their casts.
    for column in order.find_all(exp.Column) if order is not None else ():
        column.set("table", None)
    return query.sql("spark", pretty=True)


def _bindable(value: Any) -> Any:
    """Returns a time as text; pyspark shifts a time before 1582 to the Julian calendar."""
    return f"{value.isoformat()}Z" if isinstance(value, datetime) else value


def local_session() -> SparkSession:
    """Starts a local session with two cores and without the web UI."""
    settings: dict[str, Any] = {
        **SETTINGS,
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
    }
    building = SparkSession.builder.master("local[2]").appName("comptroller")
    return building.config(map=settings).getOrCreate()
