"""Writes that meet on the same records, and the records on which they do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count, product
from typing import Any, NamedTuple

import comptroller

_CASES_TOGETHER = 48
_CASES_OF_A_CUSTOMER = 8
_START, _LATER = "2024-01-01T00:00:00Z", "2024-02-01T00:00:00Z"
_URL = "https://hooks.example.com/"
_numbers = count(1)


class Case(NamedTuple):
    """The records on which two writes meet.

    Attributes:
        customer: whose records they are; it has those of other cases, too.
        token: is part of all names and ids of the case, and of no other case.
        webhook: the id of a webhook, if the case has one.
    """

    customer: str
    token: str
    webhook: str = ""

    @property
    def other_customer(self) -> str:
        return f"other-{self.token}"

    def name(self, what: str) -> str:
        return f"{what}-{self.token}"

    def uuid(self, number: int) -> str:
        return f"{number:08}-0000-4000-8000-{self.token}"

    def wallet(self, number: int) -> str:
        return f"0x{number}{self.token:9>39}"  # a zero could begin the token of another case

    @property
    def group(self) -> str:
        return self.uuid(1)

    @property
    def other_group(self) -> str:
        return self.uuid(2)

    @property
    def address(self) -> str:
        return self.uuid(3)

    @property
    def new_group(self) -> str:
        return self.uuid(4)


Write = Callable[[comptroller.Service, Case], Any]


def _identity(case: Case, **members: Any) -> dict[str, Any]:
    return {
        "id": case.name("identity"),
        "customer_id": case.customer,
        "created_at": _START,
        "updated_at": _START,
        **members,
    }


def _control(case: Case, **members: Any) -> dict[str, Any]:
    return {
        "id": case.name("control"),
        "identity_id": case.name("identity"),
        "type": "FROZEN",
        "set_by": "PROVIDER",
        "is_overridable": False,
        "reason_code": "R",
        "created_at": _START,
        **members,
    }


def _claim(case: Case, **members: Any) -> dict[str, Any]:
    return {
        "id": case.name("claim"),
        "customer_id": case.customer,
        "payout_group_id": case.group,
        "claim_type": "CLAIM_ALL",
        "onchain_status": "PENDING",
        "amount": "1.5",
        "created_at": _START,
        "updated_at": _START,
        **members,
    }


def _confirmed_claim(case: Case, **members: Any) -> dict[str, Any]:
    confirmed = {"onchain_status": "CONFIRMED", "confirmed_at": "2024-01-20T00:00:00Z"}
    return _claim(case, id=case.name("confirmed"), **confirmed, **members)


def _orchestration(case: Case, **members: Any) -> dict[str, Any]:
    return {
        "id": case.name("orchestration"),
        "customer_id": case.customer,
        "status": "PROCESSING",
        "created_at": _START,
        "updated_at": _START,
        **members,
    }


def _group(case: Case, **members: Any) -> dict[str, Any]:
    return {
        "ledger": "ETHEREUM",
        "asset_type": "ETH",
        "jurisdiction": "CH",
        "name": case.name("North"),
        "claimer_address": f"0x{1:040x}",
        "customer_id": case.customer,
        **members,
    }


def _group_line(case: Case, **members: Any) -> dict[str, Any]:
    return _group(case, id=case.group, created_at=_START, updated_at=_START) | members


def _address_line(case: Case, **members: Any) -> dict[str, Any]:
    return {
        "id": case.address,
        "ledger": "ETHEREUM",
        "address": case.wallet(2),
        "payout_group_id": case.group,
        "customer_id": case.customer,
        "created_at": _START,
        "updated_at": _START,
        **members,
    }


#: All writes of one aggregate. Each pair of them is tried.
AGGREGATES: dict[str, dict[str, Write]] = {
    "identity": {
        "put": lambda svc, case: svc.identities.put(
            id=case.name("identity"), customer_id=case.customer, ref_id="r"
        ),
        "put a new one": lambda svc, case: svc.identities.put(
            id=case.name("new"), customer_id=case.customer, ref_id="r"
        ),
        "disable": lambda svc, case: svc.identities.update(
            case.name("identity"), user_disabled=True
        ),
        "enable": lambda svc, case: svc.identities.update(
            case.name("identity"), user_disabled=False, admin_disabled=False
        ),
        "create a control": lambda svc, case: svc.controls.create(
            identity_id=case.name("identity"), type="SELL_ONLY", reason_code="R"
        ),
        "create the same control": lambda svc, case: svc.controls.create(
            identity_id=case.name("identity"), type="FROZEN", reason_code="OTHER"
        ),
        "create for a new one": lambda svc, case: svc.controls.create(
            identity_id=case.name("new"), type="FROZEN", reason_code="R"
        ),
        "delete the control": lambda svc, case: svc.controls.delete(
            case.name("control"), reason="done"
        ),
    },
    "claim": {
        "put": lambda svc, case: svc.claims.put(
            _claim(case, onchain_status="SUBMITTED", tx_hash="0x2", updated_at=_LATER)
        ),
        "put a new one": lambda svc, case: svc.claims.put(_claim(case, id=case.name("new"))),
        "submit": lambda svc, case: svc.claims.submit(case.name("claim"), tx_hash="0x1"),
        "confirm": lambda svc, case: svc.claims.confirm(case.name("claim")),
        "fail": lambda svc, case: svc.claims.fail(case.name("claim"), error_message="gas"),
        "move the confirmed one": lambda svc, case: svc.claims.put(
            _confirmed_claim(case, payout_group_id=case.other_group, updated_at=_LATER)
        ),
        "confirm at an earlier time": lambda svc, case: svc.claims.confirm(
            case.name("submitted"), at="2024-01-10T00:00:00Z"
        ),
        "observe the group": lambda svc, case: svc.payout_groups.observe(
            case.group, last_claim_all_at="2024-01-15T00:00:00Z"
        ),
        "change the jurisdiction": lambda svc, case: svc.payout_groups.update(
            case.group, jurisdiction="DE"
        ),
        "put in the new group": lambda svc, case: svc.claims.put(
            _confirmed_claim(case, payout_group_id=case.new_group, updated_at=_LATER)
        ),
        "put another customer's in the new group": lambda svc, case: svc.claims.put(
            _claim(
                case,
                id=case.name("of-other"),
                payout_group_id=case.new_group,
                customer_id=case.other_customer,
            )
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
            address=case.wallet(1),
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
            _orchestration(case, customer_id=case.other_customer)
        ),
    },
    "webhook": {
        "create another": lambda svc, case: svc.webhooks.create(
            url=_URL + case.token, customer_id=case.customer, description="second"
        ),
        "change the URL": lambda svc, case: svc.webhooks.update(
            case.webhook, url=f"{_URL}{case.token}/later"
        ),
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
            **_group(case), idempotency_key=case.token
        ),
        "create another": lambda svc, case: svc.payout_groups.create(
            **_group(case, jurisdiction="DE"), idempotency_key=case.token
        ),
    },
}

#: Loads of one line of a record of the aggregate.
LOADS: dict[str, dict[str, Write]] = {
    "identity": {
        "load": lambda svc, case: svc.load(
            "identities", [_identity(case, user_disabled=True, updated_at=_LATER)]
        ),
        "load a control": lambda svc, case: svc.load(
            "controls", [_control(case, id=case.name("loaded"), type="SELL_ONLY")]
        ),
    },
    "claim": {
        "load": lambda svc, case: svc.load(
            "claims", [_claim(case, payout_group_id=case.other_group, updated_at=_LATER)]
        ),
        "load a new group": lambda svc, case: svc.load(
            "payout-groups", [_group_line(case, id=case.new_group)]
        ),
    },
    "group": {
        "load": lambda svc, case: svc.load(
            "payout-groups", [_group_line(case, jurisdiction="US", updated_at=_LATER)]
        ),
        "load an address": lambda svc, case: svc.load(
            "reward-addresses", [_address_line(case, id=case.uuid(5), address=case.wallet(1))]
        ),
        "load a balance": lambda svc, case: svc.load(
            "balances", [{"address_id": case.address, "balance": "5", "at": _LATER}]
        ),
    },
    "orchestration": {
        "load": lambda svc, case: svc.load(
            "orchestrations", [_orchestration(case, status="FAILED", updated_at=_LATER)]
        ),
    },
    "webhook": {},
    "idempotency key": {},
}


def _named(aggregate: str, *names: str) -> dict[str, Write]:
    return {name: AGGREGATES[aggregate][name] for name in names}


#: The writes that a client may make.
OF_CLIENTS: dict[str, dict[str, Write]] = {
    "identity": {
        **_named("identity", "disable", "create a control"),
        "enable": lambda svc, case: svc.identities.update(
            case.name("identity"), user_disabled=False
        ),
        "delete its control": lambda svc, case: svc.controls.delete(
            case.name("control-of-client"), reason="done"
        ),
    },
    "claim": _named("claim", "change the jurisdiction"),
    "group": _named(
        "group",
        *("rename", "change the jurisdiction"),
        *("create with an address", "move an address", "rename an address"),
    ),
    "orchestration": {},
    "webhook": AGGREGATES["webhook"],
    "idempotency key": AGGREGATES["idempotency key"],
}


class Act(NamedTuple):
    """A write, and who makes it."""

    write: Write
    is_by_client: bool


_ACTS = {
    aggregate: {name: Act(write, False) for name, write in (writes | LOADS[aggregate]).items()}
    | {f"{name} as a client": Act(write, True) for name, write in OF_CLIENTS[aggregate].items()}
    for aggregate, writes in AGGREGATES.items()
}


class Pair(NamedTuple):
    """Two acts of an aggregate, by their names."""

    aggregate: str
    held: str
    free: str

    def acts(self) -> tuple[Act, Act]:
        acts = _ACTS[self.aggregate]
        return acts[self.held], acts[self.free]

    def mirrored(self) -> Pair:
        return Pair(self.aggregate, self.free, self.held)


def pairs(*aggregates: str) -> list[Pair]:
    """Returns all pairs of writes of some aggregates, loads among them. The held one may be by a
    client.
    """
    return [
        Pair(aggregate, held, free)
        for aggregate in aggregates
        for held, free in product(_ACTS[aggregate], AGGREGATES[aggregate] | LOADS[aggregate])
    ]


def _lines(aggregate: str, cases: list[Case]) -> dict[str, list[dict[str, Any]]]:
    """Returns the lines of the records with which cases begin, by kind."""
    if aggregate == "identity":
        of_client = {"type": "CLOSED", "set_by": "CLIENT", "is_overridable": True}
        return {
            "identities": [_identity(each) for each in cases],
            "controls": [
                *(_control(each) for each in cases),
                *(_control(each, id=each.name("control-of-client"), **of_client) for each in cases),
            ],
        }
    groups = [_group_line(each) for each in cases]
    groups += [_group_line(each, id=each.other_group) for each in cases]
    if aggregate == "claim":
        submitted = {"onchain_status": "SUBMITTED"}
        claims = [_claim(each, id=each.name("submitted"), **submitted) for each in cases]
        claims += [make(each) for make in (_claim, _confirmed_claim) for each in cases]
        return {"payout-groups": groups, "claims": claims}
    if aggregate == "group":
        addresses = [_address_line(each) for each in cases]
        return {"payout-groups": groups, "reward-addresses": addresses}
    customers = sorted({each.customer for each in cases})
    return {"identities": [_identity(cases[0], id=each, customer_id=each) for each in customers]}


def cases(svc: comptroller.Service, aggregate: str, is_of_one_customer: bool) -> Iterator[Case]:
    """Makes cases, many together because that is faster."""
    while True:
        size = _CASES_TOGETHER if is_of_one_customer else _CASES_OF_A_CUSTOMER
        chunk = f"{aggregate.partition(' ')[0]}-{next(_numbers)}"
        cases = [
            Case(f"{chunk}-{index // size}", f"{next(_numbers):012}")
            for index in range(_CASES_TOGETHER)
        ]
        for kind, lines in _lines(aggregate, cases).items():
            result = svc.load(kind, lines)
            assert result.committed, result.rejections
        for case in cases:
            if aggregate == "webhook":  # a customer has at most 100
                webhook = svc.webhooks.create(url=_URL + case.token, customer_id=case.customer)
                yield case._replace(webhook=webhook.id)
            else:
                yield case
