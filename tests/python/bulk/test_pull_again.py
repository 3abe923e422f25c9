"""Repeated pulls read the records that changed or were rejected."""

from __future__ import annotations

import json
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import comptroller
import pytest
from comptroller import errors
from comptroller.bulk.loading import LoadResult
from comptroller.host import Host
from lines import address, at, claim, group, load, orchestration

pytest.importorskip("httpx2")

import httpx2
from comptroller.bulk import pulling
from fake_remote import CLAIM, NOON, Elsewhere, answer, ok, page

MAKE: dict[str, Callable[..., dict[str, Any]]] = {
    "claims": lambda status, **members: claim(onchain_status=status, **members),
    "orchestrations": lambda status, **members: orchestration(status=status, **members),
}
DONE = {"claims": "CONFIRMED", "orchestrations": "COMPLETED"}


def counts(result: LoadResult) -> tuple[int, int, int, int]:
    return result.inserted, result.updated, result.unchanged, result.rejected


def lines(kind: str, *statuses: str) -> list[dict[str, Any]]:
    """Returns a line for each status, each a second after the one before."""
    return [MAKE[kind](word, created_at=at(n)) for n, word in enumerate(statuses)]


@pytest.mark.parametrize("kind", MAKE)
def test_it_reads_what_changed(
    operator: comptroller.Service, here: comptroller.Service, kind: str
) -> None:
    final, waiting, other = lines(kind, DONE[kind], "PENDING", DONE[kind])
    load(operator, kind, final, waiting, other)
    assert counts(pulling.pull(operator, here, kind)) == (3, 0, 0, 0)
    late = [MAKE[kind](DONE[kind], created_at=at(n)) for n in (-9, 9)]
    load(operator, kind, *late, waiting | {status_of(kind): DONE[kind], "updated_at": at(9)})
    assert counts(pulling.pull(operator, here, kind)) == (2, 1, 0, 0)
    assert counts(pulling.pull(operator, here, kind)) == (0, 0, 0, 0)
    assert counts(pulling.pull(operator, here, kind, afresh=True)) == (0, 0, 5, 0)


def status_of(kind: str) -> str:
    return "onchain_status" if kind == "claims" else "status"


def test_documents_of_changed_records_arrive(
    operator: comptroller.Service, here: comptroller.Service
) -> None:
    (waiting,) = lines("orchestrations", "PROCESSING")
    waiting |= {"customer_id": "acme", "metadata": {"desk": "7"}, "source_asset": "ETH"}
    operator.orchestrations.put(waiting)
    pulling.pull(operator, here, "orchestrations")
    operator.orchestrations.put(
        waiting | {"updated_at": at(5), "metadata": {"desk": "8"}, "fail_reason": {"detail": "no"}}
    )
    new = orchestration(customer_id="acme", source_transfer={"transfer_id": "t", "status": "SENT"})
    operator.orchestrations.put(new)
    assert counts(pulling.pull(operator, here, "orchestrations")) == (1, 1, 0, 0)
    assert list(here.orchestrations.iter()) == list(operator.orchestrations.iter())


def test_a_record_that_differs_here_is_read_again(
    operator: comptroller.Service, here: comptroller.Service
) -> None:
    (sent,) = lines("claims", "PENDING")
    load(operator, "claims", sent)
    pulling.pull(operator, here, "claims")
    load(here, "claims", sent | {"amount": "9", "updated_at": at(1)})
    operator.claims.submit(sent["id"], tx_hash="0x1")
    assert counts(pulling.pull(operator, here, "claims")) == (0, 1, 0, 0)
    assert here.claims.get(sent["id"]) == operator.claims.get(sent["id"])


def rename_address(operator: comptroller.Service, id: str) -> None:
    operator.reward_addresses.update(id, name="new")


def attribute(operator: comptroller.Service, id: str) -> None:
    other = group()
    load(operator, "payout-groups", other, customer_id="acme")
    operator.reward_addresses.update(id, payout_group_id=other["id"])


def observe(operator: comptroller.Service, id: str) -> None:
    operator.reward_addresses.observe(id, status="ACTIVE")


def rename_group(operator: comptroller.Service, id: str) -> None:
    operator.payout_groups.update(id, name="new")


def claim_all(operator: comptroller.Service, id: str) -> None:
    paid = claim(payout_group_id=id, onchain_status="CONFIRMED", confirmed_at=at(1))
    load(operator, "claims", paid, customer_id="acme")


