"""PostgreSQL: addresses of databases, their state folders, and the library libpq of the extra."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from comptroller.errors import InvalidRequest, from_os_error, invalid

_SCHEMES = ("postgresql://", "postgres://")
# An address of any scheme, one without its slashes, and the parameters of a connection: what
# SQLAlchemy, a Path, libpq or a slip makes of them. Each may have a password.
_SIMILAR = re.compile(
    r"\s*([a-z][a-z0-9+.:-]*://|postgres[a-z0-9+._-]*:)|(.*\s)?password\s*=",
    re.IGNORECASE | re.DOTALL,
)
_SECRETS = (
    "password",
    "sslpassword",
    "oauth_client_secret",
    "scram_client_key",
    "scram_server_key",
)
_HOST = re.compile(r"([^\[\]:]*|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")
_PARAMETER = re.compile(r"([a-z_]+)=([^=]*)")
_NOT_A_CODE = re.compile(r"%(?![0-9A-Fa-f]{2})|%00")
# The files of a state folder have this name and the suffixes of those beside a store file.
_STATE_NAME = "store"


class Address(NamedTuple):
    """The address of a database.

    Attributes:
        full: the address as given; it may have a password.
        shown: the address without passwords, for people, logs and other processes.
        password: the password, if the address has one.
        has_other_secrets: whether the address also has another secret, such as that of a TLS key.
    """

    full: str
    shown: str
    password: str | None
    has_other_secrets: bool

    def __repr__(self) -> str:
        return f"<Address {self.shown!r}>"


class Database(NamedTuple):
    """A database that a service has open.

    Attributes:
        address: its address.
        is_read_only: whether the service was opened read-only, so that a standby serves it.
    """

    address: Address
    is_read_only: bool


def is_address(place: str) -> bool:
    """Whether the place of a store is a database of PostgreSQL, not a file."""
    return place.startswith(_SCHEMES)


def parse(name: str, given: str) -> Address:
    """Returns the parts of an address; argument `name` has it.

    libpq quotes the part of an address that it does not understand, which can be a part of a
    password. So this function refuses such an address, and never quotes one.

    Raises InvalidRequest.
    """
    scheme, _, rest = given.partition("//")
    before, _, query = rest.partition("?")
    authority, slash, database = before.partition("/")
    credentials, at, hosts = authority.rpartition("@")
    user, _, password = credentials.partition(":")
    parameters = [_PARAMETER.fullmatch(each) for each in query.split("&")] if query else []
    if "@" in credentials + database or ("@" in query and not at):
        problem = "a user or a password has an @, / or ?; write %40, %2F or %3F"
    elif not given.isprintable() or " " in given:
        problem = "it has a space or a control character; write a space as %20"
    elif _NOT_A_CODE.search(given):
        problem = "it has a % that begins no code; write it as %25"
    elif not all(_HOST.fullmatch(host) for host in hosts.split(",")):
        problem = "a host is not HOST, HOST:PORT or [IPV6]:PORT"
    elif not all(parameters):
        problem = "a parameter is not NAME=VALUE"
    else:
        found = [each for each in parameters if each is not None]
        secrets = {each[1]: each[2] for each in found if each[1] in _SECRETS}
        others = "&".join(each[0] for each in found if each[1] not in secrets)
        shown = f"{scheme}//{user}{at}{hosts}{slash}{database}" + (f"?{others}" if others else "")
        coded = secrets.pop("password", password)
        return Address(given, shown, _decode(coded) if coded else None, bool(secrets))
    raise _invalid(name, problem)


def refuse_similar(name: str, place: str) -> None:
    """Raises InvalidRequest if a place is neither an address nor meant as a file.

    The message does not quote it, because it may have a password. Argument `name` has it.
    """
    if not is_address(place) and _SIMILAR.match(place):
        raise invalid(
            name,
            "the address of the database does not begin with postgresql:// or postgres://; give "
            "one of these in lower case, without +DRIVER and without a space before it, or a file",
        )


def state_base(folder: str) -> str:
    """Returns the path with which the names of the files in a state folder begin.

    Creates a missing folder. Raises Unusable if that fails.
    """
    path = Path(folder).absolute()
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise from_os_error(
            error, f"state: {folder} cannot be created: {error.strerror}"
        ) from error
    return str(path / _STATE_NAME)


def carried_libpq() -> str | None:
    """Returns the path of the libpq that the package psycopg-binary carries, if it is installed."""
    from importlib.util import find_spec

    package = find_spec("psycopg_binary")
    if package is None or package.origin is None:
        return None
    folder = Path(package.origin).parent
    carried = [
        *folder.with_name("psycopg_binary.libs").glob("libpq-*.so*"),  # Linux
        *folder.joinpath(".dylibs").glob("libpq.*dylib"),  # macOS
    ]
    return str(carried[0]) if carried else None


def _decode(text: str) -> str:
    from urllib.parse import unquote

    return unquote(text)


def _invalid(name: str, problem: str) -> InvalidRequest:
    return invalid(
        name,
        f"the address of the database is not valid: {problem}; give postgresql://"
        "[USER[:PASSWORD]@][HOST[:PORT]][/DATABASE][?PARAMETER=VALUE&...]",
    )
