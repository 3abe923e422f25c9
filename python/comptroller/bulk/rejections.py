"""The rejected lines of a load, as a table and in groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

import msgspec

from comptroller.bulk.cell_texts import text_of
from comptroller.bulk.streams import ArrowRows
from comptroller.display.html import SHOWN_ROWS, TableColumn, html
from comptroller.errors import require, shorten

if TYPE_CHECKING:
    import polars
    import pyarrow  # type: ignore[import, unused-ignore]


class Rejection(msgspec.Struct, frozen=True, omit_defaults=True):
    """A rejected line.

    Attributes:
        line: its number, from 1; of a table the number of the row in the file.
        code: the error code.
        message: what is wrong with which members.
        id: of the record, if it can be read.
        member: the first invalid member, if a member is.
        value: of that member, shortened, if it is set.
    """

    line: int
    code: str
    message: str
    id: str | None = None
    member: str | None = None
    value: str | None = None


class RejectionGroup(msgspec.Struct, frozen=True, omit_defaults=True):
    """The rejected lines with one code, member and reason; the message of the first one."""

    code: str
    lines: int
    first_line: int
    message: str
    member: str | None = None


class _Table(ArrowRows):
    """A list of records that is also a table."""

    def to_polars(self) -> polars.DataFrame:
        """Returns a polars frame. Raises MissingExtra without polars."""
        raise NotImplementedError

    def to_arrow(self) -> pyarrow.Table:
        """Returns a pyarrow table. Raises MissingExtra without pyarrow or polars."""
        table: pyarrow.Table = require("pyarrow", "to_arrow()").table(self.to_polars())
        return table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Returns the table as an Arrow stream. Raises MissingExtra without polars."""
        return self.to_polars().__arrow_c_stream__(requested_schema)


def _frame(rows: Iterable[object], schema: dict[str, type]) -> polars.DataFrame:
    library = require("polars", "to_polars()", "analysis")
    schema = schema | {"message": str}
    values = [tuple(getattr(each, name) for name in schema) for each in rows]
    frame: polars.DataFrame = library.DataFrame(values, schema=schema, orient="row")
    return frame


class Rejections(list[Rejection], _Table):
    """Rejected lines, as a list, and as a table with a column for each attribute."""

    @overload
    def __getitem__(self, index: SupportsIndex, /) -> Rejection: ...
    @overload
    def __getitem__(self, index: slice, /) -> Rejections: ...
    def __getitem__(self, index: SupportsIndex | slice, /) -> Rejection | Rejections:
        """Returns a rejection, or some as a table."""
        found = super().__getitem__(index)
        return Rejections(found) if isinstance(found, list) else found

    def to_polars(self) -> polars.DataFrame:
        """Returns a polars frame. Raises MissingExtra without polars."""
        return _frame(self, {"line": int, "id": str, "member": str, "value": str, "code": str})

    def _repr_html_(self) -> str:
        return html(
            "notebook.html", lines=[f"{len(self):,} rejected lines"], columns=self.first_rows()
        )

    def first_rows(self) -> list[TableColumn]:
        """Returns the first rows, for a notebook."""
        shown = self[:SHOWN_ROWS]
        return [
            TableColumn("line", [str(each.line) for each in shown], is_number=True),
            *(
                TableColumn(name, [getattr(each, name) or "" for each in shown])
                for name in ("id", "member", "value", "code", "message")
            ),
        ]


class Summary(list[RejectionGroup], _Table):
    """The rejected lines in groups, as a list, and as a table."""

    def to_polars(self) -> polars.DataFrame:
        """Returns a polars frame. Raises MissingExtra without polars."""
        return _frame(self, {"member": str, "code": str, "lines": int, "first_line": int})


class Fault(msgspec.Struct, frozen=True):
    """A row that no line of JSON can represent: the invalid member, and why."""

    member: str
    message: str
    row: Mapping[Any, object] | None = None
    columns: Mapping[str, str] = {}  # that have other names than their members, by member
    code: str = "invalid-request"

    @classmethod
    def of_document(cls, code: str, member: str, message: str) -> Fault:
        """Returns the fault of an invalid document; `message` begins with the member."""
        return cls(member, message.removeprefix(f"{member}: "), code=code)

    def explain(self, rejection: Rejection) -> Rejection:
        """Returns the rejection of the line that stands for this row."""
        id, value = (self._text_of(name) for name in ("id", self.member))
        text = f"{self.member}: {self.message}" if self.member else self.message
        return Rejection(rejection.line, self.code, text, id, self.member or None, value)

    def _text_of(self, member: str) -> str | None:
        value = (self.row or {}).get(self.columns.get(member, member))
        return None if value is None else shorten(text_of(value))
