"""The client works with other implementations of the interface."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import comptroller
import pytest

pytest.importorskip("httpx2")

import httpx2
from comptroller import errors
from fake_remote import (
    ADDRESS,
    BASE,
    CLAIM,
    CONTROL,
    GROUP,
    NEW_ADDRESS,
    NEW_CONTROL,
    NEW_GROUP,
    NOON,
    ORDER,
    UUID,
    Elsewhere,
    answer,
    ok,
    page,
)

# ---- requests ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("id", "segment"),
    [
        ("a-1", "a-1"),
        ("a/b", "a%2Fb"),
        ("..", "%2E%2E"),
        (".", "%2E"),
        ("...", "..."),
        ("%2F", "%252F"),
        ("x?y#z", "x%3Fy%23z"),
        ("a:b@c;d=e&f+g", "a%3Ab%40c%3Bd%3De%26f%2Bg"),
        ("é", "%C3%A9"),
    ],
)
def test_an_id_is_one_segment_of_the_path(id: str, segment: str) -> None:
    there = Elsewhere(ok(CLAIM))
    there.connect().claims.get(id)
    assert there.paths() == [f"/rewards/claims/{segment}"]


@pytest.mark.parametrize(
    "ask",
    [
        lambda service: service.claims.get(""),
        lambda service: service.payout_groups.update("", name="n"),
        lambda service: service.identities.permits("", "BUY"),
    ],
)
def test_no_record_has_an_empty_id(ask: Any) -> None:
    there = Elsewhere(page())
    with comptroller.open(":memory:") as local:
        for service in (local, there.connect()):
            with pytest.raises(errors.NotFound, match="there is no record of this id"):
                ask(service)
    assert there.requests == []


@pytest.mark.parametrize("host", ["elsewhere.test.", "a" * 63 + ".test", "[::1]", "münchen.test"])
def test_the_other_hosts_are_accepted(host: str) -> None:
    there = Elsewhere(page())
    there.connect(f"https://{host}/api").claims.list()
    assert len(there.requests) == 1


def test_an_invalid_host_of_a_proxy_is_unusable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://{'a' * 64}.invalid:3128")
    service = comptroller.connect("http://elsewhere.invalid", attempts=1)
    with pytest.raises(errors.Unusable, match="the host name of a proxy is not valid"):
        service.claims.list()


@pytest.mark.parametrize(
    "failure",
    [
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "not a name of idna"),
        UnicodeError("UTF-16 stream does not start with BOM"),
    ],
)
def test_an_invalid_text_of_a_load_is_not_a_host_of_a_proxy(failure: UnicodeError) -> None:
    def rows() -> Iterator[dict[str, Any]]:
        yield CLAIM
        raise failure

    with pytest.raises(UnicodeError) as raised:
        Elsewhere(httpx2.Response(200)).connect().load("claims", rows())
    assert raised.value is failure


@pytest.mark.parametrize(
    ("ask", "method", "path"),
    [
        (lambda s: s.claims.list(), "GET", "/rewards/claims"),
        (lambda s: s.payout_groups.list(), "GET", "/rewards/payout-groups"),
        (lambda s: s.controls.list(), "GET", "/v2/identity/controls"),
        (lambda s: s.orchestrations.list(), "GET", "/v2/orchestration/orchestrations"),
        (
            lambda s: s.orchestrations.list(ref_id=["a,b", "c d"], created_at_gte=NOON),
            "GET",
            "/v2/orchestration/orchestrations?ref_id=a%2Cb&ref_id=c+d&created_at.gte="
            "2026-01-31T12%3A00%3A00Z",
        ),
    ],
)
@pytest.mark.parametrize("base_url", [BASE, BASE + "/"])
def test_the_documented_paths_follow_the_base_url(
    ask: Any, method: str, path: str, base_url: str
) -> None:
    there = Elsewhere(page())
    ask(there.connect(base_url))
    assert there.paths() == [path]
    assert there.requests[0].method == method
    assert "authorization" not in there.requests[0].headers


@pytest.mark.parametrize(
    ("ask", "body"),
    [
        (lambda s: s.reward_addresses.create(**NEW_ADDRESS), {"address": NEW_ADDRESS}),
        (lambda s: s.reward_addresses.update(UUID, name="n"), {"address": {"name": "n"}}),
    ],
)
def test_an_address_is_sent_as_it_is_documented(ask: Any, body: object) -> None:
    there = Elsewhere(ok({"address": ADDRESS}))
    ask(there.connect())
    (asked,) = there.requests
    assert asked.headers["content-type"] == "application/json"
    assert json.loads(asked.content) == body


@pytest.mark.parametrize("name", ["base_url", "token_url"])
@pytest.mark.parametrize(
    "url",
    [
        "",
        "elsewhere.test",
        "ftp://elsewhere.test",
        "https://",
        "https://canary:secret@elsewhere.test",
        "https://elsewhere.test?canary=1",
        "https://elsewhere.test/#canary",
        "https://elsewhere.test:x",
        "http://[::1",
        "http://.",
        "https://canary..test",
        f"https://{'canary' * 11}.test",
        7,
    ],
)
def test_an_invalid_url_is_refused_and_not_quoted(name: str, url: Any) -> None:
    given = {"base_url": BASE, "client_id": "a", "client_secret": "b", name: url}
    with pytest.raises(errors.InvalidRequest) as refused:
        comptroller.connect(**given)
    assert refused.value.errors[0].field == name
    assert "canary" not in str(refused.value)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"client_id": "a"}, "client_id"),
        ({"client_secret": "canary"}, "client_id"),
        ({"client_id": "a", "client_secret": "canary", "token": "t"}, "client_id"),
        ({"token": "canary\n"}, "token"),
        ({"token": ""}, "token"),
        ({"client_id": "a", "client_secret": "canary", "scopes": []}, "scopes"),
        ({"timeout_s": 0}, "timeout_s"),
        ({"timeout_s": float("nan")}, "timeout_s"),
        ({"timeout_s": 1e300}, "timeout_s"),
        ({"timeout_s": 10**400}, "timeout_s"),
        ({"timeout_s": 2**31 // 1000 + 1}, "timeout_s"),
        ({"attempts": -1}, "attempts"),
        ({"attempts": 0}, "attempts"),
    ],
)
def test_invalid_credentials_and_numbers_are_refused(given: Any, field: str) -> None:
    with pytest.raises(errors.InvalidRequest) as refused:
        comptroller.connect(BASE, **given)
    assert refused.value.errors[0].field == field
    assert "canary" not in str(refused.value)


@pytest.mark.parametrize("key", ["", "é", "a\nb", " a", "a ", "x" * 256])
def test_an_invalid_idempotency_key_is_refused(key: str) -> None:
    there = Elsewhere(ok(GROUP))
    with pytest.raises(errors.InvalidRequest, match="Idempotency-Key"):
        there.connect().payout_groups.update(UUID, name="n", idempotency_key=key)
    assert there.requests == []


def nobody(_request: httpx2.Request) -> httpx2.Response:
    """Returns the error of an operator's path for other callers."""
    return answer(404)


