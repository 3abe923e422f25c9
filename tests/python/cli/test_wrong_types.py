"""Arguments of the wrong type raise InvalidRequest, which names the argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import comptroller
import pytest
from comptroller import InvalidRequest, Service

LONG = 10**5000  # longer than Python formats


@pytest.mark.parametrize(
    ("field", "call"),
    [
        ("kind", lambda _: comptroller.sample(5)),
        ("kind", lambda _: comptroller.sample(LONG)),
        ("rows", lambda _: comptroller.sample("claims", "5")),
        ("rows", lambda _: comptroller.sample("claims", 2**70)),
        ("seed", lambda _: comptroller.sample("claims", seed=-1)),
        ("seed", lambda _: comptroller.sample("claims", seed=2**64)),
        ("seed", lambda _: comptroller.sample("claims", seed=None)),
        ("customer", lambda _: comptroller.sample("claims", customer="")),
        ("customer", lambda _: comptroller.sample("claims", customer=b"a")),
        ("out", lambda _: comptroller.sample("claims", out=5)),
        ("out", lambda _: comptroller.sample("claims", out="a\0b")),
        ("path", lambda _: comptroller.open(5)),
        ("path", lambda _: comptroller.open(b"store.db")),
        ("path", lambda _: comptroller.open("\udcff")),
        ("scopes", lambda _: comptroller.open(":memory:", customer="a", scopes=[1])),
        ("scopes", lambda _: comptroller.open(":memory:", customer="a", scopes=5)),
        ("scopes", lambda _: comptroller.open(":memory:", customer="a", scopes=b"a")),
        ("customer", lambda _: comptroller.open(":memory:", customer=b"a")),
        ("client_id", lambda _: comptroller.open(":memory:", client_id=["a"])),
        ("read_only", lambda _: comptroller.open(":memory:", read_only="no")),
        ("kind", lambda svc: svc.load(None, [])),
        ("source", lambda svc: svc.load("claims", 5)),
        ("source", lambda svc: svc.load("claims", "a\0b")),
        ("customer_id", lambda svc: svc.load("claims", [], customer_id=[])),
        ("keep_going", lambda svc: svc.load("claims", [], keep_going="no")),
        ("dry_run", lambda svc: svc.load("claims", [], dry_run=None)),
        ("progress", lambda svc: svc.load("claims", [], progress=5)),
        ("path", lambda svc: svc.export("claims", 5)),
        ("path", lambda svc: svc.export("claims", b"rows")),
        ("format", lambda svc: svc.export("claims", "rows", 5)),
        ("destination", lambda svc: svc.backup(5)),
        ("destination", lambda svc: svc.backup("")),
        ("id", lambda svc: svc.claims.get([])),
        ("limit", lambda svc: svc.claims.list(limit="x")),
        ("limit", lambda svc: svc.claims.list(limit=1.5)),
        ("limit", lambda svc: svc.claims.iter(limit=object())),
        ("columns", lambda svc: svc.claims.stream(5)),
        ("statuses", lambda svc: svc.claims.list(statuses=[b"FAILED"])),
        ("body", lambda svc: svc.identities.put(id="a", user_disabled=LONG)),
        ("record", lambda svc: svc.claims.put(5)),
        ("by", lambda svc: svc.reports.claims_summary(by=5)),
        ("by", lambda svc: svc.reports.claims_summary(by=[["day"]])),
        ("by", lambda svc: svc.reports.failures(by=[5])),
    ],
)
def test_an_argument_of_the_wrong_type_is_named(
    shared_operator: Service, field: str, call: Callable[[Any], Any]
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        call(shared_operator)
    assert [error.field for error in refused.value.errors] == [field]
    assert "C++" not in str(refused.value)
