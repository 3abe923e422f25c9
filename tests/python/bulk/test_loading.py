"""The outcome of every line of a load; a load stores everything or nothing."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import comptroller
import pytest
from comptroller import Service
from examples import (
    GROUP,
    KINDS,
    LINES,
    NOON,
    REQUIRED,
    accounted,
    line,
    loaded,
    ndjson,
    outcome,
    short_line,
)

ENDLESS: list[object] = []
ENDLESS.append(ENDLESS)


def claims(count: int, first: int = 0) -> Iterator[dict[str, Any]]:
    return (short_line("claims", id=f"claim-{n}") for n in range(first, first + count))


def ids(operator: Service) -> set[str]:
    return {claim.id for claim in operator.claims.iter()}


@pytest.mark.parametrize("kind", KINDS)
def test_a_line_needs_only_the_required_members(operator: Service, kind: str) -> None:
    if kind == "balances":
        loaded(operator, "reward-addresses", line("reward-addresses"))
    assert outcome(operator, kind, short_line(kind)) == "inserted"
    assert outcome(operator, kind, short_line(kind)) == "unchanged"


@pytest.mark.parametrize(
    ("kind", "member"), [(kind, member) for kind in KINDS for member in REQUIRED[kind]]
)
@pytest.mark.parametrize("how", ["left out", "null"])
def test_a_line_without_a_required_member_is_rejected(
    shared_operator: Service, kind: str, member: str, how: str
) -> None:
    row = line(kind, **{member: ... if how == "left out" else None})
    result = accounted(shared_operator.load(kind, io.BytesIO(ndjson([row]))))
    assert not result.committed
    (rejection,) = result.rejections
    assert (rejection.line, rejection.code) == (1, "invalid-request")
    assert f"{member}: is required" in rejection.message


# ---- all or nothing ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "committed", "kept"),
    [
        ({}, False, set()),
        ({"dry_run": True}, False, set()),
        ({"dry_run": True, "keep_going": True}, False, set()),
        ({"keep_going": True}, True, {"claim-0", "claim-1", "claim-2"}),
    ],
)
def test_a_file_with_a_bad_line_stores_nothing_or_the_valid_lines(
    operator: Service, options: dict[str, bool], committed: bool, kept: set[str]
) -> None:
    rows = [*claims(1), short_line("claims", amount="a lot"), *claims(2, first=1), *claims(1)]
    result = loaded(operator, "claims", *rows, **options)
    counts = (result.read, result.inserted, result.unchanged, result.rejected)
    assert counts == (5, 3, 1, 1)
    assert result.committed is committed
    assert ids(operator) == kept


def test_a_dry_run_of_a_valid_file_stores_nothing(operator: Service) -> None:
    result = loaded(operator, "claims", *claims(3), dry_run=True)
    assert (result.committed, result.inserted) == (False, 3)
    assert ids(operator) == set()
    assert loaded(operator, "claims", *claims(3)).committed


def test_an_empty_file_is_a_load_of_nothing(shared_operator: Service) -> None:
    result = accounted(shared_operator.load("claims", io.BytesIO()))
    assert (result.committed, result.read, result.blank) == (True, 0, 0)


def test_the_first_thousand_rejections_are_listed_and_all_are_counted(
    shared_operator: Service,
) -> None:
    rows = [*claims(1), *({"id": str(number)} for number in range(1500))]
    result = loaded(shared_operator, "claims", *rows, dry_run=True)
    assert (result.read, result.rejected, result.inserted) == (1501, 1500, 1)
    assert [rejection.line for rejection in result.rejections] == list(range(2, 1002))


@pytest.mark.parametrize("kind", KINDS)
def test_unknown_members_are_counted_and_ignored(operator: Service, kind: str) -> None:
    if kind == "balances":
        loaded(operator, "reward-addresses", line("reward-addresses"))
    row = short_line(kind)
    result = loaded(operator, kind, row | {"colour": "red", "size": {"id": 1}}, row | {"size": []})
    assert (result.committed, result.inserted, result.unchanged) == (True, 1, 1)
    assert result.unknown_members == {"colour": 1, "size": 2}


def test_the_same_files_twice_insert_and_update_nothing(operator: Service, tmp_path: Path) -> None:
    comptroller.sample("all", rows=400, out=tmp_path)
    for again in (False, True):
        for kind in KINDS:
            result = accounted(operator.load(kind, tmp_path / f"{kind}.ndjson"))
            assert result.committed
            assert result.rejected == result.blank == result.updated == 0
            assert result.inserted == (0 if again else result.read)
    assert operator.check()["ok"]


# ---- rows of Python ------------------------------------------------------------------------------


def test_rows_of_python_are_accepted(operator: Service) -> None:
    moment = datetime(2026, 1, 31, 13, tzinfo=timezone(timedelta(hours=1)))
    row = short_line("claims", amount=Decimal("1E-18"), payout_group_id=UUID(GROUP))
    assert outcome(operator, "claims", row | {"created_at": moment}) == "inserted"
    claim = operator.claims.get("claim-1")
    assert claim.amount == Decimal("0.000000000000000001")
    assert claim.payout_group_id == GROUP
    assert claim.created_at == datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert outcome(operator, "claims", claim) == "unchanged"


@pytest.mark.parametrize(
    "changes",
    [
        {"amount": 1.5},
        {"amount": float("nan")},
        {"amount": Decimal("NaN")},
        {"amount": Decimal("Infinity")},
        {"amount": True},
        {"created_at": datetime(2026, 1, 31, 12)},
        {"created_at": 1769860800},
        {"claim_type": "\ud800"},
    ],
)
def test_an_inexact_row_of_python_is_rejected_at_its_line(
    shared_operator: Service, changes: dict[str, object]
) -> None:
    rows = [*claims(1), short_line("claims", **changes)]
    result = loaded(shared_operator, "claims", *rows)
    assert [rejection.line for rejection in result.rejections] == [2]
    assert not result.committed


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"tx_hash": object()}, "tx_hash: an object cannot be written as JSON"),
        ({"amount": 10**5000}, "the number is too long"),
        ({"addresses": ENDLESS}, "nested too deeply"),
    ],
)
def test_an_unrepresentable_row_is_rejected_and_the_others_are_stored(
    operator: Service, changes: dict[Any, object], expected: str
) -> None:
    rows = [*claims(1), {**short_line("claims", id="bad"), **changes}, *claims(1, first=1)]
    result = operator.load("claims", rows, keep_going=True)
    assert (result.committed, result.inserted, result.rejected) == (True, 2, 1)
    (rejection,) = result.rejections
    assert (rejection.line, rejection.code) == (2, "invalid-request")
    assert expected in rejection.message


def test_an_exception_of_the_source_is_raised_and_nothing_is_stored(operator: Service) -> None:
    class Breaking(io.RawIOBase):
        def __init__(self) -> None:
            self.left = [ndjson(claims(2)), ndjson(claims(2, first=2))]

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any, /) -> int:
            if not self.left:
                raise LookupError("the connection was lost")
            data = self.left.pop(0)
            buffer[: len(data)] = data
            return len(data)

    def breaking() -> Iterator[dict[str, Any]]:
        yield from claims(2)
        raise LookupError("the connection was lost")

    makes: list[Callable[[], Any]] = [Breaking, breaking]
    for make in makes:
        with pytest.raises(LookupError, match="the connection was lost"):
            operator.load("claims", make())
        assert ids(operator) == set()


# ---- permissions and arguments -------------------------------------------------------------------


def test_a_client_may_not_load(acme: Service) -> None:
    with pytest.raises(comptroller.Forbidden) as refused:
        acme.load("claims", claims(1))
    assert refused.value.code == "insufficient-scope"


@pytest.mark.parametrize(
    ("kind", "options", "field"),
    [
        ("claim", {}, "kind"),
        ("", {}, "kind"),
        ("claims", {"customer_id": ""}, "customer_id"),
        ("claims", {"customer_id": "a b"}, "customer_id"),
        ("claims", {"customer_id": "x" * 129}, "customer_id"),
    ],
)
def test_invalid_arguments_of_a_load_are_refused(
    shared_operator: Service, kind: str, options: dict[str, str], field: str
) -> None:
    with pytest.raises(comptroller.InvalidRequest) as refused:
        shared_operator.load(kind, claims(1), **options)
    assert [error.field for error in refused.value.errors] == [field]


@pytest.mark.parametrize("kind", ["payout-groups", "payout_groups"])
def test_a_kind_may_have_dashes_or_underscores(shared_operator: Service, kind: str) -> None:
    result = shared_operator.load(kind, [line("payout-groups")], dry_run=True)
    assert (result.inserted, NOON in str(result)) == (1, False)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "balances"])
def test_a_rejected_line_creates_no_customer(
    operator: Service, store_path: Path, kind: str
) -> None:
    for needed in KINDS[: KINDS.index(kind) + 1]:
        loaded(operator, needed, LINES[needed])
    line = LINES[kind] | {"customer_id": "ghost"}
    assert operator.load(kind, [line], keep_going=True).rejected == 1
    with closing(sqlite3.connect(f"file:{store_path}?mode=ro", uri=True)) as connection:
        rows = connection.execute("SELECT text FROM customers JOIN symbols USING (key)").fetchall()
    assert rows == [("default",)]


def test_a_long_name_is_shortened(operator: Service) -> None:
    name = "a" + "\u00e9" * 200_000
    rows = [short_line("claims", id=str(n)) | {name + str(n): 1} for n in range(2)]
    result = operator.load("claims", rows)
    assert result.unknown_members == {"a" + "\u00e9" * 39 + "...": 2}
    many = ndjson({"id": "1", "x" * 900_000 + str(number): 1} for number in range(3))
    (expected,) = operator.load("claims", io.BytesIO(many)).unknown_members.items()
    assert expected == ("x" * 80 + "...", 3)


def test_a_long_duplicate_member_is_shortened(operator: Service) -> None:
    name = b'"' + b"x" * 300_000 + b'"'
    data = b'{"id":"1","metadata":{' + name + b":1}," + name + b":2," + name + b":3}\n"
    for kind in ("claims", "orchestrations"):
        (rejection,) = operator.load(kind, io.BytesIO(data)).rejections
        assert "x" * 70 in rejection.message
        assert len(rejection.message) < 1000


STARVED = """
import io, resource, sys, comptroller

