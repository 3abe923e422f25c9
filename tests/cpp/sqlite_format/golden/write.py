"""Writes the golden files with the SQLite of apsw: python write.py FOLDER, once for each version.

Each has a table in the file and, in a second commit, in its log, which no checkpoint has written.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import apsw

PAGE_SIZES = (512, 1024)
LONG = 1500  # bytes of a record that needs overflow pages of 512 bytes


def write(target: Path, page_size: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "golden.db"
        connection = apsw.Connection(str(path))
        connection.execute(f"PRAGMA page_size = {page_size}")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("CREATE TABLE things (key INTEGER PRIMARY KEY, number INTEGER, a, b)")
        rows = [
            (n, n * 7919 % 251 - 100 << n % 40, f"text {n}" * (n % 5), bytes(range(n % 60)))
            for n in range(1, 60)
        ]
        connection.executemany("INSERT INTO things VALUES (?, ?, ?, ?)", rows)
        connection.execute("INSERT INTO things VALUES (100, NULL, ?, 2.5)", ("x" * LONG,))
        connection.execute("ALTER TABLE things ADD COLUMN c TEXT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with connection:
            connection.execute("UPDATE things SET a = 'changed', c = 'new' WHERE key % 20 = 3")
            connection.execute("DELETE FROM things WHERE key % 11 = 0")
            connection.execute("INSERT INTO things (key, a) VALUES (-5, ?)", ("y" * LONG,))
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{path}{suffix}", f"{target}{suffix}")
        connection.close()


if __name__ == "__main__":
    for size in PAGE_SIZES:
        write(Path(sys.argv[1]) / f"{apsw.sqlitelibversion()}-{size}.sqlite", size)
