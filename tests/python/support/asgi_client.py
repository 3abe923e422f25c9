"""An ASGI application that tests call in process, one request at a time."""

from __future__ import annotations

import asyncio
from typing import Any, Self

import httpx2


class Asked:
    """Yields a client of an ASGI application on its own event loop."""

    def __init__(self, app: Any, **headers: str) -> None:
        self._runner = asyncio.Runner()
        transport = httpx2.ASGITransport(app)
        self._client = httpx2.AsyncClient(
            transport=transport, base_url="http://localhost", headers=headers
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._runner.run(self._client.aclose())
        self._runner.close()

    def __call__(self, method: str, path: str, **request: Any) -> httpx2.Response:
        """Sends one request; returns the response."""
        return self._runner.run(self._client.request(method, path, **request))
