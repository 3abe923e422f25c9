"""Two writes at the same moment: the result must be that of one of the two orders.

One write is held before each of its statements in turn, while the other one runs until it ends or
waits for a lock.
"""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, closing, contextmanager
from itertools import count, product
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

import comptroller
import msgspec
from postgresql_proxy import Proxy, Steps
from postgresql_server import Connection, Server

_MAX_STEPS = 60
_CASES_TOGETHER = 48
_CASES_OF_A_CUSTOMER = 8
_GENERATED = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|msg_[0-9a-f]{32}"
)
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ][0-9:.]+(Z|\+00:00)")
_GIVEN_YEAR = "2024-"  # of all times that writes give
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
    """Returns all pairs of writes of some aggregates. The held one may be a load or by a client."""
    return [
        Pair(aggregate, held, free)
        for aggregate in aggregates
        for held, free in product(_ACTS[aggregate], AGGREGATES[aggregate])
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


def _cases(svc: comptroller.Service, aggregate: str, is_of_one_customer: bool) -> Iterator[Case]:
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
        return _text(msgspec.to_builtins(write(svc, case)))
    except comptroller.Error as error:
        if error.status >= 500:
            raise
        return f"{error.code} {error.detail}"


class Result(NamedTuple):
    """What two writes of a case answered, and the records afterwards."""

    case: Case
    outcomes: tuple[str, str]
    records: tuple[str, ...] = ()

    def shown(self, *, is_swapped: bool = False) -> list[str]:
        """Returns outcomes and records without what differs between cases: the names of the case,
        the order of the records, generated ids, present times.
        """
        aliases: dict[str, str] = {}

        def mask(time: re.Match[str]) -> str:
            return time[0] if time[0].startswith(_GIVEN_YEAR) else "<time>"

        def plain(text: str) -> str:
            text = text.replace(self.case.token, "<case>").replace(self.case.customer, "<customer>")
            if self.case.webhook:
                text = text.replace(self.case.webhook, "<webhook>")
            return _TIME.sub(mask, text)

        def alias(found: re.Match[str]) -> str:
            return aliases.setdefault(found[0], f"<id {len(aliases)}>")

        outcomes = reversed(self.outcomes) if is_swapped else self.outcomes
        texts = (*map(plain, outcomes), *_sorted(map(plain, self.records)))
        return [_GENERATED.sub(alias, text) for text in texts]


class Interleavings:
    """One database, opened twice: the held writes go through the proxy."""

    def __init__(self, server: Server, address: str, state: Path, opened: ExitStack) -> None:
        self._steps = Steps()
        proxy = opened.enter_context(Proxy(server, self._steps.before, by_statement=True))
        options = "&options=-cdeadlock_timeout%3D20ms"
        database = address.rpartition("?")[0].rpartition("/")[2]
        self._held_address = proxy.server.address(database) + options
        self._state = state
        self._opened_client = opened.enter_context(ExitStack())
        self._held = opened.enter_context(comptroller.open(self._held_address, state=state))
        self._last_client: tuple[str, comptroller.Service] | None = None
        self.operator = opened.enter_context(comptroller.open(address + options, state=state))
        self._watch = opened.enter_context(closing(Connection(address)))
        self._threads = opened.enter_context(ThreadPoolExecutor(2))
        self._cases: dict[tuple[str, bool], Iterator[Case]] = {}
        self._results: dict[Pair, Result] = {}

    def make_case(self, aggregate: str, *, is_of_client: bool = False) -> Case:
        key = (aggregate, is_of_client)
        if key not in self._cases:
            self._cases[key] = _cases(self.operator, aggregate, is_of_client)
        return next(self._cases[key])

    def orders(self, pair: Pair) -> list[list[str]]:
        """Returns what the writes show if one runs after the other, in both orders."""
        return [
            self._in_order(pair).shown(),
            self._in_order(pair.mirrored()).shown(is_swapped=True),
        ]

    def _in_order(self, pair: Pair) -> Result:
        """Runs the second write after the first one; once, as pairs of both orders need it."""
        if pair not in self._results:
            case = self._make_case(pair)
            outcomes = [
                _outcome(act.write, self._service(act, case, self.operator), case)
                for act in pair.acts()
            ]
            result = Result(case, (outcomes[0], outcomes[1]))
            self._results[pair] = self._with_records(pair.aggregate, [result])[0]
        return self._results[pair]

    def check(self, pair: Pair) -> None:
        """Fails if a result is that of neither order.

        A result that does not repeat is a warning that shows it: one was seen on a busy machine,
        and its cause is not known.
        """
        if differences := self._differences(pair):
            repeated = self._differences(pair)
            assert not repeated, "\n".join(repeated)
            warnings.warn("\n".join(differences), stacklevel=2)

    def _differences(self, pair: Pair) -> list[str]:
        orders = self.orders(pair)
        return [
            "\n".join([f"{pair}, step {step}", *difflib.unified_diff(order, shown, n=0)])
            for step, shown in enumerate(self.run(pair))
            if shown not in orders
            for order in orders
        ]

    def run(self, pair: Pair) -> list[list[str]]:
        """Returns what the writes show if the first one is held at each of its statements."""
        results: list[Result] = []
        for step in range(_MAX_STEPS):
            result = self._run_held(pair, step)
            if result is None:
                assert step > 0, "the write was never held"
                return [each.shown() for each in self._with_records(pair.aggregate, results)]
            results.append(result)
        raise AssertionError("the write has more statements than were tried")

    def _run_held(self, pair: Pair, step: int) -> Result | None:
        """Holds the first write at a step; returns None if it has fewer steps."""
        case = self._make_case(pair)
        held, free = pair.acts()
        held_by = self._service(held, case, self._held)
        has_ended = Event()

        def hold() -> str:
            try:
                return _outcome(held.write, held_by, case)
            finally:
                has_ended.set()
                self._steps.is_held.set()

        self._steps.arm(step)
        holding = self._threads.submit(hold)
        assert self._steps.is_held.wait(60)
        if has_ended.is_set():
            self._steps.disarm()
            self._steps.release()  # a write of the background, if it has the same connection
            holding.result()
            return None
        running = self._threads.submit(_outcome, free.write, self.operator, case)
        while not wait([running], 0.002).done and not self._watch.execute(
            "SELECT 1 FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock'"
        ):
            pass
        self._steps.release()
        outcomes = holding.result(), running.result()
        self._steps.disarm()
        return Result(case, outcomes)

    def _make_case(self, pair: Pair) -> Case:
        is_of_client = any(each.is_by_client for each in pair.acts())
        return self.make_case(pair.aggregate, is_of_client=is_of_client)

    def _service(self, act: Act, case: Case, operator: comptroller.Service) -> comptroller.Service:
        return self._client(case.customer) if act.is_by_client else operator

    def _client(self, customer: str) -> comptroller.Service:
        """Returns a client whose requests pass through the proxy. It is open until that of another
        customer is.
        """
        if self._last_client is None or self._last_client[0] != customer:
            self._opened_client.close()
            client = comptroller.open(self._held_address, customer=customer, state=self._state)
            self._last_client = (customer, self._opened_client.enter_context(client))
        return self._last_client[1]

    def _with_records(self, aggregate: str, results: list[Result]) -> list[Result]:
        """Returns results with the records of their cases."""
        cases = [each.case for each in results]
        texts: list[str] = []
        for customer in sorted({each.customer for each in cases}):
            texts += _records(self.operator, aggregate, customer)
        if aggregate in {"claim", "orchestration"}:
            for case in cases:
                texts += _records(self.operator, aggregate, case.other_customer)
        if aggregate == "group":
            for case in cases:
                texts += _shown(self.operator.balances.list(address_id=case.address))
        return [
            each._replace(records=tuple(text for text in texts if each.case.token in text))
            for each in results
        ]


def _shown(records: Iterable[Any]) -> list[str]:
    return [_text(each.to_dict()) for each in records]


def _records(svc: comptroller.Service, aggregate: str, customer: str) -> list[str]:
    """Returns the records of an aggregate as texts; removes webhooks, as a store has 1,000."""
    members: dict[str, Any] = {"customer_id": customer, "limit": 1000}
    if aggregate == "identity":
        return [
            *_shown(svc.identities.list(**members)),
            *_shown(svc.controls.list(**members, include_deleted=True)),
        ]
    if aggregate == "claim":
        return [*_shown(svc.payout_groups.list(**members)), *_shown(svc.claims.list(**members))]
    if aggregate == "group":
        return [
            *_shown(svc.payout_groups.list(**members)),
            *_shown(svc.reward_addresses.list(**members)),
        ]
    if aggregate == "orchestration":
        return _shown(svc.orchestrations.list(**members))
    if aggregate == "idempotency key":
        return _shown(svc.payout_groups.list(**members))
    texts = []
    for webhook in svc.webhooks.list(customer_id=customer):
        deliveries = [each.to_dict() for each in svc.webhooks.deliveries(webhook.id)]
        texts.append(_text([webhook.to_dict(), deliveries]))
        svc.webhooks.delete(webhook.id)
    return texts


@contextmanager
def opened(server: Server, address: str, state: Path) -> Iterator[Interleavings]:
    """Opens a database; checks the store and its journal at the end."""
    with ExitStack() as contexts:
        stores = Interleavings(server, address, state, contexts)
        yield stores
        checked = stores.operator.check()
        assert checked["ok"], checked["findings"]
        assert stores.operator.journal.verify().ok
