"""Repeated pulls start at the oldest record that may have changed or was rejected."""

from __future__ import annotations

import json
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import comptroller
import pytest
from comptroller import errors
from comptroller.bulk.loading import LoadResult
from comptroller.service import Host
from lines import at, claim, load, orchestration

pytest.importorskip("httpx2")

import httpx2
from comptroller.bulk import pulling
from fake_remote import BASE, CLAIM, NOON, Elsewhere, ok, page

MAKE: dict[str, Callable[..., dict[str, Any]]] = {
    "claims": lambda status, **members: claim(onchain_status=status, **members),
    "orchestrations": lambda status, **members: orchestration(status=status, **members),
}
DONE = {"claims": "CONFIRMED", "orchestrations": "COMPLETED"}


@pytest.fixture
def here(tmp_path: Path) -> Iterator[comptroller.Service]:
    """The target store."""
    with comptroller.open(tmp_path / "here.db") as service:
        yield service


def counts(result: LoadResult) -> tuple[int, int, int, int]:
    return result.inserted, result.updated, result.unchanged, result.rejected


def lines(kind: str, *statuses: str) -> list[dict[str, Any]]:
    """Returns a line for each status, each a second after the one before."""
    return [MAKE[kind](word, created_at=at(n)) for n, word in enumerate(statuses)]


@pytest.mark.parametrize(
    ("kind", "statuses", "first_read"),
    [
        ("claims", ["CONFIRMED", "FAILED", "CONFIRMED"], 2),
        ("claims", ["CONFIRMED", "PENDING", "CONFIRMED"], 1),
        ("claims", ["SUBMITTED", "PENDING", "FAILED"], 0),
        ("claims", ["CONFIRMED", "CONFIRMED", "SUBMITTED"], 2),
        ("orchestrations", ["COMPLETED", "REJECTED", "FAILED"], 2),
        ("orchestrations", ["COMPLETED", "PROCESSING", "FAILED"], 1),
        ("orchestrations", ["PENDING", "PROCESSING", "COMPLETED"], 0),
        ("orchestrations", ["COMPLETED", "AWAITING_FUNDS", "COMPLETED"], 1),
        ("orchestrations", ["ON_HOLD", "COMPLETED", "PENDING"], 0),
    ],
)
def test_it_starts_at_the_oldest_record_that_was_not_final(
    operator: comptroller.Service,
    here: comptroller.Service,
    kind: str,
    statuses: list[str],
    first_read: int,
) -> None:
    load(operator, kind, *lines(kind, *statuses))
    assert counts(pulling.pull(operator, here, kind)) == (3, 0, 0, 0)
    late = [MAKE[kind](DONE[kind], created_at=at(n)) for n in (-9, 9)]
    load(operator, kind, *late)
    assert counts(pulling.pull(operator, here, kind)) == (1, 0, 3 - first_read, 0)
    assert counts(pulling.pull(operator, here, kind, afresh=True)) == (1, 0, 4, 0)


def test_an_unknown_status_is_not_final(
    operator: comptroller.Service, here: comptroller.Service
) -> None:
    waiting, done = lines("orchestrations", "AWAITING_FUNDS", "COMPLETED")
    load(operator, "orchestrations", waiting, done)
    pulling.pull(operator, here, "orchestrations")
    operator.orchestrations.put(waiting | {"status": "COMPLETED", "updated_at": at(9)})
    assert counts(pulling.pull(operator, here, "orchestrations")) == (0, 1, 1, 0)
    assert here.orchestrations.get(waiting["id"]).status == "COMPLETED"
    assert counts(pulling.pull(operator, here, "orchestrations")) == (0, 0, 1, 0)


def test_a_rejected_record_is_tried_again_until_it_is_stored(
    operator: comptroller.Service, here: comptroller.Service
) -> None:
    sent = lines("orchestrations", *["COMPLETED"] * 2500)
    odd = sent[1700]
    load(operator, "orchestrations", *sent)
    load(here, "orchestrations", odd | {"ref_id": "mine", "updated_at": at(0, days=1)})
    assert counts(pulling.pull(operator, here, "orchestrations")) == (2499, 0, 0, 1)
    for _ in range(2):
        again = pulling.pull(operator, here, "orchestrations")
        assert again.rejected == 1
        assert again.read < 2000
    operator.orchestrations.put(odd | {"ref_id": "theirs", "updated_at": at(0, days=2)})
    taken = pulling.pull(operator, here, "orchestrations")
    assert (taken.updated, taken.rejected) == (1, 0)
    assert here.orchestrations.get(odd["id"]).ref_id == "theirs"
    assert counts(pulling.pull(operator, here, "orchestrations")) == (0, 0, 1, 0)


@pytest.mark.parametrize("customer_id", [None, "acme"])
def test_records_of_others_do_not_change_the_start(
    operator: comptroller.Service, here: comptroller.Service, customer_id: str | None
) -> None:
    load(here, "claims", claim(created_at=at(99)), customer_id="globex")
    load(operator, "claims", *lines("claims", "CONFIRMED", "CONFIRMED"), customer_id="acme")
    first = pulling.pull(operator, here, "claims", customer_id=customer_id)
    assert counts(first) == (2, 0, 0, 0)
    again = pulling.pull(operator, here, "claims", customer_id=customer_id)
    assert counts(again) == (0, 0, 1, 0)


