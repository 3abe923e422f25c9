"""A trace of system calls shows that each write is synchronised before its answer."""

from __future__ import annotations

import base64
import http.client
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import comptroller
import pytest
from comptroller.http.oauth import clients
from comptroller.http.oauth.clients import Client
from comptroller.routes import TOKEN_PATH
from guarded_server import PROGRAM as SERVER
from token_server import FORM

pytestmark = [
    pytest.mark.promise(2),
    pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed"),
]

WRITES = 1_000
WRITER = """
import os, sys, comptroller
with comptroller.open(sys.argv[1]) as svc:
    for number in range(int(sys.argv[2])):
        svc.identities.put(id=f"identity-{number}")
        os.write(1, b"answered\\n")
"""
# The process writes the store with pwrite64, and its answers to a pipe or a socket.
TRACE = (
    *(
        "strace",
        "--daemonize",  # it is not the parent, so that signals reach the traced process
        "--follow-forks",
        "--seccomp-bpf",
        "--decode-fds=path",
        "--quiet=all",
        "--string-limit=24",
    ),
    "--trace=pwrite64,ftruncate,fdatasync,fsync,write,writev,sendto,sendmsg",
)
CALL = re.compile(r"^(?P<thread>\d+) +(?P<call>\w+)\((?P<fd>\d+)<(?P<path>[^>]*)>(?P<rest>.*)")
RESUMED = re.compile(r"^(?P<thread>\d+) +<\.\.\. (?P<call>\w+) resumed>(?P<rest>.*)")
SYNCS = ("fdatasync", "fsync")


@dataclass
class Trace:
    """Follows the log of a store through a trace, and counts the answers."""

    store: str
    answer: str  # how the content of one begins
    answers: int = 0
    durable: int = 0  # the answers after all writes to the log were synchronised, and at least one
    _writes: int = 0
    _synced: int = 0
    _synced_at_last_answer: int = 0
    _syncing: dict[str, int] = field(default_factory=dict)  # by thread: the writes before

    def read(self, lines: Iterator[str]) -> None:
        for line in lines:
            if begun := CALL.match(line):
                self._begin(begun)
            elif resumed := RESUMED.match(line):
                self._end(resumed)

    def _begin(self, begun: re.Match[str]) -> None:
        call, path, rest = begun["call"], begun["path"], begun["rest"]
        if path == f"{self.store}-wal":
            if call == "pwrite64":
                self._writes += 1
            elif call in SYNCS:
                self._syncing[begun["thread"]] = self._writes
                if "<unfinished" not in rest:
                    self._end(begun)
        elif self.answer in rest:
            is_durable = self._synced == self._writes > self._synced_at_last_answer
            self.answers += 1
            self.durable += is_durable
            self._synced_at_last_answer = self._synced

    def _end(self, ended: re.Match[str]) -> None:
        writes = self._syncing.pop(ended["thread"], None)
        if writes is not None and ended["rest"].rstrip().endswith("= 0"):
            self._synced = max(self._synced, writes)


def traced(log: Path, store: Path, answer: str) -> Trace:
    trace = Trace(str(store.resolve()), answer)
    with log.open(errors="replace") as lines:
        trace.read(lines)
    return trace


def assert_durable(trace: Trace, figures: dict[str, Any], others: int = 0) -> None:
    """Checks the answers of all writes; `others` are answers of reads."""
    figures["answers"] = trace.answers - others
    figures["after an fdatasync of all writes to the log"] = trace.durable
    assert (trace.answers - others, trace.durable) == (WRITES, WRITES)


def test_in_process(tmp_path: Path, figures: dict[str, Any]) -> None:
    """System calls: an fdatasync between the last write to the log and the return of a call"""
    store, log = tmp_path / "store.db", tmp_path / "trace"
    comptroller.open(store).close()
    command = [*TRACE, "-o", log, sys.executable, "-c", WRITER, store, str(WRITES)]
    done = subprocess.run(command, capture_output=True, timeout=120, check=True)
    assert done.stdout.count(b"answered") == WRITES
    assert_durable(traced(log, store, '"answered'), figures)


@pytest.mark.parametrize("has_tokens", [True, False], ids=["in the core", "in Python"])
def test_over_http(tmp_path: Path, figures: dict[str, Any], has_tokens: bool) -> None:
    """System calls: an fdatasync between the last write to the log and the response"""
    store, log = tmp_path / "store.db", tmp_path / "trace"
    comptroller.open(store).close()
    client, secret = clients.add(clients.file_of(str(store)), "writer", None, None)
    options = json.dumps([str(store), 30, has_tokens, None])
    command = [*TRACE, "-o", log, sys.executable, "-c", SERVER, options]
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, **streams) as server:
        try:
            assert server.stdout is not None
            address = "127.0.0.1", int(server.stdout.readline())
            connection = http.client.HTTPConnection(*address, timeout=30)
            headers = {"Content-Type": "application/json"}
            if has_tokens:
                headers["Authorization"] = f"Bearer {token(connection, client, secret)}"
            put_identities(connection, headers)
            connection.close()
        finally:
            server.terminate()
            server.communicate(timeout=60)
    figures["answered"] = "by the core" if has_tokens else "by Python"
    assert_durable(traced(log, store, '"HTTP/1.1 20'), figures, others=int(has_tokens))


def put_identities(connection: http.client.HTTPConnection, headers: dict[str, str]) -> None:
    for number in range(WRITES):
        body = json.dumps({"id": f"identity-{number}"})
        connection.request("PUT", "/operator/identity/identities", body, headers)
        response = connection.getresponse()
        answer = response.read()
        assert response.status in (200, 201), answer


def token(connection: http.client.HTTPConnection, client: Client, secret: str) -> str:
    """Returns a token of the server's own client."""
    credentials = base64.b64encode(f"{client.client_id}:{secret}".encode()).decode()
    headers = {"Content-Type": FORM, "Authorization": f"Basic {credentials}"}
    connection.request("POST", TOKEN_PATH, "grant_type=client_credentials", headers)
    answer = json.loads(connection.getresponse().read())
    return str(answer["access_token"])


def test_a_missing_synchronisation(tmp_path: Path, figures: dict[str, Any]) -> None:
    """The check of system calls finds an answer before its fdatasync"""
    store = tmp_path / "store.db"
    write = f'7 pwrite64(5<{store}-wal>, "x", 24, 0) = 24'
    sync, answer = f"7 fdatasync(5<{store}-wal>) = 0", '8 write(1<pipe:[1]>, "answered\\n", 9) = 9'
    unfinished = f"7 fdatasync(5<{store}-wal> <unfinished ...>"
    resumed = "7 <... fdatasync resumed>) = 0"
    found = 0
    for lines, durable in (
        ([write, sync, answer], 1),
        ([write, answer, sync], 0),
        ([write, unfinished, answer, resumed], 0),
        ([write, unfinished, resumed, answer], 1),
        ([write, unfinished, write, resumed, answer], 0),
        ([write, sync, write, answer], 0),
        ([write, sync, answer, answer], 1),
    ):
        trace = Trace(str(store), '"answered')
        trace.read(iter(lines))
        assert trace.durable == durable, lines
        found += trace.durable < trace.answers
    figures["wrong orders found"] = found
