"""The asyncio client: the same results, retries, tokens and errors."""

from __future__ import annotations

import asyncio
import gc
import inspect
import json
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import comptroller
import pytest

pytest.importorskip("httpx2")

import httpx2
from comptroller import errors
from comptroller.async_operations.journal import AsyncJournal
from comptroller.journal import Journal
from fake_remote import (
    CLAIM,
    GROUP,
    LOST,
    NEW_ADDRESS,
    NEW_GROUP,
    UUID,
    Elsewhere,
    answer,
    ok,
    openapi,
    page,
    tokens,
)
from on_loopback import SECRET, TLS, register, start  # noqa: F401

Open = Callable[..., comptroller.AsyncService]

LISTED = openapi(("POST", "/rewards/payout-groups"), ("PUT", "/rewards/payout-groups/{group_id}"))


@pytest.fixture
def served(
    store_path: Path,
    start: Callable[..., AbstractContextManager[str]],  # noqa: F811
) -> Any:
    """Connects to a server of the test's store, on loopback, as the operator or a client."""
    with ExitStack() as closing:
        address = closing.enter_context(start(store_path))

        def connected(customer: str | None = None) -> comptroller.AsyncService:
            name = register(store_path, customer or "desk", customer, None)
            transport = httpx2.AsyncHTTPTransport(verify=TLS)
            return comptroller.connect_async(
                address, client_id=name, client_secret=SECRET, transport=transport
            )

        yield connected


def test_operations_of_every_kind_equal_those_of_an_opened_store(
    served: Open, operator: comptroller.Service
) -> None:
    async def work() -> None:
        async with served() as svc:
            alice = await svc.identities.put(id="alice", metadata={"desk": "7"})
            assert alice == operator.identities.get("alice")
            control = await svc.controls.create(
                identity_id="alice", type="FROZEN", reason_code="REVIEW"
            )
            assert await svc.identities.permits("alice", "SELL") is False
            assert (await svc.controls.get(control.id)) == control
            deleted = await svc.controls.delete(control.id, reason="reviewed")
            assert deleted.deleted_at is not None
            assert (await svc.controls.list()).items == []
            group = await svc.payout_groups.create(
                **{**NEW_GROUP, "claimer_address": "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"}  # type: ignore[arg-type]
            )
            claim = await svc.claims.put({**CLAIM, "payout_group_id": group.id})
            sent = await svc.claims.submit(claim.id, tx_hash="0x01", idempotency_key="once")
            again = await svc.claims.submit(claim.id, tx_hash="0x01", idempotency_key="once")
            assert sent == again == operator.claims.get(claim.id)

    asyncio.run(work())


def test_iter_gives_all_records_in_pages_and_tasks_share_a_service(
    served: Open, operator: comptroller.Service
) -> None:
    operator.load(
        "identities", [{"id": f"i-{n}", "created_at": CLAIM["created_at"]} for n in range(25)]
    )
    expected = [identity.id for identity in operator.identities.iter(order="ASC")]

    async def ids(svc: comptroller.AsyncService, limit: int) -> list[str]:
        return [each.id async for each in svc.identities.iter(order="ASC", limit=limit)]

    async def work() -> None:
        async with served() as svc:
            found = await asyncio.gather(*(ids(svc, limit) for limit in (1, 7, 25, 1000)))
            assert found == [expected] * 4

    asyncio.run(work())


def test_errors_equal_those_of_an_opened_store(served: Open) -> None:
    async def work() -> None:
        async with served("acme") as svc:
            with pytest.raises(errors.NotFound):
                await svc.claims.get("c-unknown")
            with pytest.raises(errors.Forbidden) as caught:
                await svc.balances.list()
            assert caught.value.code == "insufficient-scope"
            with pytest.raises(errors.InvalidRequest, match="did you mean 'statuses'"):
                await svc.claims.list(status="PENDING")  # type: ignore[call-arg]
            with pytest.raises(errors.InvalidRequest, match="address: "):
                await svc.reward_addresses.create(**NEW_ADDRESS)  # type: ignore[arg-type]

    asyncio.run(work())


