"""Servers side by side: all of them run, and each is measured in turn, round after round."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack

from contest import Outcome

#: Measures one case of a contender; returns figures by name.
Measure = Callable[[str], dict[str, float]]
#: Starts a contender, and stops it at the end.
Contender = Callable[[], AbstractContextManager[Measure]]


def in_rounds(
    contenders: Mapping[str, Contender], cases: Sequence[str], rounds: int
) -> dict[str, Outcome]:
    """Measures each contender in each round, until it fails.

    Servers that are not measured are idle. A name in a run is `case: figure`.
    """
    outcomes = {name: Outcome(name) for name in contenders}
    with ExitStack() as stack:
        measures = {}
        for name, contender in contenders.items():
            try:
                measures[name] = stack.enter_context(contender())
            except (RuntimeError, OSError) as error:
                _fail(outcomes[name], error)
        for _ in range(rounds):
            for outcome in outcomes.values():
                if not outcome.failure:
                    outcome.runs.append({})
            for case in cases:
                for name, measure in measures.items():
                    if not outcomes[name].failure:
                        _run(outcomes[name], measure, case)
    return outcomes


def _run(outcome: Outcome, measure: Measure, case: str) -> None:
    try:
        found = measure(case)
    except (RuntimeError, OSError) as error:
        _fail(outcome, error)
        return
    outcome.runs[-1] |= {f"{case}: {name}": value for name, value in found.items()}
    shown = ", ".join(f"{name} {value:,.4g}" for name, value in found.items())
    print(f"  {case}: {outcome.contender}: {shown or '-'}", file=sys.stderr)


def _fail(outcome: Outcome, error: Exception) -> None:
    outcome.failure, outcome.runs = str(error), []
    print(f"  {outcome.contender} failed: {error}", file=sys.stderr)
