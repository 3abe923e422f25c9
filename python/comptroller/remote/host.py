"""A service elsewhere behind the nouns' methods: paths and pages, loads and exports."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlencode
from weakref import WeakSet

import httpx2
import msgspec

from comptroller.bulk.files import refuse_store, whole_file
from comptroller.bulk.loading import LoadOptions, LoadResult, Opened, RowReader
from comptroller.bulk.streams import Stream
from comptroller.errors import Forbidden, NotFound, of_system, unsupported, unusable
from comptroller.remote.calls import JSON, Calls, Parameters
from comptroller.remote.channel import Channel, run
from comptroller.remote.copies import Copy
from comptroller.remote.sending import Asked, read, refusal, unanswered
from comptroller.remote.session import Session

if TYPE_CHECKING:
    from comptroller._core import Readable

_PAGE = [("limit", "1000"), ("order", "ASC")]
_PIECE = 1 << 18  # bytes
_REPORT_EVERY_S = 0.1


class RemoteHost:
    """A service elsewhere, for one caller. Made by :func:`comptroller.connect`."""

    path: str | None = None

    def __init__(self, session: Session) -> None:
        self._session = session
        self._calls = Calls(session)
        self._copies: WeakSet[Copy] = WeakSet()
        self._is_operator: bool | None = None

    def call(
        self,
        operation: str,
        parameters: Parameters,
        body: bytes | None,
        idempotency_key: str | None,
    ) -> bytes:
        """The JSON answer of an operation, a first or a replayed one."""
        return run(self._calls.call(operation, parameters, body, idempotency_key))

    def stream(self, kind: str, columns: list[str] | None, parameters: Parameters) -> Stream:
        """A copy of all records of a kind that pass the filters, as columns."""
        copy = Copy(self, kind, parameters, columns)
        self._copies.add(copy)
        return Stream(kind, copy, copy.close)

    def load(self, kind: str, given: Opened, options: LoadOptions, accounts: list[bytes]) -> None:
        """Sends what is to be loaded; progress is told of what was sent.

        It is not tried again. If the connection breaks it is not known what was kept. The server
        sends white space while it is at work, so that the timeout is one without progress.
        """
        named = {
            "customer_id": options.customer_id,
            "keep_going": "true" if options.keep_going else None,
            "dry_run": "true" if options.dry_run else None,
        }
        query = urlencode({name: value for name, value in named.items() if value is not None})
        asked = Asked(
            "POST",
            f"/operator/load/{kind}?{query}",
            {**JSON, "content-type": "application/x-ndjson", "prefer": "progress"},
            partial(_sent, given, self._session.channel),
            is_once=not isinstance(given.source, str),
        )
        account = run(self._session.ask(asked, _never))
        try:
            members = msgspec.json.decode(account, type=dict[str, Any])
            if isinstance(members.get("status"), int):  # a problem that came after the head
                raise refusal(members["status"], members, f"POST /operator/load/{kind}")
            msgspec.convert(members, LoadResult)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise unusable(f"the load was answered with no account of it: {error}") from error
        accounts.append(account)

    def export(self, kind: str, path: str, format: str, parameters: Parameters) -> int:
        """Writes an NDJSON or CSV file, or standard output for ``-``; gives the rows."""
        if not self.is_operator():
            copy = Copy(self, kind, parameters)
            try:
                return copy.export(path, format)
            finally:
                copy.close()
        lines = 0
        with _written(path) as file:
            for piece in self.exported(kind, parameters, format):
                lines += piece.count(b"\n")  # which no value holds
                file.write(piece)
        return lines - (format == "csv")

    def require_writable(self, path: str) -> None:
        """Refuses the files of a store that is here."""
        refuse_store("path", path)

    def backup(self, destination: str) -> None:
        """Refuses."""
        raise unsupported("a backup is made where the store is, by `comptroller backup` there")

    def check(self) -> bytes:
        """Refuses."""
        raise unsupported("a check is made where the store is, by `comptroller check` there")

    def version(self) -> int | None:
        """None: a server does not say when its store changes."""
        return None

    def close(self) -> None:
        """Ends the connections, and the copies that streams read."""
        for copy in list(self._copies):
            copy.close()
        run(self._session.close())

    def is_operator(self) -> bool:
        """Whether the service takes the caller for its operator; it is asked once."""
        if self._is_operator is None:
            try:
                self.call("balances.list", [("limit", "1")], None, None)
                self._is_operator = True
            except (Forbidden, NotFound):
                self._is_operator = False
        return self._is_operator

    def customer(self) -> str | None:
        """Whose client the caller is, where its access token tells."""
        return run(self._session.customer())

    def pages(self, kind: str, parameters: Parameters) -> Iterator[list[dict[str, Any]]]:
        """All records of a kind that pass the filters of its list."""
        operation = kind.replace("-", "_") + ".list"
        here = [*parameters, *_PAGE]
        while True:
            page = msgspec.json.decode(self.call(operation, here, None, None))
            yield page["items"]
            if not page["next_page_cursor"]:
                return
            here = [*parameters, *_PAGE, ("page_cursor", page["next_page_cursor"])]

    def exported(
        self, kind: str, parameters: Parameters, format: str = "ndjson"
    ) -> Iterator[bytes]:
        """The operator's export of a kind, in pieces of any size."""
        given = [*parameters, ("format", format)]
        if kind == "controls" and "include_deleted" not in dict(parameters):
            given.append(("include_deleted", "false"))  # as in lists, but not in exports
        query = urlencode(given)
        url = f"/operator/export/{kind}?{query}"
        response = run(self._session.open(read(url, {})))
        try:
            yield from response.iter_bytes()
        except httpx2.RequestError as error:
            raise unanswered(f"GET /operator/export/{kind}", error) from error
        finally:
            response.close()


