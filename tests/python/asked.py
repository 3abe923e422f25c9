"""An application asked in process, one request after another."""

from __future__ import annotations

import asyncio
from typing import Any, Self

import httpx2


class Asked:
    """A client of an ASGI application on a loop of its own; closed at the end of the scope."""

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
        """The answer to one request."""
        return self._runner.run(self._client.request(method, path, **request))
