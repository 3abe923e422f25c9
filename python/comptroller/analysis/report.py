"""The result of a report: its rows, title, formula and picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any

from comptroller.analysis.rows import ReportRows

if TYPE_CHECKING:
    from comptroller.analysis.plots.theme import Picture


@dataclass(eq=False, repr=False)
class Report(ReportRows):
    """The rows of a report, with its title and formula; shown as a table in notebooks.

    A Report is an Arrow stream: polars, DuckDB, pyarrow and pandas accept the object itself.

    Attributes:
        name: the name of the report, such as ``claims_summary``.
        title: the title.
        formula: how the values are computed.
        by: the keys that were requested, or are fixed.
        keys: the columns that identify a row.
        given: the arguments of the report by name, such as ``since``.
        distribution: the numbers of claims by duration, for confirmation times without a period.
        has_unknown_sums: whether amounts of more than 20 digits before the point are null.
        defaults: the times, in UTC, that the store gave in place of arguments, such as ``as_of``.
    """

    _sql: Callable[[], str] = str

    def __getstate__(self) -> dict[str, Any]:
        # Without the engine, which cannot be copied.
        engine = {"engine": None} if "engine" in self.given else {}
        return {**self.__dict__, "given": {**self.given, **engine}, "_sql": partial(str, self.sql)}

    @property
    def sql(self) -> str:
        """The executed SQL, with its values; SQL for DuckDB also runs in `comptroller query`."""
        return self._sql()

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Writes all rows as CSV, with exact amounts, as `comptroller query` does.

        Raises:
            InvalidRequest: the path does not end in .csv, or is a file of an open store.
            Unusable: the file cannot be written.
        """
        self._save(path, ".csv")

    def to_excel(self, path: str | PathLike[str]) -> None:
        """Writes all rows as an Excel file; a second sheet says what the columns mean.

        Excel keeps 15 digits of a number. A column of amounts with more digits is text, so that all
        of them stay exact; other amounts are numbers. Times are in UTC.

        Raises:
            InvalidRequest: the path does not end in .xlsx, or is a file of an open store; or there
                are more rows than a sheet has.
            Unusable: the file cannot be written.
            MissingExtra: XlsxWriter is not installed.
        """
        self._save(path, ".xlsx")

    def to_parquet(self, path: str | PathLike[str]) -> None:
        """Writes all rows as Parquet, with the types of `to_polars()`.

        Raises:
            InvalidRequest: the path does not end in .parquet, or is a file of an open store.
            Unusable: the file cannot be written.
        """
        self._save(path, ".parquet")

    def _save(self, path: str | PathLike[str], suffix: str) -> None:
        from comptroller import arguments
        from comptroller.analysis.saving import save

        save(self, arguments.path("path", path), suffix)

    def plot(self, theme: str = "light") -> Picture:
        """Draws the report as an altair chart, 600 pixels wide.

        The chart's `save` writes PNG and SVG without a network.

        Args:
            theme: light, dark, or page (transparent, with the text colour of the page around it).

        Raises:
            InvalidRequest: the theme is unknown.
            MissingExtra: altair or vl-convert is not installed.
        """
        from comptroller.analysis import presentation

        return presentation.picture(self, theme)

    def html(self, rows: int = 50) -> str:
        """Returns an HTML section: title, formula, picture as inline SVG, first rows.

        The section has its own style and inherits the colours of the page.

        Args:
            rows: the maximum number of rows.

        Raises:
            MissingExtra: altair or vl-convert is not installed.
        """
        from comptroller.analysis import presentation

        return presentation.report_html(self, rows)

    def _repr_html_(self) -> str:
        from comptroller.analysis import presentation

        return presentation.notebook_html(self)

    def __repr__(self) -> str:
        return f"<Report {self.name}: {self.title}, {self.summary}>"
