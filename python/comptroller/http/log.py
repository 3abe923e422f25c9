"""The log: one JSON object a line, with nothing in it that must stay secret."""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from comptroller.http.exchange import Exchange

if TYPE_CHECKING:
    from collections.abc import MutableMapping

_FAILED = 500


class _Request(msgspec.Struct, kw_only=True):
    """The line of an answer."""

    time: datetime
    level: str
    event: str = "request"
    request_id: str
    client_id: str | None
    customer: str | None
    operation: str | None
    method: str
    route: str | None
    status: int | None
    milliseconds: float
    # Of what was refused.
    error: str | msgspec.UnsetType = msgspec.UNSET
    peer: str | msgspec.UnsetType | None = msgspec.UNSET


class Log:
    """Writes a line for each answer of an application: an observer of it.

    A line has the route, never the path, the query, a header or a body. That of a refusal has its
    code and the address of the client. That of a refused token request names the client if it is
    registered: an unknown name may be a secret in the wrong place.

    Args:
        stream: where to; standard error when left out.
    """

    def __init__(self, stream: BinaryIO | None = None) -> None:
        import structlog  # takes long, and a program that only imports this may not log

        self._lines = structlog.BytesLogger(stream or sys.stderr.buffer)
        self._logger = structlog.wrap_logger(
            self._lines,
            processors=[
                structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
                structlog.processors.add_log_level,
                _line,
            ],
            wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
            context_class=dict,
            cache_logger_on_first_use=True,
        ).bind()

    def __call__(self, exchange: Exchange, seconds: float) -> None:
        """Writes the line of an answer."""
        # Past the processors, which would take half as long as a page.
        line = _Request(
            time=datetime.now(UTC),
            level="error" if exchange.status >= _FAILED else "info",
            request_id=exchange.request_id,
            client_id=exchange.client_id,
            customer=exchange.customer,
            operation=exchange.operation or None,
            method=exchange.method,
            route=exchange.route or None,
            status=exchange.status or None,
            milliseconds=round(seconds * 1000, 3),
        )
        if exchange.refusal:
            line.error, line.peer = exchange.refusal, exchange.peer
        self._lines.msg(msgspec.json.encode(line))

    def handler(self) -> logging.Handler:
        """Writes what the server's own loggers say as lines of the same kind."""
        return _Handler(self._logger)


class _Handler(logging.Handler):
    """Of an exception it tells type and place: its text may repeat what was sent."""

    def __init__(self, logger: Any) -> None:
        super().__init__(logging.INFO)
        self._logger = logger

    def emit(self, record: logging.LogRecord) -> None:
        try:
            told: dict[str, Any] = {"logger": record.name}
            if record.exc_info and record.exc_info[1] is not None:
                told |= _told(record.exc_info[1])
            self._logger.log(record.levelno, record.getMessage(), **told)
        except Exception:
            self.handleError(record)


def _told(error: BaseException) -> dict[str, Any]:
    frames = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        frames.append(f"{code.co_filename}:{trace.tb_lineno} {code.co_qualname}")
        trace = trace.tb_next
    return {"exception": type(error).__qualname__, "trace": frames}


def _line(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> bytes:
    begin = {name: event.pop(name) for name in ("time", "level", "event")}
    return msgspec.json.encode({**begin, **event})