# ---- responses -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "expected"),
    [
        (lambda s: s.payout_groups.create(**NEW_GROUP), GROUP),
        (lambda s: s.payout_groups.create(**NEW_GROUP), {"group": GROUP}),
        (lambda s: s.payout_groups.create(**NEW_GROUP), {"group": GROUP, "more": 1}),
        (lambda s: s.payout_groups.get(UUID), {"payout_group": GROUP}),
        (lambda s: s.reward_addresses.create(**NEW_ADDRESS), ADDRESS),
        (lambda s: s.reward_addresses.create(**NEW_ADDRESS), {"address": ADDRESS}),
        (lambda s: s.reward_addresses.get(UUID), {"address": ADDRESS, "more": [1.5]}),
        (lambda s: s.claims.get("c-1"), CLAIM | {"colour": {"red": 1}}),
        (lambda s: s.claims.get("c-1"), {"claim": CLAIM}),
    ],
)
def test_a_record_may_be_wrapped_or_not(ask: Any, expected: Any) -> None:
    record = ask(Elsewhere(ok(expected)).connect())
    assert record.id in (UUID, "c-1")


@pytest.mark.parametrize(
    ("expected", "ids", "cursor"),
    [
        ({"items": [ORDER], "next_page_cursor": "x"}, ["o-1"], "x"),
        ({"items": [ORDER]}, ["o-1"], ""),
        ({"items": [ORDER], "next_page_cursor": None}, ["o-1"], ""),
        ({"orchestrations": [ORDER]}, ["o-1"], ""),
        ({"items": None, "orchestrations": [ORDER]}, ["o-1"], ""),
        ({"items": [ORDER], "orchestrations": []}, ["o-1"], ""),
        ({"items": []}, [], ""),
        ({"next_page_cursor": ""}, [], ""),
        ({}, [], ""),
        ({"items": [ORDER], "total": 7, "next_page_cursor": "y"}, ["o-1"], "y"),
    ],
)
def test_a_page_may_omit_its_items_or_its_cursor(
    expected: Any, ids: list[str], cursor: str
) -> None:
    shown = Elsewhere(ok(expected)).connect().orchestrations.list()
    assert [each.id for each in shown] == ids
    assert shown.next_page_cursor == cursor


