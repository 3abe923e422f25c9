"""Rows of a polars frame with exact values, and those of a report with what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from comptroller.analysis.parameters import FILTERS
from comptroller.analysis.registry import NAMES, Definition, period_of
from comptroller.bulk.streams import ArrowRows
from comptroller.display.times import bound
from comptroller.errors import invalid, require

if TYPE_CHECKING:
    import polars
    import pyarrow  # type: ignore[import, unused-ignore]

_INFINITY_NS = 2**63 - 1  # of DuckDB; negative: -infinity


class FrameRows(ArrowRows):
    """The rows of a polars frame, which is not changed."""

    _frame: polars.DataFrame

    def __len__(self) -> int:
        return len(self._frame)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        # pandas gets nested texts through pyarrow, which converts no string views to it.
        if _has_nested_texts(self._frame) and find_spec("pyarrow") is not None:
            return self.to_arrow().__arrow_c_stream__(requested_schema)
        return self._frame.__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> pyarrow.Table:
        """Returns all rows as a pyarrow table. Raises MissingExtra without pyarrow."""
        require("pyarrow", "to_arrow()")
        library = require("polars", "to_arrow()", "analysis")
        table: pyarrow.Table = self._frame.to_arrow(compat_level=library.CompatLevel.oldest())
        return table

    def to_polars(self) -> polars.DataFrame:
        """Returns a copy of the rows as a polars frame."""
        return self._frame.clone()

    def to_dicts(self) -> list[dict[str, Any]]:
        """Returns the rows as dicts: amounts as Decimal, days as dates, times as aware datetimes.

        An amount of zero is exactly ``Decimal("0")``. Raises InvalidRequest if a day or time is not
        in the years 1 to 9999, as in the result of a query.
        """
        far = next((column.name for column in self._frame if is_far(column)), None)
        if far is not None:
            why = "has days or times that are not in the years 1 to 9999, which Python has"
            raise invalid(far, f"{why}; give them as text, or use to_polars() or a file")
        amounts = [name for name, type in self._frame.schema.items() if type.is_decimal()]
        rows = self._frame.to_dicts()
        for row in rows:
            row.update((name, Decimal(0)) for name in amounts if row[name] == 0)
        return rows


def is_far(column: polars.Series) -> bool:
    """Whether a column has days or times that are not in the years 1 to 9999 of Python."""
    library = require("polars", "rows", "analysis")
    if isinstance(column.dtype, library.Struct):
        return any(map(is_far, column.struct.unnest()))
    if isinstance(column.dtype, library.Map):
        return any(map(is_far, (column.map.keys(), column.map.values())))
    if column.dtype.is_nested():
        return is_far(column.explode())
    if not isinstance(column.dtype, (library.Date, library.Datetime)):
        return False
    if getattr(column.dtype, "time_unit", None) == "ns":  # of 1677 to 2262, or infinity
        return bool((column.to_physical().abs() == _INFINITY_NS).any())
    years = column.drop_nulls().dt.year()  # null for infinity
    return bool(years.null_count()) or not years.is_between(1, 9999).all()


def _has_nested_texts(frame: polars.DataFrame) -> bool:
    return any(type.is_nested() and "String" in str(type) for type in frame.dtypes)


@dataclass(eq=False, repr=False)
class ReportRows(FrameRows):
    """The rows of a report, and what pictures and pages need to show them; see `Report`."""

    definition: Definition
    by: tuple[str, ...]
    _frame: polars.DataFrame
    given: Mapping[str, Any] = field(default_factory=dict)
    distribution: polars.DataFrame | None = None
    has_unknown_sums: bool = False
    defaults: Mapping[str, datetime] = field(default_factory=dict)

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

    @property
    def summary(self) -> str:
        """A summary of the keys, the arguments, the time range and the number of rows."""
        parts = [f"by {', '.join(self.by)}"] if self.by else []
        parts += [f"in {asset}" for asset in self._only_asset() if asset is not None]
        parts += [
            f"{word} {self._argument(name, given)}"
            for name, word in _WORDS.items()
            if (given := self._given_or_default(name)) is not None
        ]
        period = period_of(self.by)
        if period is not None and self._frame[period].count():
            days = self._frame[period].dt.date()
            parts.append(" to ".join(map(str, (days.min(), days.max()))))
        parts.append(f"{len(self):,} {'row' if len(self) == 1 else 'rows'}")
        if self.has_unknown_sums:
            parts.append("amounts of more than 20 digits before the point left empty")
        return ", ".join(parts)

    @property
    def zone(self) -> str:
        """The time zone of days and of bounds without a time."""
        return str(self.given.get("tz", "UTC"))

    def _given_or_default(self, name: str) -> Any:
        """Returns an argument; without one, its default as text: a day, or a time in UTC."""
        default = self.defaults.get(name)
        if self.given.get(name) is not None or default is None:
            return self.given.get(name)
        if name == "on":
            return _local_day(default, ZoneInfo(self.zone))
        return f"{default.replace(tzinfo=None)} UTC"

    def _argument(self, name: str, given: Any) -> str:
        if name in ("since", "until", "as_of") and isinstance(given, (str, date)):
            return bound(given, self.zone)
        return " or ".join(map(str, given)) if isinstance(given, tuple) else str(given)

    def head(self, rows: int) -> polars.DataFrame:
        """Returns the first rows to show; if some are left out, those of the newest periods first.

        Omits the column asset if all rows have the same asset, which `summary` names. The name of a
        payout group or an address has the place of its id, which is last and short.
        """
        shown = _names_first(self._frame.drop("asset") if self._only_asset() else self._frame)
        period = period_of(self.by)
        if period is None or len(self) <= rows:
            return shown.head(rows)
        newest = shown.sort(period, descending=True, nulls_last=True, maintain_order=True)
        return newest.head(rows)

    def _only_asset(self) -> list[str | None]:
        """Returns the only asset of all rows, unless the asset is a key; else an empty list."""
        if "asset" not in self._frame.columns or "asset" in self.by:
            return []
        assets = self._frame["asset"].unique().to_list()
        return assets if len(assets) == 1 else []


def _local_day(time: datetime, zone: ZoneInfo) -> date:
    """Returns the day of a time in a zone; the first or last day there is for one beyond these."""
    try:
        return time.astimezone(zone).date()
    except OverflowError:
        return date.min if time.year == 1 else date.max


#: The arguments that `summary` shows, and the word before each.
_WORDS = {"id": "of", "month": "in", **dict(zip(FILTERS, FILTERS, strict=True))}
_WORDS |= {"since": "from", "until": "before"}
_WORDS |= {"as_of": "as of", "percentile": "percentile", "tolerance": "tolerance"}
_WORDS |= {"on": "on", "band": "band", "measure": "measure", "least": "at least"}


def _names_first(frame: polars.DataFrame) -> polars.DataFrame:
    """Returns a frame to show: names in the places of ids, and ids last, short beside a name."""
    import polars

    named = {id: name for id, name in NAMES.items() if {id, name} <= {*frame.columns}}
    for id, name in list(named.items()):
        if not frame[name].count():
            del named[id]
            frame = frame.drop(name)
            continue
        short = polars.col(id).cast(polars.String).str.replace(_LONG_ID, "${1}…${2}")
        known = polars.when(polars.col(name).is_null()).then(polars.col(id)).otherwise(short)
        frame = frame.with_columns(known.alias(id))
    last = [id for id in ("id", *named) if id in frame.columns]
    places = [named.get(column, column) for column in frame.columns if column != "id"]
    return frame.select(*dict.fromkeys(places), *last)


#: A UUID or a long address, of which the ends are enough beside a name.
_LONG_ID = r"^(\S{13})\S{8,}(\S{4})$"
