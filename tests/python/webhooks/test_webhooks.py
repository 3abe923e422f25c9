"""Webhooks as a resource: their operations, rules, secrets, and who may use them."""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import comptroller
import pytest

URL = "https://hooks.example.com/comptroller"
#: The id of no webhook.
UNKNOWN = "01900000-0000-7000-8000-0000000000c1"
#: Every operation on one webhook.
OPERATIONS: dict[str, Callable[[Any, str], object]] = {
    "get": lambda webhooks, key: webhooks.get(key),
    "secret": lambda webhooks, key: webhooks.secret(key),
    "update": lambda webhooks, key: webhooks.update(key, description="taken"),
    "rotate": lambda webhooks, key: webhooks.rotate(key),
    "test": lambda webhooks, key: webhooks.test(key),
    "replay": lambda webhooks, key: webhooks.replay(key, since="2026-01-01"),
    "deliveries": lambda webhooks, key: webhooks.deliveries(key),
    "delete": lambda webhooks, key: webhooks.delete(key),
}


def test_a_webhook_is_created_changed_and_deleted(operator: comptroller.Service) -> None:
    made = operator.webhooks.create(url=URL, event_types=["claim.*"], customer_id="acme")
    assert (made.url, made.event_types, made.status) == (URL, ("claim.*",), "ACTIVE")
    assert operator.webhooks.get(made.id) == made
    paused = operator.webhooks.update(made.id, status="PAUSED", status_reason="moving")
    assert (paused.status, paused.status_reason) == ("PAUSED", "moving")
    active = operator.webhooks.update(made.id, status="ACTIVE", description="the desk")
    assert (active.status_reason, active.description) == (None, "the desk")
    assert operator.webhooks.update(made.id, description="the desk") == active
    assert operator.webhooks.list() == operator.webhooks.list(customer_id="acme") == (active,)
    assert operator.webhooks.delete(made.id) == active
    assert operator.webhooks.list() == ()
    entries = [each for each in operator.journal.list() if each.resource == "webhooks"]
    assert [entry.operation for entry in entries] == [
        "webhooks.create",
        "webhooks.update",
        "webhooks.update",
        "webhooks.delete",
    ]
    assert operator.journal.verify().ok


def test_a_changed_row_is_found(
    operator: comptroller.Service, shared_path: Path, tmp_path: Path
) -> None:
    path = tmp_path / "store.db"
    with comptroller.open(path) as svc:
        svc.webhooks.create(url=URL)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE webhooks SET url = 'https://evil.example.com'")
        (finding,) = svc.journal.verify().findings
        assert finding.check == "webhooks"
        assert "url" in finding.message


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example.com",
        "https://localhost/x",
        "https://127.0.0.1/x",
        "https://127.1/x",
        "https://2130706433/",
        "https://0x7f000001/",
        "https://0177.0.0.1/",
        "https://10.0.0.1/",
        "https://169.254.169.254/latest/meta-data",
        "https://[::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[fe80::1]/",
        "https://1.2.3.4./",
        "https://hooks.example.com.127.0.0.1/",
        "https://user:password@hooks.example.com/",
        "https://hooks.example.com@10.0.0.1/",
        "https://hooks.example.com\\@10.0.0.1/",
        "https://hooks.example.com#@10.0.0.1/",
        "https://%31%32%37.0.0.1/",
        "https://hooks.example.com:0/",
        "https://hooks.example.com:99999/",
        "https://hööks.example.com/",
        "https:///x",
        "ftp://hooks.example.com/",
        "file:///etc/passwd",
    ],
)
def test_a_client_names_only_https_and_a_dns_name(acme: comptroller.Service, url: str) -> None:
    with pytest.raises(comptroller.InvalidRequest, match=r"url: must be .*, not "):
        acme.webhooks.create(url=url)
    made = acme.webhooks.create(url=URL)
    with pytest.raises(comptroller.InvalidRequest):
        acme.webhooks.update(made.id, url=url)
    acme.webhooks.delete(made.id)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8000/x", "http://localhost/", "https://[::1]:8443/x?y=1"]
)
def test_the_operator_names_any_host_unless_for_a_customer(
    operator: comptroller.Service, url: str
) -> None:
    assert operator.webhooks.create(url=url).url == url
    with pytest.raises(comptroller.InvalidRequest):
        operator.webhooks.create(url=url, customer_id="acme")


