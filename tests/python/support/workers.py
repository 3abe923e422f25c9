"""A server with two workers, and helpers for its tests."""

from __future__ import annotations

import http.client
import json
import os
import select
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from serving import Serving, serving

pytest.importorskip("httptools")

from prometheus_client.parser import text_string_to_metric_families

LIST = "/rewards/claims"
IDENTITY = "/operator/identity/identities"
# Enough connections that each of two workers gets one.
MANY = 32
SOON_S = 60.0


@contextmanager
def two_workers(*words: str, cwd: Path) -> Iterator[Serving]:
    with serving("--workers", "2", *words, cwd=cwd) as server:
        yield server


def until(is_so: Callable[[], bool]) -> None:
    """Repeats a check until it succeeds, for at most a minute."""
    end = time.monotonic() + SOON_S
    while not is_so():
        assert time.monotonic() < end


def connection(server: Serving) -> http.client.HTTPConnection:
    place = urlsplit(server.address)
    assert place.hostname
    return http.client.HTTPConnection(place.hostname, place.port, timeout=30)


@contextmanager
def connections(server: Serving, count: int = MANY) -> Iterator[list[http.client.HTTPConnection]]:
    """Returns accepted connections, which stay open."""
    with ExitStack() as closing:
        opened = [connection(server) for _ in range(count)]
        for each in opened:
            closing.callback(each.close)
            assert ask(each, "GET", "/healthz")[0] == 200
        yield opened


def ask(
    through: http.client.HTTPConnection, method: str, path: str, body: object = None
) -> tuple[int, bytes]:
    headers = {} if body is None else {"Content-Type": "application/json"}
    through.request(method, path, None if body is None else json.dumps(body), headers)
    answer = through.getresponse()
    return answer.status, answer.read()


def metrics(server: Serving) -> dict[tuple[str, ...], float]:
    """Returns the samples of the page, by name and the values of the sorted labels."""
    text = server.get("/metrics").text
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def lists(server: Serving) -> float:
    """Returns the number of answered lists of claims."""
    return metrics(server).get(("comptroller_requests_total", "GET", LIST, "200"), 0)


def pids(server: Serving) -> set[int]:
    """Returns the processes of the running workers."""
    return {int(key[1]) for key in metrics(server) if key[0] == "process_open_fds"}


def wait_for_end(processes: set[int]) -> None:
    for pid in processes:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        assert poll.poll(30_000)
        os.close(descriptor)
