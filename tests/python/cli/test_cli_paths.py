"""Paths of commands that name no file: standard output, memory, nothing, a folder."""

from __future__ import annotations

import re
from pathlib import Path

import comptroller
import pytest
from command_line import GOOD, Run

_NO_STREAM = "`-` is not accepted; name a file or a folder"


@pytest.fixture
def store(run: Run) -> str:
    assert run("load", "claims", "-", "--db", "s.db", given=GOOD).code == 0
    return "s.db"


# Commands that write, with * for the path.
WRITING = [
    "backup * --db s.db",
    "copy s.db *",
    "load claims - --rejects * --db s.db",
    "evidence --identity alice --out * --db s.db",
    "journal archive --before 2026-01-01 --out * --db s.db",
    "report --html * --db s.db",
    "report failures --out * --db s.db",
    "reconcile claims - --on id --out * --db s.db",
    "demo --db *",
    "demo --rewards *",
]


@pytest.mark.parametrize("command", WRITING)
@pytest.mark.parametrize(("path", "expected"), [("-", _NO_STREAM), ("", "the path is empty")])
def test_a_path_that_names_no_file_is_refused(
    run: Run, store: str, tmp_path: Path, command: str, path: str, expected: str
) -> None:
    before = {each: each.stat().st_size for each in tmp_path.iterdir()}
    ended = run(*(path if word == "*" else word for word in command.split()), given=GOOD)
    assert ended.code == 2
    assert expected in ended.err
    assert ended.out == ""
    assert {each: each.stat().st_size for each in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    "command",
    [
        "check --db postgresql://h/b --state",
        "--state * check --db postgresql://h/b",
        "copy s.db postgresql://h/b --with-keys --state",
    ],
)
def test_an_empty_state_folder_is_not_the_working_directory(run: Run, command: str) -> None:
    words = ["" if word == "*" else word for word in command.split()]
    ended = run(*words, *([] if "*" in command else [""]))
    assert ended.code == 2
    assert "the path is empty" in ended.err


def test_a_state_folder_is_no_standard_stream(run: Run) -> None:
    ended = run("check", "--db", "postgresql://h/b", "--state", "-")
    assert ended.code == 2
    assert _NO_STREAM in ended.err


@pytest.mark.parametrize("command", ["sample claims", "query 'SELECT 1'", "journal checkpoint"])
def test_an_empty_path_is_not_standard_output(run: Run, store: str, command: str) -> None:
    words = [each.strip("'") for each in re.findall(r"'[^']+'|\S+", command)]
    ended = run(*words, "--out", "", *([] if words[0] == "sample" else ["--db", store]))
    assert ended.code == 2
    assert "the path is empty" in ended.err


def test_a_checkpoint_may_go_to_standard_output(run: Run, store: str, tmp_path: Path) -> None:
    ended = run("journal", "checkpoint", "--out", "-", "--db", store)
    assert ended.code == 0
    assert ended.out == run("journal", "checkpoint", "--db", store).out
    assert not (tmp_path / "-").exists()


@pytest.mark.parametrize("path", ["-", "", ":memory:"])
def test_a_service_copies_only_to_a_file(
    operator: comptroller.Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.iterdir())
    for copy in (operator.backup, operator.copy_to):
        with pytest.raises(comptroller.InvalidRequest, match=r"^invalid-request: destination: "):
            copy(path)
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize("command", ["check", "migrate", "backup copy.db", "copy * copy.db"])
def test_a_store_in_memory_is_no_file_of_this_name(
    run: Run, store: str, tmp_path: Path, command: str
) -> None:
    (tmp_path / ":memory:").write_bytes((tmp_path / store).read_bytes())
    words = [":memory:" if word == "*" else word for word in command.split()]
    ended = run(*words, *([] if "*" in command else ["--db", ":memory:"]))
    assert ended.code == 1
    assert "a store in memory is empty when a command begins; name a file" in ended.err


def test_a_folder_is_not_migrated(run: Run, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    ended = run("migrate", "--db", "folder")
    assert ended.code == 1
    assert ended.err == "comptroller: unusable: folder cannot be read: Is a directory\n"


@pytest.mark.parametrize(
    "words", [["load", "claims", ""], ["load", ""], ["reconcile", "claims", "", "--on", "id"]]
)
def test_an_empty_name_of_a_file_to_read_is_refused(run: Run, store: str, words: list[str]) -> None:
    ended = run(*words, "--db", store)
    assert ended.code != 0
    assert "the path is empty" in ended.err