async def read(svc: comptroller.AsyncService) -> Any:
    return await svc.claims.list()


async def create(svc: comptroller.AsyncService) -> Any:
    return await svc.payout_groups.create(**NEW_GROUP)  # type: ignore[arg-type]


async def observe(svc: comptroller.AsyncService) -> Any:
    return await svc.payout_groups.observe(UUID, rate_id="r")


@pytest.mark.parametrize("failure", [LOST, answer(429), answer(502), answer(503)])
@pytest.mark.parametrize("ask", [read, create])
def test_a_temporary_failure_is_retried_with_the_same_key(
    failure: Any, ask: Callable[[comptroller.AsyncService], Awaitable[Any]]
) -> None:
    there = Elsewhere(failure, failure, page() if ask is read else ok(GROUP), openapi=LISTED)
    asyncio.run(ask(there.connect_async()))
    asked = [request for request in there.requests if "openapi" not in request.url.path]
    assert len(asked) == 3
    assert 0.25 <= there.clock.sleeps[0] <= 0.5 <= there.clock.sleeps[1] <= 1
    assert len({request.headers.get("idempotency-key") for request in asked}) == 1


def test_a_write_without_a_key_is_sent_once() -> None:
    there = Elsewhere(LOST, openapi=LISTED)
    with pytest.raises(errors.Error, match="may have been executed"):
        asyncio.run(observe(there.connect_async()))
    assert [path for path in there.paths() if "openapi" not in path] == [
        f"/operator/rewards/payout-groups/{UUID}/observe"
    ]
    patient = Elsewhere(answer(429, retry_after="7"), page())
    asyncio.run(read(patient.connect_async()))
    assert patient.clock.sleeps == [7.0]


def test_tasks_share_one_token_and_a_rejected_one_is_replaced() -> None:
    there = Elsewhere(page(), token=tokens("first"))

    async def many() -> None:
        svc = there.connect_async(client_id="a", client_secret="b")
        await asyncio.gather(*(read(svc) for _ in range(20)))

    asyncio.run(many())
    assert there.paths().count("/oauth2/token") == 1

    refusing = Elsewhere(answer(401, "unauthenticated"), page(), token=tokens("old", "new"))
    asyncio.run(read(refusing.connect_async(client_id="a", client_secret="b")))
    sent = [request.headers.get("authorization") for request in refusing.requests]
    assert [each for each in sent if each and each.startswith("Bearer")] == [
        "Bearer old",
        "Bearer new",
    ]


def test_a_cancelled_task_ends_its_request_and_the_service_stays_usable() -> None:
    began = asyncio.Event()

    async def hang(request: httpx2.Request) -> httpx2.Response:
        if b"hang" in request.url.raw_path:
            began.set()
            await asyncio.Event().wait()
        return page()

    async def work() -> None:
        async with comptroller.connect_async(
            "https://there.test", transport=httpx2.MockTransport(hang)
        ) as svc:
            task = asyncio.create_task(svc.claims.list(chain="hang"))
            await began.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert len(await svc.claims.list()) == 0

    asyncio.run(work())


def test_a_closed_service_refuses() -> None:
    there = Elsewhere(page())

    async def work() -> None:
        async with there.connect_async() as svc:
            await read(svc)
        await svc.close()
        with pytest.raises(errors.Error, match="closed"):
            await read(svc)

    asyncio.run(work())


@pytest.mark.parametrize(
    ("how", "what"),
    [
        ({"base_url": "ftp://there.test"}, "base_url"),
        ({"base_url": "http://there.test", "token": "t"}, "unencrypted"),
        ({"base_url": "https://there.test", "client_id": "a"}, "client_secret"),
        ({"base_url": "https://there.test", "timeout_s": 0}, "timeout_s"),
        ({"base_url": "https://there.test", "attempts": -1}, "attempts"),
    ],
)
def test_arguments_are_validated_as_by_connect(how: dict[str, Any], what: str) -> None:
    for connect in (comptroller.connect, comptroller.connect_async):
        with pytest.raises(errors.InvalidRequest, match=what):
            connect(**how)


