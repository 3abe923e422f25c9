"""The voice of the tour: it shows a line of Python, runs that very line, and tells the answer."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import comptroller
from comptroller.cli import screen
from comptroller.errors import Error
from comptroller.markup import printable
from comptroller.records import Control, Identity, PayoutGroup, RewardAddress

if TYPE_CHECKING:
    from rich.console import RenderableType

_WIDTH = 78


class Guide:
    """Speaks, and runs what it shows. `names` are those that the shown lines know."""

    def __init__(self, svc: comptroller.Service, store: str) -> None:
        self.svc = svc
        self.names: dict[str, Any] = {"comptroller": comptroller, "svc": svc, "store": store}
        self._chapters = 0
        self._is_after_table = False
        self._out = screen.console()

    def chapter(self, title: str) -> None:
        """Begin a numbered chapter."""
        self._chapters += 1
        heading = f"-- {self._chapters}  {title} "
        self._out.print(f"\n{heading.ljust(_WIDTH, '-')}", style="bold")

    def say(self, text: str) -> None:
        """Say a paragraph."""
        self._is_after_table = False
        self._out.print()
        for line in textwrap.wrap(text, _WIDTH):
            self._out.print(line)

    def command(self, *lines: str) -> None:
        """Show commands that one would type for what follows."""
        self._out.print()
        for line in lines:
            self._out.print(f"$ {line}", style="cyan")

    def show(self, *tables: RenderableType) -> None:
        """Show tables."""
        self._out.print()
        screen.show(*tables)
        self._is_after_table = True

    def run(self, *lines: str, name: str | None = None) -> Any:
        """Show an expression, run it, and tell its answer, kept as `name`, or its refusal."""
        if self._is_after_table:
            self._out.print()
            self._is_after_table = False
        shown = [f"{name} = {lines[0]}" if name else lines[0], *lines[1:]]
        for prompt, line in zip([">>>", *["..."] * len(lines)], shown, strict=False):
            self._out.print(f"{prompt} {line}", style="cyan", soft_wrap=True)
        try:
            answer = eval("\n".join(lines), self.names)
        except Error as refusal:
            self._answer(f"refused ({refusal.status}) {refusal}", "yellow")
            return None
        if name:
            self.names[name] = answer
        for line in _told(answer):
            self._answer(line, "green")
        return answer

    def _answer(self, text: str, style: str) -> None:
        indent = " " * 4
        for line in textwrap.wrap(
            printable(text), _WIDTH, initial_indent=indent, subsequent_indent=indent
        ):
            self._out.print(line, style=style)


def _told(answer: object) -> list[str]:
    """Say what there is to see of an answer, in lines."""
    match answer:
        case Identity():
            may = " ".join(answer.status_details.permitted_actions) or "nothing"
            return [f"{answer.id} is {answer.status}, may: {may}"]
        case Control():
            wall = "overridable" if answer.is_overridable else "not overridable"
            state = "active" if answer.deleted_at is None else "deleted"
            return [f"{answer.type} set by {answer.set_by}: {answer.reason_code}, {wall}, {state}"]
        case PayoutGroup():
            return [f"{answer.name}: {answer.asset_type} on {answer.ledger}"]
        case RewardAddress():
            return [f"{answer.address} is {answer.status}"]
        case bool():
            return ["yes" if answer else "no"]
        case comptroller.Page() if answer.items and isinstance(answer[0], Control):
            return [line for control in answer for line in _told(control)]
        case comptroller.Page():
            return [repr(answer)]
    return []
