"""NDJSON, arrays and saved responses, also gzipped: each error is found at its line."""

from __future__ import annotations

import gzip
import io
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from comptroller import InvalidRequest, LoadResult, Service
from examples import KINDS, LINES, REQUIRED, accounted, line, loaded, ndjson, short_line

MIB = 1 << 20


def claim(**changes: object) -> bytes:
    return json.dumps(short_line("claims", **changes)).encode()


def good(number: int) -> bytes:
    return claim(id=f"good-{number}")


def padded(size: int) -> bytes:
    """Returns a valid line of exactly this many bytes."""
    text = claim(unknown="")
    return text.replace(b'"unknown": ""', b'"unknown": "%s"' % (b"x" * (size - len(text))))


# Every kind of error as one line of a file, and the code of its rejection.
FAULTS: dict[str, tuple[bytes, str]] = {
    "cut short": (b'{"id":"c"', "malformed-json"),
    "junk": (bytes(range(128, 256)), "malformed-json"),
    "no value": (b'{"id":}', "malformed-json"),
    "a trailing comma": (claim()[:-1] + b",}", "malformed-json"),
    "two values": (claim() + claim(), "malformed-json"),
    "single quotes": (b"{'id':'c'}", "malformed-json"),
    "no number": (claim().replace(b'"32.004899926312128277"', b"NaN"), "malformed-json"),
    "no UTF-8": (claim(claim_schedule_id="?").replace(b"?", b"\xff"), "malformed-json"),
    "an overlong NUL": (claim(claim_schedule_id="?").replace(b"?", b"\xc0\x80"), "malformed-json"),
    "a bare control character": (
        claim(claim_schedule_id="?").replace(b"?", b"\x01"),
        "malformed-json",
    ),
    "a lone surrogate": (claim(claim_schedule_id="?").replace(b"?", rb"\ud800"), "malformed-json"),
    "too deep": (b'{"id":' + b"[" * 40 + b"]" * 40 + b"}", "malformed-json"),
    "no object": (b"[]", "invalid-request"),
    "a number": (b"7", "invalid-request"),
    "a text": (b'"claim"', "invalid-request"),
    "null": (b"null", "invalid-request"),
    "a member twice": (claim()[:-1] + b',"id":"other"}', "invalid-request"),
    "U+0000": (claim(claim_schedule_id="\0"), "invalid-request"),
    "a control character": (claim(claim_schedule_id="\x1f"), "invalid-request"),
    "a missing member": (b'{"id":"c"}', "invalid-request"),
    "an amount that may be a rounded float": (claim(amount=0.1 + 0.2), "invalid-request"),
    "an amount with an exponent": (claim(amount="1e3"), "invalid-request"),
    "an amount below nothing": (claim(amount="-1"), "invalid-request"),
    "an amount too long": (claim(amount="1" * 21), "invalid-request"),
    "an amount too fine": (claim(amount="0." + "1" * 19), "invalid-request"),
    "an unknown status": (claim(onchain_status="LOST"), "invalid-request"),
    "no word": (claim(claim_type="claim all"), "invalid-request"),
    "an id with a space": (claim(id="a b"), "invalid-request"),
    "an id too long": (claim(id="x" * 129), "invalid-request"),
    "a group that is no UUID": (claim(payout_group_id="group"), "invalid-request"),
    "a time without a zone": (claim(created_at="2026-01-31T12:00:00"), "invalid-request"),
    "a day that is none": (claim(created_at="2026-02-30T12:00:00Z"), "invalid-request"),
    "a note too long": (claim(error_message="x" * 1025), "invalid-request"),
    "addresses that are no list": (claim(addresses="0x"), "invalid-request"),
    "a line too long": (padded(MIB + 1), "content-too-large"),
}
# Lines that are valid NDJSON, but would be an error of the array as its items.
NOT_AN_ITEM = {"cut short", "junk", "no value", "a trailing comma", "two values", "single quotes"}

Packing = Callable[[list[bytes]], bytes]
LINE_FORMS: dict[str, Packing] = {
    "LF": lambda lines: b"".join(text + b"\n" for text in lines),
    "CR LF": lambda lines: b"".join(text + b"\r\n" for text in lines),
    "no final newline": lambda lines: b"\n".join(lines),
    "packed": lambda lines: gzip.compress(b"".join(text + b"\n" for text in lines), 1),
    "packed in two members": lambda lines: b"".join(
        gzip.compress(text + b"\n", 1) for text in lines
    ),
}
ITEM_FORMS: dict[str, Packing] = {
    "an array": lambda items: b"[\n" + b",\n".join(items) + b"\n]\n",
    "a packed array": lambda items: gzip.compress(b"[\n" + b",\n".join(items) + b"\n]", 1),
    "an answer": lambda items: (
        b'{"items": [\n' + b",\n".join(items) + b'\n], "next_page_cursor": ""}'
    ),
    "an answer with CR LF": lambda items: (
        b'{"next_page_cursor":"x","items":[\r\n' + b",\r\n".join(items) + b"\r\n]}\r\n"
    ),
}


