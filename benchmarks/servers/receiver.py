"""A receiver of webhooks that answers each request with 204. Prints its port."""

from __future__ import annotations

import asyncio

_END_OF_HEAD = b"\r\n\r\n"
_LENGTH = b"content-length:"
_ANSWER = b"HTTP/1.1 204 No Content\r\n\r\n"


class Receiver(asyncio.Protocol):
    """One connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._received = b""

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(_END_OF_HEAD)) >= 0:
            head = self._received[:end].lower()
            length = int(head.partition(_LENGTH)[2].partition(b"\r")[0])
            whole = end + len(_END_OF_HEAD) + length
            if len(self._received) < whole:
                return
            self._received = self._received[whole:]
            self._transport.write(_ANSWER)  # type: ignore[attr-defined]


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(Receiver, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
