"""The C++ core. Every function raises what `comptroller.errors.error_for` returns."""

from collections.abc import Callable, Iterable
from typing import Protocol, final

from comptroller.errors import Error

# It may also have rewind(), after which readinto continues at the first byte.
class Readable(Protocol):
    def readinto(self, buffer: memoryview, /) -> int | None: ...
    # Ends a blocked readinto soon; called from another thread than the reading one.
    def abandon(self) -> None: ...

@final
class Principal:
    """The caller: the operator, or a client of one customer. Immutable."""

    def __init__(
        self,
        customer: str | None = None,
        client_id: str | None = None,
        scopes: list[str] | None = None,
        actor: str | None = None,
    ) -> None: ...
    @property
    def customer(self) -> str | None: ...
    @property
    def actor(self) -> str:
        """The value of created_by and deleted_by."""
    @property
    def scopes(self) -> list[str]: ...

@final
class ArrowSource:
    """Rows as an Arrow C stream; each call of `__arrow_c_stream__` starts a new stream."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def with_string_views(self) -> ArrowSource:
        """Returns the same rows with text columns as utf8_view."""
    def compact(self, names: list[str]) -> ArrowSource:
        """Returns the same rows for an engine: texts as utf8_view, and shorter forms of others.

        Columns among `names` whose texts rows share, such as blockchain, have int32 codes, closed
        sets int8 codes, ids of payout groups the type arrow.uuid, and times no zone.
        """
    def texts(self) -> dict[str, list[str]]:
        """Returns the texts by code of each column with codes, for the rows streamed so far."""

@final
class TextPiece:
    """Rows as text: a read-only buffer of bytes."""

    @property
    def rows(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class TextRows:
    """The rows of an Arrow stream as text, formatted by threads of the core: CSV or JSON.

    `stream` is a capsule. `columns` has for each column its name, whether its texts may be formulas
    (escaped in CSV), and whether its texts are JSON (not escaped again). Columns are int64,
    decimal128, timestamp[us], large_utf8 or large_list of large_utf8.
    """

    def __init__(
        self, stream: object, columns: Iterable[tuple[str, bool, bool]], is_json: bool
    ) -> None: ...
    def next(self) -> TextPiece | None:
        """Returns the next rows, None at the end. Each JSON object follows a line feed; commas
        separate the objects of a piece."""

@final
class Documents:
    """The documents of NDJSON, JSON arrays, saved list answers and JSON objects, in order.

    For one thread at a time. `source` needs no `abandon`.
    """

    def __init__(self, source: object) -> None: ...
    def next(self) -> list[tuple[int, int, bytes, tuple[str, str, str] | None]]:
        """Returns the next documents, none at the end.

        Each has its line, its number among the items of an array or answer (0 in NDJSON), its text
        (empty for a blank line), and, if it is not a JSON object without duplicate members, the
        code, the member and the message of the error.
        """

def begins_formula(text: str) -> bool:
    """Whether a cell of CSV gets an apostrophe in front, see `cpp/files/csv.hpp`."""

def exact_number(text: str) -> str | None:
    """Returns a number of JSON as the text of an amount; None if it may be a rounded float."""

@final
class Sample:
    """Sample records as NDJSON bytes. May be used from many threads."""

    def next(self, size: int) -> bytes:
        """Returns the next bytes, at most `size`; empty at the end."""

@final
class Store:
    """One store: a file, or a database. May be used from many threads; releases the GIL inside."""

    # `progress` is called with the number of records while a store gets its journal. `libpq` is the
    # library to use for a database, by default that of the system; the names of its private files
    # begin with `secrets_base`.
    def __init__(
        self,
        path: str,
        read_only: bool = False,
        progress: Callable[[int], object] | None = None,
        *,
        libpq: str | None = None,
        secrets_base: str | None = None,
    ) -> None: ...
    def call(
        self,
        principal: Principal,
        operation: str,
        parameters: list[tuple[str, str]],
        body: bytes | None = None,
        idempotency_key: str | None = None,
        request_id: str | None = None,
    ) -> tuple[bytes, bool]: ...
    def call_if_short(
        self,
        principal: Principal,
        operation: str,
        parameters: list[tuple[str, str]],
        body: bytes | None = None,
        idempotency_key: str | None = None,
        request_id: str | None = None,
    ) -> tuple[bytes, bool] | None:
        """Runs a read unless `is_short` is false, or its page has more than 128 KiB."""

    def load(
        self,
        principal: Principal,
        kind: str,
        source: str | Readable,
        *,
        are_rows: bool,  # `source` runs the caller's code, so the calling thread reads it
        only_lines: bool = False,  # each line is a record, whatever the first bytes are
        input_name: str | None = None,  # for the journal
        # The digest of the source for the journal, if that of the bytes of `source` is not it.
        input_sha256: Callable[[], str | None] | None = None,
        mapping: str | None = None,  # how the source became lines, as JSON, for the journal
        customer_id: str | None,
        keep_going: bool,
        dry_run: bool,
        total_bytes: int | None,
        progress: Callable[[int, int | None, int], None] | None,
        account: Callable[[bytes], None],
        # Each rejection as JSON, and the text of its line; None if the load begins again.
        rejected: Callable[[bytes | None, bytes], None] | None = None,
    ) -> None: ...
    def export(
        self,
        principal: Principal,
        kind: str,
        path: str,
        format: str,
        parameters: list[tuple[str, str]],
    ) -> tuple[int, tuple[int, str] | None]:
        """Returns the number of rows, and the journal's size and root; None for a client."""

    def export_to(
        self,
        principal: Principal,
        kind: str,
        write: Callable[[bytes], None],
        format: str,
        parameters: list[tuple[str, str]],
    ) -> None:
        """Exports to a function, which is called with pieces of the text."""

    def stream(
        self,
        principal: Principal,
        kind: str,
        columns: list[str] | None,
        parameters: list[tuple[str, str]],
    ) -> ArrowSource: ...
    # The documents "clients", "keys" and "journal key"; see cpp/service/shared_documents.hpp.
    def shared_document(self, principal: Principal, name: str) -> bytes | None: ...
    def replace_shared_document(
        self, principal: Principal, name: str, before: bytes | None, after: bytes
    ) -> bool: ...
    def stream_with_head(
        self,
        principal: Principal,
        kind: str,
        columns: list[str] | None,
        parameters: list[tuple[str, str]],
    ) -> tuple[ArrowSource, Callable[[], tuple[int, str] | None]]:
        """Also returns a function for the journal's size and root in the state that was read."""

    # Changes with every commit of any process.
    def version(self) -> int: ...
    # The time of the clock of the store, in microseconds.
    def now(self) -> int: ...
    # The number of commits of 1 write, 2, up to 4, and so on; and the number of writes.
    def commits(self) -> tuple[list[int], int]: ...
    # The bytes of the write-ahead log, those that are not in the store's file yet, and whether the
    # latter are many.
    def log_size(self) -> tuple[int, int, bool]: ...
    def backup(self, principal: Principal, destination: str) -> tuple[int, str]: ...
    # To an empty database or a new file. Returns the numbers of records by kind, and the size and
    # root of the journal; `progress` is called with the number of rows copied so far.
    def copy_to(
        self,
        principal: Principal,
        destination: str,
        *,
        libpq: str | None,
        progress: Callable[[int], object] | None,
    ) -> tuple[dict[str, int], int, str]: ...
    def check(self, principal: Principal) -> bytes: ...
    def close(self) -> None: ...

