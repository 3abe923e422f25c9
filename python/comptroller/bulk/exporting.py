"""Exports in every format."""

from __future__ import annotations

from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from comptroller.bulk.excel import write_excel
from comptroller.bulk.exported import Exported
from comptroller.bulk.parquet import write_dataset, write_parquet
from comptroller.description import stored_members

if TYPE_CHECKING:
    from comptroller.host import Host


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
        # The other formats also leave out the members that are derived from controls, and the
        # identities that only their controls name; the latter are no lines to load.
        columns = stored_members(kind) if kind == "identities" else None
        stream, state = host.stream_with_head(kind, columns, parameters)
        lines = f"{folder}/lines.ndjson" if kind == "identities" else None
        if lines:
            host.export(kind, lines, "ndjson", parameters)
        if keys:
            written = write_dataset(stream, target, keys, lines)
        else:
            written = write_parquet(stream, target, lines)
        return Exported(written, state())