def test_an_invalid_response_is_an_error() -> None:
    there = Elsewhere(httpx2.Response(200, content=json.dumps({"items": [{}]})))
    with pytest.raises(errors.Error, match="is invalid"):
        asyncio.run(read(there.connect_async()))


def test_a_second_event_loop_is_refused() -> None:
    svc = Elsewhere(page()).connect_async()
    asyncio.run(read(svc))
    for _ in range(2):
        with pytest.raises(errors.Unsupported, match="another event loop"):
            asyncio.run(read(svc))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_service_may_be_closed_after_its_event_loop(served: Open) -> None:
    svc = served()
    asyncio.run(read(svc))
    asyncio.run(svc.close())
    with pytest.raises(errors.Closed):
        asyncio.run(read(svc))
    gc.collect()  # warns of the connections, which only their event loop could close


def test_a_function_may_raise_stop_iteration() -> None:
    svc = Elsewhere(page()).connect_async()

    async def work() -> None:
        for work in (
            svc.run_sync(lambda service: next(service.claims.iter())),
            svc.load("claims", ({} for _ in "a"), progress=stop),
        ):
            running = asyncio.ensure_future(work)
            await asyncio.wait([running], timeout=30)
            assert running.done()
            assert isinstance(running.exception(), (RuntimeError, errors.Error))

    def stop(*_: object) -> None:
        raise StopIteration

    asyncio.run(work())


def test_tasks_follow_changes(served: Open, operator: comptroller.Service) -> None:
    async def follow() -> list[Any]:
        async with served() as svc:
            found = [each async for each in svc.changes.iter()]
            assert (await svc.changes.list(limit=1)).items == (found[0],)
            operator.identities.put(id="bob")
            after = found[-1].cursor
            return found + [each async for each in svc.changes.follow(after=after, timeout_s=0.5)]

    operator.identities.put(id="alice")
    operator.identities.put(id="carol")
    found = asyncio.run(follow())
    assert [each.id for each in found] == ["alice", "carol", "bob"]


def test_the_journal_has_an_async_twin(served: Open, operator: comptroller.Service) -> None:
    for number in range(7):
        operator.identities.put(id=f"i-{number}", metadata={"number": str(number)})
    operator.identities.put(id="i-3", metadata={"number": "again"})
    here = operator.journal
    entries = here.list()

    async def read() -> None:
        async with served() as svc:
            journal = svc.journal
            assert await journal.list() == entries
            assert await journal.list(limit=0) == []
            assert await journal.list(limit=3, after=1) == entries[2:5]
            assert await journal.list(id="i-3", resource="identities") == [entries[4], entries[8]]
            assert [each async for each in journal.iter(limit=2)] == entries
            assert await journal.prove(4) == here.prove(4)
            assert await journal.show(4) == entries[4]
            assert await journal.key() == here.key()
            assert here.verify(await journal.checkpoint(), await journal.key()).ok
            with pytest.raises(comptroller.NotFound):
                await journal.prove(99)
            with pytest.raises(comptroller.InvalidRequest):
                await journal.list(limit=-1)

    asyncio.run(read())


def test_the_async_journal_has_the_methods_that_a_server_answers() -> None:
    """Each method of the journal of a connected service works, or needs the store."""
    local = {"verify", "archive", "state", "signed", "texts", "first", "batches", "histories"}
    local |= {"remove_archived", "linked_earlier", "moved_records"}
    methods = {name for name in vars(Journal) if not name.startswith("_")}
    twin = {name for name in vars(AsyncJournal) if not name.startswith("_")}
    assert twin == methods - local
    for name in twin:
        own, other = getattr(Journal, name), getattr(AsyncJournal, name)
        assert list(inspect.signature(own).parameters) == list(inspect.signature(other).parameters)