def open_store_of(path: bytes) -> str | None:
    """Returns the path of the open store to whose files a path leads, by any name; else None."""

@final
class DeferredWrites:
    """Writes that are queued and do not block a thread. Threads may share an instance."""

    def submit(
        self,
        store: Store,
        principal: Principal,
        operation: str,
        parameters: list[tuple[str, str]],
        body: bytes | None = None,
        idempotency_key: str | None = None,
        request_id: str | None = None,
    ) -> int:
        """Queues a write; returns its ticket. Raises Error if the request is invalid."""

    def fileno(self) -> int:
        """Returns a descriptor that is readable while `take` has outcomes to return."""

    def take(self) -> list[tuple[int, tuple[bytes, bool] | Error]]:
        """Returns the tickets and outcomes of the writes that ended since the last call."""

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
    def header_lines(self) -> bytes: ...

@final
class Fields:
    """The header fields of a request."""

    def headers(self) -> list[tuple[bytes, bytes]]:
        """Returns names in lower case, and values without white space at their ends."""

_Collected = tuple[Fields, int, int, list[bytes], bool, bool]

def collect_fields() -> tuple[Callable[[bytes, bytes], None], Callable[[], _Collected]]:
    """Returns a function that adds a field as received, and one that takes what was added.

    The second returns the fields, how many they are, the bytes of their lines as received, the
    values of Host, whether they describe a body, and whether one is Connection or Proxy-Connection.
    """

