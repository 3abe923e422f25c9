"""A store of each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import comptroller
import pytest


@pytest.fixture
def svc(tmp_path: Path) -> Iterator[comptroller.Service]:
    with comptroller.open(tmp_path / "store.db") as opened:
        yield opened