def test_each_source_and_customer_has_its_own_start(
    operator: comptroller.Service, here: comptroller.Service, tmp_path: Path
) -> None:
    load(operator, "claims", *lines("claims", "CONFIRMED", "CONFIRMED"))
    with comptroller.open(tmp_path / "other.db") as other:
        load(other, "claims", *lines("claims", "CONFIRMED", "CONFIRMED"))
        for source, customer_id in ((operator, None), (other, None), (other, "acme")):
            assert pulling.pull(source, here, "claims", customer_id=customer_id).read == 2
            assert pulling.pull(source, here, "claims", customer_id=customer_id).read == 1
    assert pulling.pull(operator, here, "claims").read == 1


def test_a_new_store_of_the_same_name_gets_everything(
    operator: comptroller.Service, tmp_path: Path
) -> None:
    path = tmp_path / "here.db"
    load(operator, "claims", *lines("claims", "CONFIRMED", "CONFIRMED"))
    for _ in range(2):
        with comptroller.open(path) as here:
            assert pulling.pull(operator, here, "claims").inserted == 2
        for file in tmp_path.glob("here.db*"):
            if file.suffix != pulling.SUFFIX:
                file.unlink()
    with comptroller.open(path) as here:  # one that others have pulled into
        with comptroller.open(tmp_path / "other.db") as other:
            load(other, "claims", claim())
            assert pulling.pull(other, here, "claims").inserted == 1
        assert pulling.pull(operator, here, "claims").inserted == 2


def test_a_store_without_a_file_gets_everything_again(operator: comptroller.Service) -> None:
    load(operator, "claims", *lines("claims", "CONFIRMED", "CONFIRMED"))
    with comptroller.open(":memory:") as here:
        assert counts(pulling.pull(operator, here, "claims")) == (2, 0, 0, 0)
        assert counts(pulling.pull(operator, here, "claims")) == (0, 0, 2, 0)


@pytest.mark.parametrize("content", [b"", b"[]", b'{"claims": {"x": "2026-01-01"}}', b"\xff"])
def test_an_unusable_checkpoint_file_is_named(
    operator: comptroller.Service, here: comptroller.Service, tmp_path: Path, content: bytes
) -> None:
    load(here, "claims", claim())
    file = tmp_path / "here.db.pulled"
    file.write_bytes(content)
    with pytest.raises(errors.Unusable, match="remove it") as refused:
        pulling.pull(operator, here, "claims")
    assert str(file) in refused.value.detail
    file.unlink()
    assert pulling.pull(operator, here, "claims").read == 0


def test_clients_of_one_server_have_their_own_starts(here: comptroller.Service) -> None:
    def issued(request: httpx2.Request) -> httpx2.Response:
        name = b64decode(request.headers["authorization"].removeprefix("Basic ")).decode()
        return ok({"access_token": name.partition(":")[0], "token_type": "Bearer"})

    def claims(request: httpx2.Request) -> httpx2.Response:
        client = request.headers["authorization"].removeprefix("Bearer ")
        read.append((client, request.url.params.get("start_time")))
        return page(CLAIM | {"id": client, "onchain_status": "CONFIRMED"})

    read: list[tuple[str, str | None]] = []
    there = Elsewhere(token=issued, claims=claims)
    for _ in range(2):
        for client in ("acme-1", "globex-1"):
            with there.connect(client_id=client, client_secret="s") as source:
                assert pulling.pull(source, here, "claims").rejected == 0
    assert {each.id for each in here.claims.list().items} == {"acme-1", "globex-1"}
    assert [client for client, start in read if start is None] == ["acme-1", "globex-1"]
    assert len(read) == 4


def test_the_client_of_a_token_has_its_start(here: comptroller.Service) -> None:
    def claims(request: httpx2.Request) -> httpx2.Response:
        starts.append(request.url.params.get("start_time"))
        return page(CLAIM | {"onchain_status": "CONFIRMED"})

    starts: list[str | None] = []
    there = Elsewhere(claims=claims)
    renewed = jwt(sub="acme-1", iat="1"), jwt(sub="acme-1", iat="2")
    for token in (*renewed, jwt(sub="globex-1"), "opaque", "opaque", "another", None, None):
        with there.connect(token=token) as source:
            pulling.pull(source, here, "claims")
    assert [start is None for start in starts] == [
        *(True, False, True),  # tokens that name their client
        *(True, False, True),  # tokens that do not
        *(True, False),
    ]


def jwt(**claims: str) -> str:
    """Returns an unsigned token, because clients do not verify tokens."""
    parts = (urlsafe_b64encode(json.dumps(part).encode()) for part in ({}, claims))
    return b".".join(part.rstrip(b"=") for part in (*parts, b"sig")).decode()


