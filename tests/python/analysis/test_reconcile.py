"""Reconciliation of records with a table of someone else."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

import comptroller
import pytest
from command_line import Run, claim, lines
from comptroller import InvalidRequest
from examples import KINDS, LINES, loaded
from hypothesis import given, strategies as st

pl = pytest.importorskip("polars")
pytest.importorskip("duckdb")
xlsxwriter = pytest.importorskip("xlsxwriter")

LARGE = Decimal("99999999999999999999.999999999999999999")
LEAST = Decimal("0.000000000000000001")
DIGITS_18 = Decimal("0.123456789012345678")
HASH = "0x" + "aB" * 32
EVM = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
BASE58 = "So11111111111111111111111111111111111111112"


@pytest.fixture
def store() -> Iterator[comptroller.Service]:
    with comptroller.open(":memory:") as service:
        yield service


def statuses(found: Any) -> dict[str, tuple[int, int]]:
    return {row["status"]: (row["here"], row["there"]) for row in found.counts.to_dicts()}


# here, there: the amounts of one key; the status of its rows, with their numbers
PAIRS = [
    (["1.50"], ["1.5"], {"matched": (1, 1)}),
    ([str(LARGE)], [str(LARGE)], {"matched": (1, 1)}),
    ([str(LARGE)], [str(LARGE)[:-1] + "8"], {"different": (1, 1)}),
    (["1"], [], {"missing_there": (1, 0)}),
    ([], ["1"], {"missing_here": (0, 1)}),
    (["1", "1"], [], {"missing_there": (2, 0)}),
    ([], ["1", "2"], {"missing_here": (0, 2)}),
    (["1", "2"], ["2", "1"], {"matched": (2, 2)}),
    (["1", "2"], ["2"], {"duplicate": (2, 1)}),
    (["2"], ["1", "2"], {"duplicate": (1, 2)}),
    (["1", "2"], ["1", "3"], {"duplicate": (2, 2)}),
]


@pytest.mark.parametrize(("here", "there", "expected"), PAIRS)
def test_the_rows_of_a_key(
    store: comptroller.Service,
    here: list[str],
    there: list[str],
    expected: dict[str, tuple[int, int]],
) -> None:
    loaded(store, "claims", *(claim(f"c{n}", amount=a, tx_hash="h") for n, a in enumerate(here)))
    theirs = pl.DataFrame(
        {"tx_hash": ["h"] * len(there), "amount": there},
        schema={"tx_hash": pl.String, "amount": pl.String},
    )
    found = store.reconcile("claims", theirs, on="tx_hash")
    assert statuses(found) == expected
    assert found.is_equal is (list(expected) == ["matched"])
    is_repeated = len(here) > 1 or len(there) > 1
    counted = [{"tx_hash": "h", "here": len(here), "there": len(there)}]
    assert found.duplicates.to_dicts() == (counted if is_repeated else [])


# member, here, there, whether they are equal
VALUES: list[tuple[str, Any, Any, bool]] = [
    ("tx_hash", HASH, HASH.lower(), True),
    ("tx_hash", HASH, HASH.upper(), True),
    ("tx_hash", "aBc", "abc", False),
    ("tx_hash", "0xaB", "0xab", False),
    ("tx_hash", EVM, EVM.lower(), False),  # as long as an address
    ("addresses", [EVM, BASE58], [BASE58, EVM.lower()], True),
    ("addresses", [BASE58], [BASE58.lower()], False),
    ("created_at", "2026-01-31T12:00:00Z", "2026-01-31T13:00:00+01:00", True),
    ("created_at", "2026-01-31T12:00:00Z", "2026-01-31T12:00:00.000001Z", False),
    ("error_message", None, None, True),
    ("error_message", "no gas", None, False),
    ("error_message", None, "no gas", False),
    ("amount", "1", 1, True),
    ("amount", "0.10", Decimal("0.1"), True),
    ("amount", "0.10", Decimal("0.100000000000000001"), False),
    ("onchain_status", "FAILED", "CONFIRMED", False),
]


@pytest.mark.parametrize(("member", "here", "there", "is_equal"), VALUES)
def test_a_member(
    store: comptroller.Service, member: str, here: Any, there: Any, is_equal: bool
) -> None:
    loaded(store, "claims", claim("c", **{member: here} if here is not None else {}))
    schema = {member: pl.String} if there is None else None
    found = store.reconcile(
        "claims", pl.DataFrame({"id": ["c"], member: [there]}, schema_overrides=schema), on="id"
    )
    assert found.compared == (member,)
    assert found.is_equal is is_equal
    if not is_equal:
        (row,) = found.different.to_dicts()
        assert (row["differs"], found.differing) == ([member], {member: 1})


def test_rows_without_a_key_are_apart(store: comptroller.Service) -> None:
    loaded(store, "claims", claim("a"), claim("b", tx_hash="h"))
    theirs = pl.DataFrame({"tx_hash": [None, None, "h"], "amount": ["1", "2", "1"]})
    found = store.reconcile("claims", theirs, on="tx_hash", compare=[])
    assert statuses(found) == {"matched": (1, 1), "no_key": (1, 2)}


def test_balances_have_no_sum(store: comptroller.Service) -> None:
    """Their asset is that of the address's group, which a file of balances does not have."""
    theirs = pl.DataFrame({"address_id": [str(uuid4())], "balance": ["1"]})
    found = store.reconcile("balances", theirs, on="address_id")
    assert statuses(found) == {"missing_here": (0, 1)}
    assert found.sums.to_dicts() == []


