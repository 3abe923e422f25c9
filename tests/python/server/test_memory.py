"""The memory that a server keeps after requests that need much of it."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import comptroller
import pytest

pytest.importorskip("httptools")
pytest.importorskip("cryptography")

from comptroller.http.oauth import clients
from serving import serving

AT_ONCE = 8
CLAIMS = 20_000
KEPT_MIB = 64


def resident_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the limit is one of glibc")
def test_exports_and_checks_of_secrets_return_their_memory(store_path: Path) -> None:
    """Each allocates megabytes in a thread of its own, so each arena of malloc could keep some."""
    with comptroller.open(store_path) as svc, comptroller.sample("claims", CLAIMS) as lines:
        svc.load("claims", lines)
    file = clients.file_of(str(store_path))
    client, secret = clients.add(file, "operator", None, None)
    with serving("--db", str(store_path), cwd=store_path.parent) as server:

        def ask_token(given: str) -> Any:
            form = {"grant_type": "client_credentials", "client_id": client.client_id}
            return server.ask("POST", "/oauth2/token", data={**form, "client_secret": given})

        token = json.loads(ask_token(secret).text)["access_token"]
        before = resident_mib(server.process.pid)

        def act(number: int) -> None:
            if number % 2:
                assert ask_token("wrong").status_code == 400
            else:
                named = {"Authorization": f"Bearer {token}"}
                exported = server.get("/operator/export/claims", headers=named)
                assert exported.text.count("\n") == CLAIMS

        with ThreadPoolExecutor(AT_ONCE) as threads:
            list(threads.map(act, range(8 * AT_ONCE)))
        assert resident_mib(server.process.pid) - before < KEPT_MIB
