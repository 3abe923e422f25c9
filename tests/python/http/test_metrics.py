"""The metrics of a server: counts and labels."""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from time import time as time_of_day
from typing import Any

import comptroller
import pytest

pytest.importorskip("httpx2")
pytest.importorskip("prometheus_client")

import httpx2
from asgi_client import Asked
from comptroller.http import EveryoneIsOperator, app
from comptroller.http.server.backups import Backups
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

IDENTITY = "/operator/identity/identities"
REQUESTS = "comptroller_requests_total"


def served(service: comptroller.Service, **options: Any) -> app:
    # Each call of this clock is a second after the one before, so that nothing is cached.
    clock = itertools.count().__next__
    return app(service, authenticator=EveryoneIsOperator(), clock=clock, **options)


@pytest.fixture
def ask(operator: comptroller.Service) -> Iterator[Asked]:
    with Asked(served(operator)) as asked:
        yield asked


def numbers(ask: Asked) -> dict[tuple[str, ...], float]:
    """Returns the samples of the page, by name and label values."""
    return {
        (sample.name, *(sample.labels[name] for name in sorted(sample.labels))): sample.value
        for family in text_string_to_metric_families(ask("GET", "/metrics").text)
        for sample in family.samples
    }


def requests(ask: Asked) -> dict[tuple[str, ...], float]:
    """Returns requests by method, route and status."""
    return {key[1:]: count for key, count in numbers(ask).items() if key[0] == REQUESTS}


def commits(ask: Asked) -> dict[str, float]:
    """Returns the histogram of writes by commit: its sum, its count and its buckets."""
    name = "comptroller_commit_writes"
    samples = numbers(ask)
    buckets = {key[1]: count for key, count in samples.items() if key[0] == f"{name}_bucket"}
    return {"sum": samples[(f"{name}_sum",)], "count": samples[(f"{name}_count",)], **buckets}


def test_requests_are_counted_by_the_template_of_their_path(ask: Asked) -> None:
    ask("PUT", IDENTITY, json={"id": "alice"})
    for id in ("alice", "bob", "carol"):
        ask("GET", f"/v2/identity/identities/{id}?verbose=1")
    ask("HEAD", "/v2/identity/identities/alice")
    route = "/v2/identity/identities/{id}"
    assert requests(ask) == {
        ("PUT", IDENTITY, "200"): 1,
        ("GET", route, "400"): 3,
        ("GET", route, "200"): 1,
    }
    assert requests(ask)["GET", "/metrics", "200"] == 1


@pytest.mark.parametrize("path", ["/", "/v2", "/metrics/x", "/secret-7f3a", "/rewards/claims/"])
def test_an_unknown_path_has_no_label(ask: Asked, path: str) -> None:
    ask("GET", path)
    assert requests(ask) == {("GET", "none", "404"): 1}


def test_an_unknown_method_has_no_label(ask: Asked) -> None:
    ask("BREW", "/rewards/claims")
    ask("PROPFIND", "/rewards/claims")
    assert requests(ask) == {("other", "/rewards/claims", "405"): 2}


def test_response_times_are_counted_by_route(ask: Asked) -> None:
    ask("GET", "/rewards/claims")
    samples = numbers(ask)
    assert samples["comptroller_request_seconds_count", "/rewards/claims"] == 1
    assert 0 < samples["comptroller_request_seconds_sum", "/rewards/claims"] < 60
    buckets = [key for key in samples if key[0] == "comptroller_request_seconds_bucket"]
    assert len(buckets) <= 8 * 2


def test_commits_count_their_writes(operator: comptroller.Service) -> None:
    application = served(operator)

    async def write(count: int) -> None:
        transport = httpx2.ASGITransport(application)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            puts = [client.put(IDENTITY, json={"id": f"i-{number}"}) for number in range(count)]
            await asyncio.gather(*puts)

    with Asked(application) as ask:
        before = commits(ask)
        asyncio.run(write(64))
        after = commits(ask)
    assert after["sum"] - before["sum"] == 64
    assert 1 <= after["count"] - before["count"] <= 64
    assert after["1.0"] <= after["2.0"] <= after["64.0"] <= after["256.0"] == after["count"]
    alone = after["1.0"] - before["1.0"]
    assert (after["count"] - before["count"] == 64) == (alone == 64)


