"""Failed system calls and allocations leave the store as it was, or with the whole operation."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from programs import run, started

# The tests of the core may have to be compiled first.
pytestmark = pytest.mark.promise(3, minutes=25)

ROOT = Path(__file__).parents[2]
TARGET = "comptroller_fault_tests"
#: A fault may make an operation wait for seconds, in which other processes use the core.
PROCESSES = 4 * (os.cpu_count() or 1)
#: The operations whose allocations all fail. Others have too many for this run.
SHORT = (
    "create a control",
    "put an identity",
    "delete a control",
    "create with a key",
    "replay a key",
    "write later",
    "close",
    "list",
    "list with statements",
    "export",
    "back up",
    "make a key",
)


class Program:
    """The tests that inject faults, compiled with sanitizers."""

    def __init__(self, folder: str, build_type: str, sanitizers: str) -> None:
        build = ROOT / "build" / folder
        options = {
            "CMAKE_BUILD_TYPE": build_type,
            "COMPTROLLER_TESTS": "ON",
            "COMPTROLLER_MODULE": "OFF",
            "COMPTROLLER_SANITIZE": sanitizers,
        }
        defined = [f"-D{name}={value}" for name, value in options.items()]
        configure = ["cmake", "-S", ".", "-B", build, "-G", "Ninja", *defined]
        _check(run(configure, timeout=60, cwd=ROOT, stderr=subprocess.STDOUT))
        build_target = ["cmake", "--build", build, "--target", TARGET]
        _check(run(build_target, timeout=900, cwd=ROOT, stderr=subprocess.STDOUT))
        self._program = build / TARGET

    def inject(
        self,
        figures: dict[str, Any],
        *,
        calls: str = "",
        operations: Iterable[str] = (),
        seconds: int,
    ) -> None:
        """Injects faults for at most so many seconds for each operation, in several processes."""
        command: list[Any] = [self._program, "--no-version", "-tc=an operation *"]
        command += ["-sc=" + ",".join(operations)] if operations else []
        variables = {"FAULT_SECONDS": str(seconds), "FAULT_CALLS": calls}

        def wait(program: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
            output, _ = program.communicate(timeout=3000)
            return subprocess.CompletedProcess(program.args, program.returncode, output)

        with ThreadPoolExecutor(PROCESSES) as threads, ExitStack() as closing:
            running = [
                closing.enter_context(
                    started(
                        command,
                        cwd=ROOT,
                        env=os.environ | variables | {"FAULT_SHARE": f"{share}/{PROCESSES}"},
                        stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT,
                    )
                )
                for share in range(PROCESSES)
            ]
            ended = list(threads.map(wait, running))
        printed = "".join(each.stdout for each in ended)
        verdicts = re.findall(r"assertions: +(\d+) \| +\d+ passed \| +(\d+) failed", printed)
        figures["assertions"] = sum(int(count) for count, _ in verdicts)
        figures["failed assertions"] = sum(int(failed) for _, failed in verdicts)
        _check(*ended)
        counted: dict[str, Counter[str]] = {}
        for line in printed.splitlines():
            if line.startswith("faults\t"):
                _, name, *numbers = line.split("\t")
                columns = ("possible", "injected", "struck", "refused")
                counts = dict(zip(columns, map(int, numbers), strict=True))
                counted.setdefault(name, Counter()).update(counts)
        assert all(each["possible"] for each in counted.values())
        total = sum(counted.values(), Counter[str]())
        every = sum(each["possible"] == each["injected"] for each in counted.values())
        figures["operations"] = len(counted)
        figures["operations with a fault in every call"] = every
        figures["faults possible"] = total["possible"]
        figures["faults injected"] = total["injected"]
        figures["operations that a fault struck"] = total["struck"]
        figures["of these, refused as a whole"] = total["refused"]
        figures["of these, successful"] = total["struck"] - total["refused"]


def _check(*ended: subprocess.CompletedProcess[str]) -> None:
    """Shows the output of each command that failed."""
    failed = [each.stdout[-20_000:] for each in ended if each.returncode != 0]
    assert not failed, "\n".join(failed)


def test_any_fault(figures: dict[str, Any]) -> None:
    """Calls of each operation fail, once and from then on; no leak, no invalid access."""
    program = Program("sanitize", "Debug", "address,undefined")
    program.inject(figures, seconds=5)
    assert figures["operations"] >= 25
    assert figures["faults injected"] >= 10 * figures["operations"]  # a busy machine is slower


@pytest.fixture(scope="module")
def program() -> Program:
    return Program("faults", "RelWithDebInfo", "leak")


@pytest.mark.promise(3, minutes=60, alone=True)
def test_each_call_of_the_system(program: Program, figures: dict[str, Any]) -> None:
    """Each call of the system fails in each operation, in each way, once and from then on"""
    program.inject(figures, calls="system", seconds=600)
    assert figures["operations"] >= 25
    assert figures["faults injected"] == figures["faults possible"]


@pytest.mark.promise(3, minutes=60, alone=True)
def test_each_allocation(program: Program, figures: dict[str, Any]) -> None:
    """Each allocation of short operations fails, once and from then on; no leak"""
    program.inject(figures, calls="memory", operations=SHORT, seconds=600)
    assert figures["operations"] == len(SHORT)
    assert figures["faults injected"] == figures["faults possible"]
