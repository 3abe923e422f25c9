"""Streams, loads, exports and reports of the asyncio client, and their cancellation."""

from __future__ import annotations

import asyncio
import io
import json
import os
import threading
from collections import UserDict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import comptroller
import pytest

pytest.importorskip("httpx2")

import httpx2
from comptroller import errors
from fake_remote import CLAIM, Elsewhere, ok, page
from on_loopback import start  # noqa: F401
from test_remote_async import Open, served  # noqa: F401

ROWS = [
    {"id": f"i-{n}", "created_at": CLAIM["created_at"], "metadata": {"n": str(n)}}
    for n in range(3000)
]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()


async def later() -> AsyncIterator[dict[str, Any]]:
    for row in ROWS:
        await asyncio.sleep(0)
        yield row


def frame() -> Any:
    polars = pytest.importorskip("polars")
    return polars.DataFrame([{"id": row["id"], "created_at": row["created_at"]} for row in ROWS])


@pytest.mark.parametrize(
    "source",
    [lambda: ROWS, lambda: iter(ROWS), later, lambda: io.BytesIO(LINES), frame],
    ids=["list", "iterator", "async", "file", "frame"],
)
def test_a_load_equals_that_of_an_opened_store(
    served: Open,  # noqa: F811
    operator: comptroller.Service,
    source: Callable[[], Any],
) -> None:
    beats: list[tuple[int, int | None, int]] = []

    async def work() -> None:
        async with served() as svc:
            dry = await svc.load("identities", source(), dry_run=True)
            assert (dry.committed, dry.inserted) == (False, 3000)
            result = await svc.load("identities", source(), progress=lambda *b: beats.append(b))
            assert (result.committed, result.read, result.inserted) == (True, 3000, 3000)

    asyncio.run(work())
    assert {each.id for each in operator.identities.iter()} == {row["id"] for row in ROWS}


def test_a_rejected_line_and_an_exception_of_the_source_are_those_of_an_opened_store(
    served: Open,  # noqa: F811
    operator: comptroller.Service,
) -> None:
    invalid = [*ROWS[:2], {"id": "x", "status": object()}]

    def broken() -> Iterator[dict[str, Any]]:
        yield ROWS[0]
        raise ZeroDivisionError

    async def broken_later() -> AsyncIterator[dict[str, Any]]:
        yield ROWS[0]
        raise ZeroDivisionError

    async def work() -> None:
        async with served() as svc:
            assert await svc.load("identities", invalid) == operator.load("identities", invalid)
            for source in (broken(), broken_later()):
                with pytest.raises(ZeroDivisionError):
                    await svc.load("identities", source)
            with pytest.raises(errors.InvalidRequest, match="kind"):
                await svc.load("claim", [])
        async with served("acme") as svc:
            with pytest.raises(errors.Forbidden):
                await svc.load("identities", ROWS)

    asyncio.run(work())


def test_a_folder_is_loaded_and_its_records_are_exported_and_streamed(
    served: Open,  # noqa: F811
    operator: comptroller.Service,
    tmp_path: Path,
) -> None:
    folder = tmp_path / "sample"
    folder.mkdir()
    for kind, rows in (("payout-groups", 20), ("claims", 500)):
        sample = comptroller.sample(kind, rows=rows, seed=1, customer="acme")
        (folder / f"{kind}.ndjson").write_bytes(sample.read())

    async def work() -> None:
        async with served() as svc, served("acme") as acme:
            results = await svc.load_all(folder)
            assert {kind: each.inserted for kind, each in results.items()} == {
                "payout-groups": 20,
                "claims": 500,
            }
            for caller, opened in ((svc, operator), (acme, as_acme)):
                for name in ("claims.ndjson", "claims.csv", "claims.parquet"):
                    there, here = tmp_path / f"there-{name}", tmp_path / name
                    assert await caller.export("claims", there) == 500
                    assert opened.export("claims", here) == 500
                    if not name.endswith("parquet"):
                        assert sorted(there.read_bytes()) == sorted(here.read_bytes())
                stream = await caller.claims.stream(columns=["id"], statuses="FAILED")
                ids = stream.to_arrow()["id"].to_pylist()
                assert sorted(ids) == sorted(c.id for c in opened.claims.iter(statuses="FAILED"))
            with pytest.raises(errors.InvalidRequest, match="column"):
                await svc.claims.stream(columns="ids")
        with pytest.raises(errors.Closed):
            stream.to_arrow()

    pytest.importorskip("pyarrow")
    pytest.importorskip("duckdb")
    assert operator.host.path
    with comptroller.open(operator.host.path, customer="acme") as as_acme:
        asyncio.run(work())


def test_reports_run_in_a_thread_and_share_the_token(
    served: Open,  # noqa: F811
    operator: comptroller.Service,
) -> None:
    pytest.importorskip("sqlglot")
    pytest.importorskip("duckdb")
    operator.load("payout-groups", comptroller.sample("payout-groups", rows=20, seed=1))
    operator.load("claims", comptroller.sample("claims", rows=500, seed=1))

    async def work() -> None:
        async with served() as svc:
            report = await svc.run_sync(lambda service: service.reports.failures())
            assert report.to_dicts() == operator.reports.failures().to_dicts()
            kept: list[comptroller.Service] = []
            assert await svc.run_sync(lambda service: kept.append(service)) is None
            with pytest.raises(errors.Unsupported, match="run_sync"):
                kept[0].claims.list()

    asyncio.run(work())