def test_a_rejected_write_or_a_load_is_not_counted_as_a_commit(ask: Asked) -> None:
    before = commits(ask)
    ask("PUT", IDENTITY, json={})
    ask("POST", "/v2/identity/controls", json={"identity_id": "nobody", "type": "FROZEN"})
    line = b'{"id":"alice","created_at":"2026-01-31T12:00:00Z"}'
    typed = {"Content-Type": "application/x-ndjson"}
    assert ask("POST", "/operator/load/identities", content=line, headers=typed).is_success
    assert commits(ask) == before


def test_loaded_rows_are_counted_by_kind(ask: Asked) -> None:
    line = b'{"id":"%d","created_at":"2026-01-31T12:00:00Z"}\n'
    typed = {"Content-Type": "application/x-ndjson"}
    for ids in ([1, 2, 3], [3, 4]):
        body = b"".join(line % id for id in ids)
        ask("POST", "/operator/load/identities", content=body, headers=typed)
    ask("POST", "/operator/load/identities", content=b"{}\n", headers=typed)
    ask("POST", "/operator/load/identities?dry_run=true", content=line % 9, headers=typed)
    assert numbers(ask)["comptroller_rows_loaded_total", "identities"] == 4


def test_the_size_of_the_store_is_that_of_its_files(ask: Asked, store_path: Any) -> None:
    ask("PUT", IDENTITY, json={"id": "alice"})
    samples = numbers(ask)
    assert samples["comptroller_store_bytes", "store"] == store_path.stat().st_size
    wal = store_path.with_name(store_path.name + "-wal")
    assert samples["comptroller_store_bytes", "wal"] == wal.stat().st_size > 0


def test_the_free_space_is_that_of_the_file_system_of_the_store(
    ask: Asked, store_path: Path
) -> None:
    free = numbers(ask)[("comptroller_store_free_bytes",)]
    assert 0 < free < shutil.disk_usage(store_path).total


def test_a_store_in_memory_has_no_size() -> None:
    with comptroller.open(":memory:") as service, Asked(served(service)) as ask:
        names = {key[0] for key in numbers(ask)}
    assert names.isdisjoint({"comptroller_store_bytes", "comptroller_store_free_bytes"})


LAST_BACKUP = ("comptroller_last_backup_timestamp_seconds",)


def test_the_last_backup_is_the_newest_of_its_folder(
    operator: comptroller.Service, tmp_path: Path
) -> None:
    folder = tmp_path / "backups"
    with Asked(served(operator, collectors=[Backups(folder)])) as ask:
        assert numbers(ask)[LAST_BACKUP] == 0
        folder.mkdir()
        assert numbers(ask)[LAST_BACKUP] == 0
        for name in ("a.db", "b.db", "b.db-wal", "c.db.unchecked", "notes.txt"):
            (folder / name).touch()
        for time, name in enumerate(("b.db", "a.db", "b.db-wal", "c.db.unchecked"), 1000):
            os.utime(folder / name, (time, time))
        assert numbers(ask)[LAST_BACKUP] == 1001
        began = time_of_day() - 1  # the clock of files is coarser
        operator.backup(folder / "d.db")
        assert began <= numbers(ask)[LAST_BACKUP] <= time_of_day()


def test_a_folder_of_backups_that_cannot_be_read_has_none(
    operator: comptroller.Service, tmp_path: Path
) -> None:
    unreadable = tmp_path / ("x" * 300)  # the system reports an error, as for a stale mount
    with Asked(served(operator, collectors=[Backups(unreadable)])) as ask:
        assert numbers(ask)[LAST_BACKUP] == 0


class Calling(Collector):
    """Calls a function for each page."""

    def __init__(self, function: Callable[[], object]) -> None:
        self._function = function

    def collect(self) -> Iterator[Metric]:
        self._function()
        return iter(())


