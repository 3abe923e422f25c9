"""A report that was run: rows, with what they say and how they came about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from comptroller.streams import require, to_pandas

if TYPE_CHECKING:
    import pandas  # type: ignore[import, unused-ignore]
    import polars
    import pyarrow  # type: ignore[import, unused-ignore]


class Report:
    """Rows with a title and a formula; draws itself in notebooks.

    An Arrow stream: polars, DuckDB, pyarrow, pandas and narwhals take the object itself.
    """

    def __init__(
        self, name: str, title: str, formula: str, keys: tuple[str, ...], frame: polars.DataFrame
    ) -> None:
        self.name = name
        self.title = title
        self.formula = formula
        self.keys = keys
        self._frame = frame

    def __len__(self) -> int:
        return len(self._frame)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)

    def to_polars(self) -> polars.DataFrame:
        """The rows as a polars frame."""
        return self._frame

    def to_arrow(self) -> pyarrow.Table:
        """The rows as a pyarrow table. Raises Unavailable where pyarrow is not installed."""
        arrow = require("pyarrow", "to_arrow()", "pyarrow")
        return arrow.table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas frame, amounts as Arrow decimals, times aware.

        Raises Unavailable where pandas or pyarrow is not installed.
        """
        return to_pandas(self.to_arrow())

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as dicts: amounts as Decimal, times as aware datetimes."""
        return self._frame.to_dicts()

    def __repr__(self) -> str:
        return f"<Report {self.name}: {self.title}, {len(self):,} rows>"
