"""Files that are written by Python: durable under their name, or as they were before."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from comptroller import Service, Unavailable
from examples import line, loaded

NOBODY = 65534

WRITE = """
import os, sys, comptroller
comptroller.sample("claims", rows=1, out=sys.argv[1])  # everything is imported as the first user
if os.geteuid() == 0:
    os.seteuid(65534)  # the superuser may read any folder
comptroller.sample("claims", rows=1, out=sys.argv[2])
"""


@pytest.mark.parametrize("is_there", [False, True])
@pytest.mark.parametrize("partition", [None, ["month"]])
def test_an_export_whose_folder_cannot_be_synchronised_changes_nothing(
    operator: Service,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    partition: list[str] | None,
    is_there: bool,
) -> None:
    loaded(operator, "claims", line("claims"))
    path = tmp_path / "out" / "claims"
    path.parent.mkdir()
    if is_there and partition:
        path.mkdir()
    elif is_there:
        path.write_text("earlier", encoding="utf-8")
    folder = os.open(path.parent, os.O_RDONLY)
    synchronise = os.fsync

    def fail(descriptor: int) -> None:
        if os.path.sameopenfile(descriptor, folder):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        synchronise(descriptor)

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(Unavailable, match="claims cannot be written: Input/output error"):
        operator.export("claims", path, "parquet", partition=partition)
    os.close(folder)
    assert list(path.parent.iterdir()) == ([path] if is_there else [])
    if is_there:
        assert list(path.iterdir()) == [] if partition else path.read_text("utf-8") == "earlier"


def test_a_file_is_written_to_a_folder_with_write_permission_only() -> None:
    with tempfile.TemporaryDirectory() as name:  # other users may reach it, unlike those of pytest
        folder = Path(name)
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        folder.chmod(0o300)
        command = [sys.executable, "-c", WRITE, str(folder / "first"), str(folder / "second")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        folder.chmod(0o700)
        assert (done.returncode, done.stderr) == (0, "")
        assert (folder / "second").read_bytes() == (folder / "first").read_bytes() != b""
        assert len(list(folder.iterdir())) == 2
