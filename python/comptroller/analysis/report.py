"""The result of a report: its rows, title, formula and picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from importlib.util import find_spec
from os import PathLike
from typing import TYPE_CHECKING, Any

from comptroller.analysis.formatting import report_section
from comptroller.analysis.parameters import FILTERS
from comptroller.analysis.registry import Definition, period_of
from comptroller.analysis.rows import FrameRows
from comptroller.display.html import SHOWN_ROWS, html
from comptroller.display.times import bound
from comptroller.errors import require

if TYPE_CHECKING:
    import polars

    from comptroller.analysis.plots.theme import Picture


@dataclass(eq=False, repr=False)
class Report(FrameRows):
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
        has_gaps: whether amounts of more than 20 digits before the point are null.
    """

    definition: Definition
    by: tuple[str, ...]
    _frame: polars.DataFrame
    given: Mapping[str, Any] = field(default_factory=dict)
    _sql: Callable[[], str] = str
    distribution: polars.DataFrame | None = None
    has_gaps: bool = False

    def __post_init__(self) -> None:
        self.name = self.definition.name
        self.title = self.definition.title
        self.formula = self.definition.formula
        own = (
            self.definition.all_keys(self.by, self.given)
            if self.definition.by is not None
            else self.by
        )
        self.keys = (*own, *self.definition.more_keys)

    def __getstate__(self) -> dict[str, Any]:
        # Without the engine, which cannot be copied.
        engine = {"engine": None} if "engine" in self.given else {}
        return {**self.__dict__, "given": {**self.given, **engine}, "_sql": partial(str, self.sql)}

    @property
    def sql(self) -> str:
        """The executed SQL, with its values; SQL for DuckDB also runs in `comptroller query`."""
        return self._sql()

    @property
    def over(self) -> str:
        """A summary of the keys, the arguments, the time range and the number of rows."""
        parts = [f"by {', '.join(self.by)}"] if self.by else []
        parts += [f"in {asset}" for asset in self._folded() if asset is not None]
        parts += [
            f"{word} {self._argument(name, given)}"
            for name, word in _WORDS.items()
            if (given := self.given.get(name)) is not None
        ]
        period = period_of(self.by)
        if period is not None and self._frame[period].count():
            days = self._frame[period].dt.date()
            parts.append(" to ".join(map(str, (days.min(), days.max()))))
        parts.append(f"{len(self):,} {'row' if len(self) == 1 else 'rows'}")
        if self.has_gaps:
            parts.append("amounts of more than 20 digits before the point left empty")
        return ", ".join(parts)

    def _argument(self, name: str, given: Any) -> str:
        if name in ("since", "until", "as_of") and isinstance(given, (str, date)):
            return bound(given, self.given.get("tz", "UTC"))
        return " or ".join(map(str, given)) if isinstance(given, tuple) else str(given)

    def head(self, rows: int) -> polars.DataFrame:
        """Returns the first rows to show; if some are left out, those of the newest periods first.

        Omits the column asset if all rows have the same asset, which `over` names.
        """
        shown = self._frame.drop("asset") if self._folded() else self._frame
        period = period_of(self.by)
        if period is None or len(self) <= rows:
            return shown.head(rows)
        newest = shown.sort(period, descending=True, nulls_last=True, maintain_order=True)
        return newest.head(rows)

    def _folded(self) -> list[str | None]:
        """Returns the only asset of all rows, unless the asset is a key; else an empty list."""
        if "asset" not in self._frame.columns or "asset" in self.by:
            return []
        assets = self._frame["asset"].unique().to_list()
        return assets if len(assets) == 1 else []

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
        _require_drawing("plot()")
        from comptroller.analysis.plots import draw

        picture, _ = draw(self, theme)
        return picture

    def html(self, rows: int = 50) -> str:
        """Returns an HTML section: title, formula, picture as inline SVG, first rows.

        The section has its own style and inherits the colours of the page.

        Args:
            rows: the maximum number of rows.

        Raises:
            MissingExtra: altair or vl-convert is not installed.
        """
        _require_drawing("html()")
        from comptroller.analysis.plots import draw_svg

        return html("section.html", section=report_section(self, rows, draw_svg(self)))

    def _repr_html_(self) -> str:
        drawing = None
        if len(self) and all(map(find_spec, _DRAWING_MODULES)):
            from comptroller.analysis.plots import draw_svg

            drawing = draw_svg(self)
        return html("section.html", section=report_section(self, SHOWN_ROWS, drawing))

    def __repr__(self) -> str:
        return f"<Report {self.name}: {self.title}, {self.over}>"


def _require_drawing(purpose: str) -> None:
    for module in _DRAWING_MODULES:
        require(module, purpose, "analysis")


_DRAWING_MODULES = ("altair", "vl_convert")


#: The arguments that `over` shows, and the word before each.
_WORDS = {"id": "of", "month": "in", **dict(zip(FILTERS, FILTERS, strict=True))}
_WORDS |= {"since": "from", "until": "before"}
_WORDS |= {"as_of": "as of", "percentile": "percentile", "tolerance": "tolerance"}
_WORDS |= {"on": "on", "band": "band", "measure": "measure", "least": "at least"}
