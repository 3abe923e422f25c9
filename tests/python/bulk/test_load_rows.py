"""Rows of Python with values that JSON cannot represent: skipped, or refused by name and value."""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest
from comptroller import Service
from examples import accounted, loaded, short_line

np = pytest.importorskip("numpy")

ENDLESS: list[object] = []
ENDLESS.append(ENDLESS)
DEEP: object = "x"
for _ in range(40):
    DEEP = {"a": DEEP}


class Unprintable:
    """An object without a text."""

    def __repr__(self) -> str:
        raise ZeroDivisionError("mine")


class Unreadable(dict[str, Any]):
    """A row whose members cannot be read."""

    def items(self) -> Any:
        raise ZeroDivisionError("mine")


SCALARS = [
    *(np.dtype(code).type(1.5) for code in "efdgFD"),
    *(np.dtype(code).type(1) for code in "?bBhHiIlLqQ"),
    *(np.str_("1.5"), np.bytes_(b"1.5"), np.datetime64("2026-01-31"), np.timedelta64(1, "s")),
]


@pytest.mark.parametrize("scalar", SCALARS, ids=lambda scalar: type(scalar).__name__)
@pytest.mark.parametrize("member", ["amount", "tx_hash", "created_at", "addresses"])
def test_a_scalar_of_numpy_never_loses_the_account(
    operator: Service, tmp_path: Path, member: str, scalar: object
) -> None:
    rows = [short_line("claims", **{member: scalar}), short_line("claims", id="ok")]
    result = loaded(operator, "claims", *rows, keep_going=True, rejects=tmp_path / "r.csv")
    assert operator.claims.get("ok").id == "ok"
    for each in result.rejections:
        assert (each.line, each.member, each.id) == (1, member, "claim-1")
        assert each.value
    with (tmp_path / "r.csv").open(newline="") as file:
        assert [row["id"] for row in csv.DictReader(file)] == ["claim-1"] * result.rejected


def test_a_float_of_numpy_is_shown_as_its_number(operator: Service) -> None:
    result = loaded(operator, "claims", short_line("claims", amount=np.float64(1.5)))
    assert result.rejections[0].value == "1.5"
    assert result.rejections[0].message.startswith("amount: 1.5 is a float")


@pytest.mark.parametrize("row", [Unreadable(short_line("claims")), Unprintable(), object()])
def test_an_exception_of_a_row_is_its_rejection(
    operator: Service, tmp_path: Path, row: object
) -> None:
    given = [row, short_line("claims", id="ok")]
    result = loaded(operator, "claims", *given, keep_going=True, rejects=tmp_path / "r.csv")
    assert (result.inserted, [each.line for each in result.rejections]) == (1, [1])


def test_a_value_without_a_text_is_refused_by_name(operator: Service) -> None:
    rows = [short_line("claims", tx_hash=Unprintable()), short_line("claims", id="ok")]
    result = loaded(operator, "claims", *rows, keep_going=True)
    assert result.inserted == 1
    assert result.rejections[0].message.startswith("tx_hash: an Unprintable cannot be written")


def test_an_exception_between_rows_ends_the_load(operator: Service) -> None:
    def rows() -> Iterator[dict[str, Any]]:
        yield short_line("claims")
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError):
        operator.load("claims", rows())
    assert operator.claims.list().items == []


UNKNOWN = [
    *(float("inf"), float("-inf"), np.inf, np.float32("-inf"), Decimal("Infinity")),
    *([float("inf")], {"a": [Decimal("-Infinity")]}, ENDLESS, DEEP),
    *("\ud800", {"\ud800": 1}, {1: "a"}, {"a": {2: "b"}}, object(), Unprintable(), b"x"),
]


