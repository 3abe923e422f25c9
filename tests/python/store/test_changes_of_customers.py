"""The change feed of a client: the changes of its customer's records, whatever others write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import comptroller
import pytest
from test_changes import LATER, NOW, claim, seen


def identity(number: int, **members: Any) -> dict[str, Any]:
    """Returns a row of a load."""
    return {"id": f"identity-{number}", "created_at": NOW, "updated_at": NOW, **members}


def pages_of(svc: comptroller.Service, limit: int) -> list[list[str]]:
    """Returns the ids of the changes on each page."""
    pages, after, has_more = [], None, True
    while has_more:
        page = svc.changes.list(after=after, limit=limit)
        pages.append([each.id for each in page.items])
        after, has_more = page.next_cursor, page.has_more
    return pages


def test_a_clients_page_is_full_whatever_others_loaded(
    operator: comptroller.Service, open_as: Callable[..., comptroller.Service]
) -> None:
    rows = [claim(number, customer_id="globex") for number in range(12_000)]
    own = [6_000, 6_001, 12_000, 12_001]
    for number in own:
        rows.insert(number, claim(50_000 + number, customer_id="acme"))
    operator.load("claims", rows)
    operator.load(
        "claims", [claim(number, customer_id="globex") for number in range(30_000, 42_000)]
    )
    assert pages_of(open_as(customer="acme"), 3) == [
        [f"claim-{50_000 + number}" for number in own[:3]],
        [f"claim-{50_000 + own[3]}"],
    ]
    assert sum(map(len, pages_of(open_as(customer="globex"), 1_000))) == 24_000
    assert len(list(operator.changes.iter())) == 24_004


def test_the_end_of_a_clients_feed_does_not_tell_whether_others_wrote(
    operator: comptroller.Service, open_as: Callable[..., comptroller.Service]
) -> None:
    client = open_as(customer="acme")
    ends = [client.changes.list(after="end").next_cursor]
    for others in (0, 0, 1, 0, 2):
        for number in range(others):
            operator.identities.put(id=f"{len(ends)}-{number}", customer_id="globex")
        ends.append(client.changes.list(after=ends[-1]).next_cursor)
    assert len({*ends}) == len(ends)
    assert len({*map(len, ends)}) == 1
    operator.identities.put(id="own", customer_id="acme")
    assert [seen(client.changes.iter(after=end)) for end in ends] == [
        [("identities.put", "own")] for _ in ends
    ]


@pytest.mark.parametrize("seed", range(3))
def test_a_clients_feed_is_its_part_of_all_changes(
    operator: comptroller.Service,
    open_as: Callable[..., comptroller.Service],
    store_path: Path,
    seed: int,
) -> None:
    chance = Random(seed)
    customers = ["acme", "globex", 'q"uo\\te']
    for load in range(6):
        chance.shuffle(customers)
        rows = [
            identity(200 * load + number, customer_id=chance.choice(customers[: 1 + load % 3]))
            for number in range(chance.choice((1, 5, 200)))
        ]
        # A line changes a record of its own load, and the deprecated boolean creates a control.
        again = {**rows[0], "ref_id": "again", "updated_at": LATER}
        restricted = {**rows[-1], "user_disabled": True, "updated_at": LATER}
        operator.load("identities", [*rows, again, restricted], keep_going=True)
        # This replaces the control, which is then missing from an earlier load.
        replacing = {
            "id": f"control-{load}",
            "identity_id": rows[-1]["id"],
            "type": "SELL_ONLY",
            "set_by": "CLIENT",
            "is_overridable": True,
            "reason_code": "REQUESTED",
            "created_at": LATER,
        }
        assert operator.load("controls", [replacing]).committed
        operator.identities.update(id=rows[0]["id"], metadata={"load": str(load)})
    with comptroller.open(store_path) as local:
        assert local.journal.verify().ok
    everything = [*operator.changes.iter()]
    for customer in customers:
        client = open_as(customer=customer)
        expected = [each for each in everything if each.customer_id == customer]
        assert seen(client.changes.iter()) == seen(expected)
        for limit in (1, 7):
            pages = pages_of(client, limit)
            assert [id for page in pages for id in page] == [each.id for each in expected]
            assert all(len(page) == limit for page in pages[:-1])
        assert seen(operator.changes.iter(customer_id=customer)) == seen(expected)