#: By kind: two changes of a record, of which one at most sets a later updated_at.
TWO_CHANGES = [
    ("reward-addresses", rename_address, attribute),
    ("reward-addresses", attribute, rename_address),
    ("reward-addresses", rename_address, observe),
    ("payout-groups", rename_group, claim_all),
    ("payout-groups", claim_all, rename_group),
]
MADE = {"reward-addresses": address, "payout-groups": group}


@pytest.mark.parametrize(("kind", "first", "second"), TWO_CHANGES)
def test_a_record_that_changed_on_two_pages_of_the_feed_arrives(
    operator: comptroller.Service,
    here: comptroller.Service,
    kind: str,
    first: Callable[[comptroller.Service, str], None],
    second: Callable[[comptroller.Service, str], None],
) -> None:
    def add(count: int) -> None:
        load(operator, kind, *(MADE[kind]() for _ in range(count)), customer_id="acme")

    changed = MADE[kind](name="old")
    load(operator, kind, changed, customer_id="acme")
    pulling.pull(operator, here, kind)
    add(989)
    first(operator, changed["id"])
    add(30)
    second(operator, changed["id"])
    result = pulling.pull(operator, here, kind)
    assert (result.inserted, result.rejected) == (1019, 0)
    resource = kind.replace("-", "_")
    copied, original = (getattr(each, resource).get(changed["id"]) for each in (here, operator))
    assert copied == original
    assert copied.name == "new"


@pytest.mark.slow
def test_a_pull_of_more_changes_than_it_remembers_is_exact(
    operator: comptroller.Service, here: comptroller.Service
) -> None:
    changed = address(name="old")
    load(operator, "reward-addresses", changed, customer_id="acme")
    pulling.pull(operator, here, "reward-addresses")
    added = [address() for _ in range(100_989)]
    load(operator, "reward-addresses", *added, customer_id="acme")
    rename_address(operator, changed["id"])
    load(operator, "reward-addresses", *(address() for _ in range(30)), customer_id="acme")
    observe(operator, changed["id"])
    assert pulling.pull(operator, here, "reward-addresses").inserted == 101_019
    copied = here.reward_addresses.get(changed["id"])
    assert (copied.name, copied.status) == ("new", "ACTIVE")


def test_a_caller_without_the_feed_reads_everything(
    operator: comptroller.Service,
    open_as: Callable[..., comptroller.Service],
    here: comptroller.Service,
) -> None:
    load(operator, "claims", *lines("claims", "CONFIRMED", "CONFIRMED"), customer_id="acme")
    acme = open_as(customer="acme", scopes=["rewards:read_claims"])
    for expected in ((2, 0, 0, 0), (0, 0, 2, 0)):
        assert counts(pulling.pull(acme, here, "claims", customer_id="acme")) == expected
    allowed = open_as(customer="acme", scopes=["rewards:read_claims", "changes:read"])
    for expected in ((0, 0, 2, 0), (0, 0, 0, 0)):
        assert counts(pulling.pull(allowed, here, "claims", customer_id="acme")) == expected


@pytest.mark.parametrize("place", [{"after": "x"}, {"after": "x", "page": "x"}, NOON, {}])
def test_a_place_that_the_source_does_not_know_is_ignored(
    operator: comptroller.Service, here: comptroller.Service, tmp_path: Path, place: Any
) -> None:
    load(operator, "claims", *lines("claims", "CONFIRMED", "CONFIRMED"))
    pulling.pull(operator, here, "claims")
    file = tmp_path / "here.db.pulled"
    (source,) = json.loads(file.read_text())["claims"]
    file.write_text(json.dumps({"claims": {source: place}}))
    assert counts(pulling.pull(operator, here, "claims")) == (0, 0, 2, 0)
    assert counts(pulling.pull(operator, here, "claims")) == (0, 0, 0, 0)


