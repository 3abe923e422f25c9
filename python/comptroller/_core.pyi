"""The C++ core. Every function raises what `comptroller.errors.make` returns."""

from collections.abc import Callable, Iterable
from typing import Protocol, final

from comptroller.errors import Error

class Readable(Protocol):
    def readinto(self, buffer: memoryview, /) -> int | None: ...
    # Called from another thread than the reading one: ends a waiting read soon.
    def abandon(self) -> None: ...

@final
class Principal:
    """The caller: the operator, or a client of one customer. Immutable."""

    def __init__(
        self,
        customer: str | None = None,
        client_id: str | None = None,
        scopes: list[str] | None = None,
    ) -> None: ...
    @property
    def customer(self) -> str | None: ...
    @property
    def client_id(self) -> str: ...
    @property
    def scopes(self) -> list[str]: ...

@final
class ArrowSource:
    """Rows as an Arrow C stream; each call of `__arrow_c_stream__` begins a new one."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def with_string_views(self) -> ArrowSource:
        """The same rows with texts as utf8_view."""

@final
class TextPiece:
    """Rows as text: a buffer of bytes, which may be read only."""

    @property
    def rows(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class TextRows:
    """The rows of an Arrow stream as CSV lines or JSON objects, formatted by threads of the core.

    `stream` is a capsule. Of each column: the name, whether its texts may be formulas, which are
    defused in CSV, and whether they are JSON, which is not escaped again. Columns are int64,
    decimal128, timestamp[us], large_utf8 or large_list of large_utf8.
    """

    def __init__(
        self, stream: object, columns: Iterable[tuple[str, bool, bool]], is_json: bool
    ) -> None: ...
    def next(self) -> TextPiece | None:
        """The next rows; None at the end. A line feed precedes a JSON object, a comma stands
        between two of a piece."""

@final
class ArrowLines:
    """The rows of an Arrow stream, as a capsule, as NDJSON of records of a kind.

    Columns that such a line does not know have 0 in place of each value. For one reader at a time.
    """

    def __init__(self, stream: object, kind: str) -> None: ...
    def readinto(self, buffer: memoryview, /) -> int: ...
    def abandon(self) -> None: ...

@final
class Sample:
    """Sample records as NDJSON bytes; `readinto` returns 0 at the end."""

    def readinto(self, buffer: memoryview, /) -> int: ...

@final
class Store:
    """One store file. May be used from many threads; releases the GIL inside."""

    def __init__(self, path: str, read_only: bool = False) -> None: ...
    def call(
        self,
        principal: Principal,
        operation: str,
        parameters: list[tuple[str, str]],
        body: bytes | None = None,
        idempotency_key: str | None = None,
    ) -> tuple[bytes, bool]: ...
    def load(
        self,
        principal: Principal,
        kind: str,
        source: str | Readable,
        *,
        are_rows: bool,  # `source` runs code of the caller, so it is read on the calling thread
        customer_id: str | None,
        keep_going: bool,
        dry_run: bool,
        total_bytes: int | None,
        progress: Callable[[int, int | None, int], None] | None,
        account: Callable[[bytes], None],
    ) -> None: ...
    def export(
        self,
        principal: Principal,
        kind: str,
        path: str,
        format: str,
        parameters: list[tuple[str, str]],
    ) -> int: ...
    def stream(
        self,
        principal: Principal,
        kind: str,
        columns: list[str] | None,
        parameters: list[tuple[str, str]],
    ) -> ArrowSource: ...
    def owns(self, path: str) -> bool: ...
    # Another number after each commit, by whichever process.
    def version(self) -> int: ...
    # How many commits had 1 write, 2, up to 4, and so on; and the number of writes.
    def commits(self) -> tuple[list[int], int]: ...
    def backup(self, principal: Principal, destination: str) -> None: ...
    def check(self, principal: Principal) -> bytes: ...
    def close(self) -> None: ...

@final
class DeferredWrites:
    """Writes that no thread waits for. May be used from many threads."""

    def submit(
        self,
        store: Store,
        principal: Principal,
        operation: str,
        parameters: list[tuple[str, str]],
        body: bytes | None = None,
        idempotency_key: str | None = None,
    ) -> int:
        """Queues a write; its ticket. Raises what refuses the request before."""

    def fileno(self) -> int:
        """Readable when there is something to take."""

    def take(self) -> list[tuple[int, tuple[bytes, bool] | Error]]:
        """The tickets and outcomes of the writes that ended since the last call."""

class _Route(Protocol):
    @property
    def method(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def operation(self) -> str: ...
    @property
    def is_operators(self) -> bool: ...
    @property
    def envelope(self) -> str | None: ...
    @property
    def items_alias(self) -> str | None: ...
    @property
    def head(self) -> bytes: ...
    @property
    def log_line(self) -> bytes: ...

@final
class Lane:
    """Answers requests from their bytes, those that write through one DeferredWrites.

    An answer is what to send; or its body and whether it is replayed, where the application is to
    compress it for the client.
    """

    def __init__(
        self,
        routes: Iterable[_Route],
        *,
        bounds_s: list[float],
        large_bytes: int,
        large_body_header: bytes,
        replay_header: bytes,
    ) -> None: ...
    def read(self, store: Store, data: bytes) -> bytes | tuple[bytes, bool] | None: ...
    def submit(self, store: Store, writes: DeferredWrites, data: bytes) -> int | None: ...
    def finish(self, ticket: int, body: bytes, is_replay: bool) -> bytes | tuple[bytes, bool]: ...
    def discard(self, ticket: int) -> None: ...
    # `client` and `customer` are JSON; `until_s` is since 1970.
    def admit(
        self, token: bytes, principal: Principal, client: bytes, customer: bytes, until_s: float
    ) -> None: ...
    def forget(self) -> None: ...
    def set_default_headers(self, headers: bytes) -> None: ...
    def end_reads(self) -> None: ...
    def take_log(self) -> bytes: ...
    # Of each route: how many answers took how long, and their seconds in all.
    def counts(self) -> list[tuple[list[int], float]]: ...
    @staticmethod
    def parse(data: bytes) -> tuple[bytes, bytes, bytes, bytes, bytes, bytes | None, bool] | None:
        """What it reads of a request that it may answer.

        Method, path, query, token, body, Idempotency-Key, and whether there is Accept-Encoding.
        """

def is_short(principal: Principal, operation: str, parameters: list[tuple[str, str]]) -> bool:
    """Whether a read takes less than a millisecond in a store of any size."""

def dress(answer: bytes, envelope: str | None, items_alias: str | None) -> bytes:
    """The body of an answer: in its envelope, or with its items under a second name too."""

def describe() -> bytes: ...
def microseconds(text: str) -> int | None: ...
def sample(kind: str, rows: int, seed: int, customer: str | None) -> Sample: ...
def sample_rows(kind: str, claims: int) -> int: ...
