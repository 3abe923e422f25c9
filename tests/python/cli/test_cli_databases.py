"""Options of commands that name a database: where a password may stand, and the state folder."""

from __future__ import annotations

import os
from pathlib import Path

import click
import comptroller
import pytest
from command_line import Run
from comptroller.cli.options import db_option, state_of

ADDRESS = "postgresql://ann:s3cret@nowhere.invalid/books"
SHOWN = "postgresql://ann@nowhere.invalid/books"

# Commands with an address in each of the places that accept one.
COMMANDS = [
    ["--db", ADDRESS, "check"],
    ["check", "--db", ADDRESS],
    ["--db", ADDRESS, "check", "--db", "other.db"],
    ["load", "claims", "-", "--db", ADDRESS],
    ["clients", "list", "--db", ADDRESS],
    ["--db", ADDRESS, "clients", "list"],
    ["serve", "--db", ADDRESS],
    ["demo", "--db", ADDRESS],
    ["journal", "key", "--db", "postgresql://h/b?password=s3cret"],
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_password_on_the_command_line_is_refused(run: Run, words: list[str]) -> None:
    ended = run(*words)
    assert ended.code == 2
    assert "other users can see a password on the command line" in ended.err
    assert "s3cret" not in ended.out + ended.err


def test_the_password_of_an_address_in_the_environment_is_given_to_libpq(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @click.command()
    @db_option
    def shown(db: str) -> None:
        click.echo(f"{db} {os.environ['PGPASSWORD']} {state_of(db)}")

    monkeypatch.setenv("PGPASSWORD", "another")  # restored after the test
    monkeypatch.setenv("COMPTROLLER_DB", ADDRESS)
    shown.main([], standalone_mode=False)
    assert capsys.readouterr().out == f"{SHOWN} s3cret None\n"


@pytest.mark.parametrize(
    "address", ["postgresql://ann:s3/cret@h/books", "postgresql://h/b?sslpassword=s3cret"]
)
def test_an_address_in_the_environment_is_not_quoted(
    run: Run, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("COMPTROLLER_DB", address)
    ended = run("check")
    assert ended.code != 0
    assert ended.err
    assert "s3" not in ended.err


# What is meant as an address, and begins with none of the accepted schemes.
MISSPELLED = [
    "postgresql+psycopg://ann:s3cret@h/books",
    "PostgreSQL://ann:s3cret@h/books",
    "POSTGRES://ann:s3cret@h/books",
    " postgresql://ann:s3cret@h/books",
    "\tpostgresql://ann:s3cret@h/books",
    "postgres:ann:s3cret@h/books",
    "postgresql:/ann:s3cret@h/books",
    "postgressql://ann:s3cret@h/books",
    "pgsql://ann:s3cret@h/books",
    "mysql://ann:s3cret@h/books",
    "jdbc:postgresql://h/books?user=ann&password=s3cret",
    "host=h dbname=books user=ann password=s3cret",
]
# Commands with a place, for which * stands.
PLACED = ["check --db *", "--db * check", "clients list --db *", "copy * b.db", "copy a.db *"]
PLACED += ["load claims - --db *", "serve --db *", "migrate --db *", "keys rotate --db *"]
PLACED += ["backup *", "demo --db *", "pull http://127.0.0.1:1 --db *"]


@pytest.mark.parametrize("command", PLACED)
@pytest.mark.parametrize("address", MISSPELLED)
def test_a_misspelled_address_is_refused_and_not_quoted(
    run: Run, tmp_path: Path, address: str, command: str
) -> None:
    ended = run(*(address if word == "*" else word for word in command.split()))
    assert ended.code != 0
    assert "does not begin with postgresql:// or postgres://" in ended.err
    assert not any(part in ended.out + ended.err for part in ("s3cret", "ann"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("address", MISSPELLED)
def test_a_misspelled_address_of_the_environment_or_of_python_is_not_quoted(
    run: Run, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("COMPTROLLER_DB", address)
    ended = run("check")
    assert ended.code != 0
    with pytest.raises(comptroller.InvalidRequest) as refused:
        comptroller.open(address)
    for message in (ended.err, str(refused.value)):
        assert "does not begin with postgresql:// or postgres://" in message
        assert not any(part in message for part in ("s3cret", "ann"))


def test_a_backup_is_not_written_to_a_database(run: Run) -> None:
    ended = run("backup", ADDRESS)
    assert ended.code == 2
    assert "comptroller copy" in ended.err
    assert "s3cret" not in ended.err


# The arguments, COMPTROLLER_STATE, and the state folder.
PLACES = [
    (["--db", SHOWN, "--state", "kept"], None, "kept"),
    (["--db", SHOWN], "kept", "kept"),
    (["--db", SHOWN, "--state", "kept"], "other", "kept"),
    (["--db", SHOWN], None, "None"),
    (["--db", "books.db"], "kept", "None"),
]


@pytest.mark.parametrize(("words", "variable", "folder"), PLACES)
def test_only_a_database_has_a_state_folder(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    variable: str | None,
    folder: str,
) -> None:
    @click.command()
    @db_option
    def shown(db: str) -> None:
        click.echo(str(state_of(db)))

    monkeypatch.delenv("COMPTROLLER_STATE", raising=False)
    if variable is not None:
        monkeypatch.setenv("COMPTROLLER_STATE", variable)
    shown.main(words, standalone_mode=False)
    assert capsys.readouterr().out == f"{folder}\n"


# Commands that need a state folder, or accept none; and their message.
REFUSED = {
    "webhooks list --db store.db --state kept": "--state is the folder of a database",
    "--state kept check --db store.db": "--state is the folder of a database",
    "serve --db postgresql://nowhere.invalid/b": "--auth local needs --state FOLDER",
    "sample claims --rows 1 --state kept": "No such option",
    "--state kept sample claims --rows 1": "sample has no option --state",
    "--state kept check --state other": "--state kept and --state other differ",
    "demo --db postgresql://nowhere.invalid/b": "the tour saves a file, not a database",
}


@pytest.mark.parametrize("words", REFUSED)
def test_a_state_folder_is_given_for_a_database_alone(
    run: Run, store_path: Path, words: str
) -> None:
    ended = run(*words.split())
    assert ended.code == 2
    assert REFUSED[words] in ended.err


# Commands that use files of a state folder, and some that use none.
WITH_STATE = ["serve", "deliver", "pull", "keys rotate", "webhooks create", "webhooks secret"]
WITH_STATE += ["journal checkpoint", "journal key", "journal verify", "evidence", "copy"]
WITHOUT_STATE = ["check", "load", "clients add", "export", "webhooks list"]


@pytest.mark.parametrize("command", [*WITH_STATE, *WITHOUT_STATE])
def test_the_help_of_a_command_names_databases_and_their_state_folder(
    run: Run, command: str
) -> None:
    shown = " ".join(run(*command.split(), "--help").out.split())
    if command != "copy":
        assert "The store: a file, or the address of a database (postgresql://...)." in shown
    assert ("--state" in shown) == (command in WITH_STATE)


def test_check_says_what_it_does_with_a_database(run: Run) -> None:
    assert "the files of a database are not checked" in " ".join(run("check", "--help").out.split())