def dry(operator: Service, data: bytes) -> LoadResult:
    return accounted(operator.load("claims", io.BytesIO(data), dry_run=True))


def faults_at(result: LoadResult) -> list[tuple[int, str]]:
    return [(rejection.line, rejection.code) for rejection in result.rejections]


@pytest.mark.parametrize("form", LINE_FORMS)
def test_errors_are_found_at_their_lines(shared_operator: Service, form: str) -> None:
    lines: list[bytes] = []
    expected = []
    for number, (fault, code) in enumerate(FAULTS.values()):
        lines += [good(number), fault, b"" if number % 2 else b" \t "]
        expected.append((len(lines) - 1, code))
    lines.append(good(len(FAULTS)))
    result = dry(shared_operator, LINE_FORMS[form](lines))
    assert faults_at(result) == expected
    assert (result.blank, result.inserted) == (len(FAULTS), len(FAULTS) + 1)
    assert all(rejection.message for rejection in result.rejections)


@pytest.mark.parametrize("form", ITEM_FORMS)
def test_errors_are_found_in_arrays_and_responses(shared_operator: Service, form: str) -> None:
    items: list[bytes] = []
    expected = []
    for name, (fault, code) in FAULTS.items():
        if name in NOT_AN_ITEM:
            continue
        items += [good(len(items)), fault]
        expected.append((len(items) + 1, code))  # the first item is on the second line
    result = dry(shared_operator, ITEM_FORMS[form](items))
    assert faults_at(result) == expected
    assert (result.read, result.inserted) == (len(items), len(items) // 2)


@pytest.mark.parametrize("name", FAULTS)
def test_each_error_alone_prevents_the_commit(operator: Service, name: str) -> None:
    fault, code = FAULTS[name]
    result = accounted(operator.load("claims", io.BytesIO(good(1) + b"\n" + fault)))
    assert faults_at(result) == [(2, code)]
    assert not result.committed
    assert len(operator.claims.list()) == 0


def test_a_line_may_have_a_mebibyte(shared_operator: Service) -> None:
    for end in (b"", b"\n", b"\r\n"):
        assert dry(shared_operator, padded(MIB) + end).inserted == 1
        assert faults_at(dry(shared_operator, padded(MIB + 1) + end)) == [(1, "content-too-large")]
    endless = b"[" + padded(3 * MIB) + b"," + good(1) + b"]"
    result = dry(shared_operator, endless)
    assert (faults_at(result), result.inserted) == ([(1, "content-too-large")], 1)


@pytest.mark.parametrize(
    ("data", "line_number"),
    [
        (b"\n".join([good(1), good(2), good(3)[:-9]]), 3),
        (b"[\n" + good(1) + b",\n" + good(2) + b",\n", 4),
        (b"[\n" + good(1) + b",\n" + good(2) + b",\n" + good(3)[:-9], 4),
        (b"[\n" + good(1) + b",\n" + good(2) + b"\n", 4),
        (b'{"items":[\n' + good(1) + b",\n" + good(2) + b"\n", 4),
        (b'{"items":[\n' + good(1) + b",\n" + good(2) + b'\n],"next', 4),
    ],
)
def test_a_truncated_file_is_detected(
    shared_operator: Service, data: bytes, line_number: int
) -> None:
    result = dry(shared_operator, data)
    assert result.inserted == 2
    ((found, code),) = faults_at(result)
    assert code == "malformed-json"
    assert line_number - 1 <= found <= line_number


@pytest.mark.parametrize("options", [{}, {"keep_going": True}])
def test_a_truncated_gzip_file_is_refused(
    operator: Service, tmp_path: Path, options: dict[str, bool]
) -> None:
    whole = gzip.compress(ndjson(json.loads(good(n)) for n in range(500)), 1)
    path = tmp_path / "claims.ndjson.gz"
    for size in (len(whole) - 4, len(whole) // 2, 12):
        path.write_bytes(whole[:size])
        with pytest.raises(InvalidRequest, match="cannot be read"):
            operator.load("claims", path, **options)
        assert len(operator.claims.list()) == 0
    path.write_bytes(whole)
    assert operator.load("claims", path).inserted == 500


@pytest.mark.parametrize("seed", range(8))
def test_binary_data_is_refused_at_once(shared_operator: Service, seed: int) -> None:
    chance = random.Random(seed)
    # Without the two bytes that begin a gzip file.
    data = b"\0" * (seed % 2) + chance.randbytes(50_000).replace(b"\x1f\x8b", b"")
    with pytest.raises(InvalidRequest, match="it is binary"):
        dry(shared_operator, data)


# ---- files of other programs ---------------------------------------------------------------------

BEYOND = ["18446744073709551616", "-9223372036854775809", "1e999", "[[1e400]]", '{"a":1E+400}']


@pytest.mark.parametrize("value", BEYOND)
def test_an_unknown_member_may_hold_any_number(shared_operator: Service, value: str) -> None:
    text = claim()[:-1] + b',"theirs":%s}' % value.encode()
    result = dry(shared_operator, text)
    assert (result.inserted, result.unknown_members["theirs"]) == (1, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_null_is_a_member_that_is_not_set(operator: Service, kind: str) -> None:
    if kind == "balances":
        loaded(operator, "reward-addresses", line("reward-addresses"))
    unset = {name: None for name in LINES[kind] if name not in REQUIRED[kind]}
    full = unset | short_line(kind)
    for source in (io.BytesIO(ndjson([full])), [full]):
        result = accounted(operator.load(kind, source, dry_run=True))
        assert (result.inserted, result.rejections) == (1, [])


def test_null_is_not_set_inside_members(shared_operator: Service) -> None:
    row = line("orchestrations", metadata={"a": "x", "b": None}, source={"crypto": None})
    source = io.BytesIO(ndjson([row]))
    assert shared_operator.load("orchestrations", source, dry_run=True).inserted == 1


def test_objects_printed_with_indentation(shared_operator: Service) -> None:
    items = [json.loads(good(n)) for n in range(3)]
    items[1]["amount"] = "x"
    result = dry(shared_operator, "\n".join(json.dumps(each, indent=2) for each in items).encode())
    assert (result.read, result.inserted, result.rejected) == (3, 2, 1)
    assert result.rejections[0].line == len(json.dumps(items[0], indent=2).splitlines()) + 1


def test_an_array_of_saved_responses(shared_operator: Service) -> None:
    pages = [
        {"items": [json.loads(good(n)), json.loads(good(n + 1))], "next_page_cursor": "x"}
        for n in (0, 2)
    ]
    assert dry(shared_operator, json.dumps(pages).encode()).inserted == 4


# ---- saved answers -------------------------------------------------------------------------------


def answer(kind: str, **more: Any) -> dict[str, Any]:
    return {"items": [line(kind)], "next_page_cursor": ""} | more


@pytest.mark.parametrize("gap", ["", "\n", "\n\n", " \r\n "])
def test_saved_responses_may_be_concatenated(shared_operator: Service, gap: str) -> None:
    pages = [
        json.dumps(
            {"next_page_cursor": "x", "items": [json.loads(good(n)), json.loads(good(n + 1))]}
        )
        for n in (0, 2, 4)
    ]
    result = dry(shared_operator, gap.join([*pages, '{"items":[],"next_page_cursor":""}']).encode())
    assert (result.read, result.inserted, result.rejected) == (6, 6, 0)


def test_the_deprecated_copy_of_items_is_not_read(shared_operator: Service) -> None:
    items = [line("orchestrations")]
    saved = json.dumps({"items": items, "next_page_cursor": "", "orchestrations": items}).encode()
    result = accounted(shared_operator.load("orchestrations", io.BytesIO(saved), dry_run=True))
    assert (result.read, result.inserted, result.unchanged) == (1, 1, 0)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("wrap", [lambda items: items, lambda items: {"items": items}])
def test_items_may_have_any_layout(
    shared_operator: Service, indent: int | None, wrap: Callable[[list[Any]], Any]
) -> None:
    items = [json.loads(good(n)) for n in range(3)]
    items[1]["amount"] = "x"
    result = dry(shared_operator, json.dumps(wrap(items), indent=indent).encode())
    assert (result.read, result.inserted, result.rejected) == (3, 2, 1)
    if indent:
        size = len(json.dumps(items[0], indent=2).splitlines())
        before = 1 if isinstance(wrap([]), list) else 2
        assert result.rejections[0].line == before + size + 1


@pytest.mark.parametrize("data", [b"[]", b" [ ] ", b'{"items":[]}', b'{"items": []}\n{"items":[]}'])
def test_empty_files_load_nothing(shared_operator: Service, data: bytes) -> None:
    result = dry(shared_operator, data)
    assert (result.read - result.blank, result.rejected) == (0, 0)
