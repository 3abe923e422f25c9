"""Names of hosts with several addresses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

NAME = "several.example"
#: The first address accepts connections and says nothing; the second one closes them.
PROGRAM = f"""
import socket, threading, comptroller
found = socket.getaddrinfo("{NAME}", None, type=socket.SOCK_STREAM)
first, second = (each[4][0] for each in found)
silent = socket.create_server((first, 0))
port = silent.getsockname()[1]
closing = socket.create_server((second, port))

def close_all():
    while True:
        closing.accept()[0].close()

threading.Thread(target=close_all, daemon=True).start()
try:
    comptroller.open(f"postgresql://me@{NAME}:{{port}}/books?connect_timeout=2")
except comptroller.Unavailable as error:
    print(second in str(error))
"""


def test_the_next_address_of_a_name_is_tried_if_one_is_silent(tmp_path: Path) -> None:
    """In a namespace with a file /etc/hosts of its own, for which one must be root."""
    hosts = tmp_path / "hosts"
    hosts.write_text(f"127.0.0.1 localhost {NAME}\n127.0.0.2 {NAME}\n")
    script = f'mount --bind "{hosts}" /etc/hosts && exec "$@"'
    command = ["unshare", "--mount", "sh", "-c", script, "sh"]
    try:
        tried = subprocess.run([*command, "true"], capture_output=True, timeout=60, check=False)
    except FileNotFoundError:
        pytest.skip("the system has no unshare")
    if tried.returncode != 0:
        pytest.skip(f"no namespace: {tried.stderr.decode()}")
    ended = subprocess.run(
        [*command, sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert ended.stdout == "True\n"
