"""The threads of the asyncio client: cancelled twice, after their loop, and with sources on it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any

import comptroller
import pytest

pytest.importorskip("httpx2")

from comptroller.remote.async_channel import _Job
from fake_remote import CLAIM, Elsewhere, page
from on_loopback import start  # noqa: F401
from test_remote_async import Open, served  # noqa: F401
from test_remote_async_bulk import ROWS, threads_end

SOON_S = 10


class Worker:
    """A function for `run_sync`, which waits for the test and then sends two requests."""

    def __init__(self) -> None:
        self.began, self.may_ask, self.ended = (threading.Event() for _ in range(3))
        self.seen: list[str] = []

    def __call__(self, service: comptroller.Service) -> None:
        self.began.set()
        assert self.may_ask.wait(SOON_S)
        for _ in range(2):
            try:
                service.claims.list()
            except BaseException as error:
                self.seen.append(type(error).__module__ + "." + type(error).__name__)
        self.ended.set()


CANCELLED = [f"{asyncio.CancelledError.__module__}.CancelledError"] * 2


async def cancel_twice(task: asyncio.Task[Any], worker: Worker) -> None:
    await asyncio.to_thread(worker.began.wait, SOON_S)
    for _ in range(2):
        task.cancel()
        await asyncio.sleep(0.01)
    assert task.cancelled()


def test_a_second_cancellation_ends_the_task_at_once_and_all_later_requests() -> None:
    there, worker = Elsewhere(page(), page()), Worker()

    async def main() -> None:
        svc = there.connect_async()
        await cancel_twice(asyncio.create_task(svc.run_sync(worker)), worker)
        assert not worker.ended.is_set()
        worker.may_ask.set()
        await threads_end()
        await svc.close()

    asyncio.run(main())
    assert worker.seen == CANCELLED
    assert there.requests == []


def test_a_thread_that_outlives_its_loop_gets_cancelled_errors() -> None:
    there, worker = Elsewhere(page(), page()), Worker()

    async def main() -> None:
        svc = there.connect_async()
        await cancel_twice(asyncio.create_task(svc.run_sync(worker)), worker)

    asyncio.run(main())
    worker.may_ask.set()
    assert worker.ended.wait(SOON_S)
    assert worker.seen == CANCELLED


def test_a_second_cancellation_ends_the_request_that_the_first_began() -> None:
    began = asyncio.Event()

    async def stubborn() -> None:
        with suppress(asyncio.CancelledError):
            began.set()
            await asyncio.Event().wait()
        await asyncio.Event().wait()  # as a cleanup that gets no response

    async def main() -> None:
        svc = Elsewhere().connect_async()
        channel = svc._channel
        task = asyncio.create_task(channel.in_thread(lambda: channel.run(stubborn())))
        await asyncio.wait_for(began.wait(), SOON_S)
        for _ in range(2):
            task.cancel()
            await asyncio.sleep(0.01)
        assert task.cancelled()
        await threads_end()

    asyncio.run(main())


@pytest.mark.parametrize("is_closed_before", [False, True])
def test_a_closed_loop_never_blocks_a_thread(is_closed_before: bool) -> None:
    loop = asyncio.new_event_loop()
    job = _Job(loop)
    seen: list[BaseException] = []

    def run() -> None:
        try:
            job.run(asyncio.sleep(0))
        except BaseException as error:
            seen.append(error)

    thread = threading.Thread(target=run, daemon=True)
    if is_closed_before:
        loop.close()
        thread.start()
    else:
        thread.start()
        thread.join(0.1)
        loop.close()
    thread.join(SOON_S)
    assert not thread.is_alive()
    assert [type(error) for error in seen] == [asyncio.CancelledError]


def test_the_source_of_a_load_may_load(
    served: Open,  # noqa: F811
    operator: comptroller.Service,
) -> None:
    def loads(service: comptroller.Service) -> int:
        def source() -> Iterator[dict[str, Any]]:
            yield ROWS[0]
            assert service.load("identities", ROWS[1:10]).inserted == 9
            assert len(service.identities.list(limit=5).items) == 5
            yield ROWS[10]

        return service.load("identities", source()).inserted

    async def main() -> None:
        async with served() as svc:
            assert await asyncio.wait_for(svc.run_sync(loads), 30) == 2

    asyncio.run(main())
    assert len(list(operator.identities.iter())) == 11


def test_one_task_iterates_an_asynchronous_source(served: Open) -> None:  # noqa: F811
    tasks = set()

    async def rows() -> AsyncIterator[dict[str, Any]]:
        async with asyncio.timeout(30):  # belongs to one task
            for number, row in enumerate(ROWS):
                tasks.add(asyncio.current_task())
                if number % 500 == 1:
                    await asyncio.sleep(0.001)
                yield row
        tasks.add(asyncio.current_task())

    async def main() -> None:
        async with served() as svc:
            assert (await svc.load("identities", rows())).inserted == len(ROWS)

    asyncio.run(main())
    assert len(tasks) == 1


@pytest.mark.parametrize("ending", ["cancelled", "refused"])
def test_a_load_that_ends_early_closes_its_source_in_the_task_that_iterated_it(
    served: Open,  # noqa: F811
    ending: str,
) -> None:
    tasks: list[asyncio.Task[Any] | None] = []
    full = asyncio.Event()

    async def rows() -> AsyncIterator[dict[str, Any]]:
        tasks.append(asyncio.current_task())
        try:
            for number in range(100_000):
                if number == 900:
                    full.set()
                yield ROWS[0]
        finally:
            await asyncio.sleep(0)
            tasks.append(asyncio.current_task())

    async def main() -> None:
        async with served(None if ending == "cancelled" else "acme") as svc:
            load = asyncio.create_task(svc.load("identities", rows()))
            if ending == "cancelled":
                await asyncio.wait_for(full.wait(), SOON_S)
                load.cancel()
            with pytest.raises((asyncio.CancelledError, comptroller.Forbidden)):
                await load
            assert len(tasks) == 2
            assert tasks[0] is tasks[1]

    asyncio.run(main())


def test_a_refused_load_does_not_begin_its_source(served: Open) -> None:  # noqa: F811
    begun: list[int] = []

    async def rows() -> AsyncIterator[dict[str, Any]]:
        begun.append(1)
        yield CLAIM

    async def main() -> None:
        async with served() as svc:
            with pytest.raises(comptroller.InvalidRequest):
                await svc.load("claim", rows())

    asyncio.run(main())
    assert begun == []
