"""Two writes at the same moment: the result is that of one of the two orders.

One write is held before each of its statements in turn, while the other one runs until it ends or
waits for a lock.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from itertools import count, product
from typing import Any, NamedTuple

import comptroller
import pytest
from comptroller import _core
from postgresql_proxy import Proxy, Steps
from postgresql_server import Connection, Server

_MAX_STEPS = 40
_GENERATED = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|msg_[0-9a-f]{32}"
)
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ][0-9:.]+(Z|\+00:00)")
_numbers = count(1)


class Case(NamedTuple):
    """The records on which two writes meet; each case has its own customer."""

    customer: str
    identity: str
    control: str
    group: str
    other_group: str
    address: str
    claim: str
    webhook: str

    def new_address(self, number: int = 1) -> str:
        return f"0x{number}{int(self.customer[4:]):039}"


Write = Callable[[comptroller.Service, Case], Any]
_LATER = "2026-02-01T00:00:00Z"
_URL = "https://hooks.example.com/"


def _claim(case: Case, **members: Any) -> dict[str, Any]:
    return {
        "id": case.claim,
        "customer_id": case.customer,
        "payout_group_id": case.group,
        "claim_type": "CLAIM_ALL",
        "onchain_status": "PENDING",
        "amount": "1.5",
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
        **members,
    }


def _orchestration(case: Case, **members: Any) -> dict[str, Any]:
    return {
        "id": f"o-{case.customer}",
        "customer_id": case.customer,
        "status": "PROCESSING",
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
        **members,
    }


def _group(case: Case, **members: Any) -> dict[str, Any]:
    return {
        "ledger": "ETHEREUM",
        "asset_type": "ETH",
        "jurisdiction": "CH",
        "name": "North",
        "claimer_address": f"0x{1:040x}",
        "customer_id": case.customer,
        **members,
    }


#: All writes of one aggregate. Each pair of them is tried.
AGGREGATES: dict[str, dict[str, Write]] = {
    "identity": {
        "put": lambda svc, case: svc.identities.put(
            id=case.identity, customer_id=case.customer, ref_id="r"
        ),
        "put a new one": lambda svc, case: svc.identities.put(
            id=f"new-{case.customer}", customer_id=case.customer, ref_id="r"
        ),
        "disable": lambda svc, case: svc.identities.update(case.identity, user_disabled=True),
        "enable": lambda svc, case: svc.identities.update(
            case.identity, user_disabled=False, admin_disabled=False
        ),
        "create a control": lambda svc, case: svc.controls.create(
            identity_id=case.identity, type="SELL_ONLY", reason_code="R"
        ),
        "create the same control": lambda svc, case: svc.controls.create(
            identity_id=case.identity, type="FROZEN", reason_code="OTHER"
        ),
        "create for a new one": lambda svc, case: svc.controls.create(
            identity_id=f"new-{case.customer}", type="FROZEN", reason_code="R"
        ),
        "delete the control": lambda svc, case: svc.controls.delete(case.control, reason="done"),
    },
    "claim": {
        "put": lambda svc, case: svc.claims.put(
            _claim(case, onchain_status="SUBMITTED", tx_hash="0x2", updated_at=_LATER)
        ),
        "put a new one": lambda svc, case: svc.claims.put(_claim(case, id=f"new-{case.claim}")),
        "submit": lambda svc, case: svc.claims.submit(case.claim, tx_hash="0x1"),
        "confirm": lambda svc, case: svc.claims.confirm(case.claim),
        "fail": lambda svc, case: svc.claims.fail(case.claim, error_message="gas"),
        "change the jurisdiction": lambda svc, case: svc.payout_groups.update(
            case.group, jurisdiction="DE"
        ),
    },
    "group": {
        "rename": lambda svc, case: svc.payout_groups.update(case.group, name="South"),
        "change the jurisdiction": lambda svc, case: svc.payout_groups.update(
            case.group, jurisdiction="DE"
        ),
        "observe": lambda svc, case: svc.payout_groups.observe(
            case.group, balance="5", balance_at=_LATER
        ),
        "create with an address": lambda svc, case: svc.reward_addresses.create(
            ledger="ETHEREUM",
            address=case.new_address(),
            payout_group_id=case.group,
            customer_id=case.customer,
        ),
        "move an address": lambda svc, case: svc.reward_addresses.update(
            case.address, payout_group_id=case.other_group
        ),
        "rename an address": lambda svc, case: svc.reward_addresses.update(
            case.address, name="first"
        ),
        "observe an address": lambda svc, case: svc.reward_addresses.observe(
            case.address, status="ACTIVE"
        ),
        "record a balance": lambda svc, case: svc.balances.record(
            address_id=case.address, balance="3", at=_LATER
        ),
        "record another balance": lambda svc, case: svc.balances.record(
            address_id=case.address, balance="4", at=_LATER
        ),
    },
    "orchestration": {
        "put": lambda svc, case: svc.orchestrations.put(_orchestration(case)),
        "put a later state": lambda svc, case: svc.orchestrations.put(
            _orchestration(case, status="COMPLETED", updated_at=_LATER)
        ),
        "put another customer's": lambda svc, case: svc.orchestrations.put(
            _orchestration(case, customer_id=f"x{case.customer}")
        ),
    },
    "webhook": {
        "create another": lambda svc, case: svc.webhooks.create(
            url=_URL, customer_id=case.customer, description="second"
        ),
        "change the URL": lambda svc, case: svc.webhooks.update(case.webhook, url=f"{_URL}later"),
        "pause": lambda svc, case: svc.webhooks.update(
            case.webhook, status="PAUSED", status_reason="asked"
        ),
        "rotate": lambda svc, case: svc.webhooks.rotate(case.webhook),
        "test": lambda svc, case: svc.webhooks.test(case.webhook),
        "replay": lambda svc, case: svc.webhooks.replay(case.webhook, after="end"),
        "delete": lambda svc, case: svc.webhooks.delete(case.webhook),
    },
    "idempotency key": {
        "create": lambda svc, case: svc.payout_groups.create(
            **_group(case), idempotency_key=case.customer
        ),
        "create another": lambda svc, case: svc.payout_groups.create(
            **_group(case, name="South"), idempotency_key=case.customer
        ),
    },
}
_PAIRS = [
    (aggregate, one, other)
    for aggregate, writes in AGGREGATES.items()
    for one, other in product(writes, repeat=2)
]


class Stores(NamedTuple):
    """One database, opened twice: the writes of `held` go through the proxy."""

    held: comptroller.Service
    free: comptroller.Service
    steps: Steps
    watch: Connection


@pytest.fixture(scope="module")
def stores(
    server: Server, shared_path: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stores]:
    steps = Steps()
    database = shared_path.rpartition("?")[0].rpartition("/")[2]
    options = "&options=-cdeadlock_timeout%3D20ms"
    state = tmp_path_factory.mktemp("state")
    with (
        Proxy(server, steps.before, by_statement=True) as proxy,
        comptroller.open(proxy.server.address(database) + options, state=state) as held,
        comptroller.open(shared_path + options, state=state) as free,
        closing(Connection(shared_path)) as watch,
    ):
        yield Stores(held, free, steps, watch)
        checked = free.check()
        assert checked["ok"], checked["findings"]
        assert free.journal.verify().ok


def _make_case(svc: comptroller.Service, aggregate: str) -> Case:
    case = Case(f"case{next(_numbers):05}", *[""] * 7)
    identity = f"i-{case.customer}"
    svc.identities.put(id=identity, customer_id=case.customer)
    control = svc.controls.create(identity_id=identity, type="FROZEN", reason_code="R")
    group, other = (svc.payout_groups.create(**_group(case)).id for _ in range(2))
    address = svc.reward_addresses.create(
        ledger="ETHEREUM",
        address=case.new_address(2),
        payout_group_id=group,
        customer_id=case.customer,
    )
    webhook = "no-webhook"
    if aggregate == "webhook":  # a store has at most 1,000
        webhook = svc.webhooks.create(url=_URL, customer_id=case.customer).id
    claim = f"claim-{case.customer}"
    case = Case(case.customer, identity, control.id, group, other, address.id, claim, webhook)
    svc.claims.put(_claim(case))
    return case


def _text(value: Any) -> str:
    """Returns a value as text. Lists are sorted, because their order follows from times."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_text(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_sorted(map(_text, value)))}]"
    return str(value)


