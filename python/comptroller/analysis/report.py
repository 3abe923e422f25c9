"""A report that was run: rows, with what they say and how they came about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from comptroller.analysis import sections
from comptroller.analysis.registry import PERIODS, Definition
from comptroller.bulk.streams import ArrowRows
from comptroller.errors import require

if TYPE_CHECKING:
    from datetime import datetime

    import polars

    from comptroller.analysis.plots.theme import Picture


class Report(ArrowRows):
    """Rows with a title and a formula; draws itself in notebooks.

    An Arrow stream: polars, DuckDB, pyarrow and pandas take the object itself. `given` is what it
    was asked for with, such as `since`, by name; `distribution`, of confirmation times by no
    period, how many claims took how long; `has_gaps` says that amounts of more than 20 digits
    before the point were left empty.
    """

    def __init__(
        self,
        definition: Definition,
        keys: tuple[str, ...],
        frame: polars.DataFrame,
        given: Mapping[str, Any] = MappingProxyType({}),
        sql: Callable[[], str] = str,
        distribution: polars.DataFrame | None = None,
        has_gaps: bool = False,
    ) -> None:
        self.definition = definition
        self.name = definition.name
        self.title = definition.title
        self.formula = definition.formula
        self.keys = keys
        self._frame = frame
        self.given = given
        self._sql = sql
        self.distribution = distribution
        self.has_gaps = has_gaps

    @property
    def sql(self) -> str:
        """The query that ran, with its values; of DuckDB, `comptroller query` takes it too."""
        return self._sql()

    @property
    def over(self) -> str:
        """What it is over: the keys, what was asked for, the period of the rows, their number."""
        parts = [f"by {', '.join(self.keys)}"] if self.keys else []
        parts += [f"in {asset}" for asset in self._folded() if asset is not None]
        parts += [
            f"{word} {given}"
            for name, word in _WORDS.items()
            if (given := self.given.get(name)) is not None
        ]
        starts = next((self._frame[key] for key in PERIODS if key in self.keys), None)
        if starts is not None and starts.count():
            parts.append(" to ".join(moment.date().isoformat() for moment in _ends(starts)))
        parts.append(f"{len(self):,} {'row' if len(self) == 1 else 'rows'}")
        if self.has_gaps:
            parts.append("amounts of more than 20 digits before the point left empty")
        return ", ".join(parts)

    def head(self, rows: int) -> polars.DataFrame:
        """The rows to show where there is no room for more: of the newest periods, newest first.

        Without the asset where all rows have the same, which `over` names.
        """
        shown = self._frame.drop("asset") if self._folded() else self._frame
        period = next((key for key in PERIODS if key in self.keys), None)
        if period is None or len(self) <= rows:
            return shown.head(rows)
        newest = shown.sort(period, descending=True, nulls_last=True, maintain_order=True)
        return newest.head(rows)

    def _folded(self) -> list[str | None]:
        """The asset of all rows, if it is one and was not asked for."""
        if "asset" not in self._frame.columns or "asset" in self.keys:
            return []
        assets = self._frame["asset"].unique().to_list()
        return assets if len(assets) == 1 else []

    def __len__(self) -> int:
        return len(self._frame)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)

    def to_polars(self) -> polars.DataFrame:
        """The rows as a polars frame, of one's own."""
        return self._frame.clone()

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as dicts: amounts as Decimal, times as aware datetimes."""
        return self._frame.to_dicts()

    def plot(self, theme: str = "light") -> Picture:
        """An altair chart, 600 pixels wide; its `save` writes PNG and SVG without a network.

        Args:
            theme: light, dark, or page (no ground, and the text colour of the page it is in).

        Raises InvalidRequest for another theme, MissingExtra if altair is not installed.
        """
        _require_drawing("plot()")
        from comptroller.analysis.plots import plot

        return plot(self, theme)

    def html(self, rows: int = 50) -> str:
        """A section for a page: title, formula, picture as inline SVG, the first `rows` rows.

        It brings its style and takes the page's colours. Raises MissingExtra if altair or
        vl-convert is not installed.
        """
        _require_drawing("html()")
        return sections.section(self, rows)

    def _repr_html_(self) -> str:
        return sections.report_in_notebook(self)

    def __repr__(self) -> str:
        return f"<Report {self.name}: {self.title}, {self.over}>"


def _require_drawing(purpose: str) -> None:
    for module in ("altair", "vl_convert"):
        require(module, purpose, "analysis")


#: What was asked for besides the keys, and how it is introduced.
_WORDS = {
    "id": "of",
    "group": "group",
    "month": "in",
    "since": "from",
    "until": "before",
    "as_of": "as of",
    "percentile": "percentile",
    "tolerance": "tolerance",
    "band": "band",
    "measure": "measure",
    "least": "at least",
}


def _ends(moments: polars.Series) -> tuple[datetime, datetime]:
    known = moments.drop_nulls().sort()
    return known[0], known[-1]