@pytest.mark.parametrize("pattern", ["claim.paid", "claims.*", "claim", "orchestration.", "**"])
def test_a_type_that_no_event_has_is_refused(operator: comptroller.Service, pattern: str) -> None:
    with pytest.raises(comptroller.InvalidRequest, match=r"event_types: .* no type of event"):
        operator.webhooks.create(url=URL, event_types=pattern)


def test_a_webhook_has_at_most_100_types(operator: comptroller.Service) -> None:
    made = operator.webhooks.create(url=URL, event_types=["claim.*"] * 100)
    for write in (
        lambda types: operator.webhooks.create(url=URL, event_types=types),
        lambda types: operator.webhooks.update(made.id, event_types=types),
    ):
        with pytest.raises(comptroller.InvalidRequest, match=r"event_types: has 101 types; give"):
            write(["claim.*"] * 101)


def test_a_long_list_of_webhooks_is_no_short_read(tmp_path: Path) -> None:
    """The event loop answers short reads itself."""
    with comptroller.open(tmp_path / "store.db", customer="acme") as svc:
        store, principal = svc.host.store_with_principal()
        svc.webhooks.create(url=URL, event_types=["*"])
        assert store.call_if_short(principal, "webhooks.list", [])
        for _ in range(99):
            svc.webhooks.create(url=URL, event_types=["identity.control.created"] * 100)
        assert store.call_if_short(principal, "webhooks.list", []) is None
        assert len(svc.webhooks.list()) == 100


def refusal(
    act: Callable[[Any, str], object], svc: comptroller.Service, id: str
) -> tuple[object, ...]:
    """Returns all that an error says, but for the id."""
    with pytest.raises(comptroller.NotFound) as raised:
        act(svc.webhooks, id)
    error = raised.value
    texts = [error.detail, str(error), *(each.message for each in error.errors)]
    shown = [text.replace(id, "ID") for text in texts]
    return error.code, error.status, error.existing, [each.field for each in error.errors], *shown


def test_a_client_sees_only_its_own(
    acme: comptroller.Service, operator: comptroller.Service, open_as
) -> None:
    own = acme.webhooks.create(url=URL)
    assert own.customer_id is None
    others = operator.webhooks.create(url=URL, customer_id="other")
    everyones = operator.webhooks.create(url=URL)
    assert acme.webhooks.list() == (own,)
    without_id = {name for name in dir(acme.webhooks) if not name.startswith("_")} - set(OPERATIONS)
    assert without_id == {"create", "list"}
    for name, act in OPERATIONS.items():
        unknown = refusal(act, acme, UNKNOWN)
        for hidden in (others, everyones):
            assert refusal(act, acme, hidden.id) == unknown, name
    assert [operator.webhooks.get(each.id) for each in (others, everyones)] == [others, everyones]
    with pytest.raises(comptroller.Forbidden):
        acme.webhooks.create(url=URL, customer_id="other")
    reader = open_as(customer="acme", scopes=["webhooks:read"])
    assert reader.webhooks.get(own.id) == own
    with pytest.raises(comptroller.Forbidden, match="webhooks:write"):
        reader.webhooks.secret(own.id)
    with pytest.raises(comptroller.Forbidden, match="operator:write"):
        open_as(scopes=["operator:read"]).webhooks.secret(own.id)


