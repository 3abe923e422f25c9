"""DuckDB's relations as reports and queries read them."""

from __future__ import annotations

from typing import Any


def columns(relation: Any) -> str:
    """All columns of a relation for a projection: closed sets, which are enums in it, as text."""
    words = [
        f"CAST({column} AS VARCHAR) AS {column}"
        for column, type in zip(relation.columns, relation.types, strict=True)
        if type.id == "enum"
    ]
    return f"* REPLACE ({', '.join(words)})" if words else "*"
