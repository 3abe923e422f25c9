"""JSON has the same outcome with and without a mapping, and as other programs write it."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from comptroller import LoadResult, Service
from examples import accounted, short_line
from test_load_formats import FAULTS, ITEM_FORMS, LINE_FORMS, NOT_AN_ITEM, claim, good

SAME: dict[str, Any] = {"rename": {"id": "id"}, "constants": {"asset_type": "ETH"}}
AMOUNTS = ["12.50", "7", "0.1", "0.30000000000000004", "1e-7", "1e400", "-0.0", "0.10", "-1"]
TIMES = [
    "2026-01-31 12:00:00+00",
    "2026-01-31 12:00:00.123456+01:00",
    "2026-01-31T12:00:00+0100",
    " 2026-01-31t12:00:00z ",
    "2026-01-31",
    "2026-01-31 12:00:00",
    "31.01.2026",
    "2026-02-30 12:00:00Z",
]


def token(name: str, text: str, **changes: Any) -> bytes:
    return claim(**{name: "?"}, **changes).replace(b'"?"', text.encode())


VARIANTS = [
    *(token("amount", text, id=f"a{n}") for n, text in enumerate(AMOUNTS)),
    *(claim(id=f"t{n}", created_at=text) for n, text in enumerate(TIMES)),
    claim(theirs=[[[{"a": 1e300}]]]),
    token("theirs", "18446744073709551616"),
    token("id", "7"),
    token("asset_type", "true"),
    claim(theirs=None, claim_schedule_id=None),
    claim(addresses='["0x1"]'),
    token("theirs", "[" * 31 + "]" * 31),
    token("theirs", "[" * 32 + "]" * 32),
    token("theirs", '{"a":1,"a":2}'),
    b"{}",
]


def shown(result: LoadResult) -> object:
    rejections = [(each.line, each.code, each.member) for each in result.rejections]
    counts = (result.read, result.inserted, result.rejected, result.blank, result.committed)
    groups = sorted((each.member or "", each.code, each.lines) for each in result.summary())
    return counts, rejections, groups, result.unknown_members


@pytest.mark.parametrize("keep_going", [True, False])
@pytest.mark.parametrize("form", [*LINE_FORMS, *ITEM_FORMS])
def test_a_mapping_that_changes_nothing_changes_no_outcome(
    shared_operator: Service, form: str, keep_going: bool
) -> None:
    faults = [fault for name, (fault, _) in FAULTS.items() if name not in NOT_AN_ITEM]
    lines = [good(1), *VARIANTS, good(2), *faults]
    if form in LINE_FORMS:
        lines += [b"", *(FAULTS[name][0] for name in NOT_AN_ITEM), b"  ", good(3)]
    data = LINE_FORMS.get(form, ITEM_FORMS.get(form, b"".join))(lines)
    plain, mapped = (
        shared_operator.load(
            "claims", io.BytesIO(data), dry_run=True, keep_going=keep_going, **options
        )
        for options in ({}, SAME)
    )
    assert shown(accounted(mapped)) == shown(accounted(plain))
    messages = {each.line: each.message for each in plain.rejections if each.member is None}
    assert {e.line: e.message for e in mapped.rejections if e.member is None} == messages


@pytest.mark.parametrize(
    "data",
    [
        b"\xfd\xff",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"[[1], 2, null, {}]",
        b'{"items": 3}',
        b'{"items": null, "next_page_cursor": ""}',
        b"[" + claim() + b",",
        b"\xef\xbb\xbf" + claim(),
        b'[{"items":[' + claim() + b"]}]",
        claim() + claim(),
        json.dumps(short_line("claims"), indent=1).encode() * 2,
    ],
)
def test_odd_documents_have_one_outcome(shared_operator: Service, data: bytes) -> None:
    plain, mapped = (
        shared_operator.load("claims", io.BytesIO(data), dry_run=True, **options)
        for options in ({}, {"rename": {"id": "id"}})
    )
    assert shown(mapped) == shown(plain)


def test_rows_with_members_of_list_answers_are_rows(operator: Service) -> None:
    row = {"items": [1], "next_page_cursor": "", **short_line("claims")}
    assert accounted(operator.load("claims", [row], constants={"asset_type": "ETH"})).inserted == 1


# ---- as other programs write it ------------------------------------------------------------------

EXACT = ["12.50", "1655.39", "0.123456789012345678", "12345678901234567890.5", "0.0000001", "0"]


@pytest.mark.parametrize("writer", ["duckdb", "polars", "pandas"])
@pytest.mark.parametrize("options", [{}, {"floats": "shortest"}, {"tz": "UTC"}])
def test_what_others_write_of_the_stream_loads(
    operator: Service, tmp_path: Path, writer: str, options: dict[str, Any]
) -> None:
    library = pytest.importorskip(writer)
    day = "2026-01-31T12:00:00.123456Z"
    rows = [
        short_line("claims", id=f"c{n}", amount=each, addresses=["0x1"], created_at=day)
        for n, each in enumerate(EXACT)
    ]
    operator.load("claims", rows)
    stream = operator.claims.stream()
    path = tmp_path / "claims.json"
    if writer == "duckdb":
        with library.connect() as connection:
            connection.from_arrow(stream.to_arrow()).to_view("t")
            connection.execute(f"COPY t TO '{path}'")
    elif writer == "polars":
        path = path.with_suffix(".ndjson")
        library.DataFrame(stream).write_ndjson(path)
    else:
        stream.to_pandas().to_json(
            path, orient="records", lines=True, date_format="iso", date_unit="us"
        )
    result = accounted(operator.load("claims", path, **options))
    assert (result.unchanged, result.rejections, result.floats) == (len(EXACT), [], 0)


@pytest.mark.parametrize(
    ("text", "exact", "shortest"),
    [
        ("12.50", "12.50", "12.50"),
        ("123456789012345", "123456789012345", "123456789012345"),
        ("0.30000000000000004", None, "0.30000000000000004"),
        ("0.10000000000000001", None, "0.1"),
        ("0.1000000000000000055511151231257827", None, "0.1"),
        ("1655.390000000000065536", "1655.390000000000065536", "1655.390000000000065536"),
        ("12345678901234567", "12345678901234567", "12345678901234567"),
        ("12345678901234568", None, "12345678901234568"),
        ("1e-7", None, "0.0000001"),
        ("1E3", None, "1000"),
        ("1e400", None, None),
        ("-1", None, None),
    ],
)
def test_a_number_is_an_amount_if_it_is_exact(
    operator: Service, text: str, exact: str | None, shortest: str | None
) -> None:
    data = token("amount", text)
    for options, expected in (({}, exact), ({"floats": "shortest"}, shortest)):
        with_options = operator.load("claims", io.BytesIO(data), dry_run=True, **options)  # type: ignore[arg-type]
        assert with_options.inserted == (expected is not None), with_options.rejections
    if shortest is not None:
        result = operator.load("claims", io.BytesIO(data), floats="shortest")
        assert operator.claims.list().items[0].amount == Decimal(shortest)
        assert result.floats == (exact is None)
    if exact is None and text != "-1":
        message = operator.load("claims", io.BytesIO(data)).summary()[0].message
        assert 'floats="shortest"' in message


NOT_JSON = [
    (b"NaN", "NaN is not JSON; write null"),
    (b"Infinity", "Infinity is not JSON; write null"),
    (b"[1, -Infinity]", "-Infinity is not JSON; write null"),
    (b"[" * 40 + b"]" * 40, "values are nested deeper than 32"),
    (rb'"\ud800"', "half of a surrogate pair"),
    (b'1, "zz": 2', "zz: appears more than once"),
    (b'"NaN", }', "the text is not a JSON value"),
]


@pytest.mark.parametrize(("value", "why"), NOT_JSON)
def test_a_line_that_is_not_json_has_its_cause(
    operator: Service, tmp_path: Path, value: bytes, why: str
) -> None:
    line = b'{"id": "c-1", "zz": ' + value + b"}\n"
    (tmp_path / "c.ndjson").write_bytes(line)
    result = accounted(operator.load("claims", tmp_path / "c.ndjson"))
    assert why in result.rejections[0].message
