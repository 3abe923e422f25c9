"""A full disk: writes fail, reads continue, and writes work again when there is room."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import comptroller
from examples import loaded, short_line
from places import SUPPORT

# A limit on the size of files simulates a full disk: writes beyond it fail.
PROGRAM = """
import json, os, resource, signal, sys, comptroller
from examples import short_line
store = sys.argv[1]
outcomes = {"refused": [], "messages": []}

def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

def refused(write):
    try:
        write()
        outcomes["refused"].append("written")
    except comptroller.Error as error:
        outcomes["refused"].append(error.code)
        outcomes["messages"].append(str(error))

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
svc = comptroller.open(store)
writes = {
    "identity": lambda n: svc.identities.put(id=f"i{n}", metadata={"note": "x" * 500}),
    "flag": lambda n: svc.identities.update("alice", user_disabled=True),
    "control": lambda n: svc.controls.create(
        identity_id="alice", type="CLOSED", reason_code="X", reason="x" * 1000
    ),
    "claim": lambda n: svc.claims.put(short_line("claims", id=f"c{n}")),
    "move": lambda n: svc.claims.submit("claim-1", tx_hash="0x"),
    "keyed": lambda n: svc.identities.put(id="keyed", idempotency_key="key"),
    "load": lambda n: svc.load("claims", [short_line("claims", id=f"l{i}") for i in range(2000)]),
    "keep": lambda n: svc.load(
        "claims", [short_line("claims", id=f"k{i}") for i in range(2000)], keep_going=True
    ),
    "long": lambda n: svc.load(
        "claims",
        [short_line("claims", id=f"m{i}", addresses=["0x" + "ab" * 20] * 13000) for i in range(20)],
    ),
}
for wanted in sys.argv[2:]:
    # Fill what there is until the first write fails; then all do.
    limit(os.path.getsize(store + "-wal") + 20_000)
    fill = 0
    while True:
        try:
            svc.identities.put(id=f"{wanted}-{fill}", metadata={"note": "x" * 500})
            fill += 1
        except comptroller.Unavailable:
            break
    outcomes[wanted] = fill
    refused(lambda: writes[wanted](1))
    refused(lambda: writes[wanted](2))
    assert svc.identities.get("alice").status == "APPROVED"
    assert len(svc.claims.list()) == 1
    limit(resource.RLIM_INFINITY)
    svc.identities.put(id=f"after-{wanted}")
    svc.identities.get(f"after-{wanted}")
outcomes["ok"] = svc.check()
svc.close()
print(json.dumps(outcomes))
"""

KINDS_OF_WRITES = ("identity", "flag", "control", "claim", "move", "keyed", "load", "keep", "long")


def run(store: Path, *arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-c", PROGRAM, str(store), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=SUPPORT, timeout=60)
    assert done.returncode == 0, done.stderr
    outcomes: dict[str, Any] = json.loads(done.stdout)
    return outcomes


def test_writes_are_refused_while_the_disk_is_full_and_come_back(store_path: Path) -> None:
    with comptroller.open(store_path) as svc:
        svc.identities.put(id="alice")
        loaded(svc, "claims", short_line("claims"))
    outcomes = run(store_path, *KINDS_OF_WRITES)
    assert outcomes["refused"] == ["unavailable"] * 2 * len(KINDS_OF_WRITES)
    assert outcomes["ok"]["ok"], outcomes["ok"]
    for message in outcomes["messages"]:
        assert "sqlite" not in message.lower()
        assert "SQL" not in message
    with comptroller.open(store_path) as svc:
        assert svc.check()["ok"]
        found = {identity.id for identity in svc.identities.iter()}
        expected = {f"after-{kind}" for kind in KINDS_OF_WRITES} | {"alice"}
        for kind in KINDS_OF_WRITES:
            expected |= {f"{kind}-{n}" for n in range(outcomes[kind])}
        assert found == expected
        assert [claim.onchain_status for claim in svc.claims.iter()] == ["PENDING"]
