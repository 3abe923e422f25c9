"""The host of a remote service: operations, loads, exports and streams over HTTP."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, closing, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote_plus, urlencode
from weakref import WeakSet

import msgspec

from comptroller.bulk.exported import Exported
from comptroller.bulk.files import refuse_store, whole_file
from comptroller.bulk.loading import LoadOptions, LoadResult, Opened
from comptroller.bulk.streams import Stream
from comptroller.decoding import NOT_JSON
from comptroller.errors import (
    Forbidden,
    NotFound,
    from_os_error,
    unavailable,
    unsupported,
    unusable,
)
from comptroller.journal import Checkpoint
from comptroller.remote.calls import JSON, Calls, Parameters
from comptroller.remote.channel import Channel, Content
from comptroller.remote.copies import Copy
from comptroller.remote.sending import Request, Upload, incomplete, late_refusal, read
from comptroller.remote.session import Session

if TYPE_CHECKING:
    from comptroller._core import Readable

_PAGE = [("limit", "1000"), ("order", "ASC")]
_PIECE = 1 << 18  # bytes
_REPORT_EVERY_S = 0.1
_MAX_MAPPING = 8 << 10  # bytes in the query of a load; the head of a request may have 16 KiB


class RemoteHost:
    """A remote service, for one caller. Made by :func:`comptroller.connect`."""

    is_remote = True
    path: str | None = None
    secrets_base: str | None = None
    database: None = None

    def __init__(self, session: Session) -> None:
        self._session = session
        self._run = session.channel.run
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
        """Executes an operation; returns its JSON result, which may be a replay."""
        return self._run(self._calls.call(operation, parameters, body, idempotency_key))

    def stream(self, kind: str, columns: list[str] | None, parameters: Parameters) -> Stream:
        """Returns a copy of all records of a kind that match the filters, as columns."""
        copy = Copy(self, kind, parameters, columns)
        self._copies.add(copy)
        return Stream(kind, copy, copy.close)

    def load(
        self, kind: str, given: Opened, options: LoadOptions, account: Callable[[bytes], None]
    ) -> None:
        """Sends a source to load; reports progress by the bytes sent.

        A load is sent again only if the server refused its token and the source is a file. If the
        connection breaks before all bytes were sent, nothing was stored; if later, it is unknown
        which lines were stored. The server sends white space while it works, so the timeout expires
        only without progress.
        """
        named = {
            "customer_id": options.customer_id,
            "keep_going": "true" if options.keep_going else None,
            "dry_run": "true" if options.dry_run else None,
            "format": "ndjson" if given.has_only_lines else None,
            "input": options.input_name,
            "mapping": _short_mapping(options.mapping),
        }
        with ExitStack() as closings:
            body = _Body(given, self._session.channel)
            request = Request(
                "POST",
                _load_url(kind, named),
                {**JSON, "content-type": "application/x-ndjson", "prefer": "progress"},
                body.content(closings),
                is_single_use=not isinstance(given.source, str),
                upload=Upload(lambda: body.is_sent, _load_url(kind, {**named, "dry_run": "true"})),
            )
            answer = self._run(self._session.ask(request, _never))
            may_be_stored = body.is_sent and not options.dry_run
        place = f"POST /operator/load/{kind}"
        if not answer.strip():  # cut, which HTTP/1.0 does not report; see export_pieces
            raise incomplete(place, may_be_stored=may_be_stored)
        try:
            members = msgspec.json.decode(answer, type=dict[str, Any])
            if isinstance(members.get("status"), int):  # a problem document after a status of 200
                raise late_refusal(members, place, may_be_stored=may_be_stored)
            msgspec.convert(members, LoadResult)
        except NOT_JSON as error:
            raise unusable(f"the response to the load is not its result: {error}") from error
        account(answer)

    def export(self, kind: str, path: str, format: str, parameters: Parameters) -> Exported:
        """Writes an NDJSON or CSV file, or standard output for ``-``; returns the row count."""
        if not self.is_operator():
            copy = Copy(self, kind, parameters, for_export=True)
            try:
                return Exported(copy.export(path, format))
            finally:
                copy.close()
        lines = 0
        with _written(path) as file:
            for piece in self.export_pieces(kind, parameters, format):
                lines += piece.count(b"\n")  # values never contain a line feed
                file.write(piece)
        return Exported(lines - (format == "csv"))

    def stream_with_head(
        self, kind: str, columns: list[str] | None, parameters: Parameters
    ) -> tuple[Stream, Callable[[], None]]:
        """Returns records, and a function that returns None, because a server has the journal."""
        return self.stream(kind, columns, parameters), lambda: None

    def require_writable(self, path: str) -> None:
        """Raises InvalidRequest for a file of a local store."""
        refuse_store("path", path)

    def backup(self, destination: str) -> NoReturn:
        """Raises Unsupported."""
        raise unsupported(
            "a remote store cannot be backed up; run `comptroller backup` on its machine"
        )

    def copy_to(self, destination: str, progress: object) -> NoReturn:
        """Raises Unsupported."""
        raise unsupported("a remote store cannot be copied; run `comptroller copy` on its machine")

    def store_with_principal(self) -> NoReturn:
        """Raises Unsupported."""
        raise unsupported(
            "the journal of a remote store cannot be verified; run `comptroller journal verify` on "
            "its machine"
        )

    def checkpoint(self) -> Checkpoint:
        """Returns a checkpoint of the journal, signed, and the key that verifies it."""
        return self._run(self._calls.checkpoint())

    def check(self) -> bytes:
        """Raises Unsupported."""
        raise unsupported(
            "a remote store cannot be checked; run `comptroller check` on its machine"
        )

    def version(self) -> int | None:
        """Returns None, because a server does not report changes of its store."""
        return None

    def close(self) -> None:
        """Closes the connections, and removes the copies of its streams."""
        for copy in list(self._copies):
            copy.close()
        self._run(self._session.close())

    def is_operator(self) -> bool:
        """Whether the caller is the operator; sends a request at the first call."""
        if self._is_operator is None:
            try:
                self.call("balances.list", [("limit", "1")], None, None)
                self._is_operator = True
            except (Forbidden, NotFound):
                self._is_operator = False
        return self._is_operator

    def customer(self) -> str | None:
        """Returns the caller's customer, if its access token names it."""
        return self._run(self._session.customer())

    def origin(self) -> str:
        """Returns the URL and the client."""
        return f"<Service {self._session.base_url}, {self._session.client()}>"

    def pages(self, kind: str, parameters: Parameters) -> Iterator[list[dict[str, Any]]]:
        """Yields all records of a kind that match the filters, page by page."""
        operation = kind.replace("-", "_") + ".list"
        query = [*parameters, *_PAGE]
        while True:
            page = msgspec.json.decode(self.call(operation, query, None, None))
            yield page["items"]
            if not page["next_page_cursor"]:
                return
            query = [*parameters, *_PAGE, ("page_cursor", page["next_page_cursor"])]

    def changes(self, resource: str) -> Iterator[dict[str, Any]]:
        """Yields all changes of a resource from the beginning of the feed."""
        given = [("resources", resource), ("limit", "1000")]
        after: Parameters = []
        while True:
            page = msgspec.json.decode(self.call("changes.list", [*given, *after], None, None))
            yield from page["items"]
            if not page["has_more"]:
                return
            after = [("after", page["next_cursor"])]

    def export_pieces(
        self, kind: str, parameters: Parameters, format: str = "ndjson"
    ) -> Iterator[bytes]:
        """Yields the operator's export of a kind, in pieces of any size.

        Raises Unavailable if the response ends within a line. HTTP itself reports a cut response
        only if it has a Content-Length or chunks, which a proxy of HTTP/1.0 removes.
        """
        given = [*parameters, ("format", format)]
        if kind == "controls" and "include_deleted" not in dict(parameters):
            # The default of lists; the export endpoint includes deleted controls by default.
            given.append(("include_deleted", "false"))
        query = urlencode(given)
        path = f"/operator/export/{kind}"
        pieces = self._session.pieces(read(f"{path}?{query}", {}))
        is_complete = format == "ndjson"  # without records it is empty; CSV has a header
        try:
            while piece := self._run(_next(pieces)):
                is_complete = piece.endswith(b"\n")
                yield piece
        finally:
            self._run(_close(pieces))
        if not is_complete:
            raise unavailable(f"GET {path} got an incomplete response: it ends within a line")


