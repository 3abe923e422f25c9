"""Freed memory of a server, returned to the system."""

from __future__ import annotations

import asyncio

from comptroller import _core

_EVERY_S = 30.0


async def return_free_memory() -> None:
    """Returns freed memory twice a minute, until it is cancelled.

    The answers of lists, which are large, and records that stay leave gaps in the heap. Without
    this, a server under load grows by some MiB each minute for more than ten minutes.
    """
    while True:
        await asyncio.sleep(_EVERY_S)
        await asyncio.to_thread(_core.return_free_memory)
