"""The sending half of a connection: gathered writes, slow readers, and the end of a connection."""

from __future__ import annotations

import asyncio
import logging
import socket
from contextlib import suppress

#: What the client of a request may still send after its response has ended, in bytes. A client
#: that sends more before it reads may lose the response to a refused load.
MAX_DISCARDED = 16 << 20

_MAX_GATHERED = 64 << 10  # bytes
_MAX_UNSENT = 256 << 10  # bytes that the system holds, and could not send yet
_log = logging.getLogger(__name__)


class Outgoing:
    """A transport that sends all writes of one loop iteration in one system call.

    It closes the connection if the client reads nothing of a response for too long.

    A connection that is closed while the client still sends a request *lingers*: it sends its end,
    then discards what arrives, until the client closes it too, has sent MAX_DISCARDED bytes, or
    `within_s` has passed. An immediate close would reset the connection, and the client could lose
    the response.

    Args:
        transport: the transport of the loop.
        loop: the event loop.
        within_s: how long a client may read nothing, and a connection may linger, in seconds.
    """

    def __init__(
        self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, within_s: float
    ) -> None:
        self._transport = transport
        self._loop = loop
        self._within_s = within_s
        self._gathered: list[bytes] = []
        self._gathered_bytes = 0
        self._sent_bytes = 0
        self._taken_bytes = 0
        self._discarded_bytes = 0
        self._deadline: asyncio.TimerHandle | None = None
        self._lingering: asyncio.TimerHandle | None = None
        self.is_receiving = False  # a request whose end has not arrived; set by the protocol
        self.is_closing = False  # whether the connection is closed, or lingers
        _limit_unsent(transport)

    def pause_reading(self) -> None:
        """Receives nothing until `resume_reading`."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Receives again."""
        self._transport.resume_reading()

    @property
    def is_lingering(self) -> bool:
        """Whether the connection discards what arrives."""
        return self._lingering is not None

    def write(self, data: bytes) -> None:
        """Queues data for the end of this loop iteration."""
        if not self._gathered:
            self._loop.call_soon(self.flush)
        self._gathered.append(data)
        self._gathered_bytes += len(data)
        if self._gathered_bytes > _MAX_GATHERED:
            self.flush()

    def flush(self) -> None:
        """Sends the queued data."""
        if not self._gathered:
            return
        if not self.is_closing:
            self._transport.writelines(self._gathered)
            self._sent_bytes += self._gathered_bytes
            self._expect_reader()
        self._gathered = []
        self._gathered_bytes = 0

    def write_now(self, data: bytes) -> None:
        """Sends data without waiting for the end of the loop iteration."""
        if self._gathered:
            self.flush()
        self._transport.write(data)
        self._sent_bytes += len(data)
        if self._transport.get_write_buffer_size():
            self._expect_reader()

    def is_drained(self) -> bool:
        """Whether all written data was passed to the system."""
        return not self._gathered and self._transport.get_write_buffer_size() == 0

    def close(self) -> None:
        """Sends the queued data, and closes the connection, which may linger."""
        self.flush()
        is_open, self.is_closing = not self.is_closing, True
        if not self.is_receiving:
            self._transport.close()
        elif is_open:
            self._lingering = self._loop.call_later(self._within_s, self._end_lingering)
            if self._transport.can_write_eof():  # not over TLS
                self._transport.write_eof()
            self._transport.resume_reading()

    def discard(self, data: bytes) -> None:
        """Counts data that arrived on a lingering connection."""
        self._discarded_bytes += len(data)
        if self._discarded_bytes > MAX_DISCARDED:
            self._end_lingering()

    def _end_lingering(self) -> None:
        if self._transport.can_write_eof():
            self._transport.close()
        else:  # TLS would read on until the client has confirmed the end
            self.abort()

    def end(self) -> None:
        """Closes the connection, which does not linger."""
        self.is_receiving = False
        self.close()

    def abort(self) -> None:
        """Closes the connection at once."""
        self.is_closing = True
        self._transport.abort()

    def forget(self) -> None:
        """Cancels the deadlines, after the connection was closed."""
        self.is_closing = True
        for timer in (self._deadline, self._lingering):
            if timer is not None:
                timer.cancel()

    def expect_reader(self, within_s: float) -> None:
        """Changes the time limit, which begins again."""
        self._within_s = within_s
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
            self._expect_reader()

    def _expect_reader(self) -> None:
        waiting = self._transport.get_write_buffer_size()
        if waiting and self._deadline is None:
            self._taken_bytes = self._sent_bytes - waiting
            self._deadline = self._loop.call_later(self._within_s, self._check_reader)

    def _check_reader(self) -> None:
        self._deadline = None
        waiting = self._transport.get_write_buffer_size()
        if waiting and self._sent_bytes - waiting == self._taken_bytes:
            _log.warning("a connection was closed: the client did not read the response")
            self.abort()
        else:
            self._expect_reader()


def _limit_unsent(transport: asyncio.Transport) -> None:
    """Lets the system accept more as soon as the client has read a little.

    Without a limit it holds up to 4 MiB and accepts more when a third of that is free: a client
    that reads less than 140 KB/s would seem to read nothing for ten seconds.
    """
    connected = transport.get_extra_info("socket")
    if connected is not None and hasattr(socket, "TCP_NOTSENT_LOWAT"):
        with suppress(OSError):  # the client has already gone
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _MAX_UNSENT)
