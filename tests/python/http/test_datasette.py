"""The readable views in Datasette: pages and JSON equal to the lists."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import comptroller
import pytest
from examples import KINDS, accounted

pytest.importorskip("datasette")

from datasette.app import Datasette

VIEWS = [f"readable_{kind.replace('-', '_')}" for kind in KINDS]


@pytest.fixture(name="store", scope="module")
def _store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample")
    comptroller.sample("all", rows=200, seed=3, out=folder)
    with comptroller.open(folder / "books.db") as store:
        for kind in KINDS:
            assert accounted(store.load(kind, folder / f"{kind}.ndjson")).committed
    return folder / "books.db"


def asked(store: Path, *addresses: str) -> list[Any]:
    """Returns the response of Datasette."""

    async def ask() -> list[Any]:
        served = Datasette([str(store)])
        return [await served.client.get(f"/{store.stem}{address}") for address in addresses]

    answers = asyncio.run(ask())
    assert [each.status_code for each in answers] == [200] * len(addresses)
    return answers


def test_every_view_has_a_page_with_its_columns(store: Path) -> None:
    (start, *pages) = asked(store, "", *(f"/{view}" for view in VIEWS))
    for view, page in zip(VIEWS, pages, strict=True):
        assert view in start.text
        assert ">created_at<" in page.text or ">at<" in page.text


def test_claims_are_shown_as_the_list_shows_them(store: Path) -> None:
    (answer,) = asked(store, "/readable_claims.json?_shape=array&_sort=id&_size=max")
    with comptroller.open(store, read_only=True) as svc:
        listed = sorted(svc.claims.iter(), key=lambda claim: claim.id)
    for row, claim in zip(answer.json(), listed, strict=True):
        assert (row["id"], row["onchain_status"]) == (claim.id, claim.onchain_status)
        assert row["amount"] == format(claim.amount, "f")
        assert row["created_at"] == claim.created_at.isoformat().replace("+00:00", "Z")
        assert tuple(json.loads(row["addresses"])) == claim.addresses


def test_facets_count_by_value(store: Path) -> None:
    (answer,) = asked(store, "/readable_claims.json?_facet=onchain_status&_size=0")
    results = answer.json()["facet_results"]["onchain_status"]["results"]
    with comptroller.open(store, read_only=True) as svc:
        statuses = [claim.onchain_status for claim in svc.claims.iter()]
    assert {each["value"]: each["count"] for each in results} == {
        status: statuses.count(status) for status in set(statuses)
    }
