"""Exports: complete or absent files, equal to the lists, and safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import itertools
import json
import os
import subprocess
import sys
import threading
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import comptroller
import pytest
from comptroller import InvalidRequest, Service, Unavailable, Unusable
from examples import KINDS, LATER, LINES, NOON, exported, group_id, line, loaded, short_line

FORMATS = ("ndjson", "csv", "parquet")


@pytest.fixture(name="full")
def _full(operator: Service) -> Service:
    """A store with one complete record of every kind."""
    for kind in KINDS:
        loaded(operator, kind, LINES[kind])
    return operator


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_an_export_is_the_line_that_was_loaded(full: Service, tmp_path: Path, kind: str) -> None:
    assert exported(full, kind, tmp_path) == [LINES[kind]]


def test_an_export_of_identities_omits_derived_members(full: Service, tmp_path: Path) -> None:
    (row,) = exported(full, "identities", tmp_path)
    derived = {"status", "status_details", "user_disabled", "admin_disabled"}
    assert not derived & row.keys()
    assert full.identities.get("alice").status == "DISABLED"


@pytest.mark.parametrize(
    ("kind", "filters", "expected"),
    [
        ("claims", {"statuses": ["FAILED", "CONFIRMED"]}, ["b", "c"]),
        ("claims", {"start_time": LATER}, ["c"]),
        ("claims", {"end_time": NOON, "statuses": "PENDING"}, ["a", "d"]),
        ("claims", {"customer_id": "acme"}, ["d"]),
        ("claims", {"payout_group_id": group_id(9)}, []),
    ],
)
def test_an_export_takes_the_filters_of_the_list(
    operator: Service, tmp_path: Path, kind: str, filters: dict[str, Any], expected: list[str]
) -> None:
    loaded(
        operator,
        kind,
        short_line(kind, id="a"),
        short_line(kind, id="b", onchain_status="FAILED"),
        short_line(kind, id="c", onchain_status="CONFIRMED", created_at=LATER),
        short_line(kind, id="d", customer_id="acme"),
    )
    assert sorted(row["id"] for row in exported(operator, kind, tmp_path, **filters)) == expected
    for form in ("csv", "parquet"):
        assert operator.export(kind, tmp_path / "rows", form, **filters) == len(expected)


@pytest.mark.parametrize("customer", [None, "acme"])
def test_a_long_export_has_all_rows_in_order_of_insertion(
    operator: Service, tmp_path: Path, customer: str | None
) -> None:
    given = [
        short_line("claims", id=f"claim-{9 * number % 20_011}", amount=f"{number}.50")
        | ({"customer_id": "acme"} if number % 7 else {})
        for number in range(20_011)
    ]
    loaded(operator, "claims", *given)
    kept = [row for row in given if customer in (None, row.get("customer_id"))]
    filters = {} if customer is None else {"customer_id": customer}
    expected = [(row["id"], row["amount"]) for row in kept]
    rows = exported(operator, "claims", tmp_path, **filters)
    assert [(row["id"], row["amount"]) for row in rows] == expected
    path = tmp_path / "claims.csv"
    assert operator.export("claims", path, **filters) == len(expected)
    assert [(row["id"], row["amount"]) for row in rows_of(path)] == expected


def test_an_export_of_large_records_has_all_rows(operator: Service, tmp_path: Path) -> None:
    large = {f"{key:02}": "\N{ROCKET}" * 512 for key in range(50)}  # 100 KiB
    given = [short_line("identities", id=f"i{number}", metadata=large) for number in range(100)]
    loaded(operator, "identities", *given)
    rows = exported(operator, "identities", tmp_path)
    assert [(row["id"], row["metadata"]) for row in rows] == [(row["id"], large) for row in given]
    path = tmp_path / "identities.csv"
    assert operator.export("identities", path) == len(given)
    assert [(row["id"], json.loads(row["metadata"])) for row in rows_of(path)] == [
        (row["id"], large) for row in given
    ]


def test_a_client_exports_its_own_records_without_a_customer(
    operator: Service, acme: Service, tmp_path: Path
) -> None:
    own, foreign = short_line("claims", id="a", customer_id="acme"), short_line("claims", id="b")
    loaded(operator, "claims", own, foreign)
    (row,) = exported(acme, "claims", tmp_path)
    assert row["id"] == "a"
    assert "customer_id" not in row
    assert {row["customer_id"] for row in exported(operator, "claims", tmp_path)} == {
        "acme",
        "default",
    }


def test_an_export_may_go_to_standard_output(full: Service, capfdbinary: Any) -> None:
    assert full.export("claims", "-") == 1
    assert json.loads(capfdbinary.readouterr().out) == LINES["claims"]
    assert full.export("claims", "-", "csv") == 1
    assert capfdbinary.readouterr().out.startswith(b"id,payout_group_id,")
    with pytest.raises(InvalidRequest, match="path"):
        full.export("claims", "-", "parquet")


@pytest.mark.parametrize(
    ("kind", "path", "form", "filters", "field"),
    [
        ("claim", "rows", "ndjson", {}, "kind"),
        ("claims", "rows", "xls", {}, "format"),
        ("claims", "", "ndjson", {}, "path"),
        ("claims", "rows", "csv", {"colour": "red"}, "colour"),
        ("claims", "rows", "ndjson", {"statuses": "LOST"}, "statuses"),
        ("claims", "rows", "parquet", {"status": "FAILED"}, "status"),
    ],
)
def test_invalid_arguments_are_refused_and_write_nothing(
    full: Service, tmp_path: Path, kind: str, path: str, form: str, filters: Any, field: str
) -> None:
    before = set(tmp_path.iterdir())
    with pytest.raises(InvalidRequest) as refused:
        full.export(kind, path and tmp_path / path, form, **filters)
    assert [error.field for error in refused.value.errors] == [field]
    assert set(tmp_path.iterdir()) == before


# ---- atomic files --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("a.csv", "csv"),
        ("a.CSV", "csv"),
        ("a.parquet", "parquet"),
        ("a.ndjson", "ndjson"),
        ("a", "ndjson"),
    ],
)
def test_the_suffix_chooses_the_format(full: Service, tmp_path: Path, name: str, form: str) -> None:
    if form == "parquet":
        pytest.importorskip("duckdb")
    full.export("claims", tmp_path / name)
    full.export("claims", tmp_path / "expected", form)
    assert (tmp_path / name).read_bytes() == (tmp_path / "expected").read_bytes()
    full.export("claims", tmp_path / name, "ndjson")
    full.export("claims", tmp_path / "expected", "ndjson")
    assert (tmp_path / name).read_bytes() == (tmp_path / "expected").read_bytes()


@pytest.mark.parametrize("form", FORMATS)
def test_an_existing_file_is_replaced(full: Service, tmp_path: Path, form: str) -> None:
    path = tmp_path / "rows"
    path.write_bytes(b"x" * 100_000)
    full.export("claims", path, form)
    first = path.read_bytes()
    assert not first.endswith(b"x")
    full.export("claims", path, form)
    assert len(path.read_bytes()) == len(first)
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith((".", "rows"))] == [
        "rows"
    ]


def test_a_file_of_one_byte_is_replaced_too(full: Service, tmp_path: Path) -> None:
    target = tmp_path / "claims.ndjson"
    target.write_bytes(b"x")
    full.export("claims", target)
    assert target.read_bytes() != b"x"


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("path", ["absent/rows", "folder", "file/rows", "folder/"])
def test_an_unwritable_path_is_refused(full: Service, tmp_path: Path, form: str, path: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises((Unavailable, Unusable)):
        full.export("claims", f"{tmp_path}/{path}", form)
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("form", ["ndjson", "csv"])
def test_a_full_device_is_unavailable(full: Service, form: str) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no full device")
    with pytest.raises(Unavailable):
        full.export("claims", "/dev/full", form)
    assert Path("/dev/full").is_char_device()
    assert not list(Path("/dev").glob("*full*.*"))


FULL_DISK = """
import pathlib, resource, signal, sys, comptroller
store, target = sys.argv[1:3]
svc = comptroller.open(store, read_only=True)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
for form in ("ndjson", "csv", "parquet"):
    try:
        svc.export("claims", target, form)
    except comptroller.Unavailable as error:
        print(form, error.code, pathlib.Path(target).read_text())
