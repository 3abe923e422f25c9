"""The output of the command line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import comptroller
import pytest
from command_line import GOOD, MIXED, Run, claim, lines
from comptroller import values
from places import ROOT

click = pytest.importorskip("click")
pytest.importorskip("rich")

from comptroller.cli.load import load  # noqa: E402

COMMANDS = [
    *("demo", "sample", "load", "export", "report", "query", "reconcile"),
    *("changes", "journal", "evidence", "check", "backup", "copy", "migrate"),
    *("serve", "webhooks", "deliver", "clients", "keys", "pull"),
]


def test_without_a_command_it_lists_the_commands(run: Run) -> None:
    ended = run()
    assert ended.code == 2
    assert re.findall(r"^  (\w+)  ", ended.err, re.MULTILINE) == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(run: Run, command: str) -> None:
    ended = run(command, "--help")
    assert ended.code == 0
    assert f"Usage: comptroller {command}" in ended.out
    assert "\\b" not in ended.out
    examples = [line for line in ended.out.splitlines() if re.match("  comptroller ", line)]
    assert all(line.count("comptroller ") == 1 for line in examples)


def test_every_option_has_help() -> None:
    from comptroller.cli.program import program

    commands: list[tuple[str, Any]] = [("", program)]
    without = []
    for name, command in commands:
        if isinstance(command, click.Group):
            context = click.Context(command)
            for each in command.list_commands(context):
                commands.append((f"{name} {each}", command.get_command(context, each)))
        options = (each for each in command.params if isinstance(each, click.Option))
        without += [f"{name} {each.opts}" for each in options if not (each.help or each.hidden)]
    assert len(commands) > len(COMMANDS)
    assert without == []


def test_a_folder_is_loaded_with_one_command(run: Run, tmp_path: Path) -> None:
    folder, db = str(tmp_path / "sample"), str(tmp_path / "a.db")
    run("sample", "all", "--rows", "20", "--out", folder)
    ended = run("load", folder, "--db", db)
    assert (ended.code, ended.err) == (0, "")
    counted = run("load", folder, "--db", db, "--json").json
    assert [
        kind for kind, counts in counted.items() if counts["unchanged"] == counts["read"]
    ] == list(values.KINDS)
    (tmp_path / "sample" / "controls.ndjson").write_text("{}\n")
    ended = run("load", folder, "--db", db)
    assert ended.code == 1
    assert "controls: Nothing was stored" in ended.out
    assert "orchestrations" not in ended.out


def test_a_folder_takes_no_option_of_one_file(run: Run, tmp_path: Path) -> None:
    """Ignored, `--decimal ,` would store 1.655 for one thousand six hundred and fifty-five."""
    (tmp_path / "claims.ndjson").write_bytes(GOOD)
    accepted = {"customer", "keep_going", "db", "state", "actor", "as_json"}
    checked = [
        option
        for option in load.params
        if isinstance(option, click.Option) and option.name not in accepted
    ]
    assert len(checked) == 13
    for option in checked:
        for name in (*option.opts, *option.secondary_opts):
            pair = "a=b" if option.multiple else "x"
            value = option.type.choices[0] if isinstance(option.type, click.Choice) else pair
            words = [name] if option.is_flag else [name, value]
            ended = run("load", str(tmp_path), "--keep-going", "--db", "a.db", *words)
            assert (ended.code, ended.out) == (2, "")
            assert f"Error: {name}: not for a folder; give KIND FILE" in ended.err
    ended = run("load", str(tmp_path), "--monthfirst", "--tz", "UTC", "--json", "--db", "a.db")
    assert "Error: --tz, --monthfirst: not for a folder" in ended.err
    assert not (tmp_path / "a.db").exists()


def test_the_command_that_writes_the_rejects_of_a_folder_is_named(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "claims.ndjson"
    file.write_bytes(lines(*(claim(f"c-{number}", amount="-") for number in range(30))))
    ended = run("load", str(tmp_path), "--db", "a.db")
    assert f"... and 10 more; load claims {file} --rejects FILE.csv writes all" in ended.out


@pytest.mark.parametrize(
    "words",
    [
        ["load", "claims", "{file}"],
        ["check"],
        ["clients", "list"],
        ["report", "--json"],
        ["report", "failures", "--json"],
    ],
)
def test_the_store_may_be_named_before_the_command(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    (tmp_path / "claims.ndjson").write_bytes(GOOD)
    words = [word.format(file=tmp_path / "claims.ndjson") for word in words]
    db, other = str(tmp_path / "a.db"), str(tmp_path / "other.db")
    run("load", "claims", str(tmp_path / "claims.ndjson"), "--db", db)
    monkeypatch.setenv("COMPTROLLER_DB", other)
    behind = run(*words, "--db", db)
    assert behind.code == 0
    assert run("--db", db, *words) == behind
    assert run("--db", db, *words, "--db", db) == behind
    differing = run("--db", db, *words, "--db", other)
    assert differing.code == 2
    assert "differ; give one of them" in differing.err
    assert not Path(other).exists()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["load", "claims"], "Missing argument 'FILE'"),
        (["load", "nowhere"], "nowhere is not a folder"),
        (["load", __file__], f"name the kind of the records: comptroller load KIND {__file__}"),
        (["load", ".", "--dry-run"], "--dry-run: not for a folder; give KIND FILE"),
        (["load", "claims", "-", "--suggest", "--json"], "--json: not for --suggest"),
        (["load", "claims", "-", "--rename", "a=id", "--rename", "a=amount"], "a has two values"),
        (["reconcile", "claims", "-", "--on=id", "--constant=x=1", "--constant=x=2"], "x has two"),
        (["--db", "a.db", "sample", "claims"], "sample has no option --db"),
        (["laod"], "Did you mean 'load'?"),
        (["report", "failure"], "Did you mean 'failures'?"),
        (["load", "claim", "x"], "'claim' is not one of 'identities'"),
        (["sample", "all"], "name it with --out FOLDER"),
        (["sample", "claims", "--json"], "--json needs --out"),
        (["sample", "claims", "--rows", "-1"], "-1 is not in the range"),
        (["export", "claims", "-", "--json"], "--json needs a FILE"),
        (["export", "balances", "x", "--since", "2026-01-01"], "cannot be filtered by time"),
        (["export", "claims", "x", "--where", "statuses"], "give NAME=VALUE"),
        (["export", "balances", "x", "--customer", "a"], "--customer: balances cannot be filtered"),
        (["webhooks", "replay", "x"], "give one of --since and --after"),
        (["webhooks", "replay", "x", "--since=x", "--after=x"], "give one of --since and --after"),
        (["report", "failures", "--by", "chian"], "unknown key 'chian'; one of status, chain"),
        (["report", "failures", "--by", "day,day"], "duplicate key"),
        (["report", "failures", "--sql", "--json"], "--sql prints the SQL alone"),
        (["report", "--out", "x.csv", "failures", "--sql"], "--sql prints the SQL alone"),
        (["query", "FROM claims", "--decimal", ",", "--sheet", "x"], "--decimal, --sheet: for the"),
    ],
)
def test_wrong_usage_is_a_usage_error(run: Run, words: list[str], expected: str) -> None:
    ended = run(*words)
    assert ended.code == 2
    assert expected in ended.err
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
def test_a_missing_file_is_reported_and_not_created(
    run: Run, tmp_path: Path, words: list[str]
) -> None:
    ended = run(*words)
    assert ended.code == 1
    assert re.fullmatch(r"comptroller: (unusable|invalid-request): .+\n", ended.err)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_not_a_store_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "comptroller.db").write_text("not a store, just some text\n" * 40)
    for words in (["check"], ["report"], ["migrate"], ["load", "claims", "-"]):
        ended = run(*words, given=GOOD)
        assert ended.code == 1
        assert ended.err.startswith("comptroller: unusable: ")
        assert "Traceback" not in ended.err


def test_a_load_reports_every_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "claims.ndjson").write_bytes(GOOD)
    ended = run("load", "claims", "claims.ndjson")
    assert ended.code == 0
    assert re.search(r"^claims +2 +2 +0 +0 +0 +0$", ended.out, re.MULTILINE)
    assert "All lines were stored." in ended.out
    again = run("load", "claims", "-", "--json", given=GOOD)
    assert again.code == 0
    assert (again.json["committed"], again.json["unchanged"]) == (True, 2)


def test_rejected_lines_are_named_and_nothing_is_stored(run: Run) -> None:
    ended = run("load", "claims", "-", given=MIXED)
    assert ended.code == 1
    assert re.search(r"^ +2  invalid-request +amount: ", ended.out, re.MULTILINE)
    assert re.search(r"^newer +1$", ended.out, re.MULTILINE)
    assert "Nothing was stored" in ended.out
    assert run("check", "--json").json["rows"]["claims"] == 0


def test_keep_going_stores_the_valid_lines(run: Run) -> None:
    ended = run("load", "claims", "-", "--keep-going", "--json", given=MIXED)
    assert ended.code == 1
    assert ended.json["committed"]
    assert ended.json["inserted"] == 2
    assert ended.json["unknown_members"] == {"newer": 1}
    assert [each["line"] for each in ended.json["rejections"]] == [2]
    assert run("check", "--json").json["rows"]["claims"] == 2


def test_a_dry_run_stores_nothing(run: Run) -> None:
    ended = run("load", "claims", "-", "--dry-run", given=GOOD)
    assert ended.code == 0
    assert "Dry run: nothing was stored." in ended.out
    assert run("check", "--json").json["rows"]["claims"] == 0


def test_only_the_first_rejections_are_shown(run: Run) -> None:
    bad = lines(*(claim(f"c-{n}", amount="x") for n in range(25)))
    ended = run("load", "claims", "-", given=bad)
    listed, more, groups = ended.out.partition("... and 5 more")
    assert more
    assert len(re.findall("invalid-request", listed)) == 20
    assert "25" in groups
    assert "amount" in groups
    assert len(run("load", "claims", "-", "--json", given=bad).json["rejections"]) == 25


def test_a_hostile_line_cannot_control_the_terminal(run: Run) -> None:
    ended = run("load", "claims", "-", given=lines({**claim("c-1"), "\x1b[31m": "\x1b[2J"}))
    assert "\x1b" not in ended.out + ended.err
    named = run("report", "--customer", "\x1b[2J")
    assert "\x1b" not in named.out + named.err


def test_loaded_records_belong_to_the_named_customer(run: Run) -> None:
    run("load", "claims", "-", "--customer", "acme", given=GOOD)
    (counted,) = run("report", "--json", "--customer", "acme").json["claims"]
    assert counted["claims"] == 2
    assert run("report", "--json", "--customer", "default").json["claims"] == []
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
    for kind in values.KINDS:
        assert run("load", kind, f"sample/{kind}.ndjson", "--db", "one.db").code == 0
    for kind in values.KINDS:
        ended = run("export", kind, f"{kind}.ndjson", "--db", "one.db", "--json")
        assert ended.json["rows"] == len((tmp_path / f"{kind}.ndjson").read_bytes().splitlines())
        assert run("load", kind, f"{kind}.ndjson", "--db", "two.db").code == 0
        run("export", kind, f"{kind}.again", "--db", "two.db", "--format", "ndjson")
    for kind in values.KINDS:
        once, again = (tmp_path / f"{kind}.{end}" for end in ("ndjson", "again"))
        assert once.read_bytes() == again.read_bytes(), kind


def test_an_export_takes_the_filters_of_the_list(run: Run, tmp_path: Path) -> None:
    run("load", "claims", "-", given=GOOD)
    ended = run("export", "claims", "-", "--since", "2026-01-31", "--until", "2026-02-01")
    assert [json.loads(line)["id"] for line in ended.out.splitlines()] == ["c-1"]
    assert (
        ended.err
        == (
            "1 claims, created from 2026-01-31 00:00 UTC, created before 2026-02-01 00:00 UTC, "
            "written to standard output\n"
        )
        + ended.err.splitlines(keepends=True)[-1]
    )
    run("export", "claims", "out.csv", "--where", "statuses=PENDING", "--where", "statuses=FAILED")
    assert (tmp_path / "out.csv").read_text().startswith("id,payout_group_id,")
    ended = run("export", "claims", "x", "--where", "statusses=FAILED")
    assert ended.code == 1
    assert "did you mean statuses?" in ended.err


@pytest.mark.parametrize("kind", ["claims", "identities"])
def test_a_day_is_its_start_in_every_bound(run: Run, kind: str) -> None:
    """An export has what a report of the same bounds has."""
    times = ("2026-01-31T00:00:00Z", "2026-01-31T23:59:59.999999Z", "2026-02-01T00:00:00Z")
    for id, time in zip("abc", times, strict=True):
        made = claim(id, created_at=time) if kind == "claims" else {"id": id, "created_at": time}
        assert run("load", kind, "-", given=lines(made)).code == 0
    since, until = "2026-01-31", "2026-02-01"
    for bounds, ids in (
        (("--since", since), "abc"),
        (("--until", since), ""),
        (("--until", until), "ab"),
        (("--until", "2026-02-01T00:00:00.000001Z"), "abc"),
        (("--since", until), "c"),
        (("--until", "0001-01-01"), ""),
    ):
        shown = run("export", kind, "-", *bounds).out.splitlines()
        assert [json.loads(line)["id"] for line in shown] == list(ids), bounds
        if kind == "claims":
            rows = run("report", "claims-summary", "--by", "", *bounds, "--json").json["rows"]
            assert sum(row["claims"] for row in rows) == len(ids), bounds
    assert run("export", kind, "-", "--end", until).code == 2


def test_a_sample_goes_to_standard_output_or_to_files(run: Run, tmp_path: Path) -> None:
    ended = run("sample", "claims", "--rows", "5", "--customer", "acme")
    assert len(ended.out.splitlines()) == 5
    assert run("sample", "claims", "--rows", "5", "--customer", "acme", "--out", "-") == ended
    named = run("sample", "payout_groups", "--rows", "3", "--out", "groups.ndjson", "--json")
    assert named.json == {"kind": "payout-groups", "files": ["groups.ndjson"]}
    assert len((tmp_path / "groups.ndjson").read_text().splitlines()) == 3


def test_a_name_of_another_format_is_refused(run: Run, tmp_path: Path) -> None:
    comptroller.open("store.db").close()
    ended = run("export", "claims", "x.foo", "--db", "store.db")
    assert (ended.code, ended.err.endswith(", or give --format\n")) == (1, True)
    ended = run("sample", "claims", "--out", "x.parquet")
    assert (ended.code, "x.parquet is not named as NDJSON" in ended.err) == (1, True)
    ended = run("load", "claims", "-", "--rejects", "x.xlsx", "--db", "store.db", given=MIXED)
    assert (ended.code, "x.xlsx is not named as CSV; end it in .csv" in ended.err) == (1, True)
    assert [each.name for each in tmp_path.glob("x*")] == []


def test_check_prints_its_findings(run: Run, tmp_path: Path) -> None:
    run("load", "claims", "-", given=GOOD)
    ended = run("check")
    assert ended.code == 0
    assert re.search(r"^claims +2$", ended.out, re.MULTILINE)
    assert re.search(r"^SQLite \d+\.\d+\.\d+; copies in this process: 1$", ended.out, re.MULTILINE)
    assert "No problems were found." in ended.out


def test_check_fails_if_there_are_findings(run: Run, tmp_path: Path) -> None:
    run("load", "claims", "-", given=GOOD)
    # A separate process, because one process must not use a file through two SQLite libraries.
    breaking = (
        "import sqlite3; c = sqlite3.connect('comptroller.db'); c.execute('UPDATE claims SET "
    )
    breaking += "amount = ''1e9'''); c.commit(); c.close()"
    subprocess.run([sys.executable, "-c", breaking.replace("''", "\\'")], cwd=tmp_path, check=True)
    ended = run("check")
    assert ended.code == 1
    assert "every value is valid: broken by 2 rows" in " ".join(ended.out.split())
    assert not run("check", "--json").json["ok"]


def test_a_backup_is_a_separate_store(run: Run, tmp_path: Path) -> None:
    run("load", "claims", "-", given=GOOD)
    ended = run("backup", "copy.db")
    size = (tmp_path / "copy.db").stat().st_size
    line, journal = ended.out.splitlines()
    assert line == f"comptroller.db copied to copy.db, {size:,} bytes"
    assert journal.startswith("journal: 2 entries, root ")
    assert run("check", "--db", "copy.db", "--json").json["rows"]["claims"] == 2
    again = run("backup", "copy.db")
    assert (again.code, again.out) == (1, "")
    assert "copy.db exists already" in again.err


def test_migrate_prints_the_versions(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    migrations = ROOT / "cpp" / "db" / "sqlite" / "migrations"
    newest = len(list(migrations.glob("*.sql")))
    assert run("migrate", "--db", "empty.db", "--json").json == {
        "from": 0,
        "to": newest,
        "migrated": True,
    }
    assert run("migrate", "--db", "empty.db").out == (
        f"empty.db already has schema version {newest}\n"
    )


def test_the_tour_prints_the_output_of_the_tutorial_and_saves_its_store(
    run: Run, tmp_path: Path
) -> None:
    ended = run("demo", "--db", "tour.db")
    assert (ended.code, ended.err) == (0, "")
    assert "The tutorial has" not in ended.out
    assert "(18, True)" in ended.out  # all sums equal the published totals
    assert ended.out.count("comptroller.errors.") == 5
    assert "No problems were found." in ended.out
    assert [path.name for path in tmp_path.iterdir()] == ["tour.db"]
    assert run("report", "--db", "tour.db", "--json").json["claims"][0]["claims"] == 36233
    ended = run("demo", "--db", "tour.db")
    assert ended.code == 1
    assert "tour.db exists already" in ended.err


def test_the_tour_fails_if_an_output_differs(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tutorial = tmp_path / "tour.md"
    tutorial.write_text("```python\n>>> 1 + 1\n3\n```\n")
    monkeypatch.setattr("comptroller.cli.demo.TUTORIAL", tutorial)
    ended = run("demo")
    assert ended.code == 1
    assert "The tutorial has:\n3\n" in ended.out
    tutorial.write_text("```console\n$ comptroller report --db absent.db\n```\n")
    ended = run("demo")
    assert ended.code == 1
    assert "there is no store absent.db" in ended.out
    assert "the command ended with exit code 1" in ended.out
    tutorial.write_text("```python\n>>> [][0]\n>>> 1\n1\n```\n")
    ended = run("demo")
    assert ended.code == 1
    assert "IndexError: list index out of range\nThe tutorial has:\nno output\n" in ended.out
    assert ended.out.endswith(">>> 1\n1\n")
    assert list(tmp_path.iterdir()) == [tutorial]
    assert run("demo", "--db", "absent/a.db").code == 1
    assert run("demo", "--db", "a.db", "--rewards", "b").code == 2
