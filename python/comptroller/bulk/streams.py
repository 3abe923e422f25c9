"""Records as Arrow streams, which data frame libraries and query engines read directly."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from comptroller.arguments import choice, texts
from comptroller.errors import Error, closed, error_for, require, unavailable

if TYPE_CHECKING:
    import pandas  # type: ignore[import, unused-ignore]
    import polars  # type: ignore[import, unused-ignore]
    import pyarrow  # type: ignore[import, unused-ignore]


T = TypeVar("T")

_SIGNAL_INTERVAL_S = 0.1
_STREAM_FAILURE = re.compile(
    "(reading the (Arrow source|stream registered as '[^']*')"
    r"|exporting a stream from the object registered as '[^']*') failed: ([A-Z]\w*: )?"
)


class Rows(Protocol):
    """The Arrow PyCapsule interface: https://arrow.apache.org/docs/format/CDataInterface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class ArrowStream(Rows, Protocol):
    """Rows whose schema is available without reading them."""

    def __arrow_c_schema__(self) -> object: ...


class CompactRows(Rows, Protocol):
    """Rows of which some columns have int32 codes instead of repeated texts, see `compact`."""

    def texts(self) -> dict[str, list[str]]:
        """Returns the texts by code of each such column.

        The codes cover the texts of the rows read so far; at first, those of the first and last
        rows of the table.
        """


class Source(ArrowStream, Protocol):
    """The source of a Stream."""

    def with_string_views(self) -> Rows:
        """Returns the same rows with text columns as utf8_view."""

    def compact(self, names: list[str]) -> CompactRows:
        """Returns the same rows in shorter forms, with codes for repeated texts among `names`."""


