"""A fixture with which tests that open their own store files open databases."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import comptroller
import pytest
from postgresql_server import Server

_numbers = count()


@pytest.fixture(scope="module", autouse=True)
def database_for_each_path(server: Server, stores: Server, empty: str) -> Iterator[None]:
    """Makes `comptroller.open` open one database for each path of a store file, and a new one for
    each ":memory:". Only for calls in this process.
    """
    opened = comptroller.open
    names: dict[str, str] = {}

    def name_of(path: str) -> str:
        number = next(_numbers)
        key = f"{path}{number}" if path == ":memory:" else path
        if key not in names:
            names[key] = f"path_{os.getpid()}_{number}"
            server.create(names[key], empty)
        return names[key]

    def open_database(path: str | Path, *more: Any, **how: Any) -> comptroller.Service:
        text = str(path)
        is_address = text.startswith("postgresql:")
        return opened(text if is_address else stores.address(name_of(text)), *more, **how)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comptroller, "open", open_database)
        yield
    for name in names.values():
        server.drop(name)
