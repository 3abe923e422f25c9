"""Pulls: a store copies the records of a remote service, and stays up to date."""

from __future__ import annotations

import os
import pty
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import comptroller
import pytest
from command_line import Run
from comptroller import errors
from comptroller.bulk.loading import LoadResult
from in_process import opener
from lines import at, claim, group, identity, load, orchestration

pytest.importorskip("httpx2")

from comptroller import values
from comptroller.bulk import pulling

Opener = Callable[..., comptroller.Service]
SHOWN = [kind for kind in values.KINDS if kind != "balances"]


@pytest.fixture
def remote_as(store_path: Path) -> Iterator[Opener]:
    """Connects to the source store."""
    with ExitStack() as closing:
        yield opener(store_path, closing)


@pytest.fixture
def sampled(operator: comptroller.Service, tmp_path: Path) -> comptroller.Service:
    """The operator of the source store, which has a sample of acme."""
    comptroller.sample("all", 300, seed=5, customer="acme", out=tmp_path / "sample")
    for kind in values.KINDS:
        load_from = tmp_path / "sample" / f"{kind}.ndjson"
        assert operator.load(kind, load_from, customer_id="acme").committed
    return operator


def pulled(source: comptroller.Service, target: comptroller.Service, **how: Any) -> Any:
    """Pulls every readable kind; returns the results."""
    return {
        kind: pulling.pull(source, target, kind, **how)
        for kind in values.KINDS
        if pulling.is_shown(source, kind)
    }


def counts(result: LoadResult) -> tuple[int, int, int, int]:
    return result.inserted, result.updated, result.unchanged, result.rejected


def listed(service: comptroller.Service, kind: str) -> list[Any]:
    resource = getattr(service, kind.replace("-", "_"))
    more = {"include_deleted": True} if kind == "controls" else {}
    return sorted(resource.iter(**more), key=repr)


def test_the_operator_pulls_everything(
    sampled: comptroller.Service, remote_as: Opener, here: comptroller.Service
) -> None:
    results = pulled(remote_as(), here)
    assert list(results) == list(values.KINDS)
    for kind in values.KINDS:
        assert counts(results[kind]) == (len(listed(sampled, kind)), 0, 0, 0)
        assert listed(here, kind) == listed(sampled, kind)


def test_a_client_pulls_what_it_may_read(
    sampled: comptroller.Service, remote_as: Opener, here: comptroller.Service, tmp_path: Path
) -> None:
    load(sampled, "claims", claim(), customer_id="globex")
    acme = remote_as(customer="acme")
    customer = pulling.customer_of(acme)
    assert customer == "acme"
    assert list(pulled(acme, here, customer_id=customer)) == SHOWN
    with comptroller.open(tmp_path / "here.db", customer="acme") as client:
        for kind in SHOWN:
            assert listed(client, kind) == listed(acme, kind) != []


def test_a_second_pull_reads_nothing(
    sampled: comptroller.Service, remote_as: Opener, here: comptroller.Service
) -> None:
    source = remote_as()
    first = pulled(source, here)
    again = pulled(source, here)
    afresh = pulled(source, here, afresh=True)
    for kind in values.KINDS:
        assert counts(again[kind])[:2] == counts(afresh[kind])[:2] == (0, 0)
        assert afresh[kind].unchanged == first[kind].read
    assert {result.read for result in again.values()} == {0}


def test_changed_records_arrive(
    operator: comptroller.Service, remote_as: Opener, here: comptroller.Service
) -> None:
    home = group(jurisdiction="CH")
    waiting = claim(payout_group_id=home["id"])
    moving = orchestration(status="PROCESSING")
    load(operator, "payout-groups", home, customer_id="acme")
    load(operator, "claims", waiting, customer_id="acme")
    load(operator, "orchestrations", moving, customer_id="acme")
    load(operator, "identities", identity(id="alice"), customer_id="acme")
    control = operator.controls.create(identity_id="alice", type="CLOSED", reason_code="X")
    pulled(remote_as(), here)

    operator.claims.submit(waiting["id"], tx_hash="0x1")
    operator.claims.confirm(waiting["id"])  # which changes the group, too
    done = {"status": "COMPLETED", "updated_at": at(1), "customer_id": "acme"}
    operator.orchestrations.put(moving | done)
    operator.controls.delete(control.id, reason="over")
    operator.identities.update("alice", user_disabled=True, metadata={"tier": "gold"})
    again = pulled(remote_as(), here)

    assert all(result.rejected == 0 for result in again.values()), again
    for kind in values.KINDS:
        assert listed(here, kind) == listed(operator, kind)


