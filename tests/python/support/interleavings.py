"""Runs two writes at once; the result must be that of one of the two orders.

One write is held before each of its statements in turn, while the other one runs until it ends or
waits for a lock.
"""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

import comptroller
import msgspec
from interleaved_writes import Act, Case, Pair, Write, cases
from postgresql_proxy import Proxy, Steps
from postgresql_server import Connection, Server

_MAX_STEPS = 60
_GENERATED = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|msg_[0-9a-f]{32}"
)
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ][0-9:.]+(Z|\+00:00)")
_GIVEN_YEAR = "2024-"  # of all times that writes give


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
            self._cases[key] = cases(self.operator, aggregate, is_of_client)
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
    """Returns the records of an aggregate as texts; removes webhooks, as a customer has 100."""
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
