"""The undocumented parts of uvicorn in use exist, and are listed in one place."""

from __future__ import annotations

import ast
import asyncio
import tomllib
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn")

import uvicorn
from comptroller.http import guard
from comptroller.http.guard import UNDOCUMENTED, GuardedProtocol
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

GUARD = Path(guard.__file__)
LIST = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"
# The callbacks of asyncio protocols, which uvicorn's protocol inherits.
OF_ASYNCIO = {"connection_made", "connection_lost", "data_received", "eof_received", "__init__"}


async def _answer(_scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"done"})


async def used() -> dict[str, Any]:
    """Returns the parts of a server that has answered a request."""
    config = uvicorn.Config(_answer, http=HttpToolsProtocol, lifespan="off", log_config=None)
    config.load()
    protocols: list[Any] = []

    def made() -> Any:
        protocols.append(HttpToolsProtocol(config, ServerState(), {}))
        return protocols[-1]

    server = await asyncio.get_running_loop().create_server(made, "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(LIST)
        await reader.readuntil(b"done")
        (protocol,) = protocols
        parts = {
            "server": uvicorn.Server(config),
            "protocol": protocol,
            "callbacks": protocol,
            "cycle": protocol.cycle,
            "flow": protocol.flow,
        }
        found = {name: set(dir(part)) for name, part in parts.items()}
        writer.close()
        await writer.wait_closed()
    return found


def test_every_used_attribute_exists() -> None:
    found = asyncio.run(used())
    assert found.keys() == UNDOCUMENTED.keys()
    for part, names in UNDOCUMENTED.items():
        assert names <= found[part], part


def test_every_used_attribute_is_listed() -> None:
    tree = ast.parse(GUARD.read_text(encoding="utf-8"))
    (guarded,) = (
        each
        for each in tree.body
        if isinstance(each, ast.ClassDef) and each.name == GuardedProtocol.__name__
    )
    attributes = [each for each in ast.walk(guarded) if isinstance(each, ast.Attribute)]
    stored = {each.attr for each in attributes if isinstance(each.ctx, ast.Store)}
    own = stored | {each.name for each in guarded.body if isinstance(each, ast.FunctionDef)}
    for part, expression in {
        "protocol": "self",
        "callbacks": "super()",
        "cycle": "self.cycle",
        "flow": "self.flow",
    }.items():
        names = {each.attr for each in attributes if ast.unparse(each.value) == expression}
        assert names - own - OF_ASYNCIO <= UNDOCUMENTED[part], part


def test_the_version_is_bounded() -> None:
    project = GUARD.parents[3] / "pyproject.toml"
    if not project.exists():
        pytest.skip("the package is installed without its project file")
    extras = tomllib.loads(project.read_text())["project"]["optional-dependencies"]
    (bounds,) = (each for each in extras["server"] if each.startswith("uvicorn"))
    assert bounds == "uvicorn>=0.46,<0.55"
