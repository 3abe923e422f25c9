"""The chapter of the tour that leaves the process: a server, and those who ask it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

import msgspec

from comptroller.cli.guide import Guide
from comptroller.errors import unavailable


def ask_from_afar(guide: Guide) -> None:
    """Serve the store of the tour, and ask it through `connect` and through curl."""
    guide.chapter("The same from afar, over HTTP")
    needed = ("uvicorn", "joserfc", "httpx2")
    if any(find_spec(name) is None for name in needed):
        guide.say('This needs more: pip install "comptroller[server,client]"')
        return
    store = guide.names["store"]
    guide.say("Whoever asks from afar is a client with a secret, of which the store keeps a hash:")
    guide.command(
        "comptroller clients add desk --customer acme --db tour.db",
        "comptroller serve --db tour.db --port 0",
    )
    added = _output("clients", "add", "desk", "--customer", "acme", "--db", store, "--json")
    guide.names |= msgspec.json.decode(added)
    with _serving(store) as (process, address):
        guide.names["address"] = address
        guide.say(f"The server is at {address}. From there it is the same service:")
        guide.run(
            "comptroller.connect(address, client_id=client_id,",
            "    client_secret=client_secret)",
            name="far",
        )
        guide.run('far.identities.get("alice")')
        guide.run('far.identities.update("alice", admin_disabled=True)')
        guide.names["far"].close()
        _ask_with_curl(guide, address)
        process.terminate()
        guide.say(f"The server was asked to stop, and ended with code {process.wait(30)}.")


def _ask_with_curl(guide: Guide, address: str) -> None:
    if shutil.which("curl") is None:
        return
    guide.say("Without Python it is JSON under OAuth 2.0, and refusals say what was wrong:")
    place = f"{address}/v2/identity/controls?type=FROZE"
    user = f"{guide.names['client_id']}:{guide.names['client_secret']}"
    guide.command(
        "TOKEN=$(curl -su ID:SECRET -d grant_type=client_credentials \\",
        f"    {address}/oauth2/token | jq -r .access_token)",
        'curl -sH "Authorization: Bearer $TOKEN" \\',
        f'    "{place}"',
    )
    # The secret is told on standard input: what stands in a command, others can see.
    given = msgspec.json.encode(user).decode()
    granted = _curl(
        f"user={given}", "-d", "grant_type=client_credentials", address + "/oauth2/token"
    )
    token = msgspec.json.decode(granted)["access_token"]
    refused = msgspec.json.decode(_curl(f'header="Authorization: Bearer {token}"', place))
    guide.say(refused["detail"])


def _curl(secret: str, *words: str) -> bytes:
    asked = ["curl", "--silent", "--config", "-", *words]
    return subprocess.run(asked, input=secret.encode(), capture_output=True, check=True).stdout


def _output(*words: str) -> bytes:
    asked = [sys.executable, "-m", "comptroller", *words]
    return subprocess.run(asked, capture_output=True, check=True).stdout


@contextmanager
def _serving(store: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server of the store, and its address."""
    asked = [sys.executable, "-m", "comptroller", "serve", "--db", store, "--port", "0"]
    with subprocess.Popen(
        asked, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout
            began = process.stdout.readline()
            if not began:
                raise unavailable("the server did not start; `comptroller serve` says why")
            yield process, began.split()[-1]
        finally:
            process.kill()