def _load_url(kind: str, named: dict[str, str | None]) -> str:
    query = urlencode({name: value for name, value in named.items() if value is not None})
    return f"/operator/load/{kind}?{query}"


async def _never() -> bool:
    return False


def _short_mapping(text: str | None) -> str | None:
    """Returns what the journal says of a mapping; the SHA-256 of a text too long for a request."""
    if text is None or len(quote_plus(text)) <= _MAX_MAPPING:
        return text
    return f'{{"sha256":"{sha256(text.encode()).hexdigest()}"}}'


async def _next(pieces: AsyncGenerator[bytes, None]) -> bytes:
    """Returns the next pieces, several because each pass to a thread takes time; b"" at the end."""
    gathered = bytearray()
    async for piece in pieces:
        gathered += piece
        if len(gathered) >= _PIECE:
            break
    return bytes(gathered)


async def _close(pieces: AsyncGenerator[bytes, None]) -> None:
    await pieces.aclose()


class _Body:
    """The body of a load.

    Attributes:
        is_sent: whether the connection took all bytes of the last attempt.
    """

    def __init__(self, given: Opened, channel: Channel) -> None:
        self._given = given
        self._channel = channel
        self.is_sent = False

    def content(self, closings: ExitStack) -> Content:
        """Returns the content of a request; `closings` ends the iteration of its pieces."""
        pieces = self._channel.content(lambda: closings.enter_context(closing(self._pieces())))

        def begin() -> bytes | Iterable[bytes] | AsyncIterable[bytes]:
            self.is_sent = False
            return pieces()

        return begin

    def _pieces(self) -> Generator[bytes, None, None]:
        """Yields the bytes to load, and nothing while the source blocks; reports progress."""
        given, now = self._given, self._channel.now
        done = rows = 0
        reported_at = now()
        source = given.source
        # An iterable of the caller is iterated on the caller's thread.
        if given.is_of_caller and not isinstance(source, str):
            pieces = _read(source)
        else:
            pieces = _read_ahead(source)
        for piece in pieces:
            yield piece
            done += len(piece)
            rows += piece.count(b"\n")
            if given.progress and now() - reported_at >= _REPORT_EVERY_S:
                reported_at = now()
                given.progress(done, given.total_bytes, rows)
        self.is_sent = True


def _read(source: Readable) -> Iterator[bytes]:
    buffer = bytearray(_PIECE)
    while size := source.readinto(memoryview(buffer)):
        yield bytes(memoryview(buffer)[:size])


def _read_ahead(source: str | Readable) -> Iterator[bytes]:
    """Yields pieces that another thread reads, and empty ones at each interval without data."""
    with ExitStack() as closings:
        if isinstance(source, str):
            file = closings.enter_context(Path(source).open("rb"))
            pieces = iter(lambda: file.read(_PIECE), b"")
        else:
            pieces = _read(source)
        reading = closings.enter_context(ThreadPoolExecutor(1))
        if not isinstance(source, str):
            closings.callback(source.abandon)
        pending = reading.submit(next, pieces, None)
        while True:
            if not wait((pending,), _REPORT_EVERY_S).done:
                yield b""
                continue
            piece = pending.result()
            if piece is None:
                return
            pending = reading.submit(next, pieces, None)
            yield piece


@contextmanager
def _written(path: str) -> Iterator[IO[bytes]]:
    """Opens a file that appears when it is complete; or a pipe, or standard output for ``-``."""
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
        raise from_os_error(
            error, f"{name} cannot be written: {error.strerror or error}"
        ) from error
