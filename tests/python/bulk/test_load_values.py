"""A value has one outcome, whichever source it comes from and whichever option is given."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from comptroller import InvalidRequest, Service
from examples import GROUP, NOON, accounted, line, short_line

np = pytest.importorskip("numpy")
pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pytest.importorskip("xlsxwriter")

Row = dict[str, Any]
OPTIONS: list[dict[str, Any]] = [{}, {"tz": "UTC"}, {"rename": {"id": "id"}}]


def written(write: Callable[[Any, io.BytesIO], object]) -> Callable[[list[Row]], io.BytesIO]:
    def file(rows: list[Row]) -> io.BytesIO:
        content = io.BytesIO()
        write(pl.DataFrame(rows, infer_schema_length=None), content)
        return io.BytesIO(content.getvalue())

    return file


TYPED: dict[str, Callable[[list[Row]], Any]] = {
    "rows": lambda rows: rows,
    "rows with another member": lambda rows: [row | {"note": object()} for row in rows],
    "polars": lambda rows: pl.DataFrame(rows, infer_schema_length=None),
    "pandas": pd.DataFrame,
    "pandas of objects": lambda rows: pd.DataFrame(rows).astype(object),
    "arrow": pa.Table.from_pylist,
    "parquet": written(lambda frame, content: frame.write_parquet(content)),
}
FILES: dict[str, Callable[[list[Row]], Any]] = {
    "ndjson": lambda rows: io.BytesIO(b"".join(json.dumps(row).encode() + b"\n" for row in rows)),
}
CELLS: dict[str, Callable[[list[Row]], Any]] = {
    "csv": written(lambda frame, content: frame.write_csv(content)),
    "xlsx": written(lambda frame, content: frame.write_excel(content)),
}


def rejected(service: Service, kind: str, source: Any, **options: Any) -> list[str | None]:
    """Returns the member of each rejected row; of a refused column, its name."""
    try:
        result = accounted(service.load(kind, source, **options))
    except InvalidRequest as error:
        return [each.field for each in error.errors]
    return [each.member for each in result.rejections]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("source", TYPED | FILES)
@pytest.mark.parametrize("member", ["id", "claim_schedule_id", "payout_group_id"])
@pytest.mark.parametrize("number", [5, 5.0])
def test_a_number_is_not_an_id(
    operator: Service, member: str, number: float, source: str, options: dict[str, Any]
) -> None:
    given = (TYPED | FILES)[source]([short_line("claims", **{member: number})])
    assert rejected(operator, "claims", given, ids="uuid5", **options) == [member]
    assert operator.claims.list().items == []


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("source", CELLS)
def test_a_number_in_a_cell_is_its_digits(
    operator: Service, source: str, options: dict[str, Any]
) -> None:
    given = CELLS[source]([short_line("claims", id=1001, claim_schedule_id=7)])
    assert rejected(operator, "claims", given, **options) == []
    assert operator.claims.get("1001").claim_schedule_id == "7"


@pytest.mark.parametrize("source", CELLS | TYPED)
@pytest.mark.parametrize(
    ("value", "why"),
    [
        (7, "7 is a number; give text"),
        (np.int64(7), "7 is a number; give text"),
        (True, "True is a boolean; give text"),
        (7.0, "7.0 is a number, not a value of this member; give text"),
        (date(2026, 1, 31), "2026-01-31 is a date or a time, and the member is not one; give text"),
    ],
)
def test_a_number_or_date_of_a_constant_is_not_text(
    operator: Service, value: object, why: str, source: str
) -> None:
    given = (CELLS | TYPED)[source]([short_line("claims")])
    with pytest.raises(InvalidRequest) as caught:
        operator.load("claims", given, constants={"claim_schedule_id": value})
    assert caught.value.errors == [("constants", f"claim_schedule_id: {why}")]


@pytest.mark.parametrize("source", CELLS | TYPED)
@pytest.mark.parametrize("member", ["error_message", "created_at", "amount"])
@pytest.mark.parametrize("value", [None, pd.NaT, pd.NA, float("nan")], ids=repr)
def test_a_constant_has_a_value(operator: Service, value: object, member: str, source: str) -> None:
    given = (CELLS | TYPED)[source]([short_line("claims")])
    with pytest.raises(InvalidRequest) as caught:
        operator.load("claims", given, constants={member: value})
    why = "it has no value; give one, or leave it out"
    assert caught.value.errors == [("constants", f"{member}: {why}")]


@pytest.mark.parametrize("source", CELLS | TYPED)
@pytest.mark.parametrize(
    ("constants", "why"),
    [
        ({"error_message": "a\ud800"}, "contains a lone surrogate; give valid Unicode text"),
        ({"addresses": ["0x1", "\udc00"]}, "contains a lone surrogate; give valid Unicode text"),
        ({"amount": object()}, "an object cannot be written as JSON"),
    ],
    ids=["text", "list", "object"],
)
def test_a_constant_can_be_written(
    operator: Service, constants: dict[str, object], why: str, source: str
) -> None:
    given = (CELLS | TYPED)[source]([short_line("claims")])
    with pytest.raises(InvalidRequest, match=why):
        operator.load("claims", given, constants=constants)


@pytest.mark.parametrize("source", CELLS | TYPED)
def test_a_text_of_a_constant_is_not_that_of_a_cell(operator: Service, source: str) -> None:
    given = (CELLS | TYPED)[source]([short_line("claims")])
    assert rejected(operator, "claims", given, constants={"error_message": "'=x"}) == []
    assert operator.claims.list().items[0].error_message == "'=x"


DAYS = [date(2026, 1, 31), datetime(2026, 1, 31, 12, tzinfo=UTC)]
NESTED: list[tuple[str, str, Callable[[object], object]]] = [
    ("claims", "addresses", lambda value: [value]),
    ("orchestrations", "metadata", lambda value: {"a": value}),
    ("orchestrations", "metadata", lambda value: [("a", value)]),
    ("orchestrations", "source", lambda value: {"crypto": {"address": value}}),
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("source", TYPED)
@pytest.mark.parametrize("day", DAYS, ids=str)
def test_a_date_is_not_text(
    operator: Service, day: date, source: str, options: dict[str, Any]
) -> None:
    given = TYPED[source]([short_line("claims", claim_schedule_id=day)])
    assert rejected(operator, "claims", given, **options) == ["claim_schedule_id"]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("day", DAYS, ids=str)
@pytest.mark.parametrize(("kind", "member", "nested"), NESTED)
def test_a_date_within_a_value_is_not_text(
    operator: Service,
    kind: str,
    member: str,
    nested: Callable[[object], object],
    day: date,
    options: dict[str, Any],
) -> None:
    row = short_line(kind, **{member: nested(day)})
    (found,) = rejected(operator, kind, [row], **options)
    assert str(found).startswith(member)


def test_an_id_that_excel_made_a_date_is_refused(operator: Service) -> None:
    sheet = CELLS["xlsx"]([short_line("claims", id=date(2026, 1, 31))])
    (rejection,) = accounted(operator.load("claims", sheet)).rejections
    assert rejection.message == (
        "id: 2026-01-31 is a date or a time, and the member is not one; give text: in a "
        "spreadsheet, format the cells as text"
    )


# What rows have beside JSON, and the values in the store.
VALUES: list[tuple[str, str, object, object]] = [
    ("claims", "addresses", '["0x1"]', ("0x1",)),
    ("claims", "addresses", ("0x1",), ("0x1",)),
    ("claims", "addresses", np.array(["0x1"], dtype=object), ("0x1",)),
    ("claims", "amount", np.int64(7), Decimal(7)),
    ("claims", "created_at", pd.Timestamp(NOON), datetime(2026, 1, 31, 12, tzinfo=UTC)),
    ("claims", "claim_schedule_id", UUID(GROUP), GROUP),
    ("claims", "claim_schedule_id", np.str_("x"), "x"),
    ("claims", "claim_schedule_id", np.int64(7), None),
    ("claims", "claim_schedule_id", True, None),
    ("controls", "is_overridable", "TRUE", True),
    ("controls", "is_overridable", np.True_, True),
    ("controls", "is_overridable", "yes", None),
    ("orchestrations", "metadata", '{"a": "1"}', {"a": "1"}),
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("note", [{}, {"note": object()}], ids=["alone", "beside an object"])
@pytest.mark.parametrize(("kind", "member", "value", "stored"), VALUES)
def test_a_value_of_a_row_has_one_outcome(
    operator: Service,
    kind: str,
    member: str,
    value: object,
    stored: object,
    note: dict[str, object],
    options: dict[str, Any],
) -> None:
    row = line(kind, **{member: value}) | note
    assert rejected(operator, kind, [row], **options) == ([member] if stored is None else [])
    found = [getattr(each, member) for each in getattr(operator, kind).iter()]
    assert found == ([] if stored is None else [stored])


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_row_without_a_value_is_blank(operator: Service, options: dict[str, Any]) -> None:
    empty: list[Row] = [{}, {"id": None}, {"amount": float("nan"), "note": None}]
    result = accounted(operator.load("claims", [short_line("claims"), *empty], **options))
    assert (result.inserted, result.blank) == (1, 3)
