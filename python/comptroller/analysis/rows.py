"""Rows of a polars frame with exact values."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from comptroller.bulk.streams import ArrowRows

if TYPE_CHECKING:
    import polars


class FrameRows(ArrowRows):
    """The rows of a polars frame, which is not changed."""

    _frame: polars.DataFrame

    def __len__(self) -> int:
        return len(self._frame)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)

    def to_polars(self) -> polars.DataFrame:
        """Returns a copy of the rows as a polars frame."""
        return self._frame.clone()

    def to_dicts(self) -> list[dict[str, Any]]:
        """Returns the rows as dicts: amounts as Decimal, days as dates, times as aware datetimes.

        An amount of zero is exactly ``Decimal("0")``.
        """
        amounts = [name for name, type in self._frame.schema.items() if type.is_decimal()]
        rows = self._frame.to_dicts()
        for row in rows:
            row.update((name, Decimal(0)) for name in amounts if row[name] == 0)
        return rows
