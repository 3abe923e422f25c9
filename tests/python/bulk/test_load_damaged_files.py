"""Files of every format with changed bytes are loaded, or refused; the store stays sound."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import comptroller
import pytest
from comptroller import Error, InvalidRequest, Service
from examples import GROUP, accounted, line, ndjson

pl = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")
pytest.importorskip("python_calamine")
pytest.importorskip("xlsxwriter")

ROUNDS = 320
ROWS = [
    line("claims", id=f"claim-{number}", addresses=..., error_message=text)
    for number, text in enumerate(["", "two, words", 'a "quote"', "'", "ü€🙂", "=1+1"])
]
FRAME = pl.DataFrame(ROWS)
TYPED = FRAME.with_columns(
    pl.col("amount").cast(pl.Decimal(38, 18)),
    pl.col("created_at").str.to_datetime(time_zone="UTC"),
    pl.col("onchain_status").cast(pl.Categorical),
    number=pl.Series(range(len(ROWS)), dtype=pl.Int64),
    float=pl.lit(0.5),
    list=pl.Series([["a", "b"]] * len(ROWS)),
)


def written(write: Callable[[io.BytesIO], object]) -> bytes:
    out = io.BytesIO()
    write(out)
    return out.getvalue()


def parquet(**options: Any) -> bytes:
    return written(lambda out: TYPED.write_parquet(out, **options))


def csv(separator: str) -> bytes:
    return written(lambda out: FRAME.write_csv(out, separator=separator))


def parquet_with_intervals() -> bytes:
    """Returns a file that DuckDB reads for a load, because polars cannot."""
    with NamedTemporaryFile() as file, duckdb.connect() as engine:
        engine.register("rows", TYPED.drop("list"))
        engine.execute(
            f"COPY (SELECT *, INTERVAL 1 DAY AS span FROM rows) TO '{file.name}' (FORMAT parquet)"
        )
        return Path(file.name).read_bytes()


def zipped(content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("claims.csv", content)
    return out.getvalue()


def zstd(content: bytes) -> bytes:
    module = pytest.importorskip("backports.zstd" if sys.version_info < (3, 14) else "compression")
    return bytes(getattr(module, "zstd", module).compress(content))


LINES = ndjson(ROWS)
ARRAY = b"[" + b",\n".join(LINES.splitlines()) + b"]"
BOOK = written(
    TYPED.drop("list").with_columns(pl.col("created_at").dt.replace_time_zone(None)).write_excel
)
FILES = {
    "lines.ndjson": LINES,
    "array.json": ARRAY,
    "response.json": b'{"items": ' + ARRAY + b', "next_cursor": null}',
    "utf16.ndjson": LINES.decode().encode("utf-16"),
    "comma.csv": csv(","),
    "semicolon.csv": csv(";"),
    "tab.tsv": csv("\t"),
    "sheet.xlsx": BOOK,
    "plain.parquet": parquet(compression="uncompressed"),
    "zstd.parquet": parquet(compression="zstd"),
    "interval.parquet": parquet_with_intervals(),
    "lines.ndjson.gz": gzip.compress(LINES),
    "lines.ndjson.xz": lzma.compress(LINES),
    "array.json.zst": zstd(ARRAY),
    "comma.csv.bz2": bz2.compress(csv(",")),
    "comma.csv.zip": zipped(csv(",")),
}
PIECES = [
    *(b"\r\n", b"\n", b"\r", b"\0", b'"', b",", b";", b"\t", b"{", b"}", b"[", b"]", b":", b"\\"),
    *(b"\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\\ud800", b"a" * 9000, b"[" * 300, b"-1"),
    *(b"1e999", b"NaN", b"null", b"9" * 400, b"\xff" * 4, b"\x7f\xff\xff\xff"),
    *(b"<", b"/>", b"&#0;", b'r="ZZZ999999999"', b't="s"', b"<v>-5</v>"),
    *(b"PAR1", b"PK\x03\x04", b"\x1f\x8b"),
]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"keep_going": True},
    {"floats": "shortest", "tz": "Europe/Zurich", "dayfirst": True},
    {"decimal": ",", "rename": {"number": "onchain_group_id"}, "keep_going": True},
]


def changed(chosen: random.Random, given: bytes) -> bytes:
    """Returns bytes of which some are replaced, removed, doubled or inserted."""
    for _ in range(chosen.randint(1, 4)):
        # The end of a Parquet file and of an archive describes the rest.
        first = chosen.choice([0, 0, max(len(given) - 600, 0)])
        at = chosen.randrange(first, len(given) + 1)
        end = min(len(given), at + chosen.choice([0, 1, 1, 4, 30]))
        piece = chosen.choice([*PIECES, *[chosen.randbytes(end - at)] * 20, given[at:end] * 2, b""])
        given = given[:at] + piece + given[end:]
    return given


def changed_within(chosen: random.Random, archive: bytes) -> bytes:
    """Returns an archive of which one member is changed, and has a right checksum."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(out, "w") as new:
        picked = chosen.choice(old.namelist())
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, changed(chosen, content) if name == picked else content)
    return out.getvalue()


