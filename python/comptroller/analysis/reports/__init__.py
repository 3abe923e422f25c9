"""The reports: functions from lazy frames to a lazy frame of the same kind.

Each takes what narwhals takes (a DuckDB relation, a polars LazyFrame, a Spark DataFrame) with the
columns that an engine of :mod:`comptroller.analysis.engines` gives a table.
"""

from __future__ import annotations

from comptroller.analysis.reports.anomalies import anomalies as anomalies
from comptroller.analysis.reports.claims import claims_summary as claims_summary
from comptroller.analysis.reports.cohorts import cohort as cohort
from comptroller.analysis.reports.confirmation import confirmation_times as confirmation_times
from comptroller.analysis.reports.confirmation import stuck_claims as stuck_claims
from comptroller.analysis.reports.failures import failures as failures
from comptroller.analysis.reports.orchestrations import orchestration_flow as orchestration_flow
from comptroller.analysis.reports.reconciliation import reconciliation as reconciliation
from comptroller.analysis.reports.restrictions import restrictions as restrictions
from comptroller.analysis.reports.statement import group_statement as group_statement
