"""The C++ lane without a server."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from comptroller import Closed, InvalidRequest, _core
from comptroller.description import operations

CLAIMS = "/rewards/claims"


def lane_of(route: SimpleNamespace) -> _core.Lane:
    return _core.Lane(
        [route], bounds_s=[1.0], large_bytes=100, large_body_header=b"", replay_header=b""
    )


def test_an_expired_or_forgotten_token_is_unknown(store_path: Path) -> None:
    store = _core.Store(str(store_path))
    made = SimpleNamespace(
        method="GET",
        path=CLAIMS,
        operation="claims.list",
        is_operators=False,
        envelope=None,
        items_alias=None,
        head=b"\0length\0 ",
        log_line=b"\0client\0\0customer\0\0duration\0\0time\0\0request_id\0\n",
    )
    lane = lane_of(made)
    request = b"GET %s HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer t\r\n\r\n" % CLAIMS.encode()
    assert lane.read(store, request) is None
    lane.admit(b"t", _core.Principal(), b'"c"', b"null", 4e9)
    answer = lane.read(store, request)
    assert answer is not None
    length, _, body = answer.partition(b" ")
    assert int(length) == len(body)
    assert lane.counts()[0][0] == [1, 0]
    assert lane.take_log().startswith(b'"c"null')
    lane.admit(b"t", _core.Principal(), b'"c"', b"null", 1.0)
    assert lane.read(store, request) is None
    lane.admit(b"t", _core.Principal(), b'"c"', b"null", 4e9)
    lane.forget()
    assert lane.read(store, request) is None
    store.close()
    for unknown in (b"\0", b"\0length", b"\0size\0"):
        made.head = unknown
        with pytest.raises(ValueError, match="name of a slot"):
            lane_of(made)


def test_reads_share_a_snapshot_until_they_end(store_path: Path) -> None:
    store = _core.Store(str(store_path))
    made = SimpleNamespace(
        method="GET",
        path="/identities",
        operation="identities.list",
        is_operators=False,
        envelope=None,
        items_alias=None,
        head=b"\0length\0 ",
        log_line=b"\n",
    )
    lane = lane_of(made)
    lane.admit(b"t", _core.Principal(), b'"c"', b"null", 4e9)

    def read(query: str = "") -> object:
        request = f"GET /identities{query} HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer t\r\n\r\n"
        return lane.read(store, request.encode())

    before = read()
    store.call(_core.Principal(), "identities.put", [], b'{"id":"alice"}')
    assert read() == before
    lane.end_reads()
    after = read()
    assert isinstance(after, bytes)
    assert b'"id":"alice"' in after
    store.call(_core.Principal(), "identities.put", [], b'{"id":"bob"}')
    assert read("?page_cursor=none") is None  # what is refused ends them, too
    assert read() != after
    store.close()
    with pytest.raises(Closed):
        read()
    lane.end_reads()


def test_a_read_cannot_be_queued_as_a_write(store_path: Path) -> None:
    store = _core.Store(str(store_path))
    writes = _core.DeferredWrites()
    for name, operation in operations().items():
        if not operation.is_write:
            with pytest.raises(InvalidRequest, match="does not write"):
                writes.submit(store, _core.Principal(), name, [])
    store.close()


def test_an_unknown_ticket_is_refused() -> None:
    lane = _core.Lane([], bounds_s=[], large_bytes=0, large_body_header=b"", replay_header=b"")
    with pytest.raises(ValueError, match="ticket"):
        lane.finish(7, b"", False)
