"""After any history of operations, the exports of a store load to an equal store."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import comptroller
import pytest
from comptroller import Service
from comptroller.errors import Error
from examples import EVM_ADDRESSES, KINDS, accounted, group_id, loaded, short_line
from hypothesis import HealthCheck, given, settings, strategies as st

TIMES = [f"2026-01-0{day}T00:00:00Z" for day in range(1, 8)]
IDENTITIES = ["i0", "i1"]
TYPES = ["SELL_ONLY", "CLOSED", "FROZEN", "DORMANT"]
FLAGS = ["user_disabled", "admin_disabled"]
GROUPS = [group_id(number) for number in range(3)]
ADDRESSES = [group_id(number) for number in range(10, 13)]
CLAIMS = ["c0", "c1", "c2", "c3"]

Operation = Callable[[Service], object]

time = st.sampled_from(TIMES)
identity = st.sampled_from(IDENTITIES)
note = st.sampled_from(["a", "b"])


def members(required: dict[str, Any], **optional: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(required, optional=optional)


def calls(name: str, given_: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[Operation]:
    """Generates calls of one method, such as ``claims.put``."""
    resource, method = name.split(".")

    def ask(arguments: dict[str, Any], service: Service) -> object:
        asked = getattr(getattr(service, resource), method)
        return asked(arguments) if name == "orchestrations.put" else asked(**arguments)

    return given_.map(lambda arguments: partial(ask, arguments))


def loads(kind: str, lines: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[Operation]:
    """Generates loads of one line."""

    def load(line: dict[str, Any], service: Service) -> object:
        return loaded(service, kind, short_line(kind) | line)

    return lines.map(lambda line: partial(load, line))


def _nth(resource: str, method: str, number: int, service: Service, **arguments: Any) -> object:
    """Calls a method for one of the existing records."""
    known = getattr(service, resource).list().items
    if not known:
        return None
    return getattr(getattr(service, resource), method)(known[number % len(known)].id, **arguments)


def of_stored(
    resource: str, method: str, given_: st.SearchStrategy[dict[str, Any]]
) -> st.SearchStrategy[Operation]:
    """Generates calls of a method for an existing record."""
    return st.builds(
        lambda number, arguments: partial(_nth, resource, method, number, **arguments),
        st.integers(0, 9),
        given_,
    )


FLAG_MEMBERS = {flag: st.booleans() for flag in FLAGS}
METADATA = st.fixed_dictionaries({"k": note})
OPERATIONS: dict[str, st.SearchStrategy[Operation]] = {
    "identities.put": calls(
        "identities.put", members({"id": identity}, ref_id=note, metadata=METADATA, **FLAG_MEMBERS)
    ),
    "identities.update": calls(
        "identities.update", members({"id": identity}, metadata=METADATA, **FLAG_MEMBERS)
    ),
    "load identities": loads(
        "identities",
        members(
            {"id": identity, "created_at": time},
            updated_at=time,
            ref_id=note,
            metadata=METADATA,
            **FLAG_MEMBERS,
        ),
    ),
    "controls.create": calls(
        "controls.create",
        members(
            {"identity_id": identity, "type": st.sampled_from(TYPES), "reason_code": st.just("X")},
            is_overridable=st.booleans(),
        ),
    ),
    "controls.delete": of_stored("controls", "delete", members({}, reason=note)),
    "load controls": loads(
        "controls",
        members(
            {
                "id": st.sampled_from([f"k{number}" for number in range(6)]),
                "identity_id": identity,
                "type": st.sampled_from(TYPES),
                "set_by": st.sampled_from(["CLIENT", "PROVIDER"]),
                "is_overridable": st.booleans(),
                "created_at": time,
                "reason_code": st.sampled_from(["X", "LEGACY_USER_DISABLED"]),
            },
            deleted_at=time,
        ),
    ),
    "orchestrations": st.sampled_from(["put", "load"]).flatmap(
        lambda way: (calls if way == "put" else loads)(
            "orchestrations.put" if way == "put" else "orchestrations",
            members(
                {"id": note, "created_at": st.just(TIMES[0]), "status": st.sampled_from("PQ")},
                updated_at=time,
            ),
        )
    ),
    "payout_groups.create": calls(
        "payout_groups.create",
        st.just(
            {
                "ledger": "ETHEREUM",
                "asset_type": "RPL",
                "jurisdiction": "DE",
                "name": "n",
                "claimer_address": EVM_ADDRESSES[0],
            }
        ),
    ),
    "payout_groups.update": of_stored(
        "payout_groups", "update", members({}, name=note, jurisdiction=note)
    ),
    "payout_groups.observe": of_stored(
        "payout_groups", "observe", members({}, last_claim_all_at=time, balance=st.just("1"))
    ),
    "load groups": loads(
        "payout-groups",
        members(
            {"id": st.sampled_from(GROUPS), "created_at": st.just(TIMES[0])},
            ledger=st.sampled_from(["ETHEREUM", "INK"]),
            updated_at=time,
            jurisdiction=note,
            last_claim_all_at=time,
        ),
    ),
    "reward_addresses.create": calls(
        "reward_addresses.create",
        members(
            {"ledger": st.just("ETHEREUM"), "address": st.sampled_from(EVM_ADDRESSES)},
            payout_group_id=st.sampled_from(GROUPS),
        ),
    ),
    "reward_addresses.update": of_stored(
        "reward_addresses",
        "update",
        members({}, name=note, payout_group_id=st.sampled_from(GROUPS)),
    ),
    "reward_addresses.observe": of_stored(
        "reward_addresses", "observe", st.just({"status": "ACTIVE"})
    ),
    "load addresses": loads(
        "reward-addresses",
        members(
            {"id": st.sampled_from(ADDRESSES), "created_at": time},
            address=st.sampled_from(EVM_ADDRESSES),
            ledger=st.sampled_from(["ETHEREUM", "INK"]),
            payout_group_id=st.sampled_from(GROUPS),
            name=note,
        ),
    ),
    "load claims": loads(
        "claims",
        members(
            {
                "id": st.sampled_from(CLAIMS),
                "created_at": st.just(TIMES[0]),
                "payout_group_id": st.sampled_from(GROUPS),
                "onchain_status": st.sampled_from(["PENDING", "SUBMITTED", "CONFIRMED", "FAILED"]),
                "claim_type": st.sampled_from(["CLAIM_ALL", "OTHER"]),
            },
            updated_at=time,
            confirmed_at=time,
            customer_id=st.sampled_from(["default", "acme"]),
        ),
    ),
    "claims.submit": of_stored("claims", "submit", st.just({"tx_hash": "h"})),
    "claims.confirm": of_stored("claims", "confirm", members({}, at=time)),
    "claims.fail": of_stored("claims", "fail", st.just({"error_message": "m"})),
    "balances": st.builds(
        lambda number, at, balance: (
            lambda service: service.balances.record(
                address_id=service.reward_addresses.list().items[number].id, at=at, balance=balance
            )
        ),
        st.integers(0, 2),
        time,
        st.sampled_from(["1", "2.50"]),
    ),
}
ON_IDENTITIES = [name for name in OPERATIONS if "identities" in name or "controls" in name]


def histories(names: list[str]) -> st.SearchStrategy[list[Operation]]:
    some = st.one_of(*(OPERATIONS[name] for name in names))
    return st.lists(some, min_size=5, max_size=20)


# Few kinds of operations at a time, so that they act on the same records.
HISTORIES = st.one_of(
    histories(["load controls", "identities.update"]),  # identities that only controls name
    histories(ON_IDENTITIES),
    histories([name for name in OPERATIONS if name not in ON_IDENTITIES]),
    histories(list(OPERATIONS)),
)


def export_all(service: Service, folder: Path) -> dict[str, bytes]:
    for kind in KINDS:
        service.export(kind, folder / kind)
    return {kind: (folder / kind).read_bytes() for kind in KINDS}


def shown(service: Service) -> dict[str, Any]:
    """Returns the results of all lists and gets. Identities with one created_at are in the order of
    arrival, with implied identities after the others.
    """
    lists = {
        "identities": service.identities.list(),
        "controls": service.controls.list(include_deleted=True),
        "active": service.controls.list(),
        "orchestrations": service.orchestrations.list(),
        "groups": service.payout_groups.list(),
        "addresses": service.reward_addresses.list(include_balance=True),
        "claims": service.claims.list(),
        "in a": service.claims.list(jurisdiction="a"),
        "balances": service.balances.list(),
    }
    rows = {name: page.items for name, page in lists.items()}
    rows["identities"] = sorted(rows["identities"], key=lambda row: row.id)
    for name in ("identities", "controls", "orchestrations", "claims"):
        resource = getattr(service, name)
        assert [resource.get(row.id) for row in rows[name]] == rows[name]
    return rows


def hold_equal(history: list[Operation], folder: Path) -> None:
    with comptroller.open(":memory:") as one, comptroller.open(":memory:") as other:
        for operation in history:
            with suppress(Error, IndexError):
                operation(one)
        first = export_all(one, folder)
        for kind in KINDS:
            result = accounted(other.load(kind, folder / kind))
            assert (result.committed, result.rejections) == (True, [])
        assert export_all(other, folder) == first
        assert shown(other) == shown(one)
        for service in (one, other):
            assert service.check()["findings"] == []


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(history=HISTORIES)
def test_exports_of_any_history_load_to_an_equal_store(
    tmp_path_factory: pytest.TempPathFactory, history: list[Operation]
) -> None:
    hold_equal(history, tmp_path_factory.getbasetemp())


CONTROL = {"id": "k0", "identity_id": "i0", "created_at": TIMES[0]}
LEGACY = CONTROL | {"reason_code": "LEGACY_USER_DISABLED"}


@pytest.mark.parametrize(
    "history",
    [
        # A deprecated flag written to an identity that only a control names.
        [
            lambda service: loaded(service, "controls", short_line("controls", **CONTROL)),
            lambda service: service.identities.update("i0", user_disabled=True),
        ],
        # The control that implied the identity is replaced by a later one.
        [
            lambda service: loaded(service, "controls", short_line("controls", **LEGACY)),
            lambda service: loaded(
                service,
                "controls",
                short_line("controls", **CONTROL | {"id": "k1", "created_at": TIMES[1]}),
            ),
        ],
    ],
    ids=["flag", "replaced"],
)
def test_changes_of_an_implied_identity_are_exported(
    tmp_path: Path, history: list[Operation]
) -> None:
    hold_equal(history, tmp_path)


def test_a_flag_of_an_implied_identity_outlives_its_own_older_line(
    operator: Service,
) -> None:
    loaded(operator, "controls", short_line("controls", **CONTROL))
    written = operator.identities.update("i0", user_disabled=True)
    line = short_line("identities", id="i0", created_at=TIMES[0], metadata={"a": "b"})
    assert operator.load("identities", [line]).inserted == 1
    after = operator.identities.get("i0")
    assert (after.updated_at, after.metadata) == (written.updated_at, {"a": "b"})