async def _never() -> bool:
    return False


def _sent(given: Opened, channel: Channel) -> Iterator[bytes]:
    """The bytes to load, as they are read; progress is told also while none come."""
    done = rows = 0
    reported_at = channel.now()
    source = given.source
    # Rows are walked on the thread of who gave them.
    for piece in _read(source) if isinstance(source, RowReader) else _read_ahead(source):
        if piece:
            yield piece
        done += len(piece)
        rows += piece.count(b"\n")
        if given.progress and channel.now() - reported_at >= _REPORT_EVERY_S:
            reported_at = channel.now()
            given.progress(done, given.total_bytes, rows)


def _read(source: Readable) -> Iterator[bytes]:
    buffer = bytearray(_PIECE)
    while size := source.readinto(memoryview(buffer)):
        yield bytes(memoryview(buffer)[:size])


def _read_ahead(source: str | Readable) -> Iterator[bytes]:
    """Pieces that another thread reads; empty ones as often as progress is told while none come."""
    with ExitStack() as closing:
        if isinstance(source, str):
            file = closing.enter_context(Path(source).open("rb"))
            pieces = iter(lambda: file.read(_PIECE), b"")
        else:
            pieces = _read(source)
        reading = closing.enter_context(ThreadPoolExecutor(1))
        if not isinstance(source, str):
            closing.callback(source.abandon)
        coming = reading.submit(next, pieces, None)
        while True:
            if not wait((coming,), _REPORT_EVERY_S).done:
                yield b""
                continue
            piece = coming.result()
            if piece is None:
                return
            coming = reading.submit(next, pieces, None)
            yield piece


@contextmanager
def _written(path: str) -> Iterator[IO[bytes]]:
    """A file that takes the name when it is whole; or a pipe, or standard output for ``-``."""
    try:
        if path == "-":
            with os.fdopen(os.dup(1), "wb") as file:
                yield file
        elif Path(path).exists() and not Path(path).is_file():
            with Path(path).open("wb") as file:
                yield file
        else:
            with whole_file(path) as part, part.open("wb") as file:
                yield file
    except OSError as error:
        name = "the standard output" if path == "-" else path
        raise of_system(error, f"{name} cannot be written: {error.strerror or error}") from error
