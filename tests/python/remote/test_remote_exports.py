"""Exports of a remote service: implied identities, unknown filters and responses that were cut."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import comptroller
import pytest
from comptroller import errors
from lines import at, control, identity, load

pytest.importorskip("httpx2")

import httpx2
from fake_remote import Elsewhere, page
from in_process import opener

Opener = Callable[..., comptroller.Service]


@pytest.fixture
def open_remote(store_path: Path) -> Iterator[Opener]:
    """Connects to the store."""
    with ExitStack() as closing:
        yield opener(store_path, closing)


# ---- exports of identities -----------------------------------------------------------------------


@pytest.fixture
def acme(open_remote: Opener) -> comptroller.Service:
    """A client of a store that has an identity of each origin."""
    operator = open_remote()
    load(
        operator,
        "identities",
        identity(id="plain"),
        identity(id="beside", created_at=at(5)),
        customer_id="acme",
    )
    operator.identities.put(id="put", customer_id="acme", user_disabled=True)
    load(
        operator,
        "controls",
        control(identity_id="beside", created_at=at(5)),
        control(identity_id="implied", created_at=at(7)),
        control(identity_id="ended", created_at=at(8), deleted_at=at(9)),
        control(identity_id="updated", created_at=at(8)),
        control(identity_id="adopted", created_at=at(8)),
        customer_id="acme",
    )
    operator.identities.update("updated", metadata={"tier": "gold"})
    load(operator, "identities", identity(id="adopted", created_at=at(3)), customer_id="acme")
    return open_remote(customer="acme")


@pytest.mark.parametrize("suffix", ["ndjson", "csv", "parquet", "xlsx"])
def test_a_clients_export_leaves_out_implied_identities(
    acme: comptroller.Service, store_path: Path, tmp_path: Path, suffix: str
) -> None:
    for kind in ("identities", "controls"):
        acme.export(kind, tmp_path / f"{kind}.{suffix}")
    with (
        comptroller.open(tmp_path / "loaded.db") as loaded,
        comptroller.open(store_path, customer="acme") as local,
    ):
        result = loaded.load("identities", tmp_path / f"identities.{suffix}", customer_id="acme")
        assert result.inserted == local.export("identities", tmp_path / "local") == 5
        assert loaded.load(
            "controls", tmp_path / f"controls.{suffix}", customer_id="acme"
        ).committed
        with comptroller.open(tmp_path / "loaded.db", customer="acme") as client:
            assert in_full(client) == in_full(local)
        assert loaded.export("identities", tmp_path / "again") == 5


def in_full(service: comptroller.Service) -> list[Any]:
    return sorted(service.identities.iter(), key=lambda each: each.id)


ALL = ["identity:read_identity", "identity:read_identity_control", "changes:read"]


@pytest.mark.parametrize(
    ("scopes", "is_archived", "left_out"),
    [
        (ALL, False, set()),
        # Without the feed, an identity with a control of the same created_at looks implied.
        (ALL[:2], False, {"beside"}),
        # The feed shows each record as created by journal.archive.
        (ALL, True, {"beside"}),
        (["identity:read_identity", "changes:read"], False, None),
    ],
)
def test_the_scopes_of_a_client_decide_what_is_implied(
    acme: comptroller.Service,
    operator: comptroller.Service,
    open_remote: Opener,
    tmp_path: Path,
    scopes: Any,
    is_archived: bool,
    left_out: Any,
) -> None:
    names = {each.id for each in acme.identities.iter()}
    assert len(names) == 7
    if is_archived:
        operator.journal.archive("2100-01-01", tmp_path / "journal.parquet")
    path = tmp_path / "identities.ndjson"
    open_remote(customer="acme", scopes=scopes).export("identities", path)
    written = {json.loads(line)["id"] for line in path.read_text().splitlines()}
    if left_out is None:  # the client cannot load the controls, which would create them
        assert written == names
    else:
        assert written == names - {"implied", "ended"} - left_out


def test_a_stream_has_implied_identities(acme: comptroller.Service) -> None:
    arrow = pytest.importorskip("pyarrow")
    assert len(arrow.table(acme.identities.stream(["id"]))) == 7


# ---- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [{}, {"customer": "acme"}], ids=["operator", "client"])
@pytest.mark.parametrize("suffix", ["ndjson", "csv", "parquet"])
@pytest.mark.parametrize("kind", ["identities", "claims"])
@pytest.mark.parametrize("name", ["order", "limit", "page_cursor", "nope"])
def test_an_unknown_filter_of_an_export_is_refused_as_locally(
    store_path: Path,
    open_remote: Opener,
    tmp_path: Path,
    how: dict[str, Any],
    suffix: str,
    kind: str,
    name: str,
) -> None:
    messages = set()
    remote = open_remote(**how)
    with comptroller.open(store_path, **how) as local:
        for service in (local, remote):
            with pytest.raises(errors.InvalidRequest, match=f"{name}: is not known") as refusal:
                service.export(kind, tmp_path / f"never.{suffix}", **{name: "7"})
            messages.add(str(refusal.value))
    assert len(messages) == 1


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        ("ndjson", b'{"id":"c-1"}\n{"id":"c-'),
        ("ndjson", b'{"id":"c-1"}\n{"id":"c-2"}'),
        ("csv", b"id,amount\nc-1,1."),
        ("csv", b""),
        ("parquet", b'{"id":"c-1"}\n{"id":"c-2"}'),
        ("xlsx", b"id,amount\nc-1,1."),
    ],
)
def test_an_export_that_was_cut_within_a_line_leaves_no_file(
    tmp_path: Path, suffix: str, content: bytes
) -> None:
    def cut(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, content=iter([content]))  # so without a Content-Length

    there = Elsewhere(balances=lambda _request: page(), claims=cut)
    with pytest.raises(errors.Unavailable, match="ends within a line"):
        there.connect(attempts=1).export("claims", tmp_path / f"claims.{suffix}")
    assert list(tmp_path.iterdir()) == []


def test_an_export_without_records_is_empty(tmp_path: Path) -> None:
    def none(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, content=iter([b""]))

    there = Elsewhere(balances=lambda _request: page(), claims=none)
    path = tmp_path / "claims.ndjson"
    assert there.connect().export("claims", path) == 0
    assert path.read_bytes() == b""
