"""Pages in a browser, with their requests and errors."""

from __future__ import annotations

from typing import Any

SOON_MS = 60_000


class Visit:
    """An open page, the addresses that it requested, and its errors and warnings."""

    def __init__(self, page: Any, address: str) -> None:
        self.page = page
        self.page.set_default_timeout(SOON_MS)
        self.requested: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requested.append(request.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        # Violations of the security policy are also reported here.
        self.page.on("console", self._hear)
        self.page.goto(address)

    def _hear(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)
