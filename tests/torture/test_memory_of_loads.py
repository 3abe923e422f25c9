"""A load needs little memory, however long its input is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import comptroller
import postgresql_server
import pytest
from limited_process import run

pytestmark = pytest.mark.promise(17, minutes=20, alone=True)

CLAIMS = 5_000_000
LIMIT_MIB = 256
# Generated once, because the generator takes a third of the time.
LINES = Path(__file__).parents[2] / "build" / "torture" / f"{CLAIMS}-claims.ndjson"
PROGRAM = """
import comptroller

store, lines = given
with comptroller.open(store) as service:
    result = service.load("claims", lines)
    found.update(committed=result.committed, inserted=result.inserted)
"""


@pytest.fixture(scope="module")
def lines() -> Path:
    """A file with the claims, which stays in the build folder."""
    if not LINES.exists():
        LINES.parent.mkdir(parents=True, exist_ok=True)
        unfinished = LINES.with_name(f"unfinished-{LINES.name}")
        comptroller.sample("claims", CLAIMS, out=unfinished)
        unfinished.rename(LINES)
    return LINES


def test_a_large_load_stays_small(tmp_path: Path, lines: Path, figures: dict[str, Any]) -> None:
    """Loading 5,000,000 claims takes less than 256 MiB"""
    _check_load(str(tmp_path / "store.db"), tmp_path, lines, figures)


def test_a_large_load_into_postgresql_stays_small(
    tmp_path: Path, lines: Path, figures: dict[str, Any]
) -> None:
    """Loading 5,000,000 claims into PostgreSQL takes less than 256 MiB of the loading process"""
    try:
        with postgresql_server.run_lock() as lock:
            address = postgresql_server.start(lock).create("loaded")
            _check_load(address, tmp_path, lines, figures)
    except postgresql_server.Missing as missing:
        pytest.skip(str(missing))


def _check_load(store: str, folder: Path, lines: Path, figures: dict[str, Any]) -> None:
    ran = run(PROGRAM, [store, str(lines)], folder)
    assert ran.code == 0, ran.errors
    figures["claims"] = ran.found["inserted"]
    figures["GB of input"] = lines.stat().st_size / 1e9
    figures["largest RSS, MiB"] = ran.found["rss_mib"]
    assert (ran.found["committed"], ran.found["inserted"]) == (True, CLAIMS)
    assert ran.found["rss_mib"] < LIMIT_MIB
