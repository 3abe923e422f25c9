"""The wheel that `make check` builds and installs in a separate environment."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from places import ROOT

PYTHON = ROOT / ".venv" / "wheel" / "bin" / "python"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON.exists(), reason="`make check` installs a wheel there"),
]


def output(code: str, folder: Path) -> str:
    """Runs code in the environment, without a compiler and PYTHONPATH; returns its output."""
    ended = subprocess.run(
        [PYTHON, "-c", code],
        cwd=folder,
        env={"PATH": str(PYTHON.parent), "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    return ended.stdout


def test_the_first_example_of_the_readme_runs(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (code, *_) = re.findall(r"^```python\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    assert "10000 0\nFalse True\n" in output(code, tmp_path)


def test_it_is_installed_only_in_that_environment(tmp_path: Path) -> None:
    (place,) = output("import comptroller; print(comptroller.__file__)", tmp_path).splitlines()
    assert Path(place).is_relative_to(PYTHON.parents[1])


def test_it_contains_its_libraries_except_sqlite(tmp_path: Path) -> None:
    maps = output("import comptroller._core; print(open('/proc/self/maps').read())", tmp_path)
    loaded = {Path(path) for path in re.findall(r"(/\S+\.so\S*)", maps)}
    environment = PYTHON.parents[1]
    for library in ("simdjson", "sodium", "crypto"):
        (path,) = (each for each in loaded if f"lib{library}" in each.name)
        assert path.is_relative_to(environment)
    (sqlite,) = (each for each in loaded if "libsqlite3" in each.name)
    assert not sqlite.is_relative_to(environment)


def test_everything_but_two_packages_is_an_extra(tmp_path: Path) -> None:
    """The client library of PostgreSQL, too."""
    code = "import importlib.metadata as m; print(*m.requires('comptroller'), sep='\\n')"
    required = output(code, tmp_path).splitlines()
    always = {re.split(r"\W", each)[0] for each in required if "extra ==" not in each}
    assert always == {"jinja2", "msgspec"}


def test_the_command_names_the_missing_extra(tmp_path: Path) -> None:
    program = PYTHON.with_name("comptroller")
    ended = subprocess.run(
        [program, "demo"], env=dict(os.environ), capture_output=True, text=True, cwd=tmp_path
    )
    assert ended.returncode == 1
    assert 'install comptroller with its extra "cli"' in ended.stderr
