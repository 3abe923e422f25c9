"""Long reads: Ctrl-C between and during their requests, a lost connection, and their memory."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import comptroller
import pytest
from lines import START, load
from postgresql_proxy import Batch, Proxy
from postgresql_server import Connection, Server

pa = pytest.importorskip("pyarrow")

_CLAIMS = 60_000  # some 15 requests
_INTERRUPTED_AT = 6
_SECONDS_FOR_EACH = 0.002  # of the requests after the signal: a slow server
_MAX_FURTHER = 12  # in the 20 ms between two looks for signals
_SMALL, _LARGE = 7_000, 6_000
_MAX_GROWTH = 150 << 10  # KiB

READER = """
import sys, comptroller
import pyarrow as pa
with comptroller.open(sys.argv[1], read_only=True) as svc:
    list(svc.claims.list(limit=1))
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        eval(sys.argv[2])
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    else:
        print("ended", flush=True)
"""
READS = {
    "check": "svc.check()",
    "verify": "svc.journal.verify()",
    "export": "svc.export('claims', sys.argv[3])",
}

#: Prints by how many KiB the peak grows during a long read, without twice the largest batch of the
#: answer, whose memory doubles while it grows.
MEASURER = """
import sys, comptroller
import pyarrow as pa
def peak():
    return int(next(line for line in open("/proc/self/status") if "VmHWM" in line).split()[1])
with comptroller.open(sys.argv[1], read_only=True) as svc:
    svc.identities.list(limit=1)
    pa.RecordBatchReader.from_stream(svc.claims.stream()).read_all()
    before = peak()
    largest = eval(sys.argv[2])
    print(peak() - before - 2 * largest // 1024)
"""
LARGE_READS = {
    "stream": "max(each.nbytes for each in pa.RecordBatchReader.from_stream("
    "svc.identities.stream()))",
    "export": "0 * svc.export('identities', sys.argv[3])",
}


@pytest.fixture(scope="module")
def furnish_template() -> Callable[[comptroller.Service], None]:
    def furnish(svc: comptroller.Service) -> None:
        group = "00000000-0000-4000-8000-000000000001"
        line = {
            "payout_group_id": group,
            "claim_type": "CLAIM_ALL",
            "onchain_status": "PENDING",
            "amount": "1",
            "created_at": START,
        }
        lines = ({"id": f"claim-{number:05}", **line} for number in range(_CLAIMS))
        assert svc.load("claims", lines).committed

    return furnish


def _address_of(proxy: Proxy, address: str) -> str:
    return proxy.server.address(address.rpartition("?")[0].rpartition("/")[2])


@pytest.mark.parametrize("read", READS)
def test_ctrl_c_ends_a_read_between_its_requests(
    server: Server, shared_path: str, tmp_path: Path, read: str
) -> None:
    """The server answers each request sooner than the core looks for signals while it waits."""
    requests: list[bytes] = []
    reading: list[subprocess.Popen[str]] = []

    def before(batch: Batch) -> bool:
        if reading and batch.executes:
            requests.append(batch.data)
            if len(requests) == _INTERRUPTED_AT:
                reading[0].send_signal(signal.SIGINT)
            if len(requests) >= _INTERRUPTED_AT:
                time.sleep(_SECONDS_FOR_EACH)
        return True

    with Proxy(server, before) as proxy:
        address = _address_of(proxy, shared_path)
        command = [sys.executable, "-c", READER, address, READS[read], str(tmp_path / "x.ndjson")]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout
            assert process.stdout.readline() == "ready\n"
            reading.append(process)
            assert process.communicate("\n", timeout=60)[0] == "interrupted\n"
    assert len(requests) <= _INTERRUPTED_AT + _MAX_FURTHER


def test_ctrl_c_ends_an_export_whose_server_stalls(
    server: Server, shared_path: str, tmp_path: Path
) -> None:
    """Its pieces wait in threads, which get no signals."""
    copies: list[bytes] = []
    is_held, goes_on = threading.Event(), threading.Event()

    def before(batch: Batch) -> bool:
        if b"COPY (" in batch.data:
            copies.append(batch.data)
            if len(copies) >= _INTERRUPTED_AT:
                is_held.set()
                goes_on.wait()
        return True

    path = tmp_path / "claims.ndjson"
    with Proxy(server, before) as proxy:
        address = _address_of(proxy, shared_path)
        command = [sys.executable, "-c", READER, address, READS["export"], str(path)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            try:
                assert process.stdin
                process.stdin.write("\n")
                process.stdin.flush()
                assert is_held.wait(60)
                process.send_signal(signal.SIGINT)
                assert process.communicate(timeout=60)[0] == "ready\ninterrupted\n"
            finally:
                goes_on.set()
    assert not path.exists()


def test_a_stream_whose_connection_is_lost_is_unavailable(server: Server, shared_path: str) -> None:
    with (
        Proxy(server, lambda _: True) as proxy,
        comptroller.open(_address_of(proxy, shared_path), read_only=True) as svc,
    ):
        proxy.bytes_left = 500_000
        with pytest.raises(OSError, match="unavailable: the connection to the database was lost"):
            pa.table(svc.claims.stream())
        assert proxy.bytes_left is None
        proxy.bytes_left = 500_000
        with pytest.raises(
            comptroller.Unavailable, match="the connection to the database was lost"
        ):
            svc.export("claims", "/dev/null")
        assert proxy.bytes_left is None
        assert len(svc.claims.list(limit=1)) == 1
        assert pa.RecordBatchReader.from_stream(svc.claims.stream()).read_all().num_rows == _CLAIMS


@pytest.fixture(scope="module")
def large_path(shared_path: str) -> str:
    """The address of a database with small identities and then large ones."""
    with comptroller.open(shared_path) as svc:
        load(svc, "identities", {"id": "first", "customer_id": "acme", "created_at": START})
    with closing(Connection(shared_path)) as other:
        other.execute(
            "INSERT INTO identities (id, customer_id, metadata, created_at, updated_at)"
            " SELECT '\\x01'::bytea || convert_to('i' || lpad(n::text, 8, '0'), 'UTF8'),"
            " (SELECT customer_id FROM identities LIMIT 1),"
            f" CASE WHEN n > {_SMALL} THEN (SELECT '{{' || string_agg('\"k' || j || '\":\"' ||"
            " repeat('x', 512) || '\"', ',' ORDER BY j) || '}' FROM generate_series(10, 59) AS j)"
            f" END, 1700000000000000 + n, 1700000000000000 + n"
            f" FROM generate_series(1, {_SMALL + _LARGE}) AS n"
        )
        other.execute("ANALYZE identities")
    return shared_path


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")
@pytest.mark.parametrize("read", LARGE_READS)
def test_large_rows_after_small_ones_take_little_memory(
    large_path: str, tmp_path: Path, read: str
) -> None:
    path = tmp_path / "identities.ndjson"
    command = [sys.executable, "-c", MEASURER, large_path, LARGE_READS[read], str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < _MAX_GROWTH
    path.unlink(missing_ok=True)
