"""Sample data: realistic, with valid references, and reproducible from a seed."""

from __future__ import annotations

import io
import os
import shutil
from pathlib import Path
from typing import overload

from comptroller import _core, arguments
from comptroller.bulk.files import refuse_store, whole_file
from comptroller.bulk.readers import PieceReader
from comptroller.errors import from_os_error, invalid
from comptroller.values import KINDS

_CHUNK_BYTES = 1 << 20
_SUFFIXES = (".ndjson", ".jsonl", ".json")
_MAX_UINT64 = 2**64 - 1  # the core has a lower limit for rows


@overload
def sample(
    kind: str, rows: int = 1000, seed: int = 1, customer: str | None = None, out: None = None
) -> io.BufferedReader: ...
@overload
def sample(
    kind: str,
    rows: int = 1000,
    seed: int = 1,
    customer: str | None = None,
    *,
    out: str | os.PathLike[str],
) -> Path: ...
def sample(
    kind: str,
    rows: int = 1000,
    seed: int = 1,
    customer: str | None = None,
    out: str | os.PathLike[str] | None = None,
) -> io.BufferedReader | Path:
    """Generates sample records as NDJSON.

    Args:
        kind: a kind of record, such as ``claims``; or ``all``, which writes KIND.ndjson for each
            kind into the folder `out`.
        rows: the number of records; with ``all`` the number of claims, and the other kinds in
            proportion.
        seed: the same seed gives the same bytes.
        customer: the customer of the records; default ``default``.
        out: the file to write, ``.ndjson``, ``.jsonl``, ``.json`` or without a suffix; or the
            folder for ``all``.

    Returns:
        A binary file to read or load; or the path, if `out` is given.

    Raises:
        InvalidRequest: the kind is unknown, ``all`` has no `out`, or `out` is a store or has the
            suffix of another format.
        Unusable: `out` cannot be written.
    """
    word = arguments.kind(kind, others=["all"])
    arguments.whole("rows", rows, _MAX_UINT64)
    arguments.whole("seed", seed, _MAX_UINT64)
    place = None if out is None else Path(arguments.path("out", out))
    if customer is not None:
        customer = arguments.text("customer", customer)
        if not customer:
            raise invalid("customer", "the id is empty; omit it for the customer default")
    if word == "all":
        if place is None:
            raise invalid("out", "the kind all needs a folder; name one")
        return _write_all(place, rows, seed, customer)
    if place is not None:
        refuse_store("out", place)
        if place.suffix.lower() not in ("", *_SUFFIXES):
            known = ", ".join(_SUFFIXES)
            raise invalid("out", f"{place} is not named as NDJSON; end it in one of {known}")
    file = _sample_file(word, rows, seed, customer)
    return file if place is None else _write(file, place)


def _sample_file(kind: str, rows: int, seed: int, customer: str | None) -> io.BufferedReader:
    generated = _core.sample(kind, rows, seed, customer)
    pieces = iter(lambda: generated.next(_CHUNK_BYTES), b"")
    return io.BufferedReader(PieceReader(pieces), buffer_size=_CHUNK_BYTES)


def _write_all(folder: Path, claims: int, seed: int, customer: str | None) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise from_os_error(error, f"{folder} cannot be created: {error.strerror}") from error
    for kind in KINDS:
        rows = _core.sample_rows(kind, claims)
        _write(_sample_file(kind, rows, seed, customer), folder / f"{kind}.ndjson")
    return folder


def _write(file: io.BufferedReader, path: Path) -> Path:
    refuse_store("out", path)
    with whole_file(path) as part, part.open("wb") as written:
        shutil.copyfileobj(file, written, _CHUNK_BYTES)
    return path
