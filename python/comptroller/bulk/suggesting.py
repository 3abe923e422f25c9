"""A mapping for a file, guessed from the names of its columns and their values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from difflib import SequenceMatcher
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID

from comptroller.bulk import tables
from comptroller.bulk.compression import content, spooled
from comptroller.bulk.csv_files import CsvFile
from comptroller.bulk.documents import records
from comptroller.bulk.formats import format_of, separator_of
from comptroller.bulk.mapping import GROUPED, TIME
from comptroller.bulk.pipes import NamedFile
from comptroller.bulk.sheets import read_sheet
from comptroller.description import derived, described, members
from comptroller.errors import invalid

_READ_ROWS = 1000
_LEAST_SCORE = 0.6
_FITS = 0.5  # what a fitting type adds to the similarity of the names, which is at most 1
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)*")

Texts = Sequence[str]


def suggest(kind: str, file: str) -> str:
    """Returns a mapping file (TOML) for a file of a kind. Raises InvalidRequest."""
    with ExitStack() as closing:
        try:
            opened = closing.enter_context(Path(file).open("rb"))
        except OSError as error:
            raise invalid("file", f"{file} cannot be read: {error.strerror}") from error
        found = content(opened, file, closing)
        format = format_of(found.head, found.name)
        separator = separator_of(found.head) if format == "csv" else ","
        path = spooled(found.file, closing).name
        if format == "json":
            opened = closing.enter_context(Path(path).open("rb"))
            rows: Iterator[Any] = records(NamedFile(opened, file))
        elif format == "parquet":
            rows = tables.rows_of(tables.parquet_frames(path, file))
        elif format == "xlsx":
            rows = tables.rows_of((read_sheet(path, file, None).frame,))
        else:
            rows = tables.rows_of(CsvFile(path, file, separator).frames())
        columns = _columns(row for row in islice(rows, _READ_ROWS) if isinstance(row, Mapping))
    return _mapping(kind, columns, separator)


def _columns(rows: object) -> dict[str, list[object]]:
    columns: dict[str, list[object]] = {}
    for row in rows:  # type: ignore[attr-defined]
        for name, value in row.items():
            columns.setdefault(str(name), [])
            if value is not None:
                columns[str(name)].append(value)
    return columns


def _mapping(kind: str, columns: Mapping[str, Sequence[object]], separator: str) -> str:
    wanted = {name: each for name, each in members(kind).items() if name not in derived(kind)}
    chosen = {name: name for name in columns if name in wanted}
    scores = sorted(
        (
            (_score(name, values, member, wanted[member]), name, member)
            for name, values in columns.items()
            for member in wanted
            if name not in chosen and member not in chosen.values()
        ),
        reverse=True,
    )
    for score, name, member in scores:
        if score >= _LEAST_SCORE and name not in chosen and member not in chosen.values():
            chosen[name] = member
    texts = {member: [str(each) for each in columns[name]] for name, member in chosen.items()}
    lines = [] if separator == "," else [f"separator = {json.dumps(separator)}"]
    by_type = {type: [] for type in ("amount", "timestamp", "uuid")}  # type: dict[str, list[str]]
    for member, values in texts.items():
        by_type.get(wanted[member]["type"].rstrip("?"), []).extend(values)
    lines += _options(by_type, columns, chosen, wanted)
    renamed = [
        f"{json.dumps(name, ensure_ascii=False)} = {json.dumps(chosen[name])}"
        for name in columns
        if name in chosen and name != chosen[name]
    ]
    lines += ["", "[rename]", *renamed] if renamed else []
    missing = [
        name
        for name, each in wanted.items()
        if each["required"] and not each.get("is_completed") and name not in chosen.values()
    ]
    if missing:
        lines += ["", f"# not found: {', '.join(missing)}; rename a column, or set them here:"]
        lines += ["# [constants]", *(f'# {name} = ""' for name in missing)]
    return "\n".join(lines).lstrip("\n") + "\n"


def _options(
    by_type: Mapping[str, Texts],
    columns: Mapping[str, Sequence[object]],
    chosen: Mapping[str, str],
    wanted: Mapping[str, Mapping[str, object]],
) -> list[str]:
    lines = []
    amounts, times = by_type["amount"], by_type["timestamp"]
    if any("," in each for each in amounts) and all(map(GROUPED.fullmatch, amounts)):
        lines.append('decimal = ","')
    found = [each for each in (TIME.fullmatch(text.strip()) for text in times) if each]
    if any(not each["zone"] for each in found):
        lines.append('tz = "UTC"  # of times without an offset, and of days')
    slashes = [each for each in found if each["by"] != "." and len(each["a"]) < 4]
    if slashes:
        lines.append(f"dayfirst = {json.dumps(any(int(each['a']) > 12 for each in slashes))}")
    if not all(map(_is_uuid, by_type["uuid"])):
        lines.append('ids = "uuid5"')
    if any(
        wanted[member]["type"] == "amount"
        and any(isinstance(each, float) for each in columns[name])
        for name, member in chosen.items()
    ):
        lines.append('floats = "shortest"')
    return lines


def _score(
    name: str, values: Sequence[object], member: str, description: Mapping[str, object]
) -> float:
    """Returns how well a column fits a member, by its name and its values."""
    own = _plain(name)
    likeness = SequenceMatcher(None, own, _plain(member)).ratio()
    words = {_plain(word) for word in str(description["doc"]).split()}
    likeness = max(likeness, 0.5 if own in words else 0.0)
    if _plain(member) in own or own in _plain(member):
        likeness = max(likeness, 0.7)
    fits = _fits(str(description["type"]).rstrip("?"), [str(each) for each in values])
    return likeness + (0.0 if fits is None else _FITS if fits else -1.0)


def _fits(type: str, values: Texts) -> bool | None:
    """Whether the values are of a type; None if that says little."""
    if not values:
        return None
    if type == "amount":
        return all(map(_NUMBER.fullmatch, values))
    if type == "timestamp":
        return all(TIME.fullmatch(each.strip()) for each in values)
    if type in described()["enums"]:
        return {each.upper() for each in values} <= set(described()["enums"][type])
    if type == "boolean":
        return {each.lower() for each in values} <= {"true", "false"}
    is_other = all(_NUMBER.fullmatch(each) or TIME.fullmatch(each.strip()) for each in values)
    return False if type == "uuid" and is_other else None


def _is_uuid(text: str) -> bool:
    try:
        return len(text) == 36 and bool(UUID(text))
    except ValueError:
        return False


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name.lower())