def test_metrics_that_take_long_are_cached_for_a_second_after_their_end(
    operator: comptroller.Service,
) -> None:
    now = [0.0]
    collected = []

    def collect() -> None:
        now[0] += 1.5
        collected.append(now[0])

    application = app(
        operator,
        authenticator=EveryoneIsOperator(),
        clock=lambda: now[0],
        collectors=[Calling(collect)],
    )
    with Asked(application) as ask:
        for _ in range(3):
            assert ask("GET", "/metrics").status_code == 200
        assert collected == [1.5]
        now[0] += 1
        assert ask("GET", "/metrics").status_code == 200
    assert collected == [1.5, 4]


def test_a_collector_that_fails_is_a_defect_until_it_succeeds(
    operator: comptroller.Service,
) -> None:
    divisors = iter([0, 1])
    failing = Calling(lambda: 1 / next(divisors))
    with Asked(served(operator, collectors=[failing])) as ask:
        answers = [ask("GET", "/metrics") for _ in range(2)]
    assert [answer.status_code for answer in answers] == [500, 200]
    assert answers[0].json()["code"] == "internal"


#: More requests than the event loop has threads.
MANY = 40
SOON_S = 60


def test_a_collector_that_blocks_delays_only_the_metrics(operator: comptroller.Service) -> None:
    now = [0.0]
    has_begun, may_end = Event(), Event()
    may_end.set()

    def collect() -> None:
        has_begun.set()
        may_end.wait(SOON_S)

    application = app(
        operator,
        authenticator=EveryoneIsOperator(),
        clock=lambda: now[0],
        collectors=[Calling(collect)],
    )
    metadata = {f"k{number}": "v" * 400 for number in range(50)}

    async def ask(client: httpx2.AsyncClient) -> None:
        page = await client.get("/metrics")
        assert page.status_code == 200
        has_begun.clear()
        may_end.clear()
        now[0] = 50
        waiting = [asyncio.ensure_future(client.get("/metrics")) for _ in range(MANY)]
        while not has_begun.is_set():
            await asyncio.sleep(0)
        large = await client.put(IDENTITY, json={"id": "large", "metadata": metadata})
        assert large.status_code == 200
        assert large.headers["content-encoding"] == "gzip"
        assert (await client.get("/docs")).status_code == 200
        for late in waiting:
            assert (await late).text == page.text
        now[0] = 61
        assert (await client.get("/metrics")).status_code == 503
        may_end.set()
        while (latest := await client.get("/metrics")).status_code == 503:
            pass
        assert latest.status_code == 200
        assert latest.text != page.text

    async def ask_soon() -> None:
        transport = httpx2.ASGITransport(application)
        try:
            async with (
                asyncio.timeout(SOON_S / 2),
                httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client,
            ):
                await ask(client)
        finally:
            may_end.set()

    asyncio.run(ask_soon())


def test_metrics_show_no_backups_and_no_certificate_by_default(ask: Asked) -> None:
    assert not [name for name, *_ in numbers(ask) if "backup" in name or "certificate" in name]


def test_each_application_has_its_own_counts(open_as: Any) -> None:
    with Asked(served(open_as())) as first:
        first("GET", "/rewards/claims")
        with Asked(served(open_as())) as second:
            assert requests(second) == {}
        assert requests(first)["GET", "/rewards/claims", "200"] == 1


def test_metrics_have_no_text_of_a_customer(ask: Asked) -> None:
    ask("PUT", IDENTITY, json={"id": "alice-7f3a", "customer_id": "acme-7f3a"})
    ask("GET", "/v2/identity/identities/alice-7f3a?customer_id=acme-7f3a")
    ask("GET", "/nothing-7f3a")
    assert "7f3a" not in ask("GET", "/metrics").text


def test_the_metrics_parse_as_prometheus_text(ask: Asked) -> None:
    page = ask("GET", "/metrics")
    assert page.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert ask("POST", "/metrics").status_code == 405