def _sorted(texts: Iterable[str]) -> list[str]:
    """Sorts texts without regard to generated ids and times."""
    return sorted(texts, key=lambda text: _GENERATED.sub("", _TIME.sub("", text)))


def _outcome(write: Write, svc: comptroller.Service, case: Case) -> str:
    try:
        return _text(write(svc, case).to_dict())
    except comptroller.Error as error:
        if error.status >= 500:
            raise
        return f"{error.code} {error.detail}"


def _shown(case: Case, outcomes: tuple[str, str], records: list[str]) -> list[str]:
    """Returns outcomes and records without what differs between cases: the names of the case, the
    order of the records, generated ids, present times.
    """
    aliases: dict[str, str] = {}
    names = [
        *case._asdict().items(),
        ("new address", case.new_address()),
        ("its address", case.new_address(2)),
    ]

    def plain(text: str) -> str:
        for name, each in names:
            text = text.replace(each, f"<{name}>")
        return _TIME.sub("<time>", text)

    def alias(found: re.Match[str]) -> str:
        return aliases.setdefault(found[0], f"<id {len(aliases)}>")

    texts = (*map(plain, outcomes), *_sorted(map(plain, records)))
    return [_GENERATED.sub(alias, text) for text in texts]


def _records(svc: comptroller.Service, case: Case) -> list[str]:
    resources = (
        svc.identities,
        svc.controls,
        svc.orchestrations,
        svc.payout_groups,
        svc.reward_addresses,
        svc.claims,
    )
    records = [
        _text(each.to_dict())
        for resource in resources
        for customer in (case.customer, f"x{case.customer}")
        for each in resource.list(customer_id=customer)
    ]
    records += [_text(each.to_dict()) for each in svc.balances.list(address_id=case.address)]
    for webhook in svc.webhooks.list(customer_id=case.customer):
        records.append(_text(webhook.to_dict()))
        records += [_text(each.to_dict()) for each in svc.webhooks.deliveries(webhook.id)]
    return records


