"""No message, log, representation or list of processes shows the password of a database."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import comptroller
import pytest
from command_line import Run
from postgresql_server import GUARDED, PASSWORD, Server
from serving import serving

#: A part of the password that no text contains otherwise, in whatever way it is escaped.
_PART = "s3cret"
assert _PART in PASSWORD


@pytest.fixture
def guarded(server: Server, store_path: str) -> str:
    """The address of the test's database, with a password."""
    database = store_path.partition("@/")[2].partition("?")[0]
    return server.address(database, GUARDED, PASSWORD)


# What is wrong with an address, which error follows, and a word of its message.
WRONG: dict[str, tuple[Callable[[str], str], type[comptroller.Error], str]] = {
    "host": (
        lambda address: address.replace("host=", "host=/nowhere"),
        comptroller.Unavailable,
        "/nowhere",
    ),
    "port": (
        lambda address: address.replace("@/", "@127.0.0.1:1/").partition("?")[0],
        comptroller.Unavailable,
        "127.0.0.1",
    ),
    "password": (
        lambda address: address.replace(quote(PASSWORD, safe=""), f"{_PART}-too"),
        comptroller.Unusable,
        "password authentication failed",
    ),
    "database": (
        lambda address: address.replace("@/", "@/none_"),
        comptroller.Unusable,
        "does not exist",
    ),
    "role": (
        lambda address: address.replace(f"//{GUARDED}", "//nobody"),
        comptroller.Unusable,
        "does not exist",
    ),
    "parameter": (
        lambda address: f"{address}&nonsense=1",
        comptroller.InvalidRequest,
        "is not valid",
    ),
}


def test_a_service_shows_its_address_without_the_password(guarded: str) -> None:
    with comptroller.open(guarded) as svc:
        svc.identities.put(id="alice")
        shown = f"{svc!r} {svc} {svc.host.origin()} {vars(svc.host)}"
        assert f"postgresql://{GUARDED}@/" in repr(svc)
        assert _PART not in shown
        with pytest.raises(comptroller.NotFound) as missing:
            svc.identities.get("bob")
    with pytest.raises(comptroller.Closed) as closed:
        svc.identities.get("alice")
    for error in (missing.value, closed.value):
        assert _PART not in "".join(traceback.format_exception(error))


@pytest.mark.parametrize("wrong", WRONG)
def test_an_error_of_a_connection_has_no_password(guarded: str, wrong: str) -> None:
    change, kind, word = WRONG[wrong]
    with pytest.raises(comptroller.Error) as failed:
        comptroller.open(change(guarded))
    assert type(failed.value) is kind, failed.value
    text = "".join(traceback.format_exception(failed.value))
    assert word in text
    assert _PART not in text


@pytest.mark.parametrize("wrong", WRONG)
def test_an_error_of_a_command_has_no_password(
    run: Run, monkeypatch: pytest.MonkeyPatch, guarded: str, wrong: str
) -> None:
    change, _kind, word = WRONG[wrong]
    monkeypatch.setenv("PGPASSWORD", "another")  # restored after the test
    monkeypatch.setenv("COMPTROLLER_DB", change(guarded))
    ended = run("check")
    assert ended.code == 1
    assert word in ended.err
    assert _PART not in ended.out + ended.err


def test_a_password_is_taken_from_a_service_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, server: Server, guarded: str
) -> None:
    database = guarded.partition("@/")[2].partition("?")[0]
    services = tmp_path / "services"
    members = {
        "host": str(server.folder),
        "dbname": database,
        "user": GUARDED,
        "password": PASSWORD,
    }
    text = "".join(f"{name}={value}\n" for name, value in members.items())
    services.write_text(f"[books]\n{text}")
    monkeypatch.setenv("PGSERVICEFILE", str(services))
    with comptroller.open("postgresql://?service=books") as svc:
        svc.identities.put(id="alice")
        assert repr(svc) == "<Service 'postgresql://?service=books', operator>"
    with comptroller.open(guarded) as svc:
        assert svc.identities.get("alice")


def test_no_output_and_no_process_of_a_server_shows_the_password(
    guarded: str, tmp_path: Path
) -> None:
    words = ("--auth", "off", "--workers", "2", "--state", str(tmp_path / "state"))
    with serving(*words, cwd=tmp_path, db=guarded) as server:
        assert server.get("/readyz").status_code == 200
        told = server.get("/metrics").text
        children = _children(server.process.pid)
        assert len(children) >= 2
        titles = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children]
        code, out, log = server.end()
    assert code == 0
    assert f"postgresql://{GUARDED}@/" in server.output
    assert _PART not in server.output + out + log + told
    assert _PART.encode() not in b"".join(titles)


def _children(pid: int) -> list[int]:
    """Returns a process and its children."""
    found = [pid]
    for each in Path("/proc").iterdir():
        if each.name.isdigit() and each.name != str(os.getpid()):
            try:
                status = (each / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            if int(status[1]) == pid:
                found.append(int(each.name))
    return found
