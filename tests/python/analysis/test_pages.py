"""Pages of lists: their content, their display, and the iteration over all pages."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from comptroller import decoding, operations
from comptroller.errors import Unusable
from comptroller.operations.pages import Page, walk_async
from comptroller.records import Balance, Claim

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def balance(number: int, address: str = "a1") -> Balance:
    return Balance(address_id=address, balance=Decimal(number), at=NOON)


def page_json(numbers: list[int], cursor: str) -> bytes:
    items = ",".join(
        f'{{"address_id":"a1","balance":"{n}","at":"2026-01-31T12:00:00.000000Z"}}' for n in numbers
    )
    return f'{{"items":[{items}],"next_page_cursor":"{cursor}","orchestrations":[]}}'.encode()


class Pages:
    """A transport that answers a list page by page."""

    def __init__(self, answers: dict[str, bytes]) -> None:
        self.answers = answers
        self.requests: list[list[tuple[str, str]]] = []

    def call(
        self,
        operation: str,
        parameters: list[tuple[str, str]],
        body: bytes | None,
        idempotency_key: str | None,
    ) -> bytes:
        self.requests.append(parameters)
        return self.answers[dict(parameters).get("page_cursor", "")]

    def stream(self, *asked: object) -> Any:
        raise AssertionError(asked)


def test_a_page_is_a_sequence_of_its_items() -> None:
    page = Page(items=[balance(1), balance(2), balance(3)], next_page_cursor="")
    assert len(page) == 3
    assert [item.balance for item in page] == [1, 2, 3]
    assert page[0] == balance(1)
    assert page[-1] == balance(3)
    assert page[1:] == [balance(2), balance(3)]
    assert balance(2) in page


@pytest.mark.parametrize(
    ("count", "cursor", "shown"),
    [
        (0, "", "<Page: empty, the last page>"),
        (2, "", "<Page: 2 x Balance, the last page>"),
        (2, "x", "<Page: 2 x Balance, more follow>"),
    ],
)
def test_its_repr_is_short(count: int, cursor: str, shown: str) -> None:
    page = Page(items=[balance(n) for n in range(count)], next_page_cursor=cursor)
    assert repr(page) == shown


def test_its_table_escapes_what_it_shows() -> None:
    hostile = "<script>alert('x')</script>&"
    shown = Page(items=[balance(1, hostile)], next_page_cursor="")._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    long = Page(items=[balance(1, '"><script>' * 100)], next_page_cursor="")._repr_html_()
    assert "<script>" not in long
    assert '""' not in long


def test_its_table_shows_twenty_rows_and_counts_the_others() -> None:
    shown = Page(items=[balance(n) for n in range(50)], next_page_cursor="x")._repr_html_()
    assert shown.count("<tr>") == 21
    assert "30 more rows" in shown
    assert "more columns" not in shown


def test_its_table_omits_columns_without_a_value() -> None:
    claim = Claim(
        id="c1",
        payout_group_id="g1",
        claim_type="CLAIM_ALL",
        onchain_status="PENDING",
        amount=Decimal("1.50"),
        created_at=NOON,
        updated_at=NOON,
    )
    shown = Page(items=[claim], next_page_cursor="")._repr_html_()
    assert "1.50" in shown
    assert "tx_hash" not in shown


def test_its_table_joins_the_values_of_an_array() -> None:
    claim = Claim(
        id="c1",
        payout_group_id="g1",
        claim_type="CLAIM_ALL",
        onchain_status="PENDING",
        amount=Decimal("1.50"),
        addresses=("a1", "a2"),
        created_at=NOON,
        updated_at=NOON,
    )
    shown = Page(items=[claim], next_page_cursor="")._repr_html_()
    assert "<td>a1, a2</td>" in shown


def test_an_empty_page_has_no_table() -> None:
    empty: Page[Claim] = Page(items=[], next_page_cursor="")
    shown = empty._repr_html_()
    assert "<p>&lt;Page: empty, the last page&gt;</p>" in shown
    assert "<table" not in shown


def test_a_list_returns_a_page() -> None:
    transport = Pages({"": page_json([1, 2], "next")})
    page = operations.Balances(transport).list(limit=2)
    assert page.items == [balance(1), balance(2)]
    assert page.next_page_cursor == "next"
    assert transport.requests == [[("limit", "2")]]


def test_iter_fetches_a_page_when_it_is_needed() -> None:
    transport = Pages(
        {"": page_json([1, 2], "p2"), "p2": page_json([], "p3"), "p3": page_json([3], "")}
    )
    walk = operations.Balances(transport).iter(address_id="a1", order="ASC")
    assert transport.requests == []
    assert next(walk).balance == 1
    assert len(transport.requests) == 1
    assert [item.balance for item in walk] == [2, 3]
    asked = [("address_id", "a1"), ("order", "ASC"), ("limit", "1000")]
    assert transport.requests == [
        asked,
        [*asked, ("page_cursor", "p2")],
        [*asked, ("page_cursor", "p3")],
    ]


def test_iter_of_asyncio_reads_pages_without_items() -> None:
    pages = {
        "": Page(items=[], next_page_cursor="p2"),
        "p2": Page(items=[balance(1)], next_page_cursor="p3"),
        "p3": Page(items=[], next_page_cursor=""),
    }

    async def page_at(cursor: str) -> Page[Balance]:
        return pages[cursor]

    async def items() -> list[Balance]:
        return [item async for item in walk_async(page_at)]

    assert asyncio.run(items()) == [balance(1)]


@pytest.mark.parametrize(
    "answer",
    [
        *(b"", b"{", b"[]", b'{"items":[]}'),
        page_json([1], "").replace(b'"1"', b'"NaN"'),
        page_json([1], "").replace(b'"1"', b'"\xff"'),
    ],
)
def test_an_invalid_page_is_reported_as_a_damaged_store(answer: bytes) -> None:
    with pytest.raises(Unusable, match=r"the store is damaged, .* balances\.list"):
        operations.Balances(Pages({"": answer})).list()


def test_a_page_reads_its_records() -> None:
    assert decoding.read(page_json([7], ""), Page[Balance]).items == [balance(7)]
