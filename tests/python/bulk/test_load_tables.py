"""CSV, Parquet and Excel files, and compressed files of every format."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from comptroller import InvalidRequest, Service
from examples import KINDS, accounted, line, short_line

pl = pytest.importorskip("polars")
xlsxwriter = pytest.importorskip("xlsxwriter")
pytest.importorskip("python_calamine")


def claims(count: int = 3, **changes: object) -> list[dict[str, Any]]:
    return [short_line("claims", id=f"c-{n}", **changes) for n in range(count)]


def text_of(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def as_ndjson(rows: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def as_json(rows: list[dict[str, Any]]) -> bytes:
    return json.dumps(rows).encode()


def as_csv(rows: list[dict[str, Any]], separator: str = ",") -> bytes:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(rows[0]), delimiter=separator)
    writer.writeheader()
    writer.writerows({name: text_of(value) for name, value in row.items()} for row in rows)
    return out.getvalue().encode()


def as_tsv(rows: list[dict[str, Any]]) -> bytes:
    return as_csv(rows, "\t")


def as_parquet(rows: list[dict[str, Any]]) -> bytes:
    out = io.BytesIO()
    pl.DataFrame(rows).write_parquet(out)
    return out.getvalue()


def as_xlsx(rows: list[dict[str, Any]]) -> bytes:
    out = io.BytesIO()
    with xlsxwriter.Workbook(out, {"in_memory": True}) as workbook:
        sheet = workbook.add_worksheet()
        sheet.write_row(0, 0, list(rows[0]))
        for number, row in enumerate(rows, start=1):
            for column, value in enumerate(row.values()):
                if value is not None:
                    sheet.write_string(number, column, text_of(value))
    return out.getvalue()


def zipped(content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("rows", content)
    return out.getvalue()


def zstd(content: bytes) -> bytes:
    module = pytest.importorskip("backports.zstd" if sys.version_info < (3, 14) else "compression")
    return bytes(getattr(module, "zstd", module).compress(content))


FORMATS: dict[str, Callable[[list[dict[str, Any]]], bytes]] = {
    ".ndjson": as_ndjson,
    ".json": as_json,
    ".csv": as_csv,
    ".tsv": as_tsv,
    ".parquet": as_parquet,
    ".xlsx": as_xlsx,
}
PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstd,
    ".zip": zipped,
}


class Unseekable:
    """A file object that has only `read`, in short pieces."""

    def __init__(self, content: bytes) -> None:
        self._content = io.BytesIO(content)

    def read(self, size: int = -1) -> bytes:
        return self._content.read(min(size, 1000))


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("suffix", FORMATS)
def test_a_file_is_read_from_a_path_a_file_and_a_pipe(
    operator: Service, tmp_path: Path, suffix: str, packing: str
) -> None:
    content = PACKINGS[packing](FORMATS[suffix](claims(addresses=["0x1", "0x2"])))
    named = tmp_path / f"rows{suffix}{packing}"
    named.write_bytes(content)
    assert accounted(operator.load("claims", named)).inserted == 3
    unnamed = tmp_path / "rows"
    unnamed.write_bytes(content)
    for source in (unnamed, io.BytesIO(content), Unseekable(content)):
        result = accounted(operator.load("claims", source))  # type: ignore[arg-type]
        assert (result.unchanged, result.unknown_members) == (3, {})
    assert operator.claims.get("c-1").addresses == ("0x1", "0x2")
    with os.fdopen(_pipe_of(content), "rb") as pipe:
        assert accounted(operator.load("claims", pipe)).unchanged == 3


def _pipe_of(content: bytes) -> int:
    reading, writing = os.pipe()
    os.write(writing, content)  # small enough for the pipe's buffer
    os.close(writing)
    return reading


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".xlsx.gz"])
def test_the_command_line_reads_files_and_pipes(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("click")
    plain = suffix.removesuffix(".gz")
    content = FORMATS[plain](claims())
    if suffix != plain:
        content = gzip.compress(content)
    (tmp_path / f"rows{suffix}").write_bytes(content)
    for words, given in (((f"rows{suffix}",), b""), (("-",), content)):
        command = [sys.executable, "-m", "comptroller", "load", "claims", *words, "--json"]
        done = subprocess.run(
            [*command, "--db", "store.db"], cwd=tmp_path, input=given, capture_output=True
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["read"] == 3


def test_a_folder_of_tables_loads_each_kind(operator: Service, tmp_path: Path) -> None:
    (tmp_path / "payout_groups.csv").write_bytes(as_csv([line("payout-groups")]))
    (tmp_path / "reward-addresses.xlsx").write_bytes(as_xlsx([line("reward-addresses")]))
    (tmp_path / "claims.parquet.zst").write_bytes(zstd(as_parquet(claims())))
    results = operator.load_all(tmp_path)
    assert [(kind, accounted(each).inserted) for kind, each in results.items()] == [
        ("payout-groups", 1),
        ("reward-addresses", 1),
        ("claims", 3),
    ]


@pytest.mark.parametrize(
    ("name", "form", "packing"),
    [
        ("Claims.CSV", ".csv", ""),
        ("CLAIMS.CSV.GZ", ".csv", ".gz"),
        ("claims.gz", ".ndjson", ".gz"),
        ("claims.zip", ".xlsx", ".zip"),
        ("claims.Parquet", ".parquet", ""),
        ("claims.json.xz.zst", ".json", ""),
    ],
)
def test_a_file_of_a_folder_may_have_any_format(
    operator: Service, tmp_path: Path, name: str, form: str, packing: str
) -> None:
    (tmp_path / name).write_bytes(PACKINGS[packing](FORMATS[form](claims())))
    assert accounted(operator.load_all(tmp_path)["claims"]).inserted == 3


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("notes.XLSX", "is not named after a kind"),
        ("notes.csv.GZ", "is not named after a kind"),
        ("claims.xls", "has an unknown suffix"),
        ("claims.txt.gz", "has an unknown suffix"),
        ("Claims.jsonl", "both have claims"),
    ],
)
def test_a_file_of_a_folder_is_not_skipped_silently(
    operator: Service, tmp_path: Path, name: str, why: str
) -> None:
    (tmp_path / "claims.csv").write_bytes(as_csv(claims()))
    (tmp_path / "pictures.zip").write_bytes(b"")
    assert [*operator.load_all(tmp_path)] == ["claims"]
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(InvalidRequest, match=why):
        operator.load_all(tmp_path)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", [".csv", ".xlsx"])
def test_every_member_is_read_from_text(operator: Service, kind: str, suffix: str) -> None:
    operator.load("reward-addresses", [line("reward-addresses")])
    row = {name: value for name, value in line(kind).items() if value not in (None, "")}
    accounted(operator.load(kind, io.BytesIO(FORMATS[suffix]([row]))))
    assert accounted(operator.load(kind, [row])).unchanged == 1


@pytest.mark.parametrize("suffix", [".csv", ".xlsx"])
def test_lines_are_numbered_as_the_file_shows_them(operator: Service, suffix: str) -> None:
    rows = claims(4)
    rows[1] = dict.fromkeys(rows[1], None)  # type: ignore[arg-type]
    rows[3]["amount"] = "1e3"
    if suffix == ".csv":
        content = as_csv([rows[0], rows[2], rows[3]])
        content = content.replace(b"\r\nc-2", b"\r\n\r\nc-2")
    else:
        content = as_xlsx(rows)
    result = accounted(operator.load("claims", io.BytesIO(content)))
    assert (result.read, result.blank, result.rejected) == (4, 1, 1)
    assert result.rejections[0].line == 5
    assert "amount" in result.rejections[0].message


def test_amounts_in_a_csv_stay_exact(operator: Service) -> None:
    amount = "12345678901234567890.123456789012345678"
    operator.load("claims", io.BytesIO(as_csv(claims(1, amount=amount))))
    assert str(operator.claims.get("c-0").amount) == amount


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("x.parquet", b"id,amount\n", "not a file of the format"),
        ("x.xlsx", b"id,amount\n", "not a file of the format"),
        ("x.csv", b"id,amount\n1,2,3\n", "cannot be read"),
        ("x.csv", b"id,amount\n\xff,2\n", "cannot be read"),
        ("x.parquet", b"PAR1", "cannot be read"),
        ("x.zip", b"PK\x03\x04", "cannot be read"),
        ("x.gz", gzip.compress(b"{}", mtime=0)[:-9], "cannot be read"),
        ("x.xz", lzma.compress(b"{}" * 100)[:-30], "cannot be read"),
        ("x.bz2", b"BZh9" + bytes(100), "cannot be read"),
    ],
)
def test_a_damaged_file_is_refused_by_name(
    operator: Service, tmp_path: Path, name: str, content: bytes, why: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidRequest, match=why) as refused:
        operator.load("claims", tmp_path / name)
    assert "x" in str(refused.value)


def changed(content: bytes) -> bytes:
    return content[:30] + bytes([content[30] ^ 0xFF]) + content[31:]


# what follows a whole stream, as it is made by a packing; None if the file is accepted
AFTER_A_STREAM: list[tuple[str, Callable[[bytes], bytes], str | None]] = [
    *((each, bytes, None) for each in (".gz", ".bz2", ".xz", ".zst")),
    *((each, changed, "cannot be read") for each in (".gz", ".bz2", ".xz", ".zst")),
    *((each, lambda more: more[:-9], "ended before") for each in (".gz", ".bz2", ".xz")),
    *((each, lambda more: more[:2], "cannot be read") for each in (".gz", ".bz2", ".xz", ".zst")),
    *((each, lambda more: more + b"{}\n", "cannot be read") for each in (".gz", ".bz2", ".xz")),
    (".xz", lambda more: bytes(4) + more + bytes(1 << 18), None),  # padding
    (".xz", lambda more: bytes(2) + more, "2 zero bytes after a stream, not a multiple of 4"),
    (".xz", lambda more: more + bytes((1 << 18) + 1), "zero bytes after a stream"),
    (".xz", lambda more: bytes(4) + b"{}", "cannot be read"),
    (".bz2", lambda more: more + bytes(4), "cannot be read"),
]


@pytest.mark.parametrize(("packing", "after", "why"), AFTER_A_STREAM)
def test_a_file_of_several_streams_is_read_whole_or_refused(
    operator: Service,
    tmp_path: Path,
    packing: str,
    after: Callable[[bytes], bytes],
    why: str | None,
) -> None:
    rows = as_ndjson(claims(5)).splitlines(keepends=True)
    first, second = (PACKINGS[packing](b"".join(each)) for each in (rows[:2], rows[2:]))
    content = first + after(second)
    (tmp_path / f"x.ndjson{packing}").write_bytes(content)
    for source in (tmp_path / f"x.ndjson{packing}", io.BytesIO(content), Unseekable(content)):
        if why is None:
            assert accounted(operator.load("claims", source)).read == 5
        else:
            with pytest.raises(InvalidRequest, match=why):
                operator.load("claims", source)
    assert len(operator.claims.list()) == (5 if why is None else 0)


def test_layers_of_compression_are_bounded(operator: Service) -> None:
    content = as_ndjson(claims())
    for _ in range(4):
        content = gzip.compress(content)
    assert accounted(operator.load("claims", io.BytesIO(content))).inserted == 3
    with pytest.raises(InvalidRequest, match="compressed more than 4 times"):
        operator.load("claims", io.BytesIO(gzip.compress(content)))


def test_an_archive_of_several_files_is_refused(operator: Service) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.csv", "id\n")
        archive.writestr("b.csv", "id\n")
    out.seek(0)
    with pytest.raises(InvalidRequest, match="a zip archive of 2 files"):
        operator.load("claims", out)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("suffix", [".ndjson", ".csv"])
def test_utf_16_is_read(operator: Service, tmp_path: Path, encoding: str, suffix: str) -> None:
    text = FORMATS[suffix](claims(claim_schedule_id="täglich 😀")).decode()
    content = ("" if encoding == "utf-16" else "\ufeff").encode(encoding) + text.encode(encoding)
    (tmp_path / f"rows{suffix}").write_bytes(content)
    assert accounted(operator.load("claims", tmp_path / f"rows{suffix}")).inserted == 3
    assert accounted(operator.load("claims", io.BytesIO(content))).unchanged == 3
    assert operator.claims.get("c-0").claim_schedule_id == "täglich 😀"


def test_a_missing_library_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(as_csv(claims()))
    code = (
        "import sys; sys.modules['polars'] = None; import comptroller\n"
        "try: comptroller.open(':memory:').load('claims', 'x.csv')\n"
        "except comptroller.MissingExtra as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True)
    assert b'its extra "analysis"' in done.stdout, done.stderr


@pytest.mark.parametrize("options", [{}, {"constants": {"asset_type": "ETH"}}])
def test_uuid_columns_of_parquet_are_ids(
    operator: Service, tmp_path: Path, options: dict[str, Any]
) -> None:
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "claims [1].parquet"
    [row] = claims(1)
    row["id"] = "5f0c0000-0000-4000-8000-00000000000a"
    values = ", ".join(f"'{text_of(value)}' AS {name}" for name, value in row.items())
    ids = "id::UUID AS id, payout_group_id::UUID AS payout_group_id"
    query = f"SELECT * REPLACE ({ids}), encode('x') AS not_ours FROM (SELECT {values})"
    duckdb.sql(f"COPY ({query}) TO '{path}'")
    result = accounted(operator.load("claims", path, **options))
    assert (result.inserted, result.unknown_members) == (1, {"not_ours": 1})
    [loaded] = operator.claims.list().items
    assert (loaded.id, loaded.payout_group_id) == (row["id"], row["payout_group_id"])


def test_decimals_that_are_too_wide_are_refused_with_advice(
    operator: Service, tmp_path: Path
) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    wide = pa.table({"id": ["c"], "amount": pa.array(["1"]).cast(pa.decimal256(76, 38))})
    parquet.write_table(wide, tmp_path / "wide.parquet")
    with pytest.raises(InvalidRequest, match=r"amount: .* as decimal\(38, 18\) or as text"):
        operator.load("claims", tmp_path / "wide.parquet")


def test_decimals_that_are_too_wide_do_not_matter_in_columns_that_are_not_members(
    operator: Service, tmp_path: Path
) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = claims(2)
    wide = pa.array([None, "1"]).cast(pa.decimal256(76, 38))
    columns = {name: [text_of(row[name]) for row in rows] for name in rows[0]}
    nested = pa.StructArray.from_arrays([wide, wide], ["amount", "other"])
    table = pa.table(columns | {"nested": nested, "total": wide, "ours": wide})
    parquet.write_table(table, tmp_path / "wide.parquet")
    for source in (tmp_path / "wide.parquet", table):
        for options in ({}, {"tz": "UTC"}):
            result = operator.load("claims", source, **options)
            assert result.inserted + result.unchanged == 2
            assert result.unknown_members == {"nested": 2, "total": 1, "ours": 1}


#: A column of a Parquet file that polars cannot read, in the SQL of DuckDB, and its text.
LACKING = {"INTERVAL '1500 ms'": "00:00:01.5", "NULL::INTERVAL": None, "[INTERVAL 1 DAY]": None}


@pytest.mark.parametrize("options", [{}, {"tz": "UTC"}])
@pytest.mark.parametrize("value", LACKING)
def test_a_parquet_file_may_have_types_that_polars_lacks(
    operator: Service,
    tmp_path: Path,
    value: str,
    options: dict[str, Any],
    capfd: pytest.CaptureFixture[str],
) -> None:
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "claims [1].parquet"
    [row] = claims(1)
    row["id"] = "5f0c0000-0000-4000-8000-00000000000a"
    values = ", ".join(f"'{text_of(cell)}' AS {name}" for name, cell in row.items())
    query = f"SELECT * REPLACE (id::UUID AS id), {value} AS span FROM (SELECT {values})"
    duckdb.sql(f"COPY ({query}) TO '{path}'")
    if LACKING[value]:
        options = options | {"rename": {"span": "error_message"}}
    assert accounted(operator.load("claims", path, **options)).inserted == 1
    assert operator.claims.get(row["id"]).error_message == LACKING[value]
    assert "panicked" not in capfd.readouterr().err


@pytest.mark.parametrize("options", [{}, {"tz": "Europe/Zurich"}])
def test_times_of_pandas_may_have_an_offset(
    operator: Service, tmp_path: Path, options: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(claims(2))
    frame["created_at"] = pandas.to_datetime(["2026-01-31T17:30:00.000001+05:30"] * 2)
    frame.to_parquet(tmp_path / "x.parquet")
    assert accounted(operator.load("claims", tmp_path / "x.parquet", **options)).inserted == 2
    found = {claim.created_at.isoformat() for claim in operator.claims.iter()}
    assert found == {"2026-01-31T12:00:00.000001+00:00"}
    assert "panicked" not in capfd.readouterr().err


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63), 2**62, 253402300800 * 10**6])
@pytest.mark.parametrize("name", ["not_ours", "created_at"])
@pytest.mark.parametrize("is_file", [True, False])
def test_a_time_that_python_lacks_concerns_its_row_only(
    operator: Service, tmp_path: Path, value: int, name: str, is_file: bool
) -> None:
    pl = pytest.importorskip("polars")
    times = pl.Series([0, value], dtype=pl.Int64).cast(pl.Datetime("us"))
    frame = pl.DataFrame(claims(2)).with_columns(times.alias(name), amount=pl.Series(["x", "1"]))
    frame.write_parquet(tmp_path / "x.parquet")
    source = tmp_path / "x.parquet" if is_file else frame
    rejects = tmp_path / "r.csv"
    result = operator.load("claims", source, tz="UTC", keep_going=True, rejects=rejects)
    expected = ["amount"] if name == "not_ours" else ["amount", "created_at"]
    assert [each.member for each in accounted(result).rejections] == expected
    assert (str(value) in rejects.read_text()) == (name == "created_at")


def test_hidden_files_of_an_archive_do_not_count(operator: Service) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("may/.DS_Store", "x")
        archive.writestr("__MACOSX/may/._claims.csv", "x")
        archive.writestr("may/claims.csv", as_csv(claims(2)))
    assert accounted(operator.load("claims", io.BytesIO(out.getvalue()))).inserted == 2
