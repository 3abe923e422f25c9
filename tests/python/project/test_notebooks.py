"""The notebooks run from scratch, and are stored without outputs."""

from __future__ import annotations

from pathlib import Path

import pytest
from places import ROOT
from spark_session import MARKS

for needed in ("nbclient", "ipykernel", "duckdb", "sqlglot", "altair", "vl_convert", "httpx2"):
    pytest.importorskip(needed)

import nbformat  # noqa: E402
from nbclient import NotebookClient  # noqa: E402

FOLDER = ROOT / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
if not NOTEBOOKS:
    pytest.skip("the source distribution carries no notebooks", allow_module_level=True)


def read(notebook: Path) -> nbformat.NotebookNode:
    return nbformat.read(notebook, as_version=4)


@pytest.mark.parametrize(
    "notebook",
    [
        pytest.param(each, id=each.stem, marks=MARKS if "pyspark" in each.read_text() else ())
        for each in NOTEBOOKS
    ],
)
def test_a_notebook_runs_and_draws(
    notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "pyspark" in notebook.read_text():
        pytest.importorskip("pyspark")
    for name in ("TMPDIR", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    run = read(notebook)
    where = {"metadata": {"path": str(FOLDER)}}
    NotebookClient(run, timeout=300, kernel_name="python3", resources=where).execute()
    outputs = [output for cell in run.cells for output in cell.get("outputs", [])]
    assert any("image/svg+xml" in output.get("data", {}) for output in outputs)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda each: each.stem)
def test_a_notebook_is_stored_without_outputs(notebook: Path) -> None:
    code = [cell for cell in read(notebook).cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)
