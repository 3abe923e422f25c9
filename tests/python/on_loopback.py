"""A connected service whose server was started at the command line, with clients of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import comptroller
import pytest
from serving import serving

for needed in ("uvicorn", "starlette", "joserfc", "structlog", "httpx2"):
    pytest.importorskip(needed)

from comptroller.http import clients  # noqa: E402


def opener(path: Path, closing: ExitStack) -> Callable[..., comptroller.Service]:
    """Connects to a store's server as whoever the arguments say, who is registered for that."""
    server = closing.enter_context(serving("--db", str(path), cwd=path.parent))

    def connected(
        customer: str | None = None, scopes: Any = None, client_id: str = "tester"
    ) -> comptroller.Service:
        named = [scopes] if isinstance(scopes, str) else scopes
        client, secret = clients.add(clients.file_of(str(path)), client_id, customer, named)
        return closing.enter_context(
            comptroller.connect(server.address, client_id=client.client_id, client_secret=secret)
        )

    return connected


@pytest.fixture
def open_as(store_path: Path) -> Iterator[Callable[..., comptroller.Service]]:
    """Connects to a server of this test's store instead of opening it."""
    with ExitStack() as closing:
        yield opener(store_path, closing)


@pytest.fixture(scope="module")
def shared_open_as(shared_path: Path) -> Iterator[Callable[..., comptroller.Service]]:
    """Connects to a server of the module's shared store instead of opening it."""
    with ExitStack() as closing:
        yield opener(shared_path, closing)