def test_a_quoted_empty_cell_is_a_member_that_is_not_set(
    store: comptroller.Service, tmp_path: Path
) -> None:
    loaded(store, "claims", claim("a"))
    lines = ['"id","amount","tx_hash","confirmed_at"', '"a","1.50","",""']
    (tmp_path / "theirs.csv").write_text("\n".join(lines))
    found = store.reconcile("claims", tmp_path / "theirs.csv", on="id")
    assert (found.is_equal, found.differing) == (True, {})


def test_sums_are_exact_by_asset(store: comptroller.Service) -> None:
    loaded(
        store,
        "claims",
        claim("a", amount=str(LARGE), asset_type="RPL"),
        claim("b", amount=str(LARGE), asset_type="RPL"),
        claim("c", amount="1", asset_type="ETH"),
        claim("d", amount=f"{LEAST:f}", asset_type="ETH"),
    )
    theirs = pl.DataFrame({"id": ["a", "b", "c"], "amount": [str(LARGE), str(LARGE), "1.1"]})
    sums = store.reconcile("claims", theirs, on="id").sums.to_dicts()
    shown = [tuple(row.values()) for row in sums]
    assert shown == [
        ("matched", "amount", "RPL", None, None, Decimal(0)),  # of more than 20 digits
        ("different", "amount", "ETH", Decimal("1"), Decimal("1.1"), Decimal("0.1")),
        ("missing_there", "amount", "ETH", LEAST, Decimal(0), -LEAST),
    ]


def test_several_members_may_be_the_key(store: comptroller.Service) -> None:
    loaded(store, "claims", claim("a", tx_hash="h", asset_type="A"), claim("b", tx_hash="h"))
    theirs = [{"tx_hash": "h", "asset_type": "A"}, {"tx_hash": "h", "asset_type": "B"}]
    found = store.reconcile("claims", theirs, on=["tx_hash", "asset_type"])
    assert statuses(found)["matched"] == (1, 1)
    assert [row["asset_type"] for row in found.missing_here.to_dicts()] == ["B"]


def test_records_may_be_filtered(store: comptroller.Service) -> None:
    loaded(store, "claims", claim("a"), claim("b", onchain_status="FAILED"))
    found = store.reconcile("claims", [{"id": "a"}], on="id", where={"statuses": "CONFIRMED"})
    assert found.is_equal == (claim("a")["onchain_status"] == "CONFIRMED")