def _in_order(
    stores: Stores, aggregate: str, first: Write, second: Write, swaps: bool
) -> list[str]:
    case = _make_case(stores.free, aggregate)
    one = _outcome(first, stores.free, case)
    other = _outcome(second, stores.free, case)
    return _shown(case, (other, one) if swaps else (one, other), _records(stores.free, case))


def test_each_operation_that_writes_is_tried(stores: Stores) -> None:
    """By the entries of the journal, which these two operations of webhooks do not have."""
    tried = set()
    for aggregate, writes in AGGREGATES.items():
        in_order = _make_case(stores.free, aggregate)
        for write in writes.values():
            for case in (_make_case(stores.free, aggregate), in_order):
                before = stores.free.journal.list(limit=1_000_000)[-1].sequence
                with suppress(comptroller.Error):
                    write(stores.free, case)
                tried |= {entry.operation for entry in stores.free.journal.iter(after=before)}
    operations = json.loads(_core.describe())["operations"]
    written = {each["name"] for each in operations if each["is_write"]}
    assert written - tried == {"webhooks.test", "webhooks.replay"}


@pytest.mark.parametrize(("aggregate", "one", "other"), _PAIRS)
def test_writes_at_once_are_writes_in_an_order(
    stores: Stores, aggregate: str, one: str, other: str
) -> None:
    held, free = AGGREGATES[aggregate][one], AGGREGATES[aggregate][other]
    orders = [
        _in_order(stores, aggregate, held, free, False),
        _in_order(stores, aggregate, free, held, True),
    ]
    for step in range(_MAX_STEPS):
        case = _make_case(stores.free, aggregate)
        stores.steps.arm(step)
        with ThreadPoolExecutor(2) as threads:
            holding = threads.submit(_outcome, held, stores.held, case)
            while not stores.steps.is_held.wait(0.001) and not holding.done():
                pass
            if not stores.steps.is_held.is_set():
                stores.steps.disarm()
                assert step > 0, "the write was never held"
                return
            running = threads.submit(_outcome, free, stores.free, case)
            while not running.done() and not stores.watch.execute(
                "SELECT 1 FROM pg_stat_activity"
                " WHERE datname = current_database() AND wait_event_type = 'Lock'"
            ):
                pass
            stores.steps.release()
            outcomes = holding.result(), running.result()
        stores.steps.disarm()
        found = _shown(case, outcomes, _records(stores.free, case))
        assert found in orders, step
    raise AssertionError("the write has more statements than were tried")
