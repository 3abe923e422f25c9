"""Rows in bulk, as an Arrow stream that data frames and engines take as it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from comptroller.errors import Error, closed, make, require, unavailable

if TYPE_CHECKING:
    import pandas  # type: ignore[import, unused-ignore]
    import polars  # type: ignore[import, unused-ignore]
    import pyarrow  # type: ignore[import, unused-ignore]


T = TypeVar("T")

_BETWEEN_SIGNALS_S = 0.1
_OF_A_STREAM = re.compile("reading the (Arrow source|stream registered as '[^']*') failed: ")


class Rows(Protocol):
    """The Arrow PyCapsule interface: https://arrow.apache.org/docs/format/CDataInterface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class ArrowStream(Rows, Protocol):
    """Rows whose types are known without reading."""

    def __arrow_c_schema__(self) -> object: ...


class Source(ArrowStream, Protocol):
    """What a Stream reads, in either of the ways Arrow has to keep texts."""

    def with_string_views(self) -> Rows:
        """The same rows, with texts as Arrow's string views."""


class _ClosedSource:
    """The source of a Stream that was closed: every reading is refused."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        raise closed("the stream is closed")

    def __arrow_c_schema__(self) -> object:
        raise closed("the stream is closed")

    def with_string_views(self) -> Rows:
        return self


class ArrowRows(Rows):
    """Rows as frames of libraries that read Arrow."""

    def to_arrow(self) -> pyarrow.Table:
        """All rows as a pyarrow table. Raises MissingExtra if pyarrow is not installed."""
        arrow = require("pyarrow", "to_arrow()")
        with reading(OSError):
            table: pyarrow.Table = arrow.table(self)
        return table

    def to_pandas(self) -> pandas.DataFrame:
        """All rows as a pandas frame: amounts as Arrow decimals, times aware.

        Amounts are no column of Python Decimals, because summing those rounds to the 28 digits of
        Python's context. Raises MissingExtra if pandas or pyarrow is not installed.
        """
        arrow = require("pyarrow", "to_pandas()")
        frames = require("pandas", "to_pandas()")

        def exact(arrow_type: Any) -> Any:
            decimal = arrow.types.is_decimal(arrow_type)
            return frames.ArrowDtype(arrow_type) if decimal else None

        frame: pandas.DataFrame = self.to_arrow().to_pandas(types_mapper=exact)
        return frame


class Stream(ArrowRows):
    """Records as columns, for data frames and engines.

    Amounts are decimal(38, 18), times UTC microseconds, closed sets dictionaries of words.
    polars, DuckDB, pyarrow, pandas and narwhals take the object itself, any number of times; each
    reading begins anew and shows the store at one moment. A reading left idle for ten minutes ends
    with an error. If the store cannot be read on, the methods here raise Closed, Unusable or
    Unavailable, and a library what it raises for a failed stream.

    `close`, or the end of a ``with`` block, releases what it reads, such as the copy of a remote
    store's records; so does dropping it.
    """

    def __init__(
        self, kind: str, source: Source, release: Callable[[], None] | None = None
    ) -> None:
        self.kind = kind
        self._source = source
        self._release = release

    def close(self) -> None:
        """Ends the stream: reading it raises Closed from now on. Closing again does nothing.

        Of a local store, readings that have begun go on; of a remote one they end with an error.
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

    def to_polars(self) -> polars.DataFrame:
        """All rows as a polars frame. Raises MissingExtra if polars is not installed."""
        frames = require("polars", "to_polars()", "analysis")
        with reading(frames.exceptions.ComputeError):
            # polars keeps texts as views, and takes no copy of such.
            frame: polars.DataFrame = frames.DataFrame(self._source.with_string_views())
        return frame

    def __repr__(self) -> str:
        return f"<Stream of {self.kind}>"


@contextmanager
def reading(failure: type[Exception]) -> Iterator[None]:
    """What a library raises for an error of the stream, which is all text to it, as ours."""
    try:
        yield
    except failure as error:
        raise _refusal(str(error).removeprefix("got external error: ")) from error


@contextmanager
def interruptible(duckdb: Any) -> Iterator[None]:
    """Raises KeyboardInterrupt where Ctrl-C ends a query of DuckDB, which has two names for it.

    Raises what ended a stream that it reads, such as Closed or Unavailable.
    """
    try:
        yield
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except duckdb.InvalidInputException as error:
        failed = _OF_A_STREAM.search(str(error))
        if failed is None:
            raise
        raise _refusal(str(error)[failed.end() :]) from error
    except RuntimeError as error:
        if str(error) != "Query interrupted":
            raise
        raise KeyboardInterrupt from None


def _refusal(text: str) -> Error:
    """The error that a stream reported as text: its code, a colon, and its detail."""
    from comptroller.description import described

    code, _, detail = text.partition(": ")
    statuses = {problem["code"]: problem["status"] for problem in described()["problems"]}
    return make(code, statuses[code], detail) if code in statuses else unavailable(text)


def awaited(work: Callable[[], T], interrupt: Callable[[], None]) -> T:
    """What `work` gives, done by another thread, so that Ctrl-C is heard: it is told to stop then.

    Libraries hear no signal while they compute.
    """
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(work)
        try:
            while not wait([done], timeout=_BETWEEN_SIGNALS_S).done:
                pass
        except KeyboardInterrupt:
            interrupt()
            raise
        return done.result()
