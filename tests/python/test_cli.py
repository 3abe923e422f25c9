"""The command line: what it answers, and how it ends."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import comptroller
import pytest
from comptroller import arguments
from comptroller.counting import DIMENSIONS

pytest.importorskip("click")
pytest.importorskip("rich")

from comptroller.cli import main, screen

GROUP = "11111111-1111-4111-8111-111111111111"
COMMANDS = ["demo", "sample", "load", "export", "report", "check", "backup", "migrate"]


class Ended(NamedTuple):
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ended]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in a directory of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COMPTROLLER_DB", raising=False)
    monkeypatch.setenv("COLUMNS", "80")

    def running(*words: str, given: bytes = b"") -> Ended:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        code = main(words)
        return Ended(code, *capfd.readouterr())

    return running


def claim(id: str, **members: object) -> dict[str, Any]:
    return {
        "id": id,
        "payout_group_id": GROUP,
        "claim_type": "CLAIM_ALL",
        "onchain_status": "PENDING",
        "amount": "1.50",
        "asset_type": "RPL",
        "created_at": "2026-01-31T12:00:00Z",
        **members,
    }


def lines(*rows: object) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


GOOD = lines(claim("c-1"), claim("c-2", created_at="2026-02-01T00:00:00Z"))
MIXED = lines(claim("c-1"), claim("c-2", amount="1e3"), claim("c-3", newer="x"))


def test_without_a_command_it_says_what_there_is(run: Run) -> None:
    ended = run()
    assert ended.code == 2
    assert re.findall(r"^  (\w+)  ", ended.err, re.MULTILINE)[:8] == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(run: Run, command: str) -> None:
    ended = run(command, "--help")
    assert ended.code == 0
    assert f"Usage: comptroller {command}" in ended.out
    assert "\\b" not in ended.out
    examples = [line for line in ended.out.splitlines() if re.match("  comptroller ", line)]
    assert all(line.count("comptroller ") == 1 for line in examples)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["laod"], "Did you mean 'load'?"),
        (["load", "claims"], "Missing argument 'FILE'"),
        (["load", "claim", "x"], "'claim' is not one of 'identities'"),
        (["sample", "all"], "name it with --out DIR"),
        (["sample", "claims", "--json"], "--json needs --out"),
        (["sample", "claims", "--rows", "-1"], "-1 is not in the range"),
        (["export", "claims", "-", "--json"], "--json needs a FILE"),
        (["export", "balances", "x", "--start", "2026-01-01"], "not filtered by time"),
        (["export", "claims", "x", "--where", "statuses"], "give NAME=VALUE"),
        (["report", "--by", "chian"], "'chian' is none of status, chain"),
        (["report", "--by", "day,day"], "names a dimension twice"),
    ],
)
def test_what_it_does_not_know_is_a_usage_error(run: Run, words: list[str], said: str) -> None:
    ended = run(*words)
    assert ended.code == 2
    assert said in ended.err
    assert ended.out == ""


@pytest.mark.parametrize(
    "words",
    [
        ["report"],
        ["check"],
        ["migrate"],
        ["backup", "copy.db"],
        ["export", "claims", "x.ndjson"],
        ["load", "claims", "missing.ndjson"],
        ["load", "claims", "."],
    ],
)
def test_what_is_missing_is_said_and_not_made(run: Run, tmp_path: Path, words: list[str]) -> None:
    ended = run(*words)
    assert ended.code == 1
    assert re.fullmatch(r"comptroller: (unavailable|invalid-request): .+\n", ended.err)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_store_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "comptroller.db").write_text("not a store, just some text\n" * 40)
    for words in (["check"], ["report"], ["migrate"], ["load", "claims", "-"]):
        ended = run(*words, given=GOOD)
        assert ended.code == 1
        assert ended.err.startswith("comptroller: unavailable: ")
        assert "Traceback" not in ended.err


def test_a_load_is_accounted_for(run: Run, tmp_path: Path) -> None:
    (tmp_path / "claims.ndjson").write_bytes(GOOD)
    ended = run("load", "claims", "claims.ndjson")
    assert ended.code == 0
    assert re.search(r"^claims +2 +2 +0 +0 +0 +0$", ended.out, re.MULTILINE)
    assert "All was kept." in ended.out
    again = run("load", "claims", "-", "--json", given=GOOD)
    assert again.code == 0
    assert (again.json["committed"], again.json["unchanged"]) == (True, 2)


def test_bad_lines_are_named_and_nothing_is_kept(run: Run) -> None:
    ended = run("load", "claims", "-", given=MIXED)
    assert ended.code == 1
    assert re.search(r"^ +2  invalid-request +amount: ", ended.out, re.MULTILINE)
    assert re.search(r"^newer +1$", ended.out, re.MULTILINE)
    assert "Nothing was kept" in ended.out
    assert run("check", "--json").json["rows"]["claims"] == 0


def test_keep_going_keeps_the_good_lines(run: Run) -> None:
    ended = run("load", "claims", "-", "--keep-going", "--json", given=MIXED)
    assert ended.code == 1
    assert ended.json["committed"]
    assert ended.json["inserted"] == 2
    assert ended.json["unknown_members"] == {"newer": 1}
    assert [each["line"] for each in ended.json["rejections"]] == [2]
    assert run("check", "--json").json["rows"]["claims"] == 2


def test_a_dry_run_keeps_nothing(run: Run) -> None:
    ended = run("load", "claims", "-", "--dry-run", given=GOOD)
    assert ended.code == 0
    assert "A dry run: nothing was kept." in ended.out
    assert run("check", "--json").json["rows"]["claims"] == 0


def test_only_the_first_rejections_are_shown(run: Run) -> None:
    bad = lines(*(claim(f"c-{n}", amount="x") for n in range(25)))
    ended = run("load", "claims", "-", given=bad)
    assert len(re.findall("invalid-request", ended.out)) == 20
    assert "... and 5 more" in ended.out
    assert len(run("load", "claims", "-", "--json", given=bad).json["rejections"]) == 25


def test_a_hostile_line_cannot_steer_the_terminal(run: Run) -> None:
    ended = run("load", "claims", "-", given=lines({**claim("c-1"), "\x1b[31m": "\x1b[2J"}))
    assert "\x1b" not in ended.out + ended.err
    named = run("report", "--customer", "\x1b[2J")
    assert "\x1b" not in named.out + named.err


def test_a_customer_owns_what_is_loaded_for_it(run: Run) -> None:
    run("load", "claims", "-", "--customer", "acme", given=GOOD)
    assert run("report", "--json", "--customer", "acme").json["claims"] == 2
    assert run("report", "--json", "--customer", "default").json["claims"] == 0
    ended = run("export", "claims", "-", "--customer", "acme")
    assert [json.loads(line)["customer_id"] for line in ended.out.splitlines()] == ["acme"] * 2


def test_the_store_is_named_by_option_or_environment(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("load", "claims", "-", "--db", "named.db", given=GOOD)
    monkeypatch.setenv("COMPTROLLER_DB", "from_environment.db")
    run("load", "claims", "-", given=GOOD)
    assert {path.name for path in tmp_path.glob("*.db")} == {"named.db", "from_environment.db"}


def test_an_export_loads_back_to_the_same_export(run: Run, tmp_path: Path) -> None:
    assert run("sample", "all", "--rows", "300", "--out", "sample").code == 0
    for kind in arguments.KINDS:
        assert run("load", kind, f"sample/{kind}.ndjson", "--db", "one.db").code == 0
    for kind in arguments.KINDS:
        ended = run("export", kind, f"{kind}.ndjson", "--db", "one.db", "--json")
        assert ended.json["rows"] == len((tmp_path / f"{kind}.ndjson").read_bytes().splitlines())
        assert run("load", kind, f"{kind}.ndjson", "--db", "two.db").code == 0
        run("export", kind, f"{kind}.again", "--db", "two.db", "--format", "ndjson")
    for kind in arguments.KINDS:
        once, again = (tmp_path / f"{kind}.{end}" for end in ("ndjson", "again"))
        assert once.read_bytes() == again.read_bytes(), kind


def test_an_export_takes_the_filters_of_the_list(run: Run, tmp_path: Path) -> None:
    run("load", "claims", "-", given=GOOD)
    ended = run("export", "claims", "-", "--start", "2026-01-31", "--end", "2026-01-31")
    assert [json.loads(line)["id"] for line in ended.out.splitlines()] == ["c-1"]
    assert ended.err == "1 claims written to standard output\n"
    run("export", "claims", "out.csv", "--where", "statuses=PENDING", "--where", "statuses=FAILED")
    assert (tmp_path / "out.csv").read_text().startswith("id,payout_group_id,")
    ended = run("export", "claims", "x", "--where", "statusses=FAILED")
    assert ended.code == 1
    assert "did you mean statuses?" in ended.err


def test_a_sample_goes_to_standard_output_or_to_files(run: Run, tmp_path: Path) -> None:
    ended = run("sample", "claims", "--rows", "5", "--customer", "acme")
    assert len(ended.out.splitlines()) == 5
    assert run("sample", "claims", "--rows", "5", "--customer", "acme", "--out", "-") == ended
    named = run("sample", "payout_groups", "--rows", "3", "--out", "groups.ndjson", "--json")
    assert named.json == {"kind": "payout-groups", "files": ["groups.ndjson"]}
    assert len((tmp_path / "groups.ndjson").read_text().splitlines()) == 3


REPORTED = lines(
    claim("c-1", amount="0.000000000000000001", blockchain="INK"),
    claim(
        "c-2",
        onchain_status="CONFIRMED",
        submitted_at="2026-01-31T12:00:00Z",
        confirmed_at="2026-01-31T12:01:36.5Z",
    ),
    claim("c-3", onchain_status="FAILED", error_message="out of gas", amount="1000000"),
)


def test_a_report_is_exact_for_machines(run: Run) -> None:
    run("load", "claims", "-", given=REPORTED)
    ended = run("report", "--json", "--start", "2026-01-31", "--by", "chain", "--by", "status,day")
    times = {"claims": 1, "p50_us": 96500000, "p90_us": 96500000, "p99_us": 96500000}
    answer = ended.json
    assert answer["start"] == "2026-01-31T00:00:00Z"
    assert (answer["claims"], answer["success_rate"]) == (3, 0.5)
    assert answer["time_to_confirm"] == times
    assert answer["assets"] == [
        {"asset": "RPL", "claims": 3, "amount": "1000001.500000000000000001"}
    ]
    assert answer["failures"] == [{"message": "out of gas", "claims": 1}]
    assert list(answer["by"]) == ["chain", "status,day"]
    assert answer["by"]["chain"][0] == {
        "chain": "INK",
        "claims": 1,
        "confirmed": 0,
        "failed": 0,
        "success_rate": None,
        "time_to_confirm": None,
        "assets": [{"asset": "RPL", "claims": 1, "amount": "0.000000000000000001"}],
    }
    assert [row["status"] for row in answer["by"]["status,day"]] == [
        "PENDING",
        "CONFIRMED",
        "FAILED",
    ]


def test_a_report_is_whole_in_eighty_columns(run: Run) -> None:
    run("load", "claims", "-", given=REPORTED)
    ended = run("report")
    assert ended.code == 0
    assert max(len(line.rstrip()) for line in ended.out.splitlines()) <= 80
    for expected in (
        "success rate     50.00 %  (1 CONFIRMED, 1 FAILED)",
        "time to confirm  p50 1 min 36 s",
        "1,000,000.000000000000000000",
        "0.000000000000000001",
        "     1  out of gas",
        *(f"By {name}: amounts" for name in DIMENSIONS),
    ):
        assert expected in ended.out


def test_amounts_are_never_cut(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("load", "claims", "-", given=lines(claim("c-1", amount="9" * 20 + "." + "9" * 18)))
    monkeypatch.setenv("COLUMNS", "20")
    shown = run("report").out
    assert shown.count("99,999,999,999,999,999,999.999999999999999999") == len(DIMENSIONS)


@pytest.mark.parametrize("option", ["--start", "--end"])
@pytest.mark.parametrize("given", ["bogus", "2026-13-01", "2026-01-31T12:00:00"])
@pytest.mark.parametrize(
    "words", [["report"], ["export", "claims", "out"], ["export", "controls", "out.parquet"]]
)
def test_a_bound_that_is_no_time_is_named(
    run: Run, words: list[str], option: str, given: str
) -> None:
    run("load", "claims", "-", given=GOOD)
    ended = run(*words, option, given)
    assert ended.code == 1
    assert f"{option}: {given!r} is no time; give a date such as 2026-01-31" in ended.err


def test_of_many_days_the_latest_are_shown(run: Run) -> None:
    days = (f"2026-01-{day:02}T00:00:00Z" for day in range(1, 31))
    run("load", "claims", "-", given=lines(*(claim(day, created_at=day) for day in days)))
    short, whole = run("report"), run("report", "--by", "day")
    assert "... and 16 earlier days" in short.out
    assert "2026-01-01" not in short.out
    assert "2026-01-01" in whole.out
    assert len(run("report", "--json").json["by"]["day"]) == 30


def test_a_report_of_nothing_says_so(run: Run) -> None:
    run("load", "claims", "-", given=b"")
    assert run("report").out == "0 claims of all customers\n"
    assert run("report", "--json").json["success_rate"] is None
    ended = run("report", "--start", "yesterday")
    assert ended.code == 1
    assert re.match(r"comptroller: invalid-request: --start: ", ended.err)


def test_check_says_what_it_found(run: Run, tmp_path: Path) -> None:
    run("load", "claims", "-", given=GOOD)
    ended = run("check")
    assert ended.code == 0
    assert re.search(r"^claims +2$", ended.out, re.MULTILINE)
    assert re.search(r"^SQLite \d+\.\d+\.\d+, 1 in this process:$", ended.out, re.MULTILINE)
    assert "Nothing wrong was found." in ended.out


def test_check_fails_where_something_is_wrong(run: Run, tmp_path: Path) -> None:
    run("load", "claims", "-", given=GOOD)
    # Another process, since two users of one file in a process must be one library.
    breaking = (
        "import sqlite3; c = sqlite3.connect('comptroller.db'); c.execute('UPDATE claims SET "
    )
    breaking += "amount = ''1e9'''); c.commit(); c.close()"
    subprocess.run([sys.executable, "-c", breaking.replace("''", "\\'")], cwd=tmp_path, check=True)
    ended = run("check")
    assert ended.code == 1
    assert "every value is one that may be stored: broken by 2 rows" in " ".join(ended.out.split())
    assert not run("check", "--json").json["ok"]


def test_a_backup_is_a_store_of_its_own(run: Run, tmp_path: Path) -> None:
    run("load", "claims", "-", given=GOOD)
    ended = run("backup", "copy.db")
    size = (tmp_path / "copy.db").stat().st_size
    assert ended == (0, f"comptroller.db copied to copy.db, {size:,} bytes\n", "")
    assert run("check", "--db", "copy.db", "--json").json["rows"]["claims"] == 2
    again = run("backup", "copy.db")
    assert (again.code, again.out) == (1, "")
    assert "copy.db exists already" in again.err


def test_migrate_says_from_where_to_where(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    assert run("migrate", "--db", "empty.db", "--json").json == {
        "from": 0,
        "to": 1,
        "migrated": True,
    }
    assert run("migrate", "--db", "empty.db").out == (
        "empty.db has schema version 1; there was nothing to do\n"
    )


def test_the_tour_agrees_with_the_published_totals(run: Run, tmp_path: Path) -> None:
    began = time.monotonic()
    ended = run("demo")
    assert ended.code == 0
    assert time.monotonic() - began < 60
    assert "18 of 18 sums equal the published totals." in ended.out
    assert ended.out.count("refused (") == 4
    assert "alice is APPROVED, may: BUY SELL DEPOSIT WITHDRAW" in ended.out
    assert "found nothing wrong" in " ".join(ended.out.split())
    assert max(len(line) for line in ended.out.splitlines()) <= 80
    assert list(tmp_path.iterdir()) == []


def test_the_store_of_the_tour_can_be_kept(run: Run, tmp_path: Path) -> None:
    assert run("demo", "--db", "tour.db").code == 0
    assert run("report", "--db", "tour.db", "--json").json["claims"] == 36233
    ended = run("demo", "--db", "tour.db")
    assert ended.code == 1
    assert "tour.db is there already" in ended.err


def test_without_its_extra_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "missing.py").write_text(
        "import importlib.util as u, sys\n"
        "found = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'rich' else found(name, *a)\n"
        "from comptroller.cli import main\n"
        "sys.exit(main(['check']))\n"
    )
    ended = subprocess.run(
        [sys.executable, "missing.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert ended.stderr == (
        'comptroller: the command line needs rich: pip install "comptroller[cli]"\n'
    )


@contextmanager
def started(*words: str, cwd: Path) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, "-m", "comptroller", *words],
        cwd=cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "COMPTROLLER_DB": "store.db"},
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("keep_going", [False, True])
def test_ctrl_c_says_what_was_kept(run: Run, tmp_path: Path, keep_going: bool) -> None:
    words = ["load", "claims", "-", "--json", *["--keep-going"] * keep_going]
    with started(*words, cwd=tmp_path) as loading, comptroller.sample("claims", 150_000) as records:
        assert loading.stdin
        # More than a batch. The pipe is far smaller: what is written has been taken in.
        loading.stdin.write(records.read())
        loading.stdin.flush()
        wait_until(lambda: not keep_going or committed_claims(tmp_path / "store.db") > 0)
        loading.send_signal(signal.SIGINT)
        out, err = loading.communicate(timeout=60)
    assert loading.returncode == 130
    kept = run("check", "--db", "store.db", "--json").json["rows"]["claims"]
    if keep_going:
        assert json.loads(out)["interrupted"]
        assert json.loads(out)["inserted"] == kept > 0
        assert err.endswith(b"comptroller: interrupted; what is counted above was kept\n")
    else:
        assert kept == 0
        assert err.endswith(b"comptroller: interrupted; nothing was kept\n")


def test_a_load_that_cannot_be_read_to_its_end_says_what_was_kept(run: Run) -> None:
    with comptroller.sample("claims", 120_000) as records:
        whole = gzip.compress(records.read(), 1)
    ended = run("load", "claims", "-", "--keep-going", "--json", given=whole[:-20])
    assert ended.code == 1
    assert (ended.json["interrupted"], ended.json["inserted"]) == (True, 100_000)
    assert "the load ended early; what is counted above was kept" in ended.err
    assert re.search(r"^comptroller: invalid-request: source: .* cannot be read", ended.err, re.M)
    assert run("check", "--json").json["rows"]["claims"] == 100_000


def test_ctrl_c_ends_a_load_that_waits_for_its_input(tmp_path: Path) -> None:
    with started("load", "claims", "-", cwd=tmp_path) as loading:
        assert loading.stdin
        loading.stdin.write(GOOD)
        loading.stdin.flush()
        wait_until((tmp_path / "store.db-wal").exists)
        time.sleep(0.5)
        began = time.monotonic()
        loading.send_signal(signal.SIGINT)
        assert loading.wait(10) == 130
        assert time.monotonic() - began < 1
        assert loading.stderr
        assert loading.stderr.read().endswith(b"comptroller: interrupted; nothing was kept\n")


@pytest.mark.parametrize(
    "words", [["report"], ["export", "claims", "claims.parquet"]], ids=["report", "parquet"]
)
def test_ctrl_c_ends_a_query(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    duckdb = pytest.importorskip("duckdb")
    run("load", "claims", "-", given=GOOD)

    class Interrupted:
        """DuckDB as it is when Ctrl-C comes during a query."""

        def __enter__(self) -> Interrupted:
            return self

        def __exit__(self, *_error: object) -> None: ...

        def register(self, *_view: object) -> None: ...

        def execute(self, query: str, *_parameters: object) -> None:
            if not query.startswith("SET "):
                raise RuntimeError("Query interrupted")

    monkeypatch.setattr(duckdb, "connect", Interrupted)
    ended = run(*words)
    assert (ended.code, ended.err.strip()) == (130, "comptroller: interrupted")
    assert not (tmp_path / "claims.parquet").exists()


def committed_claims(store: Path) -> int:
    """What a stranger sees; in a process of its own, and never writing."""
    program = (
        "import sqlite3, sys\n"
        "store = sqlite3.connect(f'file:{sys.argv[1]}?mode=ro', uri=True)\n"
        "print(store.execute('SELECT count(*) FROM claims').fetchone()[0])\n"
    )
    counted = subprocess.run(
        [sys.executable, "-c", program, str(store)], capture_output=True, text=True, check=False
    )
    return int(counted.stdout or 0)


def wait_until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not done():
        assert time.monotonic() < deadline


def test_a_closed_pipe_is_no_error_to_read_about(tmp_path: Path) -> None:
    with started("sample", "claims", "--rows", "50000", cwd=tmp_path) as sampling:
        assert sampling.stdout
        assert sampling.stderr
        sampling.stdout.read(100)
        sampling.stdout.close()
        assert sampling.stderr.read() == b""
        assert sampling.wait(60) != 0


@pytest.mark.parametrize(
    ("words", "closed", "told"),
    [
        ("load claims -", "<&-", "invalid-request: file: standard input is closed;"),
        ("sample claims --rows 3", ">&-", "unavailable: standard output is closed;"),
        ("report --json", ">&-", "unavailable: standard output is closed;"),
    ],
)
def test_a_closed_standard_file_is_named(
    run: Run, tmp_path: Path, words: str, closed: str, told: str
) -> None:
    run("load", "claims", "-", given=GOOD)
    command = f"{shlex.quote(sys.executable)} -m comptroller {words} {closed}"
    ended = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"comptroller: {told}".encode())


def test_the_kinds_are_those_of_the_service() -> None:
    from comptroller.cli import bulk

    assert bulk.KINDS == arguments.KINDS


@pytest.mark.parametrize(
    ("microseconds", "shown"),
    [
        (0, "0 ms"),
        (999_999, "999 ms"),
        (1_000_000, "1.0 s"),
        (59_999_999, "59.9 s"),
        (60_000_000, "1 min 00 s"),
        (3_599_999_999, "59 min 59 s"),
        (3_600_000_000, "1 h 00 min"),
        (90_000_000_000, "1 d 01 h"),
        (-1_500_000, "-1.5 s"),
    ],
)
def test_durations_are_shown_for_people(microseconds: int, shown: str) -> None:
    assert screen.duration(microseconds) == shown


@pytest.mark.parametrize(
    ("ratio", "shown"),
    [
        (None, "-"),
        (0.0, "0.00 %"),
        (1.0, "100.00 %"),
        (0.999999, "> 99.99 %"),
        (0.00001, "< 0.01 %"),
        (0.978512, "97.85 %"),
    ],
)
def test_ratios_are_not_rounded_to_certainty(ratio: float | None, shown: str) -> None:
    assert screen.percent(ratio) == shown
