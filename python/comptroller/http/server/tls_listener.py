"""A listening socket for TLS that limits the number of handshakes under way."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress

#: A further connection is closed. Established connections do not count.
MAX_HANDSHAKES = 1000

_ACCEPT_AGAIN_AFTER_S = 1.0
_log = logging.getLogger(__name__)


class TlsListener:
    """Accepts connections of a socket; the server of uvloop begins any number of handshakes.

    It has the method of an asyncio server that ends it.

    Args:
        loop: the event loop.
        factory: creates the protocol of a connection.
        listening: a listening socket, which stays the caller's.
        context: the certificate.
        within_s: the time limit of a handshake and of a shutdown, in seconds.
        handshakes: the handshakes under way of all listeners of the loop.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        factory: Callable[[], asyncio.BaseProtocol],
        listening: socket.socket,
        context: ssl.SSLContext,
        within_s: float,
        handshakes: set[asyncio.Task[None]],
    ) -> None:
        self._loop = loop
        self._factory = factory
        self._socket = listening
        self._context = context
        self._within_s = within_s
        self._handshakes = handshakes
        self._pause: asyncio.TimerHandle | None = None
        listening.setblocking(False)
        self._begin()

    def close(self) -> None:
        """Stops accepting connections, and ends the handshakes under way."""
        if self._pause is not None:
            self._pause.cancel()
        self._loop.remove_reader(self._socket)
        for handshake in self._handshakes:
            handshake.cancel()

    def _begin(self) -> None:
        self._loop.add_reader(self._socket, self._accept)

    def _accept(self) -> None:
        try:
            accepted, _ = self._socket.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError as error:  # such as too many open files
            _log.error("a connection was not accepted: %s", error.strerror)
            self._loop.remove_reader(self._socket)
            self._pause = self._loop.call_later(_ACCEPT_AGAIN_AFTER_S, self._begin)
            return
        if len(self._handshakes) >= MAX_HANDSHAKES:
            _log.warning("a connection was refused: the limit is %d handshakes", MAX_HANDSHAKES)
            accepted.close()
            return
        handshake = self._loop.create_task(self._secure(accepted))
        self._handshakes.add(handshake)
        handshake.add_done_callback(self._handshakes.discard)

    async def _secure(self, accepted: socket.socket) -> None:
        accepted.setblocking(False)
        with suppress(OSError):  # a failed or late handshake
            await self._loop.connect_accepted_socket(
                self._factory,
                accepted,
                ssl=self._context,
                ssl_handshake_timeout=self._within_s,
                ssl_shutdown_timeout=self._within_s,
            )
