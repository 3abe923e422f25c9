"""Names whose name server does not answer: whom they delay, and the end of a process."""

from __future__ import annotations

import asyncio
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import comptroller
import pytest
from receiver import Receiver, delivering, process
from serving import serving
from test_delivery import until

pytest.importorskip("httpx2")

from comptroller.http.server.signals import END_AT_LATEST_S
from comptroller.webhooks.resolving import Resolver
from comptroller.webhooks.sending import Answer, Sender

#: What a busy machine adds to a limit.
LATE_S = 8.0
#: A name server that does not answer: a lookup of a slow name makes a file, and takes a minute.
SLOW_NAMES = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
typedef int (*Look)(const char*, const char*, const struct addrinfo*, struct addrinfo**);
int getaddrinfo(const char* name, const char* service, const struct addrinfo* hints,
                struct addrinfo** found) {
  if (name && strncmp(name, "slow", 4) == 0) {
    close(open(getenv("LOOKUP_BEGUN"), O_WRONLY | O_CREAT, 0600));
    sleep(60);
    return EAI_AGAIN;
  }
  return ((Look)dlsym(RTLD_NEXT, "getaddrinfo"))(name, service, hints, found);
}
"""


class Names:
    """A resolver; the names that begin with `slow` have no answer until the end of the block."""

    def __init__(self, **addresses: str) -> None:
        self.asked: Counter[str] = Counter()
        self._addresses = addresses
        self._arrived = threading.Condition()
        self._ended = threading.Event()

    def __call__(self, host: str, port: int) -> list[str]:
        with self._arrived:
            self.asked[host] += 1
            self._arrived.notify_all()
        if host.startswith("slow"):
            self._ended.wait(60)
            raise OSError("no answer")
        return [self._addresses.get(host.partition(".")[0], "127.0.0.1")]

    def wait(self, count: int) -> None:
        """Waits until so many different names were asked for."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: len(self.asked) >= count, 30), self.asked

    def __enter__(self) -> Names:
        return self

    def __exit__(self, *_error: object) -> None:
        self._ended.set()


def test_a_slow_name_delays_no_event_of_another(tmp_path: Path) -> None:
    with (
        Names() as names,
        Receiver() as receiver,
        comptroller.open(tmp_path / "store.db") as svc,
        delivering(svc, resolve=names),
    ):
        for number in range(100):
            svc.webhooks.create(url=f"https://slow{number}.example.com/", customer_id="acme")
        for number in range(20):
            svc.webhooks.create(url=f"http://slow{number}.example.net/")
        url = receiver.url.replace("127.0.0.1", "quick.example.com")
        svc.webhooks.create(url=url)
        svc.identities.put(id="alice", customer_id="acme")
        receiver.take(1)
        names.wait(4 + 20 + 1)
        svc.identities.put(id="bob", customer_id="globex")
        receiver.take(2)
        # Its share of the lookups, although it has 100 webhooks.
        assert sum(name.endswith("example.com") and "slow" in name for name in names.asked) == 4


def test_a_customer_has_a_share_of_the_lookups() -> None:
    """The requests of 20 customers with slow names, then one of another with a quick name."""

    async def send(sender: Sender, names: Names) -> Answer:
        slow = [
            asyncio.create_task(
                sender.post(
                    f"https://slow{customer}-{number}.example.com/",
                    {},
                    b"",
                    customer_id=str(customer),
                )
            )
            for customer in range(15)
            for number in range(20)
        ]
        await asyncio.to_thread(names.wait, 60)
        answer = await sender.post("https://quick.example.com/", {}, b"", customer_id="globex")
        for task in slow:
            task.cancel()
        await sender.close()
        return answer

    with Names() as names:
        answer = asyncio.run(send(Sender(names), names))
        assert answer.error == "the name leads to no public address"
        assert len(names.asked) == 61


def test_callers_of_a_host_share_one_lookup() -> None:
    async def work(resolver: Resolver, names: Names) -> None:
        async def ask(owner: str, host: str) -> list[str]:
            return await resolver.addresses(owner, host, 443)

        blocking = asyncio.create_task(ask("acme", "slow0"))
        waiting = [asyncio.create_task(ask(owner, "quick")) for owner in ("acme", "acme", "globex")]
        abandoned = asyncio.create_task(ask("acme", "abandoned"))
        also_blocked = asyncio.create_task(ask("globex", "slow0"))
        await asyncio.to_thread(names.wait, 1)
        abandoned.cancel()
        assert names.asked == {"slow0": 1}
        names.__exit__()
        assert await asyncio.gather(*waiting) == [["127.0.0.1"]] * 3
        for task in (blocking, also_blocked):
            with pytest.raises(OSError, match="no answer"):
                await task
        assert await ask("acme", "last") == ["127.0.0.1"]
        assert names.asked == {"slow0": 1, "quick": 1, "last": 1}

    with Names() as names:
        asyncio.run(work(Resolver(names, 1, share=1), names))


def test_an_end_does_not_wait_for_a_lookup(tmp_path: Path) -> None:
    """Requests in flight have five seconds; one that waits for a name ends at once, unsent."""
    with Names() as names, comptroller.open(tmp_path / "store.db") as svc:
        made = svc.webhooks.create(url="http://slow.example.com/")
        with delivering(svc, resolve=names):
            svc.identities.put(id="alice")
            names.wait(1)
        (delivery,) = svc.webhooks.deliveries(made.id)
        assert (delivery.attempts, delivery.last_error) == (0, None)
        assert delivery.next_attempt_at is not None


@pytest.fixture(name="begun")
def _begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Makes the lookups of new processes slow; returns the file that the first of them makes."""
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("needs a compiler, and LD_PRELOAD of Linux")
    source, library, begun = (tmp_path / name for name in ("names.c", "names.so", "begun"))
    source.write_text(SLOW_NAMES, encoding="utf-8")
    command = [compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"]
    subprocess.run(command, check=True, timeout=60)
    monkeypatch.setenv("LD_PRELOAD", str(library))
    monkeypatch.setenv("LOOKUP_BEGUN", str(begun))
    return begun


def begin_lookups(svc: comptroller.Service, begun: Path) -> None:
    """Makes events for slow names; returns when one is looked up."""
    svc.webhooks.create(url="https://slow0.example.com/", customer_id="acme")
    svc.webhooks.create(url="http://slow1.example.com/")
    for number in range(16):
        svc.identities.put(id=str(number), customer_id="acme")
    until(begun.exists)


def test_a_server_ends_during_a_lookup(tmp_path: Path, begun: Path) -> None:
    with (
        serving("--empty", "--auth", "off", cwd=tmp_path) as server,
        comptroller.connect(server.address, token="none") as svc,
    ):
        begin_lookups(svc, begun)
        signalled_at = time.monotonic()
        code, _, log = server.end()
        assert time.monotonic() - signalled_at < END_AT_LATEST_S + LATE_S
    assert code == 0, log
    assert "did not end in time" not in log


def test_deliver_ends_during_a_lookup(tmp_path: Path, begun: Path) -> None:
    path = tmp_path / "store.db"
    with comptroller.open(path) as svc, process(path) as deliverer:
        begin_lookups(svc, begun)
        deliverer.send_signal(signal.SIGTERM)
        assert deliverer.wait(END_AT_LATEST_S + LATE_S) == 128 + signal.SIGTERM