@pytest.mark.parametrize("customer", ["acme", "globex", None])
def test_an_earlier_checkpoint_is_used_if_the_customer_makes_it_unambiguous(
    here: comptroller.Service, tmp_path: Path, customer: str | None
) -> None:
    def claims(request: httpx2.Request) -> httpx2.Response:
        starts.append(request.url.params.get("start_time"))
        return page(CLAIM | {"onchain_status": "CONFIRMED"})

    starts: list[str | None] = []
    load(here, "claims", claim())
    file = tmp_path / "here.db.pulled"
    earlier = {f"<Service {BASE}> for acme": NOON, f"<Service {BASE}>": NOON}
    file.write_text(json.dumps({"claims": earlier}))
    claimed = {"client_id": "x-1"} | ({"customer": customer} if customer else {})
    for customer_id in ("acme", None):
        source = Elsewhere(claims=claims).connect(token=jwt(**claimed))
        pulling.pull(source, here, "claims", customer_id=customer_id)
    assert [start is None for start in starts] == [customer != "acme", True]


def test_sources_in_memory_are_read_completely(here: comptroller.Service) -> None:
    for number in range(2):
        with comptroller.open(":memory:") as source:
            load(source, "claims", claim(created_at=at(-number), onchain_status="CONFIRMED"))
            assert pulling.pull(source, here, "claims").inserted == 1
            assert pulling.pull(source, here, "claims").unchanged == 1
            load(source, "claims", claim(created_at=at(-9), onchain_status="CONFIRMED"))
            assert pulling.pull(source, here, "claims").inserted == 1


def test_files_with_one_name_have_their_own_starts(
    here: comptroller.Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, name in enumerate(("first", "second")):
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.chdir(folder)
        with comptroller.open("s.db") as source:
            load(source, "claims", claim(created_at=at(-number), onchain_status="CONFIRMED"))
            assert pulling.pull(source, here, "claims").inserted == 1
        with comptroller.open(folder / "s.db", read_only=True) as source:  # the same file
            assert pulling.pull(source, here, "claims").read == 1


def test_the_checkpoint_stays_beside_the_store_in_another_working_directory(
    operator: comptroller.Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(operator, "claims", claim(onchain_status="CONFIRMED"))
    for name in ("store", "elsewhere"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "store")
    with comptroller.open("copy.db") as copy:
        monkeypatch.chdir(tmp_path / "elsewhere")
        assert pulling.pull(operator, copy, "claims").inserted == 1
    assert (tmp_path / "store" / "copy.db.pulled").is_file()
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("kind", ["claimss", "", None, 5])
def test_an_unknown_kind_is_refused(
    operator: comptroller.Service, here: comptroller.Service, kind: Any
) -> None:
    with pytest.raises(errors.InvalidRequest, match="kind"):
        pulling.pull(operator, here, kind)


class Long:
    """A transport to a service with this many orchestrations, a millisecond apart, which is
    interrupted before a page.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.interrupted_at = -1

    path = None

    def origin(self) -> str:
        return "there"

    def call(self, operation: str, parameters: list[tuple[str, str]], *_more: object) -> bytes:
        asked = dict(parameters)
        first = int(asked.get("page_cursor", 0))
        if "page_cursor" not in asked and "created_at.gte" in asked:
            begin = datetime.fromisoformat(asked["created_at.gte"])
            first = (begin - at()) // timedelta(milliseconds=1)
        if first == self.interrupted_at:
            raise KeyboardInterrupt
        last = min(first + 1000, self.count)
        items = b",".join(self._line(number) for number in range(first, last))
        cursor = str(last) if last < self.count else ""
        return b'{"items":[%s],"next_page_cursor":"%s"}' % (items, cursor.encode())

    def _line(self, number: int) -> bytes:
        seconds, millis = divmod(number, 1000)
        moment = b"2026-01-01T00:%02d:%02d.%03dZ" % (*divmod(seconds, 60), millis)
        return (
            b'{"id":"%d","customer_id":"acme","status":"COMPLETED","created_at":"%s",'
            b'"updated_at":"2026-02-01T00:00:00Z"}' % (number, moment)
        )


def test_an_interrupted_pull_continues(here: comptroller.Service) -> None:
    there = Long(131_000)
    source = comptroller.Service(cast("Host", there), "there")
    there.interrupted_at = 2_000
    with pytest.raises(KeyboardInterrupt) as early:
        pulling.pull(source, here, "orchestrations")
    assert "load_result" not in vars(early.value)
    there.interrupted_at = 130_000
    with pytest.raises(KeyboardInterrupt) as late:
        pulling.pull(source, here, "orchestrations")
    kept = vars(late.value)["load_result"].inserted
    assert 100_000 <= kept <= 130_000
    there.interrupted_at = -1
    rest = pulling.pull(source, here, "orchestrations")
    assert (rest.inserted, rest.rejected) == (there.count - kept, 0)
    assert rest.unchanged <= 1000
    assert pulling.pull(source, here, "orchestrations").read == 1
    assert here.check()["rows"]["orchestrations"] == there.count