def test_pages_are_followed_by_their_cursors() -> None:
    pages = [
        {"items": [CLAIM | {"id": "1"}], "next_page_cursor": "next/one"},
        {"items": [CLAIM | {"id": "2"}]},
    ]
    there = Elsewhere(*map(ok, pages))
    assert [claim.id for claim in there.connect().claims.iter(chain="INK")] == ["1", "2"]
    first, second = there.paths()
    assert first == "/rewards/claims?chain=INK&limit=1000"
    assert second == first + "&page_cursor=next%2Fone"


@pytest.mark.parametrize("items", [[], [CLAIM]])
@pytest.mark.parametrize("read", ["iter", "stream"])
def test_a_page_that_repeats_its_cursor_ends_the_iteration(read: str, items: Any) -> None:
    there = Elsewhere(ok({"items": items, "next_page_cursor": "/same"}), balances=nobody)
    with pytest.raises(errors.Unusable, match="next_page_cursor repeats the cursor of this page"):
        list(getattr(there.connect().claims, read)())
    assert len([path for path in there.paths() if "claims" in path]) == 2


CHANGE = {
    "cursor": "c",
    "recorded_at": NOON,
    "actor": "operator",
    "operation": "identities.put",
    "resource": "identities",
    "id": "alice",
}
ENTRY = {
    "sequence": 7,
    "recorded_at": NOON,
    "actor": "operator",
    "operation": "identities.put",
    "resource": "identities",
    "id": "alice",
}
READ_OF_A_FEED: dict[str, Callable[[comptroller.Service], Iterable[Any]]] = {
    "changes": lambda svc: svc.changes.iter(),
    "changes of one": lambda svc: svc.host.changes("identities"),  # type: ignore[attr-defined]
    "followed": lambda svc: svc.changes.follow(),
    "entries": lambda svc: svc.journal.iter(),
    "most entries": lambda svc: svc.journal.list(limit=1000),
}
ASYNC_READ_OF_A_FEED: dict[str, Callable[[comptroller.AsyncService], AsyncIterator[Any]]] = {
    "changes": lambda svc: svc.changes.iter(),
    "followed": lambda svc: svc.changes.follow(),
    "entries": lambda svc: svc.journal.iter(),
}


def repeating(name: str, has_items: bool) -> Elsewhere:
    """Returns a service whose feed has one page again and again, and fails at the third."""
    if "entries" in name:
        body = {"items": [ENTRY] if has_items else [], "last": 7, "has_more": True}
    else:
        body = {"items": [CHANGE] if has_items else [], "next_cursor": "c", "has_more": True}
    return Elsewhere(ok(body), ok(body), AssertionError("the page was fetched again"))


FEED_REPEATS = r"(next_cursor|last) repeats the place before this page"


@pytest.mark.parametrize("has_items", [False, True])
@pytest.mark.parametrize("name", READ_OF_A_FEED)
def test_a_page_of_a_feed_that_repeats_its_place_ends_the_iteration(
    name: str, has_items: bool
) -> None:
    there = repeating(name, has_items)
    with pytest.raises(errors.Unusable, match=FEED_REPEATS):
        list(READ_OF_A_FEED[name](there.connect()))
    assert len(there.requests) == 2


@pytest.mark.parametrize("has_items", [False, True])
@pytest.mark.parametrize("name", ASYNC_READ_OF_A_FEED)
def test_a_page_of_a_feed_that_repeats_its_place_ends_the_async_iteration(
    name: str, has_items: bool
) -> None:
    there = repeating(name, has_items)

    async def read() -> None:
        async for _ in ASYNC_READ_OF_A_FEED[name](there.connect_async()):
            pass

    with pytest.raises(errors.Unusable, match=FEED_REPEATS):
        asyncio.run(read())
    assert len(there.requests) == 2


