"""The class of `svc.reports`, with a method for each report of the registry."""

# Generated from the registry of reports by `make generate`; change the files of `sql`.

from __future__ import annotations

from comptroller.analysis.reports.claims import ClaimsReports
from comptroller.analysis.reports.failures import FailuresReports
from comptroller.analysis.reports.groups import GroupsReports
from comptroller.analysis.reports.records import RecordsReports


class Reports(ClaimsReports, FailuresReports, GroupsReports, RecordsReports):
    """Reports on the records of a service. A method runs a report and returns its result.

    All methods accept the filters `status`, `chain`, `asset`, `jurisdiction`, `group` and
    `customer`, each one value or several; `since` (inclusive) and `until` (exclusive), which bound
    ``created_at``; `tz`, the time zone of days, longer periods and bounds; and `engine`: duckdb,
    postgresql (in the database of the service), spark, or an engine object. A filter selects rows:
    what they are compared with, such as the times of a chain or the median of all groups, stays
    that of all records. All engines return equal results. Reports on an unchanged store share the
    tables that were read. Each table is a consistent snapshot; the tables of one report may be read
    at slightly different times.

    Raises:
        InvalidRequest: a key or the engine is unknown, a value is invalid, or `until` is before
            `since`.
        MissingExtra: a module of the engine is not installed.
    """
