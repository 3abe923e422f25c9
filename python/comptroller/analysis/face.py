"""The reports of a service: `svc.reports`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, Protocol

import msgspec
import narwhals.stable.v2 as nw

from comptroller import arguments
from comptroller.analysis import engines, reports
from comptroller.analysis.keys import checked, columns_of
from comptroller.analysis.report import Report
from comptroller.analysis.reports.claims import CLAIMS_SUMMARY
from comptroller.analysis.reports.definition import Definition
from comptroller.errors import invalid
from comptroller.streams import Stream

#: A time: RFC 3339 or a date (its midnight, UTC) as text, an aware datetime, or a date.
Since = str | datetime | date | None


class Streaming(Protocol):
    """A noun whose records stream."""

    def stream(self, columns: Sequence[str] | None = None) -> Stream:
        """All records, as columns."""


class Reports:
    """Reports on what a service holds, each run when it is asked for and whole on return.

    In all of them `since` and `until` bound created_at (the first included, the second not);
    `engine` is duckdb, polars or spark, and the answers are equal. What each means and its columns
    are those of the function of its name in :mod:`comptroller.analysis.reports`.

    Raises:
        InvalidRequest: an unknown key or engine, a malformed time, a sum past 38 digits.
        Unavailable: what the engine needs is not installed.
    """

    def __init__(self, nouns: Mapping[str, Streaming]) -> None:
        self._nouns = nouns

    def claims_summary(
        self,
        by: Sequence[str] = ("chain", "day"),
        *,
        since: Since = None,
        until: Since = None,
        engine: str = engines.DEFAULT,
    ) -> Report:
        """How many claims by each key, what they amount to and how many succeeded."""
        keys = checked(by)
        return self._run(
            CLAIMS_SUMMARY, reports.claims_summary, keys, (since, until), engine, by=keys
        )

    def _run(
        self,
        definition: Definition,
        function: Any,
        keys: tuple[str, ...],
        bounds: tuple[Since, Since],
        engine: str,
        **given: Any,
    ) -> Report:
        since, until = _moment("since", bounds[0]), _moment("until", bounds[1])
        runner = engines.engine(engine)
        with runner.open(self._streams(definition, keys)) as tables:
            # Only what is bounded, the records that things happened to, has this column.
            frames = [_between(frame, since, until) for frame in tables.values()]
            rows = runner.collect(function(*frames, **given))
        return Report(function.__name__, definition.title, definition.formula, keys, rows)

    def _streams(self, definition: Definition, keys: tuple[str, ...]) -> Mapping[str, Stream]:
        streams: dict[str, Stream] = {}
        for table, columns in definition.reads.items():
            more = ("created_at", *columns_of(keys)) if table == "claims" else ()
            wanted = list(dict.fromkeys([*columns, *more]))
            streams[table] = self._nouns[table].stream(wanted)
        return streams


def _between(frame: Any, since: int | None, until: int | None) -> Any:
    lazy = nw.from_native(frame)
    if "created_at_us" not in lazy.collect_schema().names():
        return frame
    if since is not None:
        lazy = lazy.filter(nw.col("created_at_us") >= since)
    if until is not None:
        lazy = lazy.filter(nw.col("created_at_us") < until)
    return lazy.to_native()


def _moment(name: str, given: Since) -> int | None:
    """Microseconds since 1970."""
    if given is None:
        return None
    text = given.isoformat() if type(given) is date else arguments.text(name, given)
    if len(text) == len("2026-01-31"):
        text += "T00:00:00Z"
    try:
        moment = msgspec.convert(text, datetime)
    except msgspec.ValidationError:
        raise invalid(name, "must be a date, or a time as RFC 3339 has it") from None
    if moment.tzinfo is None:
        raise invalid(name, "needs an offset from UTC, such as Z")
    since_epoch = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since_epoch.days * 86_400 + since_epoch.seconds) * 1_000_000 + since_epoch.microseconds