def test_a_feed_that_goes_on_without_a_place_is_refused() -> None:
    """The next request would begin the feed again."""
    there = Elsewhere(
        ok({"items": [], "next_cursor": "", "has_more": True}),
        AssertionError("the feed was read from its beginning again"),
    )
    with pytest.raises(errors.Unusable, match=FEED_REPEATS):
        list(there.connect().changes.iter())


def test_the_last_page_of_a_feed_may_repeat_its_place() -> None:
    changes = Elsewhere(ok({"items": [], "next_cursor": "c", "has_more": False}))
    assert changes.connect().changes.list(after="c").next_cursor == "c"
    entries = Elsewhere(ok({"items": [], "last": 7, "has_more": False}))
    assert entries.connect().journal.list(after=7) == []


def test_unknown_values_and_members_are_accepted() -> None:
    expected = CLAIM | {"onchain_status": "REPLACED", "claim_type": "CLAIM_SOME", "newer": [{}]}
    (claim,) = Elsewhere(page(expected)).connect().claims.list()
    assert (claim.onchain_status, claim.claim_type) == ("REPLACED", "CLAIM_SOME")


@pytest.mark.parametrize(
    ("shown", "meant"),
    [
        ("2026-01-31T23:59:59.123456Z", (23, 59, 59, 123456)),
        ("2026-01-31T23:59:59.1234569Z", (23, 59, 59, 123456)),
        ("2026-01-31T23:59:59.9999999Z", (23, 59, 59, 999999)),
        ("2026-01-31T23:59:59.999999999999Z", (23, 59, 59, 999999)),
        ("2026-01-31T23:59:60Z", (23, 59, 59, 999999)),
        ("2026-02-01T01:30:00+02:00", (23, 30, 0, 0)),
        ("2026-01-31t20:00:00.5-03:30", (23, 30, 0, 500000)),
        ("2026-01-31T23:59:59.12z", (23, 59, 59, 120000)),
    ],
)
def test_a_time_is_utc_to_the_microsecond_and_never_rounded(shown: str, meant: Any) -> None:
    metadata = {"created_at": shown}
    order = ORDER | {"created_at": shown, "metadata": metadata}
    (found,) = Elsewhere(page(order)).connect().orchestrations.list()
    assert found.created_at == datetime(2026, 1, 31, *meant, tzinfo=UTC)
    assert found.created_at.tzinfo is UTC
    assert found.metadata == metadata  # a text that looks like a time


@pytest.mark.parametrize(
    "changes",
    [
        *({"amount": amount} for amount in ("NaN", "1e3", " 1", "+1", ".5", 1.5, 7, None, "")),
        {"amount": "0.1234567890123456789"},
        *({"created_at": time} for time in (NOON[:-1], "0001-01-01T00:00:00+01:00", "now", 7)),
        {"created_at": "2026-02-30T00:00:00.1234567Z"},
        {"id": None},
    ],
)
def test_an_invalid_member_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(errors.Unusable) as refused:
        Elsewhere(page(CLAIM | changes)).connect().claims.list()
    assert next(iter(changes)) in refused.value.detail
    assert "claims.list" in refused.value.detail


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"<html>", b"null", b'{"items":[', b'{"items":["\xff"]}']
)
def test_a_response_that_is_not_an_object_is_refused(content: bytes) -> None:
    with pytest.raises(errors.Unusable, match=r"claims\.list"):
        Elsewhere(httpx2.Response(200, content=content)).connect().claims.list()


def test_a_control_without_an_identity_gets_the_requested_one() -> None:
    service = Elsewhere(ok(CONTROL)).connect()
    assert service.controls.create(**NEW_CONTROL).identity_id == "alice"
    assert service.controls.delete("k-1", identity_id="alice").identity_id == "alice"
    assert service.controls.delete("k-1").identity_id == ""
    (listed,) = Elsewhere(page(CONTROL)).connect().controls.list(identity_id="alice")
    assert listed.identity_id == "alice"
    identity = {
        "id": "bob",
        "customer_id": "c",
        "status": "DISABLED",
        "status_details": {"active_controls": [CONTROL], "permitted_actions": []},
        "user_disabled": False,
        "admin_disabled": False,
        "created_at": NOON,
        "updated_at": NOON,
    }
    shown = Elsewhere(ok(identity)).connect().identities.get("bob")
    assert shown.status_details.active_controls[0].identity_id == "bob"