def test_the_customer_of_the_records_is_determined(
    remote_as: Opener, operator: comptroller.Service
) -> None:
    assert pulling.customer_of(remote_as(customer="acme")) is None  # no record shows the customer
    load(operator, "orchestrations", orchestration(), customer_id="acme")
    assert pulling.customer_of(remote_as(customer="acme")) == "acme"
    assert pulling.customer_of(remote_as(customer="acme", scopes=["rewards:read_claims"])) is None


@pytest.mark.parametrize(
    ("token", "customer"),
    [
        ("eyJhbGciOiJub25lIn0.eyJjdXN0b21lciI6ImFjbWUifQ.c2ln", "acme"),
        ("eyJhbGciOiJub25lIn0.eyJjdXN0b21lciI6N30.c2ln", None),
        ("eyJhbGciOiJub25lIn0.W10.c2ln", None),
        ("a.b.c", None),
        ("opaque", None),
    ],
)
def test_a_jwt_names_the_customer_of_its_client(token: str, customer: Any) -> None:
    from fake_remote import Elsewhere, page

    service = Elsewhere(page()).connect(token=token)
    assert pulling.customer_of(service) == customer


def test_a_kind_without_permission_is_refused(remote_as: Opener, here: comptroller.Service) -> None:
    acme = remote_as(customer="acme", scopes=["rewards:read_claims"])
    assert [kind for kind in values.KINDS if pulling.is_shown(acme, kind)] == ["claims"]
    with pytest.raises(errors.Forbidden):
        pulling.pull(acme, here, "payout-groups")


# ---- at the command line -------------------------------------------------------------------------


def test_pull_copies_from_a_server_and_prints_the_counts(run: Run, tmp_path: Path) -> None:
    from serving import serving

    with serving("--sample", "200", cwd=tmp_path) as there:
        id, secret = there.credentials()
        words = ["pull", "--from", there.address, "--client-id", id, "--client-secret", secret]
        ended = run(*words, "claims", "--db", "here.db")
        assert ended.code == 0, ended.err
        assert re.search(r"^claims +200 +200 +0 +0 +0 +0$", ended.out, re.MULTILINE)
        again = run(*words, "--json", "--db", "here.db").json
        assert list(again["kinds"])[:3] == ["identities", "controls", "orchestrations"]
        assert again["kinds"]["claims"]["inserted"] == 0
        assert not again["interrupted"]
        assert secret not in ended.out + ended.err
        wrong = run(*words[:-1], "wrong", "--db", "never.db")
        assert wrong.code == 1
        assert wrong.err.startswith("comptroller: unauthenticated: ")
        nobody = run("pull", "--from", there.address, "--db", "never.db")
        assert (nobody.code, "COMPTROLLER_CLIENT_ID" in nobody.err) == (2, True)
    lost = run(*words, "--db", "never.db")
    assert lost.code == 1
    assert lost.err.startswith("comptroller: unavailable: ")
    assert not (tmp_path / "never.db").exists()


def test_rejected_lines_are_shown_and_set_the_exit_code(run: Run, tmp_path: Path) -> None:
    from serving import serving

    with comptroller.open(tmp_path / "there.db") as service:
        load(service, "claims", claim(id="c-1"), claim(id="c-2"))
    with comptroller.open(tmp_path / "here.db") as service:
        load(service, "claims", claim(id="c-1", amount="7"))
    with serving("--auth", "off", "--db", "there.db", cwd=tmp_path) as there:
        ended = run("pull", "--from", there.address, "--afresh", "--db", "here.db")
        again = run("pull", "--from", there.address, "--db", "here.db")
    assert ended.code == again.code == 1
    assert re.search(r"^claims +2 +1 +0 +0 +1 +0$", ended.out, re.MULTILINE)
    assert re.search(r"^claims +1 +0 +0 +0 +1 +0$", again.out, re.MULTILINE)
    for output in (ended.out, again.out):
        assert re.search(r"^ +1  already-exists +", output, re.MULTILINE)


