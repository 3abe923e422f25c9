"""A write whose response is lost is retried, and executed once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import comptroller
import pytest
from comptroller.http import app
from fake_remote import LOST, StillClock
from in_process import InProcess, Tokens
from lines import address, at, claim, evm, fresh, group, identity, load, made_group, orchestration

GROUP = "01900000-0000-7000-8000-0000000000a1"
ADDRESS = "01900000-0000-7000-8000-0000000000a2"

WRITES = {
    "identities.put": lambda s: s.identities.put(id="new"),
    "identities.update": lambda s: s.identities.update("alice", user_disabled=True),
    "controls.create": lambda s: s.controls.create(
        identity_id="alice", type="DORMANT", reason_code="X"
    ),
    "controls.delete": lambda s: s.controls.delete(s.controls.list().items[0].id),
    "orchestrations.put": lambda s: s.orchestrations.put(orchestration()),
    "payout_groups.create": lambda s: made_group(s),
    "payout_groups.update": lambda s: s.payout_groups.update(GROUP, name="n"),
    "payout_groups.observe": lambda s: s.payout_groups.observe(GROUP, balance="7"),
    "reward_addresses.create": lambda s: s.reward_addresses.create(
        ledger="ETHEREUM", address=evm()
    ),
    "reward_addresses.update": lambda s: s.reward_addresses.update(ADDRESS, name="n"),
    "reward_addresses.observe": lambda s: s.reward_addresses.observe(ADDRESS, status="ACTIVE"),
    "balances.record": lambda s: s.balances.record(address_id=ADDRESS, balance="1", at=at(1)),
    "claims.put": lambda s: s.claims.put(claim()),
    "claims.submit": lambda s: s.claims.submit("pending", tx_hash="0x1"),
    "claims.confirm": lambda s: s.claims.confirm("submitted"),
    "claims.fail": lambda s: s.claims.fail("pending", error_message="no"),
    "webhooks.create": lambda s: s.webhooks.create(url="https://hooks.example.com"),
    "webhooks.update": lambda s: s.webhooks.update(s.webhooks.list()[0].id, description="d"),
    "webhooks.delete": lambda s: s.webhooks.delete(s.webhooks.list()[0].id),
    "webhooks.rotate": lambda s: s.webhooks.rotate(s.webhooks.list()[0].id),
    "webhooks.test": lambda s: s.webhooks.test(s.webhooks.list()[0].id),
    "webhooks.replay": lambda s: s.webhooks.replay(s.webhooks.list()[0].id, since=at(1)),
}
#: Writes that answer with a record as it was, or with none.
WITHOUT_CHANGE = {"webhooks.delete", "webhooks.replay", "webhooks.test"}


class Losing(InProcess):
    """Drops the first response to each write, after its execution."""

    def __init__(self, application: Any) -> None:
        super().__init__(application)
        self.lost: set[str] = set()

    def handle_request(self, request: Any) -> Any:
        answer = super().handle_request(request)
        key = request.headers.get("idempotency-key")
        if key is None or key in self.lost:
            return answer
        self.lost.add(key)
        answer.read()
        answer.close()
        raise LOST


@pytest.fixture
def losing(operator: comptroller.Service) -> Iterator[comptroller.Service]:
    load(operator, "identities", identity(id="alice"))
    operator.controls.create(identity_id="alice", type="CLOSED", reason_code="X")
    operator.webhooks.create(url="https://hooks.example.com")
    load(operator, "payout-groups", group(id=GROUP))
    load(operator, "reward-addresses", address(id=ADDRESS))
    submitted = claim(id="submitted", onchain_status="SUBMITTED", tx_hash=fresh("hash"))
    load(operator, "claims", claim(id="pending"), submitted)
    tokens = Tokens()
    transport = Losing(app(operator, authenticator=tokens))
    with comptroller.connect(
        "https://there", token=tokens.admit(), transport=transport, clock=StillClock()
    ) as service:
        yield service
    assert len(transport.lost) == 1


def everything(service: comptroller.Service) -> dict[str, list[Any]]:
    resources = ("identities", "orchestrations", "payout_groups", "reward_addresses", "balances")
    found = {name: list(getattr(service, name).iter()) for name in (*resources, "claims")}
    found["webhooks"] = list(service.webhooks.list())
    return found | {"controls": list(service.controls.iter(include_deleted=True))}


@pytest.mark.parametrize("name", WRITES)
def test_a_write_with_a_lost_response_is_executed_once(
    operator: comptroller.Service, losing: comptroller.Service, name: str
) -> None:
    before = everything(operator)
    answer = WRITES[name](losing)
    after = everything(operator)
    changed = [
        record
        for resource, records in after.items()
        for record in records
        if record not in before[resource]
    ]
    assert answer in changed or name in WITHOUT_CHANGE
    added = sum(map(len, after.values())) - sum(map(len, before.values()))
    assert (-1 if name == "webhooks.delete" else 0) <= added <= 1


def test_every_write_is_in_the_table() -> None:
    from comptroller import description

    writes = {name for name, operation in description.operations().items() if operation.is_write}
    assert set(WRITES) == writes