def test_columns_become_members_as_in_a_load(store: comptroller.Service, tmp_path: Path) -> None:
    loaded(store, "claims", claim("a", tx_hash="h1", amount="1655.39"))
    mapping = tmp_path / "bank.toml"
    mapping.write_text('decimal = ","\ntz = "Europe/Zurich"\nrename = { Betrag = "amount" }\n')
    text = "Hash;Betrag;Erstellt;Notiz\nh1;1.655,39;31.01.2026 13:00;x\n"
    for source in (tmp_path / "theirs.csv", io.BytesIO(text.encode())):
        if isinstance(source, Path):
            source.write_text(text)
        found = store.reconcile(
            "claims",
            source,
            on="tx_hash",
            mapping=mapping,
            rename={"Hash": "tx_hash", "Betrag": "amount", "Erstellt": "created_at"},
            constants={"claim_type": "CLAIM_ALL"},
        )
        assert found.is_equal
        assert set(found.compared) == {"amount", "created_at", "claim_type"}
        assert found.ignored == ("Notiz",)
        assert found.matched.to_dicts() == [{"tx_hash": "h1", "id": "a", "row_there": 2}]


REFUSED = [
    ("tx_hash,amount\nh,1\nh,1e5\n", "amount: row 3: '1e5' is not a plain decimal number"),
    ("tx_hash,created_at\nh,2026-01-01 10:00\n", "created_at: row 2: .* has no time zone"),
    ("tx_hash,created_at\nh,soon\n", "created_at: row 2: 'soon' is not a time"),
    *(
        (
            f"tx_hash,created_at\n,\nh,{wrong}\n",
            "created_at: row 3: '.*' is not a time with an offset",
        )
        for wrong in (
            *("2026-02-30", "2026-02-30T12:00:00Z", "2026-13-01T12:00:00Z", "2026-01-01T24:00:00Z"),
            *("0000-01-01T12:00:00Z", "2026-01-01T12:00:00+99:99", "2026-01-01T12:00:60Z"),
        )
    ),
    ("tx_hash,addresses\nh,a;b\n", "addresses: row 2: 'a;b' is not a list of texts"),
    ("tx_hash,amount,Betrag\nh,1,2\n", "amount: several columns set it; rename or remove all"),
    ("amount,asset_type\n1,A\n", "on: the table has no column tx_hash"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_a_table_that_cannot_be_compared(
    store: comptroller.Service, text: str, message: str
) -> None:
    rename = {"Betrag": "amount"} if "Betrag" in text else {}
    with pytest.raises(InvalidRequest, match=message):
        store.reconcile("claims", io.BytesIO(text.encode()), on="tx_hash", rename=rename)


# a table, its rows on the other side without a key, and with one
EMPTY = [
    (b"tx_hash,amount\n", 0, 0),
    (b"tx_hash,amount\n,\n\n,\n", 0, 0),
    (b'tx_hash,amount\n"",1\n,2\nh,3\n,\n', 2, 1),
    ([], 0, 0),
    ([{"tx_hash": ""}, {"tx_hash": None}, {"tx_hash": None, "amount": "1"}], 2, 0),
    (pl.DataFrame({"tx_hash": [], "amount": []}), 0, 0),
]


@pytest.mark.parametrize(("source", "without", "other"), EMPTY)
def test_blank_rows_and_empty_keys(
    store: comptroller.Service, source: Any, without: int, other: int
) -> None:
    loaded(store, "claims", claim("a", tx_hash="x"))
    given = io.BytesIO(source) if isinstance(source, bytes) else source
    expected = {"missing_there": (1, 0)}
    expected |= {"missing_here": (0, other)} if other else {}
    expected |= {"no_key": (0, without)} if without else {}
    assert statuses(store.reconcile("claims", given, on="tx_hash")) == expected


def test_times_are_read_as_in_a_load(store: comptroller.Service) -> None:
    loaded(store, "claims", claim("a"), claim("b", created_at="2026-06-30T23:59:59.999999Z"))
    for noon in ("2026-01-31t12:00:00.000000999z", "2026-01-31 13:00:00+01:00", "31.01.2026 13:00"):
        rows = [{"id": "a", "created_at": noon}, {"id": "b", "created_at": "2026-06-30T23:59:60Z"}]
        assert store.reconcile("claims", rows, on="id", tz="Europe/Zurich").is_equal


# the cells of a column, the options, and whether they equal 10, 0.10 and 1655.39
SHEETS: list[tuple[list[Any], dict[str, Any], bool]] = [
    (["10", "0,10", "1.655,39"], {}, True),
    ([10, 0.1, 1655.39], {"floats": "shortest"}, True),
    ([10, "0,10", "1.655,39"], {"floats": "shortest"}, True),
    ([10, "0,10", 1655.39], {"floats": "shortest"}, True),
    ([10, "0,10", 165539], {"floats": "shortest"}, False),
]


@pytest.mark.parametrize(("cells", "options", "expected"), SHEETS)
def test_a_sheet_with_a_decimal_comma(
    store: comptroller.Service,
    tmp_path: Path,
    cells: list[Any],
    options: dict[str, Any],
    expected: bool,
) -> None:
    for n, amount in enumerate(["10", "0.10", "1655.39"]):
        loaded(store, "claims", claim(f"c{n}", amount=amount))
    with xlsxwriter.Workbook(tmp_path / "x.xlsx") as book:
        book.add_worksheet("notes").write_row(0, 0, ["Note"])
        book.add_worksheet("more").write_column(0, 0, ["Note", "x"])
        sheet = book.add_worksheet("May")
        sheet.write_column(0, 0, ["id", "c0", "c1", "c2"])
        sheet.write_column(0, 1, ["Betrag", *cells])
    options |= {"decimal": ",", "sheet": "May", "rename": {"Betrag": "amount"}}
    assert store.reconcile("claims", tmp_path / "x.xlsx", on="id", **options).is_equal is expected


def test_floats_are_refused_unless_accepted(store: comptroller.Service) -> None:
    loaded(store, "claims", claim("a", amount="1655.39"))
    theirs = pl.DataFrame({"id": ["a"], "amount": [1655.39]})
    with pytest.raises(InvalidRequest, match=r"amount: row 1: 1655.39 is a float"):
        store.reconcile("claims", theirs, on="id")
    assert store.reconcile("claims", theirs, on="id", floats="shortest").is_equal


NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
NAIVE = NOON.replace(tzinfo=None)
# a member of two rows, the options, and whether they equal the records; or why one is refused
MIXED: list[tuple[str, list[Any], dict[str, Any], bool | str]] = [
    ("amount", [Decimal("1.5"), 2], {}, True),
    ("amount", [Decimal("1.5"), "2"], {}, True),
    ("amount", [Decimal("1.5"), "2"], {"decimal": ","}, True),
    ("amount", ["1,5", Decimal("2.000")], {"decimal": ","}, True),
    ("amount", [1.5, Decimal("2")], {"floats": "shortest"}, True),
    ("amount", [1.5, DIGITS_18], {"floats": "shortest"}, False),
    ("amount", [Decimal("1.5" + "0" * 40), 2], {}, True),
    ("amount", [Decimal("NaN"), 2], {}, False),
    ("amount", ["1.5", 2.0], {}, "row 2: 2.0 is a float"),
    ("amount", [2, 1.5], {}, "row 2: 1.5 is a float"),
    ("amount", [1, float("inf")], {"floats": "shortest"}, "row 2: inf is not a finite number"),
    ("amount", [1, Decimal("Infinity")], {}, "row 2: 'Infinity' is not a plain decimal number"),
    ("amount", [Decimal("1e400"), 1], {}, r"row 1: '1E\+400' is not a plain decimal number"),
    ("amount", [1, Decimal("1e-400")], {}, r"row 2: '1E-400' is not a plain decimal number"),
    ("amount", [1, Decimal("1" * 39)], {}, "row 2: '1{39}' is not a plain decimal number"),
    ("amount", [Decimal(10**29), DIGITS_18], {}, "row 1: '10{29}' is not a plain decimal number"),
    ("created_at", [NOON, NAIVE], {}, "row 2: 2026-01-31T12:00:00 has no time zone"),
    ("created_at", [NAIVE, NOON], {}, "row 1: 2026-01-31T12:00:00 has no time zone"),
    ("created_at", [NAIVE, NOON], {"tz": "UTC"}, True),
    ("created_at", [NOON, NAIVE], {"tz": "Europe/Zurich"}, False),
    ("created_at", [NAIVE + timedelta(hours=1), NOON], {"tz": "Europe/Zurich"}, True),
    ("created_at", [NOON.astimezone(ZoneInfo("Europe/Zurich")), NOON], {}, True),
    ("created_at", [NOON, "2026-01-31T13:00:00+01:00"], {}, True),
    ("addresses", [[], "a"], {}, "row 2: 'a' is not a list of texts"),
    ("claim_type", ["CLAIM_ALL", 1], {}, False),
]


@pytest.mark.parametrize(("member", "values", "options", "expected"), MIXED)
def test_each_value_of_rows_is_read_by_its_type(
    store: comptroller.Service,
    member: str,
    values: list[Any],
    options: dict[str, Any],
    expected: bool | str,
) -> None:
    loaded(store, "claims", claim("a", amount="1.5"), claim("b", amount="2"))
    rows = [{"id": id, member: value} for id, value in zip("ab", values, strict=True)]
    if isinstance(expected, bool):
        assert store.reconcile("claims", rows, on="id", **options).is_equal is expected
    else:
        with pytest.raises(InvalidRequest, match=f"{member}: {expected}"):
            store.reconcile("claims", rows, on="id", **options)


@pytest.mark.parametrize(
    ("number", "message"),
    [
        ("1e400", "amount: row 2: '1E+400' is not a plain decimal number"),
        ("1" * 39, f"amount: row 2: '{'1' * 39}' is not a plain decimal number"),
        ("1e4000000000", "amount: row 2: '1E+4000000000' is not a plain decimal number"),
        ("1e4000000000000000000000", "row 2: a number has too many digits"),
    ],
)
def test_the_command_refuses_a_number_that_is_too_long(
    run: Run, tmp_path: Path, number: str, message: str
) -> None:
    (tmp_path / "q.ndjson").write_text(f'{{"id":"a","amount":1}}\n{{"amount":{number}}}\n')
    comptroller.open(tmp_path / "comptroller.db").close()
    ended = run("reconcile", "claims", "q.ndjson", "--on", "id")
    assert (ended.code, message in ended.err) == (1, True), ended.err


@pytest.mark.parametrize(
    "damaged",
    [
        gzip.compress(b"id,amount\na,1\n")[:-9],
        lzma.compress(b"id,amount\na,1\n")[:-9],
        bz2.compress(b"id,amount\na,1\n") + b"x",
    ],
    ids=["gz", "xz", "bz2"],
)
def test_a_damaged_packed_table_is_refused(
    store: comptroller.Service, tmp_path: Path, damaged: bytes
) -> None:
    (tmp_path / "x.csv.packed").write_bytes(damaged)
    for source in (tmp_path / "x.csv.packed", io.BytesIO(damaged)):
        with pytest.raises(InvalidRequest, match="cannot be read: "):
            store.reconcile("claims", source, on="id")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_equals_its_own_records(
    store: comptroller.Service, kind: str, tmp_path: Path
) -> None:
    for each in KINDS:
        loaded(store, each, LINES[each])
    key = "address_id" if kind == "balances" else "id"
    stream = getattr(store, kind.replace("-", "_")).stream()
    found = store.reconcile(kind, stream, on=key)
    assert statuses(found) == {"matched": (1, 1)}
    for suffix in ("csv", "parquet", "ndjson", "xlsx"):
        store.export(kind, tmp_path / f"x.{suffix}")
        assert store.reconcile(kind, tmp_path / f"x.{suffix}", on=key).is_equal, suffix


AMOUNTS = st.sampled_from(["0", "1", "1.5", "2"])
SIDES = st.lists(st.tuples(st.sampled_from(["k1", "k2", "K2", None]), AMOUNTS), max_size=8)


@given(here=SIDES, there=SIDES)
def test_every_row_has_one_status(here: list[Any], there: list[Any]) -> None:
    with comptroller.open(":memory:") as store:
        rows = [
            claim(f"c{n}", amount=amount, **({} if key is None else {"tx_hash": key}))
            for n, (key, amount) in enumerate(here)
        ]
        loaded(store, "claims", *rows)
        schema = {"tx_hash": pl.String, "amount": pl.String}
        theirs = pl.DataFrame(there, schema=schema, orient="row")
        found = store.reconcile("claims", theirs, on="tx_hash")
        counted = statuses(found)
        assert sum(each for each, _ in counted.values()) == len(here)
        assert sum(each for _, each in counted.values()) == len(there)
        ours, others = Counter(here), Counter(there)
        keys = {key for key, _ in here + there if key is not None}
        equal = [
            key
            for key in keys
            if {k: n for k, n in ours.items() if k[0] == key}
            == {k: n for k, n in others.items() if k[0] == key}
        ]
        matched = sum(n for (key, _), n in ours.items() if key in equal)
        assert counted.get("matched", (0, 0)) == (matched, matched)
        sums = found.sums.to_dicts()
        assert sum(row["here"] for row in sums) == sum(Decimal(amount) for _, amount in here)
        assert sum(row["there"] for row in sums) == sum(Decimal(amount) for _, amount in there)


@pytest.fixture
def found(store: comptroller.Service) -> Any:
    loaded(store, "claims", claim("a", tx_hash="h1"), claim("b", tx_hash="<b>"))
    return store.reconcile("claims", [{"tx_hash": "h1", "amount": "7"}], on="tx_hash")


def test_the_result_is_shown(found: Any) -> None:
    assert repr(found) == "<Reconciliation of claims on tx_hash: 1 different, 1 missing there>"
    shown = found._repr_html_()
    assert "Different" in shown
    assert "&lt;b&gt;" in shown
    assert "<b>" not in shown


def test_the_result_becomes_files(store: comptroller.Service, found: Any, tmp_path: Path) -> None:
    for name in ("x.csv", "x.xlsx", "x.parquet"):
        found.save(tmp_path / name)
        again = store.query("SELECT status, amount_there FROM t", t=tmp_path / name).to_dicts()
        assert again == [
            {"status": "different", "amount_there": Decimal(7)},
            {"status": "missing_there", "amount_there": None},
        ]
    found.save(tmp_path / "x.html")
    page = (tmp_path / "x.html").read_text()
    assert "<title>Reconciliation of claims by tx_hash</title>" in page
    assert "Copy as CSV" in page
    with pytest.raises(InvalidRequest, match=r"path: .* names no format"):
        found.save(tmp_path / "x.doc")


def test_the_command(run: Run, tmp_path: Path) -> None:
    given = lines(claim("a", tx_hash="h1", amount="1.5"), claim("b", tx_hash="h2"))
    assert run("load", "claims", "-", given=given).code == 0
    (tmp_path / "theirs.csv").write_text("Hash;Betrag\nh1;1,50\nh3;2,00\n")
    words = ["reconcile", "claims", "theirs.csv", "--on", "tx_hash", "--decimal", ","]
    words += ["--rename", "Hash=tx_hash", "--rename", "Betrag=amount"]
    ended = run(*words, "--out", "x.xlsx", "--out", "x.html", "--exit-code")
    assert (ended.code, "Missing here" in ended.out) == (1, True)
    assert (tmp_path / "x.xlsx").exists()
    assert (tmp_path / "x.html").exists()
    answer = run(*words, "--json").json
    assert [tuple(row.values()) for row in answer["counts"]] == [
        *(("matched", 1, 1), ("missing_here", 0, 1), ("missing_there", 1, 0))
    ]
    (tmp_path / "theirs.csv").write_text("Hash;Betrag\nh1;1,50\n")
    assert (run(*words).code, run(*words, "--exit-code").code) == (0, 1)
    assert run("reconcile", "claims", "theirs.csv", "--on", "nothing").code == 1
    equal = lines({"id": "a"}, {"id": "b"})
    assert run("reconcile", "claims", "-", "--on", "id", "--exit-code", given=equal).code == 0


def test_a_side_without_amounts_has_no_sum(store: comptroller.Service) -> None:
    loaded(store, "claims", claim("a", amount="12.5"))
    theirs = pl.DataFrame({"id": ["a"], "claim_type": ["CLAIM_ALL"]})
    sums = store.reconcile("claims", theirs, on="id").sums.to_dicts()
    assert [(row["here"], row["there"], row["difference"]) for row in sums] == [
        (Decimal("12.5"), None, None)
    ]