# A number that no machine type holds is looked at in a copy of the line.
LINE = b'{"more":1e400,"text":"' + b"x" * 1_000_000 + b'"}\\n'

class Starving(io.BytesIO):
    def readinto(self, buffer):
        size = super().readinto(buffer)
        if size:
            used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 19), resource.RLIM_INFINITY))
        return size

svc = comptroller.open(sys.argv[1])
try:
    print(svc.load("claims", Starving(LINE)))
except comptroller.Unavailable as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="where memory can be expected and bounded")
def test_out_of_memory_is_not_an_error_of_a_line(store_path: Path) -> None:
    # One arena, so that no thread has reserved memory.
    loading = subprocess.run(
        [sys.executable, "-c", STARVED, str(store_path)],
        env={**os.environ, "MALLOC_ARENA_MAX": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert loading.stdout == "unavailable: out of memory\n"


FIRST, SECOND = short_line("identities", id="first"), short_line("identities", id="second")
Tuple = namedtuple("Tuple", FIRST)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("rows", "inserted"),
    [
        pytest.param([[FIRST], [SECOND], [FIRST]], 0, id="lists of one record"),
        pytest.param([[FIRST, SECOND], FIRST, SECOND], 2, id="a page, then records"),
        pytest.param([{"items": [FIRST]}, FIRST, SECOND], 2, id="an answer, then records"),
        pytest.param([{"items": 1} | FIRST, SECOND], 2, id="a member that answers have"),
        pytest.param([{"next_page_cursor": ""} | FIRST, SECOND], 2, id="a cursor"),
        pytest.param([Tuple(**FIRST), SECOND], 1, id="a named tuple"),
        pytest.param([json.dumps(FIRST), None, 5, SECOND], 1, id="scalars"),
    ],
)
@pytest.mark.parametrize("options", [{}, {"constants": {"customer_id": "default"}}])
def test_each_row_is_one_line_of_the_account(
    operator: Service, rows: list[object], inserted: int, options: dict[str, Any]
) -> None:
    result = loaded(operator, "identities", *rows, keep_going=True, **options)
    assert (result.read, result.inserted) == (len(rows), inserted)
    assert result.rejected + result.blank == len(rows) - inserted
    lines = [rejection.line for rejection in result.rejections]
    assert lines == sorted(set(lines))


@pytest.mark.parametrize("column", ["items", "next_page_cursor", "orchestrations"])
def test_a_table_may_have_columns_that_answers_have(
    operator: Service, tmp_path: Path, column: str
) -> None:
    path = tmp_path / "identities.csv"
    path.write_text(f"{column},id,created_at\n5,first,{NOON}\n6,second,{NOON}\n")
    result = accounted(operator.load("identities", path))
    assert (result.inserted, result.unknown_members) == (2, {column: 2})
