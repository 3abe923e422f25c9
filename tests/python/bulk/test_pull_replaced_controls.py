"""Pulls of controls that replaced, or were replaced, at the source."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import comptroller
import pytest
from lines import at, control, identity, load

pytest.importorskip("httpx2")

from comptroller.bulk.pulling import pull
from in_process import FEEDLESS, opener


@pytest.fixture(params=[None, FEEDLESS], ids=["feed", "no-feed"])
def acme(
    request: pytest.FixtureRequest, operator: comptroller.Service, store_path: Path
) -> Iterator[comptroller.Service]:
    """A remote client of the store of `operator`."""
    load(operator, "identities", identity(id="alice"), customer_id="acme")
    with ExitStack() as closing:
        how = {} if request.param is None else {"scopes": request.param}
        yield opener(store_path, closing)(customer="acme", **how)


def pulled(source: comptroller.Service, target: comptroller.Service, **how: Any) -> None:
    """Pulls identities and controls, without a rejected line."""
    for kind in ("identities", "controls"):
        assert pull(source, target, kind, customer_id="acme", **how).rejections == []


def controls(service: comptroller.Service) -> list[Any]:
    return sorted(service.controls.iter(include_deleted=True), key=lambda each: each.id)


def load_replacement(operator: comptroller.Service) -> None:
    """Loads a control that replaces that of user_disabled, and deletes it."""
    new = control(id="new", identity_id="alice", created_at=at(9))
    load(operator, "controls", new, customer_id="acme")
    operator.controls.delete("new")


@pytest.mark.parametrize("how", [{}, {"afresh": True}])
def test_a_control_that_was_replaced_and_deleted_since_ends(
    operator: comptroller.Service, acme: comptroller.Service, here: comptroller.Service, how: Any
) -> None:
    operator.identities.update("alice", user_disabled=True)
    pulled(acme, here)
    assert here.identities.get("alice").user_disabled
    load_replacement(operator)
    pulled(acme, here, **how)
    assert here.identities.get("alice") == operator.identities.get("alice")
    assert controls(here) == controls(operator)


@pytest.mark.parametrize("are_known", [True, False], ids=["known", "unknown"])
def test_a_pull_of_all_ends_a_replaced_control_that_an_earlier_pull_left(
    operator: comptroller.Service,
    acme: comptroller.Service,
    here: comptroller.Service,
    are_known: bool,
) -> None:
    operator.identities.update("alice", user_disabled=True)
    pulled(acme, here)
    load_replacement(operator)
    next_one = control(id="next", identity_id="alice", created_at=at(9))
    load(operator, "controls", next_one, customer_id="acme")
    operator.controls.delete("next")
    if are_known:
        rows = [each.to_dict() for each in controls(operator)]
        load(here, "controls", *rows, customer_id="acme")
    assert here.identities.get("alice").status == "DISABLED"
    result = pull(acme, here, "controls", customer_id="acme", afresh=True)
    assert (result.rejections, result.read) == ([], 3)  # one that ends the control, and each once
    assert here.identities.get("alice").status == "APPROVED"
    if are_known:
        (left,) = [each for each in controls(here) if each.id not in ("new", "next")]
        assert left.deleted_at == left.created_at  # it was never in force at the source
        assert left.deletion_reason == "replaced by the control new"
    else:
        assert controls(here) == controls(operator)
    pulled(acme, here, afresh=True)
    assert len(controls(here)) == 2 + are_known


def test_a_control_of_the_copy_alone_stays(
    operator: comptroller.Service, acme: comptroller.Service, here: comptroller.Service
) -> None:
    operator.identities.update("alice", user_disabled=True)
    operator.identities.update("alice", user_disabled=False)
    pulled(acme, here)
    here.identities.update("alice", user_disabled=True)
    assert pull(acme, here, "controls", customer_id="acme", afresh=True).rejected == 0
    assert here.identities.get("alice").user_disabled


def test_a_control_that_the_source_has_still_stays(
    operator: comptroller.Service, acme: comptroller.Service, here: comptroller.Service
) -> None:
    operator.identities.update("alice", user_disabled=True)
    past = control(identity_id="alice", created_at=at(1), deleted_at="2099-01-01T00:00:00Z")
    load(operator, "controls", past, customer_id="acme")
    for _ in range(2):
        pulled(acme, here, afresh=True)
        assert controls(here) == controls(operator)


def test_a_control_follows_one_that_was_deleted_since(
    operator: comptroller.Service, acme: comptroller.Service, here: comptroller.Service
) -> None:
    first = control(id="first", identity_id="alice", created_at=at(9))
    load(operator, "controls", first, customer_id="acme")
    pulled(acme, here)
    operator.controls.delete("first")
    earlier = control(id="earlier", identity_id="alice", created_at=at(5))
    load(operator, "controls", earlier, customer_id="acme")
    pulled(acme, here, afresh=True)
    assert controls(here) == controls(operator)
