"""Row 8: starting: the import, a trivial command, the first response, the size of the wheel."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from servers.running import COMPTROLLER, ask, running

ROOT = Path(__file__).parent.parent
CONTENDERS = (
    "python_alone",
    "import_comptroller",
    "import_and_open",
    "trivial_command",
    "first_answer_of_serve",
)


def _timed(command: list[str | Path]) -> dict[str, float]:
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return {"seconds": time.perf_counter() - started}


def python_alone(_folder: Path) -> dict[str, float]:
    return _timed([sys.executable, "-c", "pass"])


def import_comptroller(_folder: Path) -> dict[str, float]:
    return _timed([sys.executable, "-c", "import comptroller"])


def import_and_open(_folder: Path) -> dict[str, float]:
    """Includes the modules that the first use loads: the core, msgspec, the service."""
    return _timed([sys.executable, "-c", "import comptroller; comptroller.open(':memory:')"])


def trivial_command(_folder: Path) -> dict[str, float]:
    return _timed([COMPTROLLER, "--version"])


def first_answer_of_serve(_folder: Path) -> dict[str, float]:
    """Measures the time until a server with a new store has listed its claims."""
    started = time.perf_counter()
    with running([COMPTROLLER, "serve", "--empty", "--auth", "off", "--port", "0"]) as address:
        ask(address, "/rewards/claims", {})
        seconds = time.perf_counter() - started
    return {"seconds": seconds}


def wheel_bytes() -> int:
    """Returns the size of the wheel of an existing build, if there is one."""
    compiled = ROOT / "build" / "editable"
    build = compiled if compiled.exists() else ROOT / "build" / "wheel"
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-build-isolation"]
        command += ["--no-deps", f"-Cbuild-dir={build}", "-w", folder, str(ROOT)]
        subprocess.run(command, check=True)
        return next(Path(folder).glob("*.whl")).stat().st_size