def test_secrets_are_not_in_the_store(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with comptroller.open(path) as svc:
        made = svc.webhooks.create(url=URL, idempotency_key="k")
        first = svc.webhooks.secret(made.id)
        assert first == svc.webhooks.secret(made.id)
        assert first.secret.startswith("whsec_")
        assert first.public_key.startswith("whpk_")
        assert len(base64.b64decode(first.secret[6:])) == 32
        rotated = svc.webhooks.rotate(made.id)
        second = svc.webhooks.secret(made.id)
        assert rotated.secret_changed_at > made.secret_changed_at
        assert second.previous_until is not None
        assert second.secret != first.secret
        assert second.public_key != first.public_key
        svc.backup(tmp_path / "backup.db")
    key = tmp_path / "store.db.webhook-key"
    assert key.stat().st_mode & 0o777 == 0o600
    content = b"".join(each.read_bytes() for each in tmp_path.glob("*.db"))
    for secret in (first.secret, second.secret):
        assert secret.encode() not in content
        assert base64.b64decode(secret[6:]) not in content
    assert key.read_bytes() not in content
    with comptroller.open(path) as svc:
        assert svc.webhooks.secret(made.id).secret == second.secret
    key.chmod(0o644)
    with (
        comptroller.open(path) as svc,
        pytest.raises(comptroller.Unusable, match="other users may read"),
    ):
        svc.webhooks.secret(made.id)


def test_a_customer_has_at_most_100(operator: comptroller.Service) -> None:
    for _ in range(100):
        operator.webhooks.create(url=URL, customer_id="acme")
    with pytest.raises(comptroller.Conflict, match="too many"):
        operator.webhooks.create(url=URL, customer_id="acme")
    operator.webhooks.create(url=URL, customer_id="other")


def test_webhooks_of_others_are_no_limit(operator: comptroller.Service, open_as) -> None:
    for number in range(11):
        client = open_as(customer=f"customer-{number}")
        for _ in range(100):
            client.webhooks.create(url=URL)


def test_creates_at_once_stay_within_the_limit(operator: comptroller.Service) -> None:
    for _ in range(90):
        operator.webhooks.create(url=URL, customer_id="acme")

    def create(_number: int) -> bool:
        try:
            operator.webhooks.create(url=URL, customer_id="acme")
        except comptroller.Conflict:
            return False
        return True

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(create, range(30))) == 10
    assert len(operator.webhooks.list(customer_id="acme")) == 100


def test_a_client_gets_events_only_of_records_that_it_may_read(open_as) -> None:
    """A webhook of a client sends no more than `list` and the change feed show it."""
    narrow = open_as(customer="acme", scopes=["webhooks:write", "rewards:read_claims"])
    for types in (["*"], ["identity.*"], ["identity.control.created", "claim.*"], None):
        with pytest.raises(comptroller.Forbidden, match="identity:read_"):
            narrow.webhooks.create(url=URL, event_types=types)
    with pytest.raises(comptroller.Forbidden, match="orchestration:read_orchestration"):
        narrow.webhooks.create(url=URL, event_types=["orchestration.failed"])
    made = narrow.webhooks.create(url=URL, event_types=["claim.*"])
    narrow.webhooks.replay(made.id, since="2026-01-01")
    wide = open_as(customer="acme").webhooks.create(url=URL)
    for change in ({"url": URL + "/mine"}, {"event_types": ["*"]}):
        with pytest.raises(comptroller.Forbidden, match=":read_"):
            narrow.webhooks.update(wide.id, **change)
    with pytest.raises(comptroller.Forbidden, match=":read_"):
        narrow.webhooks.replay(wide.id, since="2026-01-01")
    assert narrow.webhooks.update(made.id, event_types=["claim.created"]).event_types == (
        "claim.created",
    )
    assert narrow.webhooks.update(wide.id, status="PAUSED").status == "PAUSED"
    with pytest.raises(comptroller.Forbidden, match="operator:read"):
        open_as(scopes=["operator:write"]).webhooks.create(url=URL)


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from comptroller.cli import main

    path = str(tmp_path / "store.db")
    comptroller.open(path).close()

    def run(*words: str) -> str:
        assert main(["webhooks", *words, "--db", path]) == 0
        return capsys.readouterr().out

    id = json.loads(run("create", URL, "--customer", "acme", "--type", "claim.*", "--json"))["id"]
    assert "claim.*" in run("list")
    assert json.loads(run("list", "--json"))["items"][0]["id"] == id
    secret = json.loads(run("secret", id, "--json"))["secret"]
    assert secret not in run("rotate", id)
    assert "PAUSED" in run("update", id, "--pause")
    with comptroller.open(path) as svc:
        svc.webhooks.update(id, status_reason="moving")
    assert "moving" in run("list")
    assert "ACTIVE" in run("update", id, "--resume")
    assert "webhook.test" in run("test", id)
    assert "webhook.test" in run("deliveries", id, "--json")
    run("replay", id, "--since", "2026-01-01")
    assert main(["webhooks", "update", id, "--db", path]) == 2
    assert "nothing to change; give at least one option" in capsys.readouterr().err
    assert main(["webhooks", "replay", id, "--after", "", "--db", path]) == 1
    assert (
        "--after: is empty; give a cursor of the change feed, or --since" in capsys.readouterr().err
    )
    assert "deleted" in run("delete", id)