@pytest.mark.parametrize("value", UNKNOWN, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("options", [{}, {"tz": "UTC"}])
def test_an_unknown_member_is_skipped_whatever_it_holds(
    operator: Service, value: object, options: dict[str, str]
) -> None:
    result = loaded(operator, "claims", short_line("claims", zz=value), **options)
    assert (result.inserted, result.unknown_members) == (1, {"zz": 1})


@pytest.mark.parametrize(
    ("name", "shown"), [(1, "1"), (("a", 2), "('a', 2)"), ("\ud800", r"\ud800")]
)
def test_an_unknown_member_is_skipped_whatever_its_name(
    operator: Service, name: object, shown: str
) -> None:
    given: dict[Any, object] = {**short_line("claims"), name: "a"}
    result = accounted(operator.load("claims", [given]))
    assert (result.inserted, result.unknown_members) == (1, {shown: 1})


def test_an_unknown_member_of_a_nested_record_is_skipped(operator: Service) -> None:
    source = {"zz": float("inf"), "crypto": {"network": "bitcoin", 1: ENDLESS}}
    result = loaded(operator, "orchestrations", short_line("orchestrations", source=source))
    assert result.inserted == 1
    assert result.unknown_members == {"source.zz": 1, "source.crypto.1": 1}
    assert operator.orchestrations.list().items[0].source.crypto.network == "bitcoin"


KNOWN: list[tuple[str, str, object, str]] = [
    ("claims", "tx_hash", float("inf"), "inf is a number"),
    ("claims", "tx_hash", Decimal("Infinity"), "Infinity is not a finite number"),
    ("claims", "tx_hash", "\ud800", r"'\ud800' contains a lone surrogate"),
    ("claims", "created_at", float("-inf"), "-inf is a number"),
    ("claims", "amount", np.inf, "inf is not a finite number"),
    ("claims", "addresses", [np.inf], "inf"),
    ("claims", "addresses", [float("-inf")], "-inf is not a finite number"),
    ("claims", "addresses", ["\ud800"], r"'\ud800' contains a lone surrogate"),
    ("claims", "addresses", ENDLESS, "nested too deeply; at most 32 levels"),
    ("orchestrations", "metadata", {"a": float("inf")}, "inf is not a finite number"),
    ("orchestrations", "metadata", {"a": Decimal("Infinity")}, "Infinity is not a finite number"),
    ("orchestrations", "metadata", {1: "a"}, "1 is not a member name"),
    ("orchestrations", "source", {"crypto": {"network": float("inf")}}, "inf is not a finite"),
]


@pytest.mark.parametrize(("kind", "member", "value", "why"), KNOWN)
def test_a_value_of_a_member_that_is_not_json_is_named(
    operator: Service, kind: str, member: str, value: object, why: str
) -> None:
    result = loaded(operator, kind, short_line(kind, **{member: value}))
    (rejection,) = result.rejections
    assert rejection.code == "invalid-request"
    assert (rejection.member or "").split(".")[0] == member
    assert why in rejection.message
    result.rejections.to_polars().write_json()  # without surrogates


@dataclass
class Claim:
    id: str = "c"


class Pair(NamedTuple):
    id: str = "c"


def of_sqlite() -> sqlite3.Row:
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    return cast("sqlite3.Row", connection.execute("SELECT 'c' AS id").fetchone())


NO_ROWS: dict[str, tuple[Callable[[], object], str]] = {
    "a batch of Arrow": (
        lambda: pytest.importorskip("pyarrow").table({"id": ["c"]}).to_batches()[0],
        "RecordBatch is a table, not a row; load each on its own, or concatenate them",
    ),
    "a frame of polars": (
        lambda: pytest.importorskip("polars").DataFrame({"id": ["c"]}),
        "DataFrame is a table, not a row; load each on its own, or concatenate them",
    ),
    "a frame of pandas": (
        lambda: pytest.importorskip("pandas").DataFrame({"id": ["c"]}),
        "DataFrame is a table, not a row; load each on its own, or concatenate them",
    ),
    "a Series of pandas": (
        lambda: pytest.importorskip("pandas").Series({"id": "c"}),
        "Series is not a row; give dicts, such as row.to_dict()",
    ),
    "a dataclass": (Claim, "Claim is not a row; give dicts, such as dataclasses.asdict(row)"),
    "a model of pydantic": (
        lambda: pytest.importorskip("pydantic").create_model("Model", id=(str, "c"))(),
        "Model is not a row; give dicts, such as row.model_dump()",
    ),
    "a row of sqlite3": (of_sqlite, "Row is not a row; give dicts, such as dict(row)"),
    "a named tuple": (Pair, "Pair is not a row; give dicts, such as row._asdict()"),
    "a row of the module csv": (
        lambda: ["c"],
        "list is not a row; give dicts, such as dict(zip(columns, row))",
    ),
    "a path": (lambda: "claims.csv", "str is not a row; load files one by one"),
    "a number": (lambda: 7, "int is not a row; give dicts"),
}


@pytest.mark.parametrize("options", [{}, {"tz": "UTC"}], ids=str)
@pytest.mark.parametrize("name", NO_ROWS)
def test_an_object_that_is_no_row_is_named_with_what_to_give(
    operator: Service, tmp_path: Path, name: str, options: dict[str, Any]
) -> None:
    make, why = NO_ROWS[name]
    rows: Any = [short_line("claims"), make()]
    result = operator.load("claims", rows, rejects=tmp_path / "r.csv", keep_going=True, **options)
    assert accounted(result).inserted == 1
    assert [(each.line, each.message) for each in result.rejections] == [(2, why)]
