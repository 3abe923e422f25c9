"""A store that is open when its process is forked."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import comptroller
import pytest
from places import SUPPORT

HERE = SUPPORT

# Opens the store in the parent, and tries to open it in a child or in a child of a child. Nobody
# closes the inherited service.
OPENER = """
import json, os, sys, comptroller
store, name, how, generations = sys.argv[1:]
first = os.getpid()
svc = comptroller.open(store)
svc.identities.put(id="parent")
if name == "hard.db":
    os.link(store, name)
elif name == "soft.db":
    os.symlink(store, name)
reading, writing = os.pipe()
for _ in range(int(generations)):
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        if os.getpid() != first:
            os._exit(0)
        break
else:
    try:
        comptroller.open(name, read_only=how == 'read')
        outcome = "opened", ""
    except comptroller.Error as error:
        outcome = error.code, error.detail
    os.write(writing, json.dumps(outcome).encode())
    os._exit(0)
os.close(writing)
print(os.fdopen(reading).read())
"""


def run(program: str, *arguments: object, cwd: Path) -> str:
    """Returns the output of a program, which must succeed."""
    command = [sys.executable, "-W", "ignore", "-c", program, *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("generations", [1, 2])
@pytest.mark.parametrize("how", ["write", "read"])
@pytest.mark.parametrize("name", ["store.db", "./store.db", "soft.db", "hard.db"])
def test_a_forked_child_cannot_open_an_inherited_store(
    store_path: Path, name: str, how: str, generations: int
) -> None:
    printed = run(OPENER, store_path, name, how, generations, cwd=store_path.parent)
    code, detail = json.loads(printed)
    assert code == "unusable"
    for way in ("spawn", "forkserver", "after the fork", "close it before"):
        assert way in detail
    names = {file.name for file in store_path.parent.iterdir()}
    assert not {each for each in names if each.startswith(("hard.db-", "soft.db-"))}


# Writes until it is killed, and acknowledges each write.
WRITER = """
import sys, comptroller
with comptroller.open(sys.argv[1]) as svc:
    for number in range(int(sys.argv[3])):
        svc.identities.put(id=f"{sys.argv[2]}-{number}")
        print(f"{sys.argv[2]}-{number}", flush=True)
    print("done", flush=True)
    sys.stdin.read()
"""

# A child writes with the store that its parent has open, or opened; the parent closes it.
FORKER = """
import os, signal, sys, comptroller
store = sys.argv[1]
def write(svc, name, count):
    for number in range(count):
        svc.identities.put(id=f"{name}-{number}")
        os.write(1, f"{name}-{number}\\n".encode())
svc = comptroller.open(store)
write(svc, "parent", 5)
if sys.argv[2] == "closed":
    svc.close()
opened, come = os.pipe()
closed, go = os.pipe()
child = os.fork()
if child == 0:
    try:
        mine = comptroller.open(store)
        write(mine, "child", 50)
    except comptroller.Error as error:
        mine = None
        os.write(1, f"refused {error.code}\\n".encode())
    os.write(come, b"!")
    os.read(closed, 1)
    if mine:
        write(mine, "late", 50)
    os.write(1, b"ready\\n")
    signal.pause()
os.read(opened, 1)
svc.close()
os.write(go, b"!")
os.write(1, f"pid {child}\\n".encode())
sys.stdin.read()
os.waitpid(child, 0)
"""


def acknowledged(process: subprocess.Popen[str], until: set[str]) -> list[str]:
    """Returns the lines of a process up to the last of these."""
    assert process.stdout
    lines: list[str] = []
    while until:
        line = process.stdout.readline().strip()
        assert line, lines
        until = until - {line.split()[0]}
        lines.append(line)
    return lines


def stored(path: Path) -> set[str]:
    with comptroller.open(path) as svc:
        assert svc.check()["ok"]
        return {identity.id for identity in svc.identities.iter()}


@pytest.mark.parametrize("parent", ["open", "closed"])
def test_no_acknowledged_write_around_a_fork_is_lost(store_path: Path, parent: str) -> None:
    """Of the parent, of its child, and of a third process that is killed."""

    def start(program: str, *arguments: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-W", "ignore", "-c", program, *map(str, arguments)]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    with start(FORKER, store_path, parent) as forker:
        lines = acknowledged(forker, {"pid", "ready"})
        (child,) = (int(line.split()[1]) for line in lines if line.startswith("pid"))
        with start(WRITER, store_path, "third", 100) as third:
            lines += acknowledged(third, {"done"})
            third.kill()
        os.kill(child, signal.SIGKILL)
        forker.communicate("", timeout=60)
        assert forker.returncode == 0
    written = {line for line in lines if "-" in line}
    assert stored(store_path) == written
    assert ("refused unusable" in lines) is (parent == "open")
    assert ("child-49" in written) is (parent == "closed")
    assert {"parent-4", "third-99"} <= written


# The child drops and closes everything that it inherited, while the parent writes.
DROPPER = """
import gc, os, subprocess, sys, comptroller
svc = comptroller.open(sys.argv[1])
other = comptroller.open(sys.argv[1], read_only=True)
for number in range(5):
    svc.identities.put(id=f"before-{number}")
stream = svc.identities.stream()
started = svc.identities.stream().__arrow_c_stream__()
svc.reports.overview()
child = os.fork()
if child == 0:
    svc.close()
    del svc, other, stream, started
    gc.collect()
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
# Another process is not the last one to close.
opening = "import sys, comptroller; comptroller.open(sys.argv[1]).close()"
subprocess.run([sys.executable, "-c", opening, sys.argv[1]], check=True)
for number in range(5):
    svc.identities.put(id=f"after-{number}")
assert other.identities.get("after-4")
os.kill(os.getpid(), 9)
"""


def test_a_child_that_drops_an_inherited_store_harms_nobody(store_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-c", DROPPER, str(store_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (-signal.SIGKILL, "")
    expected = {f"{when}-{number}" for when in ("before", "after") for number in range(5)}
    assert stored(store_path) == expected


# As a file, because `spawn` and `forkserver` import it again.
POOL = """
import multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor
import comptroller

def count(store):
    try:
        with comptroller.open(store) as svc:
            svc.identities.put(id=multiprocessing.current_process().name)
            return "opened"
    except comptroller.Error as error:
        return error.code

if __name__ == "__main__":
    store, method = sys.argv[1:]
    with comptroller.open(store) as svc:
        context = multiprocessing.get_context(method)
        with ProcessPoolExecutor(2, mp_context=context) as pool:
            print(*set(pool.map(count, [store] * 4)))
        print(len(svc.identities.list()) > 0)
"""


@pytest.mark.parametrize(
    ("method", "outcome"),
    [
        ("fork", ["unusable", "False"]),
        ("spawn", ["opened", "True"]),
        ("forkserver", ["opened", "True"]),
    ],
)
def test_the_workers_of_a_pool(store_path: Path, method: str, outcome: list[Any]) -> None:
    program = store_path.with_name("pool.py")
    program.write_text(POOL)
    command = [sys.executable, "-W", "ignore", str(program), str(store_path), method]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == outcome
