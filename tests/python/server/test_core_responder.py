"""The responder of the core without a server."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("prometheus_client")

from comptroller import Closed, InvalidRequest, _core, routes
from comptroller.description import operations
from comptroller.http.log import Log

OPERATOR = _core.Principal()
IDENTITIES = b"/v2/identity/identities"
TOKEN = [(b"host", b"here"), (b"authorization", b"Bearer t")]
NOW, MUCH_LATER = 1e9, 4e9


def fields(headers: list[tuple[bytes, bytes]]) -> _core.Fields:
    add, take = _core.collect_fields()
    for name, value in headers:
        add(name, value)
    return take()[0]


class Row(routes.Row):
    """A row of the routes without a second name of its items, and without further headers."""

    items_alias = None
    header_lines = b""


@pytest.fixture
def responder() -> _core.Responder:
    made = _core.Responder([Row(*row) for row in routes.ROWS], bounds_s=[1.0], large_bytes=1 << 20)
    made.admit(b"t", OPERATOR, b'"c"', b"null", MUCH_LATER)
    return made


def read(responder: _core.Responder, store: _core.Store, target: bytes) -> Any:
    """Returns the body of a response; None if it is left to the application."""
    answer = responder.read(store, target, fields(TOKEN), True, NOW)
    if answer is None:
        return None
    assert isinstance(answer, bytes)
    return json.loads(answer.partition(b"\r\n\r\n")[2])


def test_an_expired_or_forgotten_token_is_unknown(
    store_path: Path, responder: _core.Responder
) -> None:
    store = _core.Store(str(store_path))
    assert read(responder, store, IDENTITIES) is not None
    assert responder.client_of(b"GET", IDENTITIES, fields(TOKEN), NOW) == b'"c"'
    assert sum(sum(each) for each, _ in responder.counts()) == 1
    assert responder.client_of(b"GET", b"/healthz", fields(TOKEN), NOW) == b""
    responder.admit(b"t", OPERATOR, b'"c"', b"null", NOW)
    assert read(responder, store, IDENTITIES) is None
    assert responder.client_of(b"GET", IDENTITIES, fields(TOKEN), NOW) == b""
    responder.admit(b"t", OPERATOR, b'"c"', b"null", MUCH_LATER)
    responder.forget()
    assert read(responder, store, IDENTITIES) is None
    responder.end_reads()
    store.close()


def test_a_token_expires_by_the_clock_of_tokens(
    store_path: Path, responder: _core.Responder
) -> None:
    """That of a database may be behind it, or ahead."""
    store = _core.Store(str(store_path))
    writes = _core.DeferredWrites()
    sent = fields([*TOKEN, (b"content-type", b"application/json")])
    put = (b"PUT", b"/operator/identity/identities", sent, b'{"id":"a"}', True)
    responder.admit(b"t", OPERATOR, b'"c"', b"null", NOW)
    assert responder.submit(store, writes, *put, NOW) is None
    assert responder.submit(store, writes, *put, NOW - 1) is not None
    assert responder.read(store, IDENTITIES, fields(TOKEN), True, NOW - 1) is not None
    responder.end_reads()
    store.close()


@pytest.mark.parametrize(
    "more",
    [
        [(b"authorization", b"Bearer t")],
        [(b"content-encoding", b"gzip")],
        [(b"x-http-method-override", b"GET")],
        [(b"idempotency-key", b"a"), (b"idempotency-key", b"a")],
        [(b"content-type", b"a"), (b"content-type", b"a")],
        [(b"content-length", b"0"), (b"content-length", b"0")],
    ],
    ids=repr,
)
def test_odd_headers_are_left_to_the_application(
    store_path: Path, responder: _core.Responder, more: list[tuple[bytes, bytes]]
) -> None:
    store = _core.Store(str(store_path))
    assert responder.read(store, IDENTITIES, fields(TOKEN + more), True, NOW) is None
    writes = _core.DeferredWrites()
    body = b'{"id":"a"}'
    json_type = [] if more[0][0] == b"content-type" else [(b"content-type", b"application/json")]
    sent = fields(TOKEN + json_type + more)
    call = (b"PUT", b"/operator/identity/identities", sent, body)
    assert responder.submit(store, writes, *call, True, NOW) is None
    store.close()


@pytest.mark.parametrize("given", [b"", b"a b", b"a" * 129, b"<"])
def test_an_invalid_request_id_is_replaced(
    store_path: Path, responder: _core.Responder, given: bytes
) -> None:
    store = _core.Store(str(store_path))
    for sent, is_kept in ((b"7f3b:/+=@-_.", True), (given, False)):
        headers = fields([*TOKEN, (b"X-Request-Id", sent + b" ")])
        answer = responder.read(store, IDENTITIES, headers, True, NOW)
        line = json.loads(responder.take_log()[0])
        assert isinstance(answer, bytes)
        assert b"x-request-id: " + line["request_id"].encode() in answer
        assert (line["request_id"] == sent.decode()) == is_kept
        assert re.fullmatch("[0-9a-f]{32}", line["request_id"]) or is_kept
    responder.end_reads()
    store.close()


def test_a_log_line_has_the_form_of_the_applications(
    store_path: Path, responder: _core.Responder
) -> None:
    store = _core.Store(str(store_path))
    read(responder, store, IDENTITIES)
    responder.end_reads()
    line, count = responder.take_log()
    assert count == 1
    members = json.loads(line)
    for name in ("level", "event"):
        del members[name]
    expected = Log(io.BytesIO()).line(**members)
    assert list(json.loads(expected).items()) == list(json.loads(line).items())
    store.close()


def test_fields_are_collected_in_order_until_they_are_taken() -> None:
    add, take = _core.collect_fields()
    for name, value in [
        (b"Host", b"a"),
        (b"X-\xc3", b" \t b \xff "),
        (b"HOST", b""),
        (b"Expect", b""),
    ]:
        add(name, value)
    taken, count, size, hosts, has_body, has_connection = take()
    expected = [(b"host", b"a"), (b"x-\xc3", b"b \xff"), (b"host", b""), (b"expect", b"")]
    assert taken.headers() == expected
    assert (count, size, hosts, has_body, has_connection) == (4, 41, [b"a", b""], True, False)
    nothing, *others = take()
    assert (nothing.headers(), others) == ([], [0, 0, [], False, False])
    for wrong in [(b"a",), (b"a", "b"), (b"a", b"b", b"c")]:
        with pytest.raises(TypeError, match="must be bytes"):
            add(*wrong)  # type: ignore[arg-type]


def test_an_unknown_ticket_is_refused(responder: _core.Responder) -> None:
    with pytest.raises(ValueError, match="ticket"):
        responder.finish(7, b"", False)


def test_reads_share_a_snapshot_until_they_end(
    store_path: Path, responder: _core.Responder
) -> None:
    store = _core.Store(str(store_path))
    before = read(responder, store, IDENTITIES)
    store.call(OPERATOR, "identities.put", [], b'{"id":"alice"}')
    assert read(responder, store, IDENTITIES) == before
    responder.end_reads()
    after = read(responder, store, IDENTITIES)
    assert [each["id"] for each in after["items"]] == ["alice"]
    store.call(OPERATOR, "identities.put", [], b'{"id":"bob"}')
    # What is refused ends them, too.
    assert read(responder, store, IDENTITIES + b"?page_cursor=none") is None
    assert read(responder, store, IDENTITIES) != after
    store.close()
    with pytest.raises(Closed):
        read(responder, store, IDENTITIES)
    responder.end_reads()


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        (b"ref_id=a%20b", ["one"]),
        (b"ref_id=a+b", ["one"]),
        (b"&&ref_id=a+b&", ["one"]),
        (b"%72ef_id=%61%20b&page_cursor=", ["one"]),
        (b"ref_id=%C3%A9%26%3D", ["two"]),
        (b"created_at.gte=2026-01-01T00%3A00%3A00%2B01%3A00", ["one", "two"]),
        (b"ref_id=a%2", None),
        (b"ref_id=a%zz", None),
        (b"ref_id=%C3", None),
        (b"ref_id=\xc3\xa9", None),
        (b"ref_id=%00", None),
        (b"ref_id", None),
        (b"=a", None),
        (b"unknown=a", None),
        (b"access%5Ftoken=a", None),
        (b"limit=1&" * 2000, None),
    ],
)
def test_a_query_is_decoded(
    store_path: Path, responder: _core.Responder, query: bytes, ids: list[str] | None
) -> None:
    store = _core.Store(str(store_path))
    store.call(OPERATOR, "identities.put", [], b'{"id":"one","ref_id":"a b"}')
    store.call(OPERATOR, "identities.put", [], '{"id":"two","ref_id":"é&="}'.encode())
    answer = read(responder, store, IDENTITIES + b"?" + query)
    responder.end_reads()
    assert (answer and sorted(each["id"] for each in answer["items"])) == ids
    store.close()


@pytest.mark.parametrize(
    ("path", "is_found"),
    [
        (IDENTITIES + b"/a%2Fb", True),
        (IDENTITIES + b"/a/b", False),
        (IDENTITIES + b"/a%2fb", True),
        (IDENTITIES + b"/a%2", False),
        (IDENTITIES + b"/a+b", False),
        (IDENTITIES + b"/", False),
        (b"/v2/%69dentity/identities/a%2Fb", False),
    ],
)
def test_an_id_in_a_path_is_decoded(
    store_path: Path, responder: _core.Responder, path: bytes, is_found: bool
) -> None:
    store = _core.Store(str(store_path))
    store.call(OPERATOR, "identities.put", [], b'{"id":"a/b"}')
    answer = read(responder, store, path)
    responder.end_reads()
    assert (answer is not None and answer.get("id") == "a/b") == is_found
    store.close()


def test_a_read_cannot_be_queued_as_a_write(store_path: Path) -> None:
    store = _core.Store(str(store_path))
    writes = _core.DeferredWrites()
    for name, operation in operations().items():
        if not operation.is_write:
            with pytest.raises(InvalidRequest, match="does not write"):
                writes.submit(store, _core.Principal(), name, [])
    store.close()
