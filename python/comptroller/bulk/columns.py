"""The columns of tables as members, converted whole rather than value by value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple
from zoneinfo import ZoneInfo

from comptroller.bulk.floats import float_texts
from comptroller.bulk.mapping import (
    FREE_TYPES,
    GROUPED,
    RFC_3339,
    TEXT_TYPES,
    THOUSANDS,
    WITH_EXPONENT,
    ColumnMapping,
    RowMapping,
    as_uuid,
)
from comptroller.bulk.rejects import REJECTED_COLUMNS
from comptroller.bulk.zones import in_utc
from comptroller.errors import invalid, require, shorten

if TYPE_CHECKING:
    import polars

#: mapping.GROUPED for polars.
GROUPED_NUMBER = f"^{GROUPED.pattern}$"
# Texts that the core reads as times.
_ZONED = f"^(?i:{RFC_3339.pattern})$"
_PLAIN_FLOAT = r"^-?\d+(\.\d+)?$"
_SECOND = r"[0-5]\d(\.\d{1,6})?"  # polars reads 60 as the next minute
_CLOCKS = (
    ("", ""),
    (r" \d\d:\d\d", " %H:%M"),
    (rf" \d\d:\d\d:{_SECOND}", " %H:%M:%S%.f"),
    (r"T\d\d:\d\d", "T%H:%M"),
    (rf"T\d\d:\d\d:{_SECOND}", "T%H:%M:%S%.f"),
)


class Mapped(NamedTuple):
    """Rows as records, and which of them must be converted one by one; None for no row."""

    frame: polars.DataFrame
    hard: polars.Series | None

    def parts(self) -> Iterator[tuple[int, int, bool]]:
        """Yields runs of rows, from one until before another, and whether the frame has them."""
        height = self.frame.height
        if self.hard is None:
            yield 0, height, True
            return
        starts = self.hard.rle_id().arg_unique().sort().to_list() if height else []
        for begin, end in zip(starts, [*starts[1:], height], strict=True):
            yield begin, end, not self.hard[begin]


class FrameMapping:
    """Converts frames as `rows` converts their rows, except the rows that it names as hard."""

    def __init__(self, kind: str, rows: RowMapping, mapping: ColumnMapping) -> None:
        self._rows = rows
        self._mapping = mapping
        self._kind = kind

    def __call__(self, frame: polars.DataFrame) -> Mapped:
        """Returns the rows of a frame as records."""
        library = require("polars", "a mapping", "analysis")
        if not frame.height and {*frame.columns} <= {*REJECTED_COLUMNS}:
            return Mapped(frame, None)  # rejects of rows that were all accepted
        self._rows.require_columns(frame.columns)
        names = [self._mapping.rename.get(name, name) for name in frame.columns]
        if names and not self._rows.types.keys() & {*names}:
            shown = shorten(", ".join(frame.columns))
            raise invalid(
                "source",
                f"no column of the first row, {shown}, is a member of {self._kind}; the first row "
                "must be the header: delete the rows above it, or give rename or a mapping, which "
                "comptroller load --suggest guesses",
            )
        if not frame.height:
            return Mapped(frame, None)
        constants = self._rows.constants
        if len({*names}) < len(names) or not all(
            isinstance(each, (str, bool)) for each in constants.values()
        ):
            return Mapped(frame, library.repeat(True, frame.height, eager=True))
        given, frame = frame, frame.rename(dict(zip(frame.columns, names, strict=True)))
        work = _Columns(library, frame, self._rows, self._mapping)
        for name in names:
            if name in self._rows.types:
                work.convert(name, self._rows.types[name])
            else:
                work.count(name)
        if constants:
            is_set = library.any_horizontal(library.all().is_not_null())
            set_rows = given.select(is_set.alias("is_set")).to_series()
            for name, value in constants.items():
                work.complete(name, value, set_rows)
        self._rows.floats += work.floats()
        hard = work.hard
        return Mapped(work.frame, hard if hard is not None and hard.any() else None)


class _Columns:
    """The columns of a frame while they are converted."""

    def __init__(
        self, library: Any, frame: polars.DataFrame, rows: RowMapping, mapping: ColumnMapping
    ) -> None:
        self.frame = frame
        self.hard: polars.Series | None = None
        self._floats: list[polars.Series] = []
        self._library = library
        self._of_python = (library.Object, library.Int128, library.UInt128)
        self._rows = rows
        self._mapping = mapping

    def convert(self, name: str, type: str) -> None:
        """Converts the column of a member of a type."""
        library, column = self._library, self.frame[name]
        dtype = column.dtype
        if dtype in (library.Categorical, library.Enum):
            column = column.cast(library.String)
            dtype = column.dtype
        if dtype == library.Null or dtype in (library.Boolean, library.Decimal):
            return
        if dtype.is_float():
            column = self._of_floats(column, type)
        elif dtype.is_integer() and (
            self._rows.unescapes if type in TEXT_TYPES else dtype in self._of_python
        ):
            column = column.cast(library.String)
        if column.dtype == library.String and not dtype.is_float():  # a float has a point
            column = self._of_texts(column, type)
        elif dtype in (library.Date, library.Datetime) and type == "timestamp":
            column = self._of_times(column)
        elif dtype.is_temporal() or dtype in (library.Binary, *self._of_python):
            self._refuse(column.is_not_null())
            column = library.repeat(None, len(column), dtype=library.String, eager=True)
        self.frame = self.frame.with_columns(column.alias(name))

    def count(self, name: str) -> None:
        """Makes a column that is not a member representable in Arrow; only set values count."""
        if self.frame[name].dtype in self._of_python:
            is_set = self._library.when(self.frame[name].is_not_null()).then(0)
            self.frame = self.frame.with_columns(is_set.alias(name))

    def complete(self, name: str, value: object, is_set: polars.Series) -> None:
        """Sets a member in the rows that do not set it, but for empty rows."""
        library = self._library
        constant = library.when(is_set).then(library.lit(value))
        if name not in self.frame.columns or self.frame[name].dtype == library.Null:
            self.frame = self.frame.with_columns(constant.alias(name))
            return
        column = self.frame[name]
        if column.dtype == library.String and isinstance(value, str):
            self.frame = self.frame.with_columns(library.coalesce(name, constant).alias(name))
        else:
            self._refuse(column.is_null())

    def floats(self) -> int:
        """Returns how many floats became decimals, without those in hard rows."""
        each = (rows if self.hard is None else rows & ~self.hard for rows in self._floats)
        return sum(int(rows.sum()) for rows in each)

    def _refuse(self, rows: polars.Series) -> None:
        rows = rows.fill_null(False)
        self.hard = rows if self.hard is None else self.hard | rows

    def _of_floats(self, column: polars.Series, type: str) -> polars.Series:
        column = column.fill_nan(None)
        if type != "amount" or self._mapping.floats != "shortest":
            self._refuse(column.is_not_null())
            return column
        texts = float_texts(column).replace("-0.0", "0.0")
        is_plain = texts.str.contains(_PLAIN_FLOAT)
        self._refuse(~is_plain)
        self._floats.append(is_plain.fill_null(False))
        return texts

    def _of_texts(self, column: polars.Series, type: str) -> polars.Series:
        if self._rows.unescapes:
            self._refuse(column.str.starts_with("'"))
            if type not in FREE_TYPES and column.str.contains(" ", literal=True).any():
                stripped = column.str.strip_chars(" ")
                column = column.zip_with(stripped == "", stripped)
        if type == "amount" and self._mapping.floats == "shortest":
            self._refuse(column.str.contains(f"^{WITH_EXPONENT.pattern}$"))
        if type == "amount" and self._mapping.decimal == ",":
            self._refuse(~column.str.contains(GROUPED_NUMBER))
            return column.str.replace_all(THOUSANDS, "").str.replace(",", ".", literal=True)
        if type == "timestamp":
            return self._of_time_texts(column)
        if type == "uuid" and self._mapping.ids == "uuid5":
            texts = column.unique().drop_nulls()
            ids = [as_uuid(each) for each in texts]
            return column.replace_strict(texts, ids, return_dtype=self._library.String)
        return column

    def _of_time_texts(self, column: polars.Series) -> polars.Series:
        is_zoned = column.str.contains(_ZONED)
        if is_zoned.all():  # ignores the empty cells
            return column
        others = column.filter(~is_zoned.fill_null(True))
        for pattern, format in self._formats():
            if not others.head(1).str.contains(pattern).all():
                continue
            self._refuse(~column.str.contains(pattern))
            if format[-2:] in ("%d", "%m", "%Y"):
                days = column.str.to_date(format, strict=False)
                self._refuse(days.is_null() & column.is_not_null())
                return self._of_times(days)
            times = column.str.to_datetime(format, time_unit="us", strict=False)
            self._refuse(times.is_null() & column.is_not_null())
            return self._of_times(times)
        self._refuse(~is_zoned)
        return column

    def _formats(self) -> Iterator[tuple[str, str]]:
        days = [(r"\d{4}-\d\d-\d\d", "%Y-%m-%d"), (r"\d\d?\.\d\d?\.\d{4}", "%d.%m.%Y")]
        if self._mapping.dayfirst is not None:
            format = "%d/%m/%Y" if self._mapping.dayfirst else "%m/%d/%Y"
            days.append((r"\d\d?/\d\d?/\d{4}", format))
        for day, of_day in days:
            for clock, of_clock in _CLOCKS:
                yield f"^{day}{clock}$", of_day + of_clock

    def _of_times(self, column: polars.Series) -> polars.Series:
        """Returns days and times in UTC; days without a zone are those of UTC."""
        library = self._library
        if getattr(column.dtype, "time_zone", None) is not None:
            return column
        if self._mapping.tz is not None:
            times = in_utc(column, ZoneInfo(self._mapping.tz))
        elif column.dtype == library.Date:
            times = column.cast(library.Datetime("us", "UTC"))
        else:
            self._refuse(column.is_not_null())
            return column
        self._refuse(times.is_null() & column.is_not_null())
        return times
