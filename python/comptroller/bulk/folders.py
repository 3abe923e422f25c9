"""Folders that have a file for each kind of record."""

from __future__ import annotations

from pathlib import Path

from comptroller.bulk.compression import COMPRESSED
from comptroller.bulk.formats import FORMATS
from comptroller.bulk.pipes import PARTITIONED, naming
from comptroller.errors import invalid
from comptroller.values import KINDS

_SUFFIXES = ", ".join(FORMATS)


def files_of_kinds(folder: str) -> dict[str, Path]:
    """Returns the files of a folder by the kind in their name, in the order of loading.

    Raises InvalidRequest for a folder that `Service.load_all` cannot load.
    """
    with naming(folder):
        files = sorted(each for each in Path(folder).iterdir() if each.is_file())
    found: dict[str, Path] = {}
    for file in files:
        plain = Path(file.name)
        while plain.suffix.lower() in COMPRESSED:
            plain = Path(plain.stem)
        kind = plain.stem.lower().replace("_", "-")
        suffix = plain.suffix.lower()
        is_packed_kind = plain.name != file.name and not suffix and kind in KINDS
        if suffix not in FORMATS and not is_packed_kind:
            if suffix and kind in KINDS:
                raise invalid("folder", f"{file} has an unknown suffix; {_SUFFIXES} are known")
            continue
        if kind not in KINDS:
            allowed = ", ".join(KINDS)
            raise invalid("folder", f"{file} is not named after a kind; kinds are {allowed}")
        if kind in found:
            raise invalid("folder", f"{found[kind]} and {file} both have {kind}; keep one")
        found[kind] = file
    if not found:
        why = f"{folder} has no file of a kind, such as claims.ndjson"
        raise invalid("folder", f"{why}; {PARTITIONED}")
    return {kind: found[kind] for kind in KINDS if kind in found}
