"""A server started by the command line."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

httpx2 = pytest.importorskip("httpx2")


def free_ports(count: int) -> list[int]:
    """Returns ports for servers that are started again on them, or choose none themselves."""
    with ExitStack() as bound:
        found = [bound.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in found]


class Serving:
    """Starts a server by the command line on a free port."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        assert process.stdout
        self.process = process
        self.log = log
        self.output = process.stdout.readline()
        found = re.search(r" at (https?://\S+)$", self.output.strip())
        assert found, self.output + log.read_text()
        self.address = found[1]
        self.output += process.stdout.readline()

    def credentials(self) -> tuple[str, str]:
        """Returns the id and the secret of the client of a temporary store."""
        assert self.process.stdout
        id, secret = (self.process.stdout.readline().split()[1] for _ in range(2))
        return id, secret

    def ask(self, method: str, path: str, **how: Any) -> Any:
        return httpx2.request(method, self.address + path, timeout=30, **how)

    def get(self, path: str, **how: Any) -> Any:
        return self.ask("GET", path, **how)

    def end(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str, str]:
        self.process.send_signal(number)
        out, _ = self.process.communicate(timeout=30)
        return self.process.returncode, out, self.log.read_text()


@contextmanager
def serving(*words: str, cwd: Path, db: str = "store.db") -> Iterator[Serving]:
    with (
        TemporaryDirectory() as folder,
        (Path(folder) / "log").open("w") as log,
        subprocess.Popen(
            [sys.executable, "-m", "comptroller", "serve", "--port", "0", *words],
            cwd=cwd,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env={**os.environ, "COMPTROLLER_DB": db},
        ) as process,
    ):
        try:
            yield Serving(process, Path(log.name))
        finally:
            process.kill()
