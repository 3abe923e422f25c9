"""Exports in every format."""

from __future__ import annotations

from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from comptroller.bulk.excel import write_excel
from comptroller.bulk.exported import Exported
from comptroller.bulk.parquet import Lines, write_dataset, write_parquet
from comptroller.description import members, stored_members

if TYPE_CHECKING:
    from comptroller.bulk.streams import Rows
    from comptroller.host import Host

#: The SQL types of the stored members of an identity, by their types.
_TYPES = {
    "id": "VARCHAR",
    "string": "VARCHAR",
    "timestamp": "TIMESTAMPTZ",
    "metadata": "MAP(VARCHAR, VARCHAR)",
}


def write_export(
    host: Host,
    kind: str,
    target: str,
    format: str,
    parameters: list[tuple[str, str]],
    keys: list[str],
) -> Exported:
    """Writes the file of an export whose arguments are valid, or the folder if it has `keys`."""
    if format not in ("parquet", "xlsx"):
        return host.export(kind, target, format, parameters)
    with TemporaryDirectory() as folder:
        if format == "xlsx":
            rows = host.export(kind, f"{folder}/rows.csv", "csv", parameters)
            write_excel(f"{folder}/rows.csv", target)
            return rows
        if kind != "identities":
            stream, state = host.stream_with_head(kind, None, parameters)
            return Exported(_write(stream, target, keys), state())
        # The lines leave out the members that are derived from controls, and the identities that
        # only their controls name; a stream has both, and would be of a later snapshot.
        types = {name: each["type"].removesuffix("?") for name, each in members(kind).items()}
        columns = {name: _TYPES[types[name]] for name in stored_members(kind)}
        lines = Lines(f"{folder}/lines.ndjson", columns)
        exported = host.export(kind, lines.path, "ndjson", parameters)
        return Exported(_write(lines, target, keys), exported.journal)


def _write(source: Rows | Lines, target: str, keys: list[str]) -> int:
    return write_dataset(source, target, keys) if keys else write_parquet(source, target)
