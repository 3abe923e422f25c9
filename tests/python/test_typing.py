"""Type checking of programs that use the package."""

from __future__ import annotations

from pathlib import Path

import comptroller
import pytest

api = pytest.importorskip("mypy.api")

PROGRAM = """
import comptroller
from comptroller import errors

with comptroller.open("a.db") as svc:
    reveal_type(svc.load("claims", svc.claims.stream()))
    reveal_type(svc.claims.get("a").to_dict())
reveal_type(comptroller.__version__)
errors.NotFound
comptroller.errors.NotFound
comptroller.records.Claim
comptroller.Typo
"""


def test_an_unknown_name_is_a_type_error(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    sources = Path(str(comptroller.__file__)).parents[1]
    settings = tmp_path / "mypy.ini"
    settings.write_text(f"[mypy]\nstrict = True\nmypy_path = {sources}\n")
    output, _, code = api.run(["--config-file", str(settings), str(program)])
    errors = [line for line in output.splitlines() if ": error:" in line]
    assert code == 1, output
    assert [line.partition(": error: ")[2] for line in errors] == [
        'Module has no attribute "Typo"  [attr-defined]'
    ]
    assert "LoadResult" in output
    assert 'Revealed type is "str"' in output.replace("builtins.str", "str")


def test_the_same_name_is_an_error_at_run_time() -> None:
    with pytest.raises(AttributeError, match="Typo"):
        _ = comptroller.Typo  # type: ignore[attr-defined]