def test_a_rejected_record_is_tried_again_until_it_is_stored(
    operator: comptroller.Service, here: comptroller.Service
) -> None:
    sent = lines("orchestrations", *["COMPLETED"] * 2500)
    odd = sent[1700]
    load(operator, "orchestrations", *sent)
    load(here, "orchestrations", odd | {"ref_id": "mine", "updated_at": at(0, days=1)})
    assert counts(pulling.pull(operator, here, "orchestrations")) == (2499, 0, 0, 1)
    for _ in range(2):
        assert counts(pulling.pull(operator, here, "orchestrations")) == (0, 0, 0, 1)
    operator.orchestrations.put(odd | {"ref_id": "theirs", "updated_at": at(0, days=2)})
    taken = pulling.pull(operator, here, "orchestrations")
    assert (taken.updated, taken.rejected) == (1, 0)
    assert here.orchestrations.get(odd["id"]).ref_id == "theirs"
    assert counts(pulling.pull(operator, here, "orchestrations")) == (0, 0, 0, 0)


def test_more_rejected_records_than_a_result_lists_are_read_again(
    operator: comptroller.Service, here: comptroller.Service
) -> None:
    sent = lines("claims", *["CONFIRMED"] * 1500)
    load(operator, "claims", *sent)
    load(here, "claims", *[each | {"amount": "9"} for each in sent])
    for _ in range(2):
        assert counts(pulling.pull(operator, here, "claims")) == (0, 0, 0, 1500)


@pytest.mark.parametrize("customer_id", [None, "acme"])
def test_records_of_others_do_not_change_the_start(
    operator: comptroller.Service, here: comptroller.Service, customer_id: str | None
) -> None:
    load(here, "claims", claim(created_at=at(99)), customer_id="globex")
    load(operator, "claims", *lines("claims", "CONFIRMED", "CONFIRMED"), customer_id="acme")
    first = pulling.pull(operator, here, "claims", customer_id=customer_id)
    assert counts(first) == (2, 0, 0, 0)
    again = pulling.pull(operator, here, "claims", customer_id=customer_id)
    assert counts(again) == (0, 0, 0, 0)


def test_each_source_and_customer_has_its_own_start(
    operator: comptroller.Service, here: comptroller.Service, tmp_path: Path
) -> None:
    load(operator, "claims", *lines("claims", "CONFIRMED", "CONFIRMED"))
    with comptroller.open(tmp_path / "other.db") as other:
        load(other, "claims", *lines("claims", "CONFIRMED", "CONFIRMED"))
        for source, customer_id in ((operator, None), (other, None), (other, "acme")):
            assert pulling.pull(source, here, "claims", customer_id=customer_id).read == 2
            assert pulling.pull(source, here, "claims", customer_id=customer_id).read == 0
    assert pulling.pull(operator, here, "claims").read == 0


def test_a_new_store_of_the_same_name_gets_everything(
    operator: comptroller.Service, tmp_path: Path
) -> None:
    path = tmp_path / "here.db"
    load(operator, "claims", *lines("claims", "CONFIRMED", "CONFIRMED"))
    for _ in range(2):
        with comptroller.open(path) as here:
            assert pulling.pull(operator, here, "claims").inserted == 2
        for file in tmp_path.glob("here.db*"):
            if file.suffix != ".pulled":
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


@pytest.mark.parametrize("content", [b"", b"[]", b'{"claims": {"x": 5}}', b"\xff"])
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


def feed(read: list[tuple[str, str]]) -> Callable[[httpx2.Request], httpx2.Response]:
    """Returns a feed without changes, whose cursors name the client; `read` gets each request."""

    def changes(request: httpx2.Request) -> httpx2.Response:
        client = request.headers.get("authorization", "").removeprefix("Bearer ")
        read.append((client, request.url.params["after"]))
        return ok({"items": [], "next_cursor": f"end of {client[:9]}", "has_more": False})

    return changes


def test_clients_of_one_server_have_their_own_places(here: comptroller.Service) -> None:
    def issued(request: httpx2.Request) -> httpx2.Response:
        name = b64decode(request.headers["authorization"].removeprefix("Basic ")).decode()
        return ok({"access_token": name.partition(":")[0], "token_type": "Bearer"})

    def claims(request: httpx2.Request) -> httpx2.Response:
        client = request.headers["authorization"].removeprefix("Bearer ")
        return page(CLAIM | {"id": client, "onchain_status": "CONFIRMED"})

    read: list[tuple[str, str]] = []
    there = Elsewhere(token=issued, claims=claims, changes=feed(read))
    for _ in range(2):
        for client in ("acme-1", "globex-1"):
            with there.connect(client_id=client, client_secret="s") as source:
                assert pulling.pull(source, here, "claims").rejected == 0
    assert {each.id for each in here.claims.list().items} == {"acme-1", "globex-1"}
    clients = ("acme-1", "globex-1")
    assert read == [
        *((client, "end") for client in clients),
        *((client, f"end of {client}") for client in clients),
    ]


