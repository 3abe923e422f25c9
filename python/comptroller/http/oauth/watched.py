"""The content of a file, or of a document, that other processes may change."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Generic, TypeVar

from comptroller.errors import Error, unavailable
from comptroller.http.background import Background
from comptroller.http.oauth.stored_documents import SecretDocument

_Content = TypeVar("_Content")

_CHECK_EVERY_S = 0.5
_CHECK_WITHIN_S = 1.0
_log = logging.getLogger(__name__)


class Watched(Generic[_Content]):
    """The decoded content of a file, read again after each change.

    A thread checks the file. If a check takes longer than a second, the previous content is used
    until it ends.

    Args:
        file: the file.
        read: reads and decodes the file. The constructor raises its errors; later errors are only
            logged, because callers may be unauthenticated.
        clock: returns seconds that never go back.
    """

    def __init__(
        self,
        file: SecretDocument,
        read: Callable[[SecretDocument], _Content],
        clock: Callable[[], float],
    ) -> None:
        self._file = file
        self._read = read
        self._clock = clock
        self._checking = Background(self._check, _CHECK_WITHIN_S)
        self._checked_at = clock()
        self._stamp: object = file.stamp()
        self._content: _Content | None = read(file)

    async def current(self) -> _Content:
        """Returns the content of the last half second.

        Raises Unavailable, without the name of the file, if the file cannot be used.
        """
        if self._clock() - self._checked_at >= _CHECK_EVERY_S:
            return await self.fresh()
        return self._usable()

    async def fresh(self) -> _Content:
        """Checks the file and returns its content; raises as `current` does."""
        self._checking.start()
        await self._checking.wait()
        return self._usable()

    def reload(self) -> None:
        """Starts to read the file again, even if it seems unchanged."""
        self._stamp = None
        self._checking.start()

    def _usable(self) -> _Content:
        if self._content is None:
            raise unavailable("credentials cannot be checked now; see the log of the server")
        return self._content

    def _check(self) -> None:
        checked_at = self._clock()
        stamp = self._file.stamp()
        if stamp != self._stamp or self._content is None:
            self._stamp = stamp
            try:
                self._content = self._read(self._file)
            except Error as error:
                self._content = None
                _log.error("%s", error.detail)
            except Exception:  # what was revoked must not stay valid
                self._content = None
                _log.exception("the credentials could not be read")
        self._checked_at = checked_at
