"""What an entry of the journal says of many records, as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def batch_text(batch: Mapping[str, Any]) -> str:
    """Returns what a batch or an archive has, such as ``2 claims from claims.csv``."""
    counts = [_count(part["count"], part["resource"]) for part in batch["records"]]
    source = batch.get("input")
    return (", ".join(counts) or "nothing inserted") + (f" from {source}" if source else "")


def _count(number: int, table: str) -> str:
    name = table.replace("_", " ")
    if number == 1:
        name = f"{name[:-3]}y" if name.endswith("ies") else name[: -2 if "sses" in name else -1]
    return f"{number:,} {name}"
