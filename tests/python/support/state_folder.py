"""A fixture with which tests that open a database need not name its state folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import comptroller
import pytest


@pytest.fixture(autouse=True)
def state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes `comptroller.open` open databases with a state folder; for calls in this process."""
    opened = comptroller.open

    def open_with_state(path: str | Path, *more: Any, **how: Any) -> comptroller.Service:
        if str(path).startswith("postgresql:") and how.get("state") is None:
            how["state"] = tmp_path / "state"
        return opened(path, *more, **how)

    monkeypatch.setattr(comptroller, "open", open_with_state)
