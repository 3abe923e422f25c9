"""Histories of registers: whether the answers to writes and reads fit one order in time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple


class Call(NamedTuple):
    """A write to a register, or a read, with the time before it was sent and after its answer."""

    register: str
    value: str | None  # None: the register was read before the first write
    is_write: bool
    sent: float
    answered: float


class Contradiction(NamedTuple):
    """Two calls whose order contradicts time: `later` was answered before `earlier` was sent."""

    earlier: Call
    later: Call


def contradictions(
    calls: Iterable[Call], written: Mapping[str, Sequence[str]]
) -> list[Contradiction]:
    """Returns where a history is not linearizable, given the order in which values were written.

    Each value is written once. Then the order of writes also fixes where each read belongs: after
    the write of its value, before the next write. Reads of the same value may have any order among
    themselves, so theirs is that in which they were sent.
    """
    of_registers: dict[str, list[Call]] = {}
    for call in calls:
        of_registers.setdefault(call.register, []).append(call)
    found = []
    for register, history in of_registers.items():
        places: dict[str | None, int] = {None: -1}
        places |= {value: place for place, value in enumerate(written[register])}
        history.sort(key=lambda call: (places[call.value], not call.is_write, call.sent))
        last_sent = history[0]
        for call in history:
            if call.answered < last_sent.sent:
                found.append(Contradiction(last_sent, call))
            if call.sent > last_sent.sent:
                last_sent = call
    return found