"""


def test_a_full_disk_leaves_the_existing_file(
    operator: Service, store_path: Path, tmp_path: Path
) -> None:
    rows = [short_line("claims", tx_hash=f"{n * n}", id=str(uuid4())) for n in range(2000)]
    loaded(operator, "claims", *rows)
    folder = tmp_path / "exports"
    folder.mkdir()
    (folder / "rows").write_text("mine")
    command = [sys.executable, "-c", FULL_DISK, str(store_path), str(folder / "rows")]
    completed = subprocess.run(command, capture_output=True, text=True, check=True)
    assert completed.stdout.splitlines() == [f"{form} unavailable mine" for form in FORMATS]
    assert [path.name for path in folder.iterdir()] == ["rows"]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("own", ["", "-wal", "-shm", "-lock", "-opening-lock", "-filling"])
def test_the_store_itself_is_never_written_over(
    full: Service, store_path: Path, form: str, own: str
) -> None:
    with pytest.raises(InvalidRequest, match="open store"):
        full.export("claims", f"{store_path}{own}", form)
    assert full.check()["ok"]
    assert len(full.claims.list()) == 1


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_beside_the_store_is_never_written_over(tmp_path: Path, form: str) -> None:
    with comptroller.open(tmp_path / "rows.part") as svc:
        loaded(svc, "claims", LINES["claims"])
        svc.backup(tmp_path / "copy")
        svc.export("claims", tmp_path / "rows", form)
        assert svc.check()["ok"]
    with comptroller.open(tmp_path / "rows.part") as svc:
        assert len(svc.claims.list()) == 1


@pytest.mark.parametrize("form", FORMATS)
def test_a_replaced_file_keeps_its_permissions(full: Service, tmp_path: Path, form: str) -> None:
    path = tmp_path / "rows"
    path.touch()
    path.chmod(0o640)
    full.export("claims", path, form)
    assert path.stat().st_mode & 0o777 == 0o640


# ---- CSV -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_csv_has_a_header_and_the_same_values(full: Service, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "rows.csv"
    assert full.export(kind, path, "csv") == 1
    raw = path.read_bytes()
    assert raw.count(b"\r\n") == raw.count(b"\n") == 2
    (row,) = rows_of(path)
    assert set(LINES[kind]) <= set(row)
    for name, value in LINES[kind].items():
        if value is None:
            assert row[name] == ""
        elif isinstance(value, bool):
            assert row[name] == str(value).lower()
        elif isinstance(value, (dict, list)):
            assert json.loads(row[name]) == value
        else:
            assert row[name] == value
    assert {name for name, value in row.items() if value} <= set(LINES[kind])


@pytest.mark.parametrize("formula", ["=1+1", "+1", "-1", "@SUM(A1)", "=cmd|' /C calc'!A0"])
@pytest.mark.parametrize(
    ("kind", "member"),
    [
        ("payout-groups", "name"),
        ("claims", "error_message"),
        ("claims", "id"),
        ("orchestrations", "ref_id"),
        ("orchestrations", "source_asset"),
        ("controls", "reason"),
    ],
)
def test_a_cell_that_begins_a_formula_is_escaped(
    operator: Service, tmp_path: Path, kind: str, member: str, formula: str
) -> None:
    if member == "id":
        formula = formula.replace(" ", "")
    loaded(operator, kind, line(kind, **{member: formula}))
    operator.export(kind, tmp_path / "rows.csv", "csv")
    (row,) = rows_of(tmp_path / "rows.csv")
    assert row[member] == "'" + formula
    assert exported(operator, kind, tmp_path)[0][member] == formula


@pytest.mark.parametrize("text", ['say "hi"', "a,b", "a;b", " x ", "ünï\u2028→", "'a", '"', "1=1"])
def test_csv_quotes_cells_as_needed(operator: Service, tmp_path: Path, text: str) -> None:
    loaded(operator, "payout-groups", line("payout-groups", name=text))
    operator.export("payout-groups", tmp_path / "rows.csv", "csv")
    assert rows_of(tmp_path / "rows.csv")[0]["name"] == text


@pytest.mark.parametrize("amount", ["-5.00", "0", "99999999999999999999.999999999999999999"])
def test_csv_keeps_decimals_unchanged(operator: Service, tmp_path: Path, amount: str) -> None:
    loaded(operator, "orchestrations", line("orchestrations", source_amount=amount))
    operator.export("orchestrations", tmp_path / "rows.csv", "csv")
    assert rows_of(tmp_path / "rows.csv")[0]["source_amount"] == amount


# ---- parquet -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_parquet_has_the_columns_of_csv(full: Service, tmp_path: Path, kind: str) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    for form in ("csv", "parquet"):
        full.export(kind, tmp_path / form, form)
    (row,) = rows_of(tmp_path / "csv")
    assert set(parquet.read_schema(tmp_path / "parquet").names) == set(row)


def test_parquet_keeps_amounts_and_times(full: Service, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    for kind in KINDS:
        path = tmp_path / f"{kind}.parquet"
        assert full.export(kind, path, "parquet") == 1
        table = parquet.read_table(path)
        (row,) = table.to_pylist()
        for name, value in LINES[kind].items():
            if name in ("amount", "source_amount", "balance"):
                assert str(table.schema.field(name).type) == "decimal128(38, 18)"
                assert row[name] == Decimal(value)
            elif name.endswith("at") and value is not None:
                assert row[name] == datetime.fromisoformat(value)
            elif not isinstance(value, dict):
                assert row[name] == value


@pytest.mark.parametrize("form", FORMATS)
def test_a_link_stays_and_its_target_is_replaced(full: Service, tmp_path: Path, form: str) -> None:
    (tmp_path / "rows").write_text("old")
    (tmp_path / "link").symlink_to("rows")
    full.export("claims", tmp_path / "link", form)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "rows").read_bytes() != b"old"


def test_parquet_never_replaces_a_folder_or_device(full: Service, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Unusable):
        full.export("claims", tmp_path / "pipe", "parquet")
    assert (tmp_path / "pipe").is_fifo()


def test_a_parquet_file_is_durable_before_it_has_its_name(
    operator: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "claims.parquet"
    synchronised: list[tuple[int, bool]] = []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        synchronised.append((os.fstat(descriptor).st_ino, path.exists()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    operator.export("claims", path, "parquet")
    assert (path.stat().st_ino, False) in synchronised
    assert (tmp_path.stat().st_ino, True) in synchronised  # the folder has the name


@pytest.mark.parametrize("ending", ["", "-wal", ".keys", ".clients"])
def test_no_export_replaces_a_file_of_a_store(operator, tmp_path, ending):
    other = tmp_path / "other.db"
    comptroller.open(other).close()
    for store in (other, tmp_path / "store.db"):
        with pytest.raises(comptroller.InvalidRequest, match="name another file"):
            operator.export("claims", f"{store}{ending}")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(("given", "count"), [({}, 2), (None, 2), (True, 2), (False, 1)])
def test_an_export_includes_deleted_controls_by_default(
    operator: Service, tmp_path: Path, form: str, given: Any, count: int
) -> None:
    operator.identities.put(id="alice")
    operator.controls.create(identity_id="alice", type="CLOSED", reason_code="X")
    deleted = operator.controls.create(identity_id="alice", type="FROZEN", reason_code="X")
    operator.controls.delete(control_id=deleted.id)
    filters = {} if given == {} else {"include_deleted": given}
    assert operator.export("controls", tmp_path / f"out.{form}", **filters) == count


def test_a_parquet_file_of_identities_is_one_snapshot(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    path, ended = tmp_path / "store.db", threading.Event()
    with comptroller.open(path) as reader, comptroller.open(path) as writer:

        def write(number: int) -> None:
            loaded(writer, "identities", line("identities", id=f"i-{number:06}"))

        def write_others() -> None:
            for number in itertools.count(1):
                if ended.is_set():
                    return
                write(number)

        begun = writer.journal.state().size
        write(0)
        entries_of_one = writer.journal.state().size - begun
        thread = threading.Thread(target=write_others)
        thread.start()
        try:
            for number in range(20):
                target = str(tmp_path / f"{number}.parquet")
                written = reader.export("identities", target)
                rows = len(duckdb.read_parquet(target))
                assert written.journal is not None
                assert int(written) == rows == (written.journal.size - begun) / entries_of_one
        finally:
            ended.set()
            thread.join()
