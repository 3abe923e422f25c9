"""Addresses of databases: which are accepted, and that no message quotes a password."""

from __future__ import annotations

from pathlib import Path

import comptroller
import pytest
from comptroller import postgresql

# An address, what is shown of it, and its password.
ACCEPTED = {
    "postgresql://": ("postgresql://", None),
    "postgresql:///books": ("postgresql:///books", None),
    "postgres://ann@db.example/books": ("postgres://ann@db.example/books", None),
    "postgresql://ann:s3cret@db.example:5433/books": (
        "postgresql://ann@db.example:5433/books",
        "s3cret",
    ),
    "postgresql://ann:a%40b:c%2F@h/books": ("postgresql://ann@h/books", "a@b:c/"),
    "postgresql://ann:@h/books": ("postgresql://ann@h/books", None),
    "postgresql://h?password=s3cret": ("postgresql://h", "s3cret"),
    "postgresql://ann@h/books?sslmode=require&password=s3cret&application_name=x": (
        "postgresql://ann@h/books?sslmode=require&application_name=x",
        "s3cret",
    ),
    "postgresql://h/b?sslpassword=s3cret": ("postgresql://h/b", None),
    "postgresql://h/b?oauth_client_secret=s3cret": ("postgresql://h/b", None),
    "postgresql://h/b?scram_client_key=s3cret": ("postgresql://h/b", None),
    "postgresql://h/b?scram_server_key=s3cret": ("postgresql://h/b", None),
    "postgresql:///books?host=/run/postgresql": ("postgresql:///books?host=/run/postgresql", None),
    "postgresql://ann@%2Frun%2Fpg/books": ("postgresql://ann@%2Frun%2Fpg/books", None),
    "postgresql://?service=books": ("postgresql://?service=books", None),
    "postgresql://[::1]:5432/books": ("postgresql://[::1]:5432/books", None),
    "postgresql://a:1,b:2/books?target_session_attrs=read-write": (
        "postgresql://a:1,b:2/books?target_session_attrs=read-write",
        None,
    ),
}

# Addresses with the password s3cret (or parts of it), and a word of the message.
REFUSED = {
    "postgresql://ann:s3@cret@h/books": "%40",
    "postgresql://ann:s3/cret@h/books": "%40",
    "postgresql://ann:s3?cret@h/books": "%40",
    "postgresql://ann:s3/cret": "HOST:PORT",
    "postgresql://ann:s3cret": "HOST:PORT",
    "postgresql://ann:s3cret@h:port/books": "HOST:PORT",
    "postgresql://ann:s3cret@[::1/books": "HOST:PORT",
    "postgresql://ann:s3cret@h:123456/books": "HOST:PORT",
    "postgresql://ann:s3 cret@h/books": "%20",
    "postgresql://ann:s3\ncret@h/books": "%20",
    "postgresql://ann:s3%cret@h/books": "%25",
    "postgresql://ann:s3%00cret@h/books": "%25",
    "postgresql://ann@h/books?s3cret": "NAME=VALUE",
    "postgresql://ann@h/books?password=s3=cret": "NAME=VALUE",
    "postgresql://ann@h/books?p%61ssword=s3cret": "NAME=VALUE",
    "postgresql+psycopg://ann:s3cret@h/books": "begin with postgresql://",
    "PostgreSQL://ann:s3cret@h/books": "begin with postgresql://",
    "postgresql:/ann:s3cret@h/books": "begin with postgresql://",
}


@pytest.mark.parametrize("address", ACCEPTED)
def test_an_address_is_shown_without_its_password(address: str) -> None:
    parsed = postgresql.parse("path", address)
    assert parsed.full == address
    assert (parsed.shown, parsed.password) == ACCEPTED[address]
    assert "s3cret" not in repr(parsed)


@pytest.mark.parametrize("address", REFUSED)
def test_an_address_that_libpq_would_misread_is_refused_and_not_quoted(address: str) -> None:
    with pytest.raises(comptroller.InvalidRequest) as refused:
        comptroller.open(address)
    assert [error.field for error in refused.value.errors] == ["path"]
    message = str(refused.value)
    assert REFUSED[address] in message
    assert not any(part in message for part in ("ann", "s3", "cret"))


def test_a_file_may_have_a_name_like_that_of_a_database(tmp_path: Path) -> None:
    with comptroller.open(tmp_path / "postgresql.db") as svc:
        assert svc.host.path == str(tmp_path / "postgresql.db")


@pytest.mark.parametrize("place", ["store.db", ":memory:"])
def test_only_a_database_has_a_state_folder(tmp_path: Path, place: str) -> None:
    with pytest.raises(comptroller.InvalidRequest) as refused:
        comptroller.open(tmp_path / place if place != ":memory:" else place, state=tmp_path / "s")
    assert "state: only a database has a state folder" in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_a_state_folder_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    with pytest.raises(comptroller.Unusable, match=r"state: .*/missing/state cannot be created"):
        comptroller.open("postgresql://h/b", state=tmp_path / "missing" / "state")


def test_a_libpq_that_a_package_carries_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "psycopg_binary"
    package.mkdir()
    (package / "__init__.py").touch()
    library = tmp_path / "psycopg_binary.libs" / "libpq-e9b5c9ac.so.5.18"
    monkeypatch.syspath_prepend(str(tmp_path))
    assert postgresql.carried_libpq() is None
    library.parent.mkdir()
    library.touch()
    assert postgresql.carried_libpq() == str(library)