def damaged(chosen: random.Random, given: bytes) -> bytes:
    if given.startswith(b"PK") and chosen.random() < 0.8:
        return changed_within(chosen, given)
    return changed(chosen, given)


def load(service: Service, path: Path, rejects: Path, chosen: random.Random) -> None:
    """Loads a file in one of the ways; requires that a refused file stores nothing."""
    options = dict(chosen.choice(OPTIONS))
    if chosen.random() < 0.3:
        options["rejects"] = rejects
    before = service.check()["rows"] if "keep_going" not in options else None
    try:
        is_stored = accounted(service.load("claims", path, **options)).committed
    except Error:
        is_stored = False
    if before is not None and not is_stored:
        assert service.check()["rows"] == before


@pytest.fixture
def service(tmp_path: Path) -> Any:
    with comptroller.open(tmp_path / "store.db") as service:
        service.load("payout-groups", [line("payout-groups", id=GROUP)])
        yield service


@pytest.mark.parametrize("name", FILES)
def test_a_whole_file_is_loaded(service: Service, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(FILES[name])
    options: dict[str, Any] = {"tz": "UTC", "floats": "shortest"}
    assert accounted(service.load("claims", tmp_path / name, **options)).inserted == len(ROWS)


@pytest.mark.parametrize("seed", range(4))
def test_a_damaged_file_is_loaded_or_refused(service: Service, tmp_path: Path, seed: int) -> None:
    chosen = random.Random(seed)
    for _ in range(ROUNDS // 4):
        name = chosen.choice([*FILES])
        (tmp_path / name).write_bytes(damaged(chosen, FILES[name]))
        load(service, tmp_path / name, tmp_path / "rejects.csv", chosen)
    assert service.check()["ok"]


def test_a_damaged_schema_of_arrow_is_refused(service: Service, tmp_path: Path) -> None:
    head, key, text = FILES["plain.parquet"].partition(b"ARROW:schema")
    (tmp_path / "claims.parquet").write_bytes(head + key + text.replace(b"A", b"!", 1))
    with pytest.raises(InvalidRequest, match="its Arrow schema is damaged"):
        service.load("claims", tmp_path / "claims.parquet")


def test_damaged_rows_with_intervals_are_refused(service: Service, tmp_path: Path) -> None:
    content = FILES["interval.parquet"]
    (tmp_path / "claims.parquet").write_bytes(content[:4] + bytes(200) + content[204:])
    with pytest.raises(InvalidRequest, match=r"claims\.parquet cannot be read: "):
        service.load("claims", tmp_path / "claims.parquet")


@pytest.mark.parametrize("place", [8, -8])
def test_a_damaged_zstd_file_is_refused(service: Service, tmp_path: Path, place: int) -> None:
    content = bytearray(FILES["array.json.zst"])
    content[place] ^= 0xFF
    (tmp_path / "claims.json.zst").write_bytes(content)
    with pytest.raises(InvalidRequest, match=r"claims\.json\.zst cannot be read: "):
        service.load("claims", tmp_path / "claims.json.zst")
