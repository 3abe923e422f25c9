"""A client that openapi-python-client makes of the description works for every operation."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from serving import Serving, serving

ROOT = Path(__file__).parents[2]
# Its libraries are older than ours, so it lives in an environment of its own.
PYTHON = Path(os.environ.get("COMPTROLLER_GENERATOR", ROOT / ".venv/generator")) / "bin/python"
DRIVE = Path(__file__).with_name("drive_generated_client.py")
# The generator knows no lines of JSON; for a client they are bytes, as for us.
CONFIG = """\
post_hooks: []
content_type_overrides:
  application/x-ndjson: application/octet-stream
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving("--empty", cwd=tmp_path_factory.mktemp("served")) as server:
        yield server


def run(*words: str | Path) -> str:
    """What the generator's Python printed."""
    ended = subprocess.run([PYTHON, *words], capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def operations(description: dict[str, Any]) -> set[str]:
    return {
        operation["operationId"]
        for item in description["paths"].values()
        for operation in item.values()
        if "operationId" in operation
    }


@pytest.mark.skipif(not PYTHON.exists(), reason=f"no generator: make {PYTHON.parents[1]}/created")
def test_every_operation_is_called_through_it(server: Serving, tmp_path: Path) -> None:
    description = tmp_path / "openapi.json"
    description.write_bytes(server.get("/openapi.json").content)
    config = tmp_path / "config.yaml"
    config.write_text(CONFIG)
    run(
        *("-m", "openapi_python_client", "generate", "--fail-on-warning", "--meta", "none"),
        *("--path", description, "--config", config, "--output-path", tmp_path / "generated"),
    )
    answered = json.loads(run(DRIVE, tmp_path, server.address, *server.credentials()))
    assert set(answered) == operations(json.loads(description.read_bytes()))