def test_the_client_of_a_token_has_its_place(here: comptroller.Service) -> None:
    read: list[tuple[str, str]] = []
    there = Elsewhere(
        claims=lambda _request: page(CLAIM | {"onchain_status": "CONFIRMED"}), changes=feed(read)
    )
    renewed = jwt(sub="acme-1", iat="1"), jwt(sub="acme-1", iat="2")
    for token in (*renewed, jwt(sub="globex-1"), "opaque", "opaque", "another", None, None):
        with there.connect(token=token) as source:
            pulling.pull(source, here, "claims")
    assert [after == "end" for _, after in read] == [
        *(True, False, True),  # tokens that name their client
        *(True, False, True),  # tokens that do not
        *(True, False),
    ]


def test_a_service_without_a_feed_is_read_completely(here: comptroller.Service) -> None:
    there = Elsewhere(answer(404), claims=lambda _request: page(CLAIM))
    for expected in ((1, 0, 0, 0), (0, 0, 1, 0)):
        with there.connect(token="t") as source:
            assert counts(pulling.pull(source, here, "claims")) == expected


def test_a_feed_that_repeats_a_page_is_refused(here: comptroller.Service) -> None:
    feed = {"items": [], "next_cursor": "c", "has_more": False}
    pages = [ok(feed), ok(feed | {"has_more": True})]
    there = Elsewhere(
        claims=lambda _request: page(CLAIM | {"onchain_status": "CONFIRMED"}),
        changes=lambda _request: pages.pop(0),
    )
    with there.connect(token="t") as source:
        assert pulling.pull(source, here, "claims").read == 1
        with pytest.raises(errors.Unusable, match="next_cursor repeats the place"):
            pulling.pull(source, here, "claims")


def jwt(**claims: str) -> str:
    """Returns an unsigned token, because clients do not verify tokens."""
    parts = (urlsafe_b64encode(json.dumps(part).encode()) for part in ({}, claims))
    return b".".join(part.rstrip(b"=") for part in (*parts, b"sig")).decode()


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
            assert pulling.pull(source, here, "claims").read == 0


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
        if operation == "changes.list":
            return b'{"items":[],"next_cursor":"end","has_more":false}'
        asked = dict(parameters)
        first = int(asked.get("page_cursor", 0))
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
    there.interrupted_at = 1_000
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
    assert pulling.pull(source, here, "orchestrations").read == 0
    assert here.check()["rows"]["orchestrations"] == there.count


class LongFeed(Long):
    """Like Long, but the records after the first are also changes of a feed."""

    def call(self, operation: str, parameters: list[tuple[str, str]], *more: object) -> bytes:
        if operation != "changes.list":
            return super().call(operation, parameters, *more)
        after = dict(parameters)["after"]
        first = self.count if after == "end" else int(after)
        if first == self.interrupted_at:
            raise KeyboardInterrupt
        last = min(first + 1000, self.count)
        items = b",".join(self._change(number) for number in range(first, last))
        has_more = b"true" if last < self.count else b"false"
        return b'{"items":[%s],"next_cursor":"%d","has_more":%s}' % (items, last, has_more)

    def _change(self, number: int) -> bytes:
        return (
            b'{"cursor":"%d","recorded_at":"2026-03-01T00:00:00Z","actor":"a","operation":"put",'
            b'"resource":"orchestrations","id":"%d","after":%s}'
        ) % (number, number, self._line(number))


def test_an_interrupted_pull_of_changes_skips_none(here: comptroller.Service) -> None:
    there = LongFeed(1)
    source = comptroller.Service(cast("Host", there), "there")
    assert pulling.pull(source, here, "orchestrations").inserted == 1
    there.count, there.interrupted_at = 131_001, 130_001
    with pytest.raises(KeyboardInterrupt) as interrupted:
        pulling.pull(source, here, "orchestrations")
    kept = vars(interrupted.value)["load_result"].inserted
    assert 100_000 <= kept <= 130_000
    there.interrupted_at = -1
    assert pulling.pull(source, here, "orchestrations").inserted == 131_000 - kept
    assert here.check()["rows"]["orchestrations"] == there.count