def find_head_end(data: bytes) -> int:
    """Returns the position after the first empty line; -1 if there is none."""

@final
class Responder:
    """Answers parsed requests of the operations at these routes, for callers of known tokens.

    Targets are percent-encoded, as received. None leaves a request to the application. A response
    is the bytes to send. If the application has to compress it, it is the body and whether it is a
    replay. `now_s` is the time by the clock of tokens, in seconds since 1970.
    """

    def __init__(
        self, routes: Iterable[_Route], *, bounds_s: list[float], large_bytes: int
    ) -> None: ...
    def read(
        self, store: Store, target: bytes, fields: Fields, keeps_alive: bool, now_s: float
    ) -> bytes | tuple[bytes, bool] | None:
        """Answers a short read. Until `end_reads`, all reads see what the first of them saw."""

    def end_reads(self) -> None: ...
    def submit(
        self,
        store: Store,
        writes: DeferredWrites,
        method: bytes,
        target: bytes,
        fields: Fields,
        body: bytes,
        keeps_alive: bool,
        now_s: float,
    ) -> int | None:
        """Queues a write; returns its ticket."""

    def finish(self, ticket: int, body: bytes, is_replay: bool) -> bytes | tuple[bytes, bool]: ...
    def discard(self, ticket: int) -> None: ...
    # `client` and `customer` are JSON; `until_s` is since 1970.
    def admit(
        self, token: bytes, principal: Principal, client: bytes, customer: bytes, until_s: float
    ) -> None: ...
    def client_of(self, method: bytes, target: bytes, fields: Fields, now_s: float) -> bytes:
        """Returns the client of an admitted token, as JSON; empty if there is none, or no route."""

    def forget(self) -> None: ...
    def set_date(self, line: bytes) -> None: ...
    def take_log(self) -> tuple[bytes, int]:
        """Returns the lines since the last call, and how many they are."""

    # For each route: the counts of the latency buckets, and the total seconds.
    def counts(self) -> list[tuple[list[int], float]]: ...

def is_short(principal: Principal, operation: str, parameters: list[tuple[str, str]]) -> bool:
    """Whether a read usually takes less than a millisecond, and at most a few, in any store."""

def wrap_answer(answer: bytes, envelope: str | None, items_alias: str | None) -> bytes:
    """Returns a response body: the record in its envelope, or the items under two names."""

def arrow_lines(stream: object, kind: str) -> TextRows:
    """Returns the rows of an Arrow stream (a capsule) as NDJSON records of a kind.

    Each value of an unknown column is 0.
    """

def describe() -> bytes: ...
def is_temporary(errno: int) -> bool:
    """Whether a failure of the system may pass, so that an error is Unavailable."""

def microseconds(text: str) -> int | None: ...
def sample(kind: str, rows: int, seed: int, customer: str | None) -> Sample: ...
def sample_rows(kind: str, claims: int) -> int: ...
def limit_free_memory() -> None:
    """Makes this process return freed memory to the system, except a few MiB. Only with glibc."""

def return_free_memory() -> None:
    """Returns all freed memory of this process to the system, as whole pages. Only with glibc."""

def receive_signals(limits: dict[int, tuple[int, int]]) -> int:
    """Receives signals until the process ends, also after an event loop; returns a non-blocking
    descriptor to read their numbers from, a byte each. It is the same for all calls.

    `limits` has for each signal the seconds in which the process must end if it is the first one,
    and if it is a further one; 0 is no limit. If it has not ended by then, whatever its threads do,
    it ends with exit code 1.
    """

def end_with_input(*, within_s: int) -> None:
    """Sends SIGTERM to this process when its standard input, which it does not read, ends.

    If the process has not ended `within_s` seconds later, it ends with exit code 1.
    """

def postgresql_select(table: str, columns: list[str], schema: str) -> str:
    """Returns a SELECT of columns of a table in PostgreSQL, with SQL types; a report reads it.

    `schema` is the quoted name of the schema that has the tables.
    """

def rule_of(message: str) -> str:
    """Returns the message of a rejection without the values in it."""

def journal_entries(
    store: Store,
    principal: Principal,
    from_sequence: int,
    limit: int,
    only_batches: bool = False,
) -> bytes:
    """Returns a page of entries as JSON; those of archives are among the batches."""

def verify_journal(
    store: Store, principal: Principal, checkpoint: str | None, verifier_key: str
) -> bytes:
    """Returns the findings as JSON."""

