"""Pulls of identities that the source knows from their controls alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import comptroller
import pytest
from comptroller.bulk.loading import LoadResult
from lines import at, control, identity, load

pytest.importorskip("httpx2")

from comptroller.bulk.pulling import pull
from in_process import FEEDLESS, opener


@pytest.fixture(
    params=[
        (False, {}),
        (False, {"customer": "acme"}),
        (True, {}),
        (True, {"customer": "acme"}),
        (True, {"customer": "acme", "scopes": FEEDLESS}),
    ],
    ids=["local", "local-client", "remote", "remote-client", "remote-client-without-feed"],
)
def source(
    request: pytest.FixtureRequest, operator: comptroller.Service, store_path: Path
) -> Iterator[comptroller.Service]:
    """The store of `operator`, for several callers."""
    is_remote, how = request.param
    with ExitStack() as closing:
        if is_remote:
            yield opener(store_path, closing)(**how)
        else:
            yield closing.enter_context(comptroller.open(store_path, **how))


def pulled(
    source: comptroller.Service, target: comptroller.Service, **how: Any
) -> list[LoadResult]:
    """Pulls identities and their controls, without a rejected line; returns the results."""
    results = [
        pull(source, target, kind, customer_id="acme", **how) for kind in ("identities", "controls")
    ]
    assert [result.rejections for result in results] == [[], []]
    return results


def identities(service: comptroller.Service) -> list[Any]:
    return sorted(service.identities.iter(), key=lambda each: each.id)


def exported(service: comptroller.Service, kind: str, path: Path) -> list[bytes]:
    service.export(kind, path)
    return sorted(path.read_bytes().splitlines())


def test_an_implied_identity_stays_implied(
    operator: comptroller.Service,
    source: comptroller.Service,
    here: comptroller.Service,
    tmp_path: Path,
) -> None:
    first = control(identity_id="alice", created_at=at(5))
    second = control(identity_id="alice", created_at=at(9), type="CLOSED")
    load(operator, "controls", first, second, customer_id="acme")
    load(operator, "identities", identity(id="bob"), customer_id="acme")
    first_pull, _ = pulled(source, here)
    assert first_pull.inserted == 1
    assert identities(here) == identities(operator)
    for kind in ("identities", "controls"):
        path = tmp_path / kind
        assert exported(here, kind, path) == exported(operator, kind, path)


@pytest.mark.parametrize("how", [{}, {"afresh": True}])
def test_the_own_line_of_an_implied_identity_arrives(
    operator: comptroller.Service,
    source: comptroller.Service,
    here: comptroller.Service,
    how: dict[str, Any],
) -> None:
    pulled(source, here)  # so that the next pull reads the feed, if there is one
    load(operator, "controls", control(identity_id="alice", created_at=at(5)), customer_id="acme")
    pulled(source, here, **how)
    assert identities(here) == identities(operator)
    alice = identity(id="alice", created_at=at(-60), ref_id="a", metadata={"tier": "gold"})
    load(operator, "identities", alice, customer_id="acme")
    pulled(source, here, **how)
    assert identities(here) == identities(operator)
    assert here.identities.get("alice").ref_id == "a"


def test_an_own_line_that_arrives_before_the_first_pull_is_copied(
    operator: comptroller.Service, source: comptroller.Service, here: comptroller.Service
) -> None:
    load(operator, "identities", identity(id="bob"), customer_id="acme")
    pulled(source, here)
    load(operator, "controls", control(identity_id="alice", created_at=at(5)), customer_id="acme")
    load(operator, "identities", identity(id="alice", ref_id="a"), customer_id="acme")
    pulled(source, here)
    assert identities(here) == identities(operator)


def test_an_implied_identity_that_was_updated_is_copied(
    operator: comptroller.Service, source: comptroller.Service, here: comptroller.Service
) -> None:
    load(operator, "controls", control(identity_id="alice", created_at=at(5)), customer_id="acme")
    pulled(source, here)
    operator.identities.update("alice", metadata={"tier": "gold"})
    pulled(source, here)
    assert identities(here) == identities(operator)


def test_the_order_of_arrival_of_controls_does_not_reject_an_identity(
    operator: comptroller.Service, source: comptroller.Service, here: comptroller.Service
) -> None:
    late, early = (
        control(identity_id="alice", created_at=at(seconds), type=type)
        for seconds, type in ((9, "CLOSED"), (5, "DORMANT"))
    )
    load(operator, "controls", late, early, customer_id="acme")
    pulled(source, here)
    load(operator, "identities", identity(id="alice", created_at=at(-9)), customer_id="acme")
    pulled(source, here)
    assert identities(here) == identities(operator)


def test_a_client_without_controls_copies_implied_identities(
    operator: comptroller.Service, store_path: Path, here: comptroller.Service
) -> None:
    with ExitStack() as closing:
        scopes = ["identity:read_identity", "changes:read"]
        source = opener(store_path, closing)(customer="acme", scopes=scopes)
        for id in ("alice", "bob"):  # the second one is read from the feed
            load(operator, "controls", control(identity_id=id), customer_id="acme")
            assert pull(source, here, "identities", customer_id="acme").inserted == 1
