"""Loads of large files of repeated lines: SQLite as the model of PostgreSQL."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from random import Random
from threading import Event
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import comptroller
import msgspec
import pytest
from comptroller import Service
from examples import accounted, group_id
from lines import at, claim, evm, group, load
from postgresql_server import Connection, Server

_LINES = 20_000
_IDS = 9_000
_CUSTOMERS = ("acme", "globex")
_DAYS = 6
# Of the load of large lines: those of 5,000 lines would be the whole file.
_LARGE = 1_000
_ADDRESSES = 2_500  # of each line, some 110 kB
_MAX_GROWTH = 150 << 10  # KiB
# Of the load in parts; each writer has put some of the claims when it begins.
_CONTESTED = 3_000
_WRITERS = 4
_BEFORE = 40

#: Prints by how many KiB the peak grows during the load of a file.
MEASURER = """
import sys, comptroller
def peak():
    return int(next(line for line in open("/proc/self/status") if "VmHWM" in line).split()[1])
with comptroller.open(sys.argv[1]) as svc:
    before = peak()
    assert svc.load("claims", sys.argv[2]).inserted == int(sys.argv[3])
    print(peak() - before)
"""


class Sides(NamedTuple):
    """The model, and the store that is tested."""

    model: Service
    tested: Service


@pytest.fixture
def sides(tmp_path: Path, store_path: str) -> Iterator[Sides]:
    with comptroller.open(tmp_path / "model.db") as model, comptroller.open(store_path) as tested:
        yield Sides(model, tested)


class Files:
    """Generates files whose lines repeat, contradict and follow each other."""

    def __init__(self, seed: int, folder: Path) -> None:
        self._of = Random(seed)
        self._folder = folder
        self._groups = [self._uuid() for _ in range(60)]
        self._owner = {group: self._of.choice(_CUSTOMERS) for group in self._groups}
        self._last: dict[str, Any] | None = None
        self._ids = {kind: self._make_ids() for kind in ("claims", "orchestrations")}

    def _uuid(self) -> str:
        digits = f"{self._of.getrandbits(128):032x}"
        return "-".join(digits[a:b] for a, b in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))

    def _make_ids(self) -> list[str]:
        # A store packs the first form of an id, and keeps the others as text.
        return [
            self._of.choices((self._uuid(), self._uuid().upper(), f"id-{n}"), (8, 1, 1))[0]
            for n in range(_IDS)
        ]

    def _time(self) -> str:
        day, second = self._of.randrange(1, _DAYS), self._of.randrange(60)
        return f"2024-02-{day:02d}T12:00:{second:02d}.{self._of.choice((0, 1)):06d}Z"

    def groups(self) -> Path:
        """Returns a file of most groups."""
        return self._write(
            {
                "id": group,
                "ledger": "ETHEREUM",
                "jurisdiction": self._of.choice(("CH", "DE", "US")),
                "customer_id": self._owner[group],
                "created_at": self._time(),
            }
            for group in self._groups[:45]
        )

    def claims(self) -> Path:
        self._last = None
        return self._write(self._claim() for _ in range(_LINES))

    def orchestrations(self) -> Path:
        self._last = None
        return self._write(self._orchestration() for _ in range(_LINES))

    def _claim(self) -> dict[str, Any] | str:
        of = self._of
        number = of.randrange(_IDS)
        # Most claims stay in their group; some lines move them.
        group = self._groups[(number if of.random() < 0.97 else of.randrange(_IDS)) % 60]
        line: dict[str, Any] = {
            "id": self._ids["claims"][number],
            "payout_group_id": group,
            "claim_type": ("CLAIM_ALL", "CLAIM", "OTHER")[number % 3],
            "onchain_status": of.choice(("PENDING", "SUBMITTED", "CONFIRMED", "FAILED")),
            "amount": ("0", "1.50", "2", "1234567890.123456789")[number % 4],
            "created_at": f"2024-01-{number % 28 + 1:02d}",
        }
        optional: dict[str, Any] = {
            "customer_id": self._owner[group] if of.random() < 0.98 else of.choice(_CUSTOMERS),
            "updated_at": self._time(),
            "asset_type": ("ETH", "RPL", "Ünique", f"A{number}")[number % 4],
            "blockchain": ("INK", "BASE")[number % 2],
            "tx_hash": (f"0x{number:064x}", f"0x{number:064X}", "plain")[number % 3],
            "addresses": [f"0x{number % 7:040x}", f"0x{number % 5:040x}"][: number % 3],
            "confirmed_at": self._time(),
            "submitted_at": self._time(),
            "error_message": of.choice(("", "refused", "ü" * 50)),
        }
        line |= {name: value for name, value in optional.items() if of.random() < 0.8}
        return self._spoilt(line)

    def _orchestration(self) -> dict[str, Any] | str:
        of = self._of
        number = of.randrange(_IDS)
        line: dict[str, Any] = {
            "id": self._ids["orchestrations"][number],
            "status": of.choice(("PENDING", "COMPLETED", "FAILED", f"S{number % 300}")),
            "created_at": f"2024-01-{number % 28 + 1:02d}",
        }
        optional: dict[str, Any] = {
            "customer_id": _CUSTOMERS[number % 2],
            "updated_at": self._time(),
            "ref_id": f"r{number % 50}",
            "source_asset": of.choice(("EUR", "USD")),
            "destination": {"profile": {"profile_id": f"p{number % 9}"}},
            "metadata": {of.choice("abc"): of.choice(("", "1", "ü"))},
            "fail_reason": of.choice(("A", "B")),
        }
        line |= {name: value for name, value in optional.items() if of.random() < 0.8}
        return self._spoilt(line)

    def _spoilt(self, line: dict[str, Any]) -> dict[str, Any] | str:
        """Returns the line, or an earlier one, or rarely what a load rejects or skips."""
        chance = self._of.random()
        if chance > 0.9 and self._last is not None:
            return self._last
        self._last = line
        if chance < 0.002:
            return ""
        if chance < 0.004:
            return "{"
        if chance < 0.008:
            return {**line, self._of.choice([*line]): 7}
        return line

    def _write(self, lines: Any) -> Path:
        path = self._folder / f"{self._of.getrandbits(64):016x}.ndjson"
        texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
        path.write_text("".join(f"{text}\n" for text in texts))
        return path

    def without(self, path: Path, rejected: set[int]) -> Path:
        """Returns a file without these lines."""
        lines = path.read_text().split("\n")[:-1]
        return self._write(line for number, line in enumerate(lines, 1) if number not in rejected)


def _shown(value: Any) -> Any:
    return msgspec.to_builtins(value)


def _journal(svc: Service) -> list[dict[str, Any]]:
    """Returns the entries without times and keys; the key of an undone line is not given again."""
    entries = []
    for entry in _shown(list(svc.journal.list())):
        for name in ("recorded_at", "key", "hash"):
            entry.pop(name, None)
        for part in (entry.get("batch") or {}).get("records", ()):
            del part["first_key"], part["last_key"]
        entries.append(entry)
    return entries


def _exported(svc: Service, kind: str, path: Path) -> bytes:
    svc.export(kind, path)
    data = path.read_bytes()
    path.unlink()
    return data


def test_a_load_collects_statistics_if_the_table_grew(store_path: str) -> None:
    with comptroller.open(store_path) as svc, closing(Connection(store_path)) as other:
        other.execute("ALTER TABLE claims SET (autovacuum_enabled = false)")
        for rows, known in ((100, 100), (5, 100), (20, 125)):
            svc.load("claims", [claim() for _ in range(rows)])
            counted = other.execute("SELECT reltuples FROM pg_class WHERE relname = 'claims'")
            assert counted == [(str(known),)]


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")
def test_a_load_of_large_lines_takes_little_memory(store_path: str, tmp_path: Path) -> None:
    addresses = [evm() for _ in range(_ADDRESSES)]
    path = tmp_path / "claims.ndjson"
    with path.open("wb") as file:
        for _ in range(_LARGE):
            file.write(msgspec.json.encode(claim(addresses=addresses)) + b"\n")
    command = [sys.executable, "-c", MEASURER, store_path, str(path), str(_LARGE)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < _MAX_GROWTH
    path.unlink()


def test_a_load_does_not_wait_for_a_vacuum(store_path: str) -> None:
    """Statistics are not worth the load, which would end after the time limit of a lock."""
    with comptroller.open(store_path) as svc, closing(Connection(store_path)) as other:
        other.execute("BEGIN")
        other.execute("LOCK TABLE claims IN SHARE UPDATE EXCLUSIVE MODE")  # that of a VACUUM
        assert svc.load("claims", [claim() for _ in range(100)]).inserted == 100
        other.execute("ROLLBACK")


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 5))]
)
def test_random_files_have_the_results_of_a_file(sides: Sides, tmp_path: Path, seed: int) -> None:
    files = Files(seed, tmp_path)
    groups = files.groups()
    for svc in sides:
        svc.load("payout-groups", groups)
    kinds = {"claims": files.claims, "orchestrations": files.orchestrations}
    # The second file of a kind meets the records of the first one.
    for kind, make in [*kinds.items(), *kinds.items()]:
        path = make()
        # Both reject the same lines; the others are then stored in one transaction.
        tried = [svc.load(kind, path, keep_going=True, dry_run=True) for svc in sides]
        assert _shown(tried[1]) == _shown(tried[0])
        assert tried[0].rejected > 0
        result = tried[0]
        while result.rejections:  # at most 1,000 of them are named
            path = files.without(path, {each.line for each in result.rejections})
            result = sides.model.load(kind, path, keep_going=True, dry_run=True)
        results = [svc.load(kind, path) for svc in sides]
        assert _shown(results[1]) == _shown(results[0])
        assert results[0].committed
        assert min(results[0].inserted, results[0].updated, results[0].unchanged) > 0
    assert _journal(sides.tested) == _journal(sides.model)
    for kind in ("claims", "orchestrations", "payout-groups"):
        exported = [_exported(svc, kind, tmp_path / "exported.ndjson") for svc in sides]
        assert exported[1] == exported[0]
    checked = [svc.check() for svc in sides]
    assert [each["findings"] for each in checked] == [[], []]
    assert checked[0]["rows"] == checked[1]["rows"]


class Versions(NamedTuple):
    """What a load and another writer say of one claim.

    Attributes:
        loaded: the line of the load.
        written: what the writer puts. Its updated_at is earlier, equal or later.
    """

    loaded: dict[str, Any]
    written: dict[str, Any]


def _versions() -> list[Versions]:
    versions = []
    for number in range(_CONTESTED):
        line = {
            "id": f"contested-{number:05}",
            "payout_group_id": f"00000000-0000-4000-8000-{number % 50:012}",
            "claim_type": "CLAIM_ALL",
            "onchain_status": "PENDING",
            "amount": "1.5",
            "created_at": "2026-01-01T00:00:00Z",
        }
        versions.append(
            Versions(
                line | {"updated_at": "2026-01-02T00:00:00Z", "tx_hash": "loaded"},
                line | {"updated_at": f"2026-01-0{1 + number % 3}T00:00:00Z", "tx_hash": "written"},
            )
        )
    return versions


def test_a_load_in_parts_beside_writers_of_its_ids_accounts_for_each_line(
    store_path: str, tmp_path: Path
) -> None:
    versions = _versions()
    path, rejects = tmp_path / "claims.ndjson", tmp_path / "rejected.csv"
    path.write_text("".join(f"{json.dumps(each.loaded)}\n" for each in versions))
    order = Random(5).sample(range(_CONTESTED), _CONTESTED)
    has_begun = Event()

    def write(svc: Service, numbers: list[int]) -> dict[int, str]:
        """Puts claims; returns whose version each answer has, or the code of its error."""
        answers: dict[int, str] = {}
        for number in numbers:
            if len(answers) == _BEFORE:  # the others are put beside and after the load
                has_begun.wait()
            try:
                answers[number] = svc.claims.put(versions[number].written).tx_hash or ""
            except comptroller.Conflict as error:
                answers[number] = error.code
        return answers

    with (
        comptroller.open(store_path) as svc,
        comptroller.open(store_path) as other,
        ThreadPoolExecutor(_WRITERS) as threads,
    ):
        writing = [threads.submit(write, other, order[n::_WRITERS]) for n in range(_WRITERS)]
        while len(other.claims.list(limit=_WRITERS * _BEFORE).items) < _WRITERS * _BEFORE:
            assert not any(each.done() for each in writing)
        has_begun.set()
        result = accounted(svc.load("claims", path, keep_going=True, rejects=rejects))
        answers = {number: code for each in writing for number, code in each.result().items()}
        stored = {each.id: each.tx_hash for each in svc.claims.iter(limit=1000)}
        journal = list(svc.journal.iter())
        assert svc.check()["ok"]
        assert svc.journal.verify().ok
    with rejects.open(newline="") as file:
        rejected = {int(row["rejected_id"].rpartition("-")[2]) for row in csv.DictReader(file)}
    refused = {number for number, answer in answers.items() if answer == "already-exists"}
    earlier, equal, later = ({n for n in answers if n % 3 == age} for age in range(3))
    # A version replaces an earlier one, and is refused if the stored one is as late or later.
    assert refused <= earlier | equal
    assert rejected <= equal | later
    assert equal == (refused ^ rejected) & equal
    assert min(map(len, (earlier & refused, equal & refused, equal & rejected, later & rejected)))
    assert {answers[number] for number in answers if number not in refused} == {"written"}
    assert stored == {
        each.loaded["id"]: "written" if number in later | rejected else "loaded"
        for number, each in enumerate(versions)
    }
    assert (result.read, result.rejected) == (_CONTESTED, len(rejected))
    assert (result.updated, result.unchanged) == (len(earlier - refused), 0)
    assert result.inserted == len(refused) + len(later - rejected)
    # The journal has the same counts, and other writes between the parts.
    parts = [number for number, entry in enumerate(journal) if entry.operation == "claims.load"]
    assert 1 < len(parts) < parts[-1] - parts[0] + 1
    counts = {"lines": result.read} | {
        name: getattr(result, name) for name in ("inserted", "updated", "unchanged", "rejected")
    }
    assert (journal[parts[-1]].batch or {}).items() >= counts.items()


_LOCK_WAITS = (
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE datname = current_database() AND wait_event_type = 'Lock'"
)


def _waiting(connection: Connection) -> int:
    return int(connection.execute(_LOCK_WAITS)[0][0] or 0)


@pytest.mark.parametrize("owner", ["acme", "globex"])
def test_a_claim_may_name_a_group_that_a_load_stores(store_path: str, owner: str) -> None:
    """The load waits after it has inserted the group. A claim of its customer is stored, one of
    another customer is refused or makes the load reject the group.
    """
    groups = [group(id=group_id(number), customer_id="acme") for number in (1, 2)]
    changed = {**groups[1], "name": "South", "updated_at": at(1)}
    named = claim(
        id="c",
        customer_id=owner,
        payout_group_id=group_id(1),
        onchain_status="CONFIRMED",
        confirmed_at=at(1),
    )

    def put(svc: Service) -> str:
        try:
            return svc.claims.put(named).id
        except comptroller.Conflict as error:
            return error.code

    with (
        comptroller.open(store_path) as loader,
        comptroller.open(store_path) as beside,
        closing(Connection(store_path)) as other,
        closing(Connection(store_path)) as watch,
        ThreadPoolExecutor(2) as threads,
    ):
        load(loader, "payout-groups", groups[1])
        other.execute("BEGIN")
        other.execute("SELECT * FROM payout_groups FOR UPDATE")
        loading = threads.submit(loader.load, "payout-groups", [groups[0], changed])
        while not _waiting(watch):
            assert not loading.done(), loading.result()
        putting = threads.submit(put, beside)
        while not putting.done() and _waiting(watch) < 2:
            pass
        other.execute("COMMIT")
        is_loaded, answer = loading.result().committed, putting.result()
        checked = beside.check()
        assert checked["ok"], checked["findings"]
        assert beside.journal.verify().ok
        stored = [each.id for each in beside.claims.list()]
        assert answer == ("c" if stored else "already-exists")
        # Otherwise one of them was refused, and the other one was not.
        assert (is_loaded, bool(stored)) in (
            [(True, True)] if owner == "acme" else [(True, False), (False, True)]
        )
        if owner == "acme":
            assert beside.payout_groups.get(group_id(1)).last_claim_all_at == at(1)


@pytest.mark.parametrize("kind", ["identities", "controls", "orchestrations", "claims"])
def test_a_load_in_batches_does_not_read_a_whole_table_for_each(
    server: Server, store_path: str, kind: str
) -> None:
    """Also if the table is empty when the plans of its statements are made."""
    rows = 6_000
    with comptroller.open(store_path) as svc:
        assert svc.load(kind, comptroller.sample(kind, rows), keep_going=True).inserted == rows
    counts = f"SELECT n_tup_ins, seq_tup_read FROM pg_stat_user_tables WHERE relname = '{kind}'"
    inserted = read = 0
    while inserted < rows:  # the server counts what a connection did when it has ended
        (found,) = server.execute(counts, urlsplit(store_path).path[1:])
        inserted, read = (int(str(each)) for each in found)
    assert read < rows