def sign_checkpoint(store: Store, principal: Principal, name: str, seed: bytes) -> bytes:
    """Returns a signed checkpoint of the journal."""

def sign_head(name: str, seed: bytes, size: int, root: str) -> bytes:
    """Returns a signed checkpoint with this size and root."""

def open_checkpoint(checkpoint: str, verifier_key: str) -> tuple[int, str]:
    """Returns the size and the root of a signed checkpoint."""

def journal_head(store: Store, principal: Principal, size: int | None = None) -> tuple[int, str]:
    """Returns the size and the root of the journal, or its root when it had `size` entries."""

def record_histories(
    store: Store, principal: Principal, names: list[tuple[str, str]], with_proofs: bool
) -> bytes:
    """Returns records, by table and id, with their entries, as JSON."""

def moved_records(
    store: Store, principal: Principal, texts: list[str], is_in_any_case: bool
) -> bytes:
    """Returns table and id of removed records and of those with another link, as JSON."""

def archive_journal(store: Store, principal: Principal, size: int, sha256: str, root: str) -> None:
    """Deletes the entries that a file has."""

def verifier_key(name: str, seed: bytes) -> str:
    """Returns the key that verifies the checkpoints of a signing key."""

# A place in the change feed.
_Place = tuple[int, int, int]

@final
class Destination:
    """Where the requests of a webhook go, and how they are signed, as of its last change."""

    @property
    def updated_at(self) -> int: ...
    @property
    def url(self) -> str: ...
    @property
    def customer_id(self) -> str | None:
        """The customer whose webhook it is; None for one of the operator."""

    def sign(self, content: bytes, now: int) -> str:
        """Returns the signatures of a request that is sent at a time in microseconds."""

@final
class ActiveWebhook:
    """A webhook that is not paused, and its progress."""

    @property
    def key(self) -> int: ...
    @property
    def id(self) -> str: ...
    @property
    def considered(self) -> _Place: ...
    @property
    def destination(self) -> Destination: ...

@final
class WebhookEvent:
    """An event with the body of its request."""

    @property
    def record(self) -> tuple[str, str]: ...
    @property
    def type(self) -> str: ...
    @property
    def is_test(self) -> bool: ...
    @property
    def attempts(self) -> int: ...
    @property
    def first_attempt_at(self) -> int | None: ...
    @property
    def webhook_id(self) -> str: ...
    @property
    def body(self) -> bytes: ...
    @property
    def is_blocked(self) -> bool:
        """Whether an earlier event of its record is not delivered yet."""

    def note(
        self, attempted_at: int | None, next_attempt_at: int | None, error: str | None
    ) -> None:
        """Notes an attempt, if there was one, and the time of the next in microseconds."""

@final
class EventBatch:
    """Events to deliver: due retries, at most one of each record, and new events in order."""

    @property
    def destination(self) -> Destination:
        """As it was when the events were read."""

    @property
    def next(self) -> _Place: ...
    @property
    def is_at_end(self) -> bool: ...
    @property
    def next_due(self) -> int | None: ...
    @property
    def retries(self) -> list[WebhookEvent]: ...
    @property
    def events(self) -> list[WebhookEvent]: ...

def is_webhook_key_shared(store: Store, principal: Principal) -> bool:
    """Whether the programs of a database share a key for webhooks, which is that of this one.

    A store in a file has nothing to share. Makes no key. Raises Unusable if they share another one.
    """

def share_webhook_key(store: Store, principal: Principal) -> None:
    """Makes the webhook key that of all programs of a database, before events are delivered.

    Raises Unusable if these share another one. Does nothing for a store in a file.
    """

def active_webhooks(store: Store, principal: Principal) -> list[ActiveWebhook]:
    """Returns the webhooks that are not paused."""

def take_events(
    store: Store,
    principal: Principal,
    webhook: int,
    after: _Place,
    max_retries: int,
    max_events: int,
) -> EventBatch:
    """Returns events of a webhook. Raises NotFound if it was deleted or paused."""

def report_deliveries(
    store: Store,
    principal: Principal,
    holder: str,
    webhook: int,
    after: _Place,
    next: _Place,
    outcomes: list[tuple[WebhookEvent, bool]],
) -> bool:
    """Stores outcomes and progress, unless the lease or the progress is no longer the caller's."""

def lease_delivery(store: Store, principal: Principal, holder: str, seconds: int) -> bool:
    """Takes or renews the lease, or releases it with 0 seconds; returns whether it was possible."""
