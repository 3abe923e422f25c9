"""A warning in the log of a server whose write-ahead log cannot shrink."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from comptroller._core import Store
from comptroller.errors import Error

_EVERY_S = 10.0
_MIB = 1 << 20
_log = logging.getLogger(__name__)


class LogGrowth:
    """Warns once when the write-ahead log is large, and again only after it has shrunk.

    Args:
        store: the store of the server.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._was_large = False

    def look(self) -> None:
        """Looks at the size of the log, and warns if it has become large."""
        with suppress(Error):
            _bytes, pending, is_large = self._store.log_size()
            if is_large and not self._was_large:
                _log.warning(
                    "%d MiB of the write-ahead log are not in the store's file, because a program "
                    "reads an old state; end its stream, backup or transaction",
                    pending // _MIB,
                )
            self._was_large = is_large

    async def watch(self) -> None:
        """Looks every ten seconds, until it is cancelled."""
        while True:
            await asyncio.to_thread(self.look)
            await asyncio.sleep(_EVERY_S)
