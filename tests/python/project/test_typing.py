"""Type checking of programs that use the package."""

from __future__ import annotations

from pathlib import Path

import comptroller
import pytest

api = pytest.importorskip("mypy.api")

PROGRAM = """
import comptroller
from comptroller import errors
from comptroller.operations.claims import ClaimFilters

with comptroller.open("a.db") as svc:
    reveal_type(svc.load("claims", svc.claims.stream()))
    reveal_type(svc.claims.get("a").to_dict())
    statuses: list[str] = ["PENDING"]
    filters: ClaimFilters = {"chain": "INK", "statuses": statuses}
    svc.claims.list(statuses=statuses)
    svc.claims.list(statuses=[each.onchain_status for each in svc.claims.list()])
    svc.claims.list(**filters)
    svc.claims.stream(**filters)


async def work() -> None:
    async with comptroller.connect_async("https://books.example") as svc:
        reveal_type(await svc.load("claims", []))
        reveal_type(await svc.claims.stream())
        reveal_type(await svc.run_sync(lambda service: service.claims.list()))
        await svc.claims.stream(status="PENDING")


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
        'Unexpected keyword argument "status" for "stream" of "AsyncClaims"; did you mean '
        '"statuses"?  [call-arg]',
        'Module has no attribute "Typo"  [attr-defined]',
    ]
    revealed = [line.partition('Revealed type is "')[2][:-1] for line in output.splitlines()]
    revealed = [line.replace("comptroller.", "").rpartition(".")[2] for line in revealed if line]
    assert revealed[0] == revealed[2] == "LoadResult"
    assert revealed[3:5] == ["Stream", "Claim]"]
    assert 'Revealed type is "str"' in output.replace("builtins.str", "str")


def test_the_same_name_is_an_error_at_run_time() -> None:
    with pytest.raises(AttributeError, match="Typo"):
        _ = comptroller.Typo  # type: ignore[attr-defined]