def test_many_rejected_lines_are_summed_by_reason(run: Run, tmp_path: Path) -> None:
    from serving import serving

    for name, amount in (("there.db", "1"), ("here.db", "7")):
        with comptroller.open(tmp_path / name) as service:
            load(service, "claims", *(claim(id=f"c-{n}", amount=amount) for n in range(25)))
    with serving("--auth", "off", "--db", "there.db", cwd=tmp_path) as there:
        ended = run("pull", "--from", there.address, "claims", "--db", "here.db")
    assert ended.code == 1
    assert "... and 5 more; with --json, pull lists up to 1,000\n" in ended.out
    summary = ended.out.partition("All rejected lines")[2]
    assert re.search(r"already-exists +25 +1 ", summary), ended.out


def test_credentials_come_from_the_environment(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from serving import serving

    with serving("--sample", "3", cwd=tmp_path) as there:
        id, secret = there.credentials()
        monkeypatch.setenv("COMPTROLLER_CLIENT_ID", id)
        monkeypatch.setenv("COMPTROLLER_CLIENT_SECRET", secret)
        assert run("pull", "--from", there.address, "claims").code == 0
    assert (tmp_path / "comptroller.db").exists()


def test_a_secret_comes_from_a_file_or_standard_input(run: Run, tmp_path: Path) -> None:
    from serving import serving

    with serving("--sample", "3", cwd=tmp_path) as there:
        id, secret = there.credentials()
        (tmp_path / "secret").write_text(secret + "\n")
        words = ["pull", "--from", there.address, "claims", "--client-id", id]
        assert run(*words, "--client-secret-file", "secret").code == 0
        assert run(*words, "--client-secret-file", "-", given=secret.encode()).code == 0
    both = run(*words, "--client-secret-file", "secret", "--client-secret", secret)
    assert (both.code, "not both" in both.err) == (2, True)
    for incomplete in (words, [*words[:-2], "--client-secret", secret]):
        ended = run(*incomplete)
        assert ended.code == 2
        for name in ("--client-id", "--client-secret-file", "COMPTROLLER_CLIENT_SECRET_FILE"):
            assert name in ended.err
    absent = run(*words, "--client-secret-file", "absent")
    assert absent.err.startswith("comptroller: invalid-request: --client-secret-file: absent")


def test_a_terminal_prompts_for_a_secret_without_echo() -> None:
    words = ["pull", "--from", "http://elsewhere.invalid", "--client-id", "a"]
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-m", "comptroller", *words])
    shown = b""
    with os.fdopen(terminal, "r+b", buffering=0) as file:
        while b"Client secret: " not in shown:
            shown += file.read(1000)
        file.write(b"canary\n")
        with suppress(OSError):  # the terminal was closed
            while piece := file.read(1000):
                shown += piece
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    assert b"credentials would be sent unencrypted" in shown
    assert b"canary" not in shown


def test_pull_needs_a_url(run: Run) -> None:
    ended = run("pull", "claims")
    assert ended.code == 2
    assert "--from" in ended.err
    for url in ("ftp://x", "localhost:8080"):
        assert run("pull", "--from", url).err.startswith("comptroller: invalid-request: --from: ")


def test_pull_needs_the_customer_of_the_records(run: Run, place: Any) -> None:
    place.status = 403  # so the service does not show it
    ended = run("pull", "--from", place.url, "claims")
    assert ended.code == 1
    assert ended.err.startswith("comptroller: invalid-request: --customer: ")
    named = run("pull", "--from", place.url, "claims", "--customer", "acme")
    assert "comptroller: insufficient-scope: " in named.err


@pytest.mark.parametrize("kinds", [[], ["claims"]])
def test_pull_tells_a_wrong_url_from_a_missing_scope(
    run: Run, place: Any, kinds: list[str]
) -> None:
    place.status = 404
    ended = run("pull", "--from", place.url, *kinds)
    assert ended.code == 1
    assert ended.err.startswith("comptroller: unusable: ")
    assert f": {place.url} has none of the lists of a service; check the URL\n" in ended.err


def test_pull_sends_no_secret_over_plain_http_by_default(run: Run) -> None:
    words = ["pull", "--from", "http://elsewhere.invalid", "--client-id", "a"]
    words += ["--client-secret", "canary"]
    ended = run(*words)
    assert ended.code == 1
    assert ended.err.startswith("comptroller: invalid-request: --from: credentials would be sent")
    assert "canary" not in ended.err
