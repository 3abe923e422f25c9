"""Connections for httpcore2 on asyncio's streams, which cost half of the time of its own."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any

import httpcore2

from comptroller.webhooks.resolving import Resolver

#: The owner of the webhook whose request the present task sends; None is the operator.
OWNER: ContextVar[str | None] = ContextVar("owner")


class Network(httpcore2.AsyncNetworkBackend):
    """Connects to any address. The caller limits the time, and sets OWNER.

    A name is resolved once for each connection, and the connection goes to an address of this
    answer.

    Args:
        resolver: resolves names.
    """

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver

    async def addresses(self, host: str, port: int) -> list[str]:
        """Returns the addresses of a host. Raises ConnectError."""
        try:
            return await self._resolver.addresses(OWNER.get(), host, port)
        except OSError as error:
            raise httpcore2.ConnectError(f"the name cannot be resolved: {error}") from error

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connects to a host."""
        failure = httpcore2.ConnectError("the name has no address")
        for address in await self.addresses(host, port):
            try:
                connected = await asyncio.open_connection(
                    address, port, flags=socket.AI_NUMERICHOST
                )
            except OSError as error:
                failure = httpcore2.ConnectError(f"{address}: {error}")
            else:
                return _Stream(*connected)
        raise failure

    async def sleep(self, seconds: float) -> None:
        """Waits between two attempts."""
        await asyncio.sleep(seconds)


class _Stream(httpcore2.AsyncNetworkStream):
    """A connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._has_ended = False

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Returns received bytes; none at the end."""
        try:
            piece = await self._reader.read(max_bytes)
        except OSError as error:
            raise httpcore2.ReadError(str(error)) from error
        self._has_ended = not piece
        return piece

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Sends bytes."""
        if not buffer:
            return
        try:
            self._writer.write(buffer)
            await self._writer.drain()
        except OSError as error:
            raise httpcore2.WriteError(str(error)) from error

    async def aclose(self) -> None:
        """Closes the connection."""
        self._writer.close()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Continues with TLS; the certificate must have the name of the host."""
        try:
            await self._writer.start_tls(ssl_context, server_hostname=server_hostname)
        except OSError as error:
            raise httpcore2.ConnectError(str(error)) from error
        return self

    def get_extra_info(self, info: str) -> Any:
        """Returns a property of the connection."""
        if info == "is_readable":  # an idle connection that the receiver closed
            return self._has_ended or self._reader.at_eof()
        return self._writer.get_extra_info(info)
