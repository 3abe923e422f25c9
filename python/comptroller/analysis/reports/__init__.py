"""The reports: functions from lazy frames to a lazy frame of the same kind.

Each takes what narwhals takes (a DuckDB relation, a polars LazyFrame, a Spark DataFrame) with the
columns that an engine of :mod:`comptroller.analysis.engines` gives a table.
"""

from __future__ import annotations

from comptroller.analysis.reports.claims import claims_summary as claims_summary