class _ClosedSource:
    """The source of a closed Stream; reading it raises Closed."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        raise closed("the stream is closed")

    def __arrow_c_schema__(self) -> object:
        raise closed("the stream is closed")

    def with_string_views(self) -> Rows:
        return self

    def compact(self, names: list[str]) -> CompactRows:
        raise closed("the stream is closed")


class ArrowRows(Rows):
    """Conversion of rows to the data frames of Arrow libraries."""

    def to_arrow(self) -> pyarrow.Table:
        """Returns all rows as a pyarrow table. Raises MissingExtra without pyarrow."""
        arrow = require("pyarrow", "to_arrow()")
        with reading(OSError):
            table: pyarrow.Table = arrow.table(self)
        return table

    def to_pandas(self, amounts: str = "exact") -> pandas.DataFrame:
        """Returns all rows as a pandas frame: amounts as Arrow decimals, times aware.

        Sums of Arrow decimals are exact up to 1.7e20. A larger sum wraps around without an error.
        So does a mean if the sum of its values is larger. Reports leave such a sum empty, and
        `Service.query` fails. To add larger amounts, convert the column first with
        ``astype(pandas.ArrowDtype(pyarrow.decimal256(76, 18)))``. Sums of Python Decimals would be
        rounded to the 28 digits of Python's context.

        Args:
            amounts: exact; or float, for libraries that do not know decimals, such as Altair. A
                float has 15 to 17 digits, so amounts, and sums of them, are no longer exact.

        Raises:
            InvalidRequest: `amounts` is neither.
            MissingExtra: pandas or pyarrow is not installed.
        """
        choice("amounts", amounts, ("exact", "float"))
        arrow = require("pyarrow", "to_pandas()")
        frames = require("pandas", "to_pandas()")

        table = self.to_arrow()
        decimals = [field.name for field in table.schema if arrow.types.is_decimal(field.type)]
        if amounts == "float":
            for name in decimals:
                place = table.schema.get_field_index(name)
                table = table.set_column(place, name, table[name].cast(arrow.float64()))

        def exact(arrow_type: Any) -> Any:
            decimal = arrow.types.is_decimal(arrow_type)
            return frames.ArrowDtype(arrow_type) if decimal else None

        frame: pandas.DataFrame = table.to_pandas(types_mapper=exact)
        return frame


class Stream(ArrowRows):
    """Records as Arrow columns, for data frames and query engines.

    Amounts are decimal(38, 18), times are UTC microseconds, enumerations are dictionaries of text.
    polars, DuckDB, pyarrow and pandas accept the object itself, narwhals in its `from_arrow`, and
    may read it several times. Each read starts from the first row and sees one consistent snapshot
    of the store. A read that is idle for ten minutes fails. If the store becomes unreadable, the
    methods of this class raise Closed, Unusable or Unavailable; a library raises its own error for
    a failed stream.

    `close`, or the end of a ``with`` block, releases the source, such as the copy of a remote
    store's records; so does deleting the last reference.
    """

    def __init__(
        self, kind: str, source: Source, release: Callable[[], None] | None = None
    ) -> None:
        self.kind = kind
        self._source = source
        self._release = release

    def close(self) -> None:
        """Closes the stream; a new read raises Closed. Closing again does nothing.

        Reads that have begun continue for a local store, and fail for a remote one.
        """
        self._source = _ClosedSource()
        release, self._release = self._release, None
        if release is not None:
            release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._source.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._source.__arrow_c_schema__()

    def with_string_views(self) -> Rows:
        """Returns the rows with texts as views, which polars and DuckDB need not copy.

        Keep the stream until they are read.
        """
        return self._source.with_string_views()

    def compact(self, names: list[str]) -> CompactRows:
        """Returns the rows in the forms that an engine such as DuckDB reads fastest.

        Texts are views. Repeated texts of the columns in `names` are int32 codes, see
        `CompactRows.texts`. Closed sets are int8 codes: the place of the value in the enumeration.
        Ids of payout groups have the type arrow.uuid, and times no zone; they are in UTC.

        This reads some rows, for their texts. Keep the stream until the rows are read. Raises
        InvalidRequest if `names` is not a list of text, which may be empty.
        """
        return self._source.compact(texts("names", names, may_be_empty=True))

    def to_polars(self) -> polars.DataFrame:
        """Returns all rows as a polars frame. Raises MissingExtra without polars."""
        frames = require("polars", "to_polars()", "analysis")
        with reading(frames.exceptions.ComputeError):
            frame: polars.DataFrame = frames.DataFrame(self.with_string_views())
        return frame

    def __repr__(self) -> str:
        return f"<Stream of {self.kind}>"


@contextmanager
def reading(failure: type[Exception]) -> Iterator[None]:
    """Converts the exception a library raises for a failed stream to the Error of the stream."""
    try:
        yield
    except failure as error:
        raise _refusal(str(error).removeprefix("got external error: ")) from error


@contextmanager
def interruptible(duckdb: Any) -> Iterator[None]:
    """Converts the exceptions of a DuckDB query.

    Ctrl-C raises KeyboardInterrupt; DuckDB has two exceptions for it. A failed stream raises the
    Error of the stream, such as Closed or Unavailable.
    """
    try:
        yield
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except duckdb.InvalidInputException as error:
        failed = _STREAM_FAILURE.search(str(error))
        if failed is None:
            raise
        raise _refusal(str(error)[failed.end() :]) from error
    except RuntimeError as error:
        if str(error) != "Query interrupted":
            raise
        raise KeyboardInterrupt from None


def _refusal(text: str) -> Error:
    """Returns the Error that a stream reported as text, ``code: detail``."""
    from comptroller.description import problems

    code, _, detail = text.partition(": ")
    known = problems().get(code)
    return error_for(code, known["status"], detail) if known else unavailable(text)


class Worker(ThreadPoolExecutor):
    """A thread for native code: on the main thread it would delay Python's signal handler.

    Use it as a context manager. Ctrl-C during a call runs `interrupt`, which must end the call.
    """

    def __init__(self, interrupt: Callable[[], None]) -> None:
        super().__init__(1)
        self._interrupt = interrupt

    def run(self, work: Callable[[], T]) -> T:
        """Returns the result of `work`."""
        done = self.submit(work)
        interruption: KeyboardInterrupt | None = None
        while not done.done():
            try:
                wait([done], timeout=_SIGNAL_INTERVAL_S)
            except KeyboardInterrupt as error:
                # A second Ctrl-C must not end the process while the call still runs.
                interruption = error
                self._interrupt()
        if interruption is not None:
            raise interruption
        return done.result()


def run_interruptibly(work: Callable[[], T], interrupt: Callable[[], None]) -> T:
    """Returns the result of one call by a `Worker`."""
    with Worker(interrupt) as worker:
        return worker.run(work)
