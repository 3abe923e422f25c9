"""The result of a load, and the source that the core loads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from comptroller._core import rule_of
from comptroller.bulk.advice import with_advice
from comptroller.bulk.line_numbers import LineNumbers
from comptroller.bulk.mapping import ColumnMapping, RowMapping
from comptroller.bulk.readers import PieceReader
from comptroller.bulk.rejections import (
    Fault,
    Rejection,
    RejectionGroup,
    Rejections,
    Summary,
)
from comptroller.bulk.rejects import Explain, Rejects, Rows, SourceRows
from comptroller.display.html import SHOWN_ROWS, html
from comptroller.display.progress import Progress

if TYPE_CHECKING:
    import polars

    from comptroller._core import Readable


class LoadResult(msgspec.Struct, frozen=True, kw_only=True):
    """The counts of a load: read = inserted + updated + unchanged + rejected + blank.

    `committed` is True if lines were stored; otherwise the counts are those that a commit would
    have had. `rejections` has the first 1,000 rejected lines, as a list and as a table;
    `rejection_groups` counts all of them by reason, see `summary`. `unknown_members` counts the
    lines of each member that the service does not know, and ignored; if the load ended early, also
    some lines that were not stored. `floats` counts the floats that became decimals, see the option
    of `load`.
    """

    committed: bool
    read: int
    inserted: int
    updated: int
    unchanged: int
    rejected: int
    blank: int
    unknown_members: dict[str, int] = {}
    rejections: list[Rejection] = []
    rejection_groups: list[RejectionGroup] = []
    floats: int = 0

    def __post_init__(self) -> None:
        """Makes a table of the rejections."""
        msgspec.structs.force_setattr(self, "rejections", Rejections(self.rejections))

    def summary(self) -> Summary:
        """Returns the number of rejected lines for each reason, the most frequent first.

        A reason is a member, a code, and a message without its values. Each group has the message
        of its first line.
        """
        return Summary(self.rejection_groups)

    def __repr__(self) -> str:
        names = ("inserted", "updated", "unchanged", "rejected", "blank")
        counts = ", ".join(f"{getattr(self, name):,} {name}" for name in names)
        state = "committed" if self.committed else "not committed"
        return f"<LoadResult {state}: {self.read:,} read = {counts}>"

    def _repr_html_(self) -> str:
        lines = [repr(self)]
        if self.unknown_members:
            left_out = ", ".join(f"{name} ({n:,})" for name, n in self.unknown_members.items())
            lines.append(f"Unknown members, ignored (lines): {left_out}")
        shown = self.rejections[:SHOWN_ROWS]
        left = self.rejected - len(shown)
        notes = [f"{left:,} more rejected lines; summary() groups all"] if left > 0 else []
        columns = Rejections(shown).first_rows() if shown else []
        return html("notebook.html", lines=lines, columns=columns, notes=notes)


class LoadOptions(NamedTuple):
    """Options of a load; `customer_id` is the customer of records that name none.

    `input_name` is the name of the source in the journal, and `mapping` what the journal says of
    how its columns become members. With `only_lines`, each line is a record, whatever the first
    bytes are.
    """

    customer_id: str | None
    keep_going: bool
    dry_run: bool
    # Is called with each rejection as JSON and the text of its line, see Rejects.take.
    rejected: Callable[[bytes | None, bytes], None] | None = None
    input_name: str | None = None
    only_lines: bool = False
    mapping: str | None = None


class Opened(NamedTuple):
    """A source for the core: a path or a readable object, its size, and a progress callback."""

    source: str | Readable
    total_bytes: int | None
    progress: Progress | None
    faults: Mapping[int, Fault] = {}  # by row, see RowReader
    lines: Callable[[], LineNumbers] = LineNumbers  # of the rows in the file
    items: Callable[[], LineNumbers | None] = lambda: None
    mapping: RowMapping | None = None
    frames: Callable[[], Iterable[polars.DataFrame]] | None = None  # read the table again
    kept: SourceRows | None = None
    separator: str = ","
    is_of_caller: bool = False  # reading runs the code of the caller
    sha256: Callable[[], str | None] | None = None  # of the file, if the core reads other bytes

    @property
    def has_only_lines(self) -> bool:
        """Whether the source has a line for each row, so it is never another format."""
        return isinstance(self.source, PieceReader)

    def explain(self, kind: str, options: ColumnMapping, result: LoadResult) -> LoadResult:
        """Returns the core's result as the caller sees it: lines of the file, reasons, advice."""
        if self.mapping is not None and self.mapping.floats:
            result = msgspec.structs.replace(result, floats=self.mapping.floats)
        if not result.rejected:
            return result
        explain = self._explainer()
        rejections = [explain(each)[0] for each in result.rejections]
        groups = self._groups(result.rejection_groups, explain)
        return msgspec.structs.replace(
            result,
            rejections=with_advice(kind, options, rejections),
            rejection_groups=with_advice(kind, options, groups),
        )

    def write_rejects(
        self, kind: str, options: ColumnMapping, rejects: Rejects, result: LoadResult
    ) -> None:
        """Writes the file of rejected rows."""
        explain = self._explainer()

        def explain_row(rejection: Rejection) -> tuple[Rejection, Mapping[Any, object] | None]:
            shown, row = explain(rejection)
            return with_advice(kind, options, [shown])[0], row

        is_escaped = self.mapping is not None and self.mapping.unescapes
        rows = Rows(self.frames, self.kept, options.separator or self.separator, is_escaped)
        rejects.write(explain_row, rows, result.rejections, result.rejected)

    def _explainer(self) -> Explain:
        """Returns a function: of a rejection, with its line in the file, and its row if known."""
        lines, items = self.lines(), self.items()

        def explain(rejection: Rejection) -> tuple[Rejection, Mapping[Any, object] | None]:
            fault = self.faults.get(rejection.line)
            shown = fault.explain(rejection) if fault else rejection
            item = items[rejection.line] if items is not None else 0
            if item and not shown.message.startswith("item "):
                message = f"item {item}: {shown.message}"
                shown = msgspec.structs.replace(shown, message=message)
            shown = msgspec.structs.replace(shown, line=lines[rejection.line])
            return shown, fault.row if fault else None

        return explain

    def _groups(self, groups: list[RejectionGroup], explain: Explain) -> list[RejectionGroup]:
        """Returns the groups of all rejections, with the faults in theirs."""
        faults = Counter(map(_reason, self.faults.values()))
        found: dict[tuple[str | None, str, str], RejectionGroup] = {}
        for each in groups:
            lines = each.lines - (faults.total() if each.code == "malformed-json" else 0)
            if lines > 0:
                shown, _ = explain(Rejection(each.first_line, each.code, each.message))
                found[each.member, each.code, rule_of(each.message)] = msgspec.structs.replace(
                    each, lines=lines, first_line=shown.line, message=shown.message
                )
        for number, fault in self.faults.items():
            count = faults.pop(_reason(fault), 0)
            if not count:
                continue
            shown, _ = explain(Rejection(number, "", ""))
            group = RejectionGroup(shown.code, count, shown.line, shown.message, shown.member)
            reason = (shown.member, shown.code, rule_of(shown.message))
            known = found.get(reason)
            if known is not None:
                first = min(known, group, key=lambda each: each.first_line)
                group = msgspec.structs.replace(first, lines=count + known.lines)
            found[reason] = group
        return sorted(found.values(), key=lambda each: -each.lines)


def _reason(fault: Fault) -> tuple[str, str, str]:
    return fault.member, fault.code, rule_of(fault.message)
