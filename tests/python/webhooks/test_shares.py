"""Requests that are in flight at once: no customer waits for those of another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from comptroller.webhooks.shares import MAX_REQUESTS, Shares


def in_loop(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    def run() -> None:
        asyncio.run(test())

    run.__doc__ = test.__doc__
    return run


async def take_many(shares: Shares, customer: str | None, count: int) -> list[asyncio.Task[None]]:
    """Asks for so many requests; returns those that wait."""
    asked = [asyncio.create_task(shares.take(customer)) for _ in range(count)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return [task for task in asked if not task.done()]


@in_loop
async def test_a_customer_has_64_requests_and_the_next_one_follows() -> None:
    shares = Shares()
    waiting = await take_many(shares, "acme", 66)
    assert len(waiting) == 2
    shares.give_back("acme")
    await waiting[0]
    assert not waiting[1].done()


@in_loop
async def test_a_customer_does_not_wait_for_the_requests_of_others() -> None:
    shares = Shares()
    for number in range(200):
        assert len(await take_many(shares, f"slow-{number}", 70)) >= 6
    assert await take_many(shares, "acme", 4) == []
    assert len(await take_many(shares, "acme", 1)) == 1


@in_loop
async def test_the_operator_has_requests_of_its_own() -> None:
    shares = Shares()
    await take_many(shares, "acme", 64)
    assert len(await take_many(shares, None, 513)) == 1


@in_loop
async def test_all_together_have_a_limit() -> None:
    """Each has a connection, and the files that the process may open are limited."""
    shares = Shares()
    for number in range(MAX_REQUESTS // 4):
        assert await take_many(shares, f"slow-{number}", 4) == []
    (waiting,) = await take_many(shares, "acme", 1)
    shares.give_back("slow-0")
    await asyncio.wait_for(waiting, 30)
    assert len(await take_many(shares, "acme", 1)) == 1


@in_loop
async def test_a_cancelled_request_keeps_no_share() -> None:
    shares = Shares()
    waiting = await take_many(shares, "acme", 66)
    waiting[0].cancel()
    shares.give_back("acme")
    await waiting[1]
    (last,) = await take_many(shares, "acme", 1)
    shares.give_back("acme")
    last.cancel()  # it has its share, and does not know it yet
    with pytest.raises(asyncio.CancelledError):
        await last
    assert await take_many(shares, "acme", 1) == []


@in_loop
async def test_the_end_lets_all_go_on() -> None:
    shares = Shares()
    waiting = await take_many(shares, "acme", 100)
    shares.end()
    await asyncio.gather(*waiting)
    assert await take_many(shares, "acme", 100) == []