def test_calls_work_side_by_side(served: Open) -> None:  # noqa: F811
    async def work() -> None:
        async with served() as svc:
            await svc.load("identities", ROWS)
            exports = [svc.export("identities", os.devnull) for _ in range(10)]
            lists = [svc.identities.list(limit=1) for _ in range(10)]
            counts = await asyncio.gather(*exports, *lists)
            assert counts[:10] == [3000] * 10

    asyncio.run(work())


async def cancelled(task: asyncio.Task[Any]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 10)


def threads() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name.startswith("comptroller-call")]


async def threads_end() -> None:
    """Waits for the threads of the calls, which end just after their calls."""
    async with asyncio.timeout(10):
        while threads():
            await asyncio.sleep(0.001)


def test_a_cancelled_load_ends_its_thread_and_the_service_stays_usable(
    served: Open,  # noqa: F811
) -> None:
    readable, writable = os.pipe()
    os.write(writable, LINES[:1000])
    began = asyncio.Event()

    async def endless() -> AsyncIterator[dict[str, Any]]:
        yield ROWS[0]
        began.set()
        await asyncio.Event().wait()

    async def work() -> None:
        async with served() as svc:
            await svc.identities.list()
            with os.fdopen(readable, "rb") as pipe:
                task = asyncio.create_task(svc.load("identities", pipe))
                await asyncio.sleep(0.3)
                assert len(threads()) == 1
                await cancelled(task)
                await threads_end()
            task = asyncio.create_task(svc.load("identities", endless()))
            await asyncio.wait_for(began.wait(), 10)
            await cancelled(task)
            await threads_end()
            assert (await svc.load("identities", ROWS)).inserted == 3000

    asyncio.run(work())
    os.close(writable)


def test_a_load_is_cancelled_while_its_thread_encodes_a_row() -> None:
    there = Elsewhere(ok({}))
    began, ended = threading.Event(), threading.Event()

    class Slow(UserDict[str, Any]):
        def __iter__(self) -> Iterator[str]:
            began.set()
            ended.wait()
            return super().__iter__()

    async def endless() -> AsyncIterator[Any]:
        yield Slow(ROWS[0])
        await asyncio.Event().wait()

    async def main() -> None:
        svc = there.connect_async()
        task = asyncio.create_task(svc.load("identities", endless()))
        await asyncio.to_thread(began.wait)
        asyncio.get_running_loop().call_later(0.1, ended.set)
        await cancelled(task)
        await threads_end()

    asyncio.run(main())


@pytest.mark.parametrize("is_stream", [False, True])
def test_a_cancelled_export_or_stream_closes_its_response_and_keeps_the_existing_file(
    tmp_path: Path, is_stream: bool
) -> None:
    began, closed = asyncio.Event(), asyncio.Event()

    class Body(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield json.dumps(CLAIM).encode() + b"\n"
            began.set()
            await asyncio.Event().wait()

        async def aclose(self) -> None:
            await asyncio.sleep(0)
            closed.set()

    async def answer(request: httpx2.Request) -> httpx2.Response:
        if "/operator/export/" in request.url.path:
            return httpx2.Response(200, stream=Body())
        return page()

    async def work() -> None:
        async with comptroller.connect_async(
            "https://there.test", transport=httpx2.MockTransport(answer)
        ) as svc:
            work = svc.claims.stream() if is_stream else svc.export("claims", file)
            task = asyncio.ensure_future(work)
            await asyncio.wait_for(began.wait(), 10)
            await cancelled(task)
            assert closed.is_set()
            await threads_end()
            assert len(await svc.claims.list()) == 0

    file = tmp_path / "claims.ndjson"
    file.write_text("before")
    asyncio.run(work())
    assert [each.name for each in tmp_path.iterdir()] == [file.name]
    assert file.read_text() == "before"


def test_a_cancellation_between_requests_ends_the_next_request() -> None:
    there = Elsewhere(page())
    began, ended = threading.Event(), threading.Event()
    seen: list[BaseException] = []

    def work(service: comptroller.Service) -> None:
        began.set()
        ended.wait()
        try:
            service.claims.list()
        except asyncio.CancelledError as error:
            seen.append(error)
        service.claims.list()  # one cancellation ends one request, as in a task

    async def main() -> None:
        svc = there.connect_async()
        task = asyncio.create_task(svc.run_sync(work))
        await asyncio.to_thread(began.wait)
        asyncio.get_running_loop().call_later(0.1, ended.set)
        await cancelled(task)
        assert len(seen) == 1
        assert len(there.requests) == 1
        await svc.close()

    asyncio.run(main())


def test_a_task_may_be_cancelled_twice() -> None:
    there = Elsewhere(page())
    ended = threading.Event()

    async def main() -> None:
        svc = there.connect_async()
        task = asyncio.create_task(svc.run_sync(lambda _: ended.wait()))
        for _ in range(3):
            await asyncio.sleep(0)
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.wait_for(asyncio.shield(task), 10)
        assert task.cancelled()
        ended.set()

    asyncio.run(main())


def test_a_load_without_a_response_is_not_repeated() -> None:
    there = Elsewhere(httpx2.ReadError("reset"), ok({}))

    async def main() -> None:
        with pytest.raises(errors.OutcomeUnknown):
            await there.connect_async().load("claims", [CLAIM])

    asyncio.run(main())
    assert len(there.requests) == 1
