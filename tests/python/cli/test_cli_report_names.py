"""The reports at the command line: in the terminal, as JSON, and in an HTML file."""

from __future__ import annotations

import json
import shlex
from decimal import Decimal
from pathlib import Path

import pytest
from command_line import GROUP, Run, claim, lines

pytest.importorskip("click")
pytest.importorskip("rich")
pytest.importorskip("sqlglot")
pytest.importorskip("duckdb")
pytest.importorskip("polars")
pytest.importorskip("altair")
pytest.importorskip("vl_convert")

from comptroller.analysis.registry import REPORTS
from report_stores import NAMES

EXACT = "12345678901234567890.000000000000000001"
CLAIMS = lines(
    claim("c-1", amount=EXACT, blockchain="INK"),
    claim(
        "c-2",
        onchain_status="CONFIRMED",
        submitted_at="2026-01-31T12:00:00Z",
        confirmed_at="2026-01-31T12:01:36.5Z",
        created_at="2026-01-31T11:00:00Z",
    ),
    claim("c-3", onchain_status="FAILED", error_message="out of gas " * 9, customer_id="acme"),
    claim("c-4", onchain_status="SUBMITTED", submitted_at="2026-01-31T12:00:00Z"),
)


@pytest.fixture(autouse=True)
def _claims(run: Run) -> None:
    assert run("load", "claims", "-", given=CLAIMS).code == 0


def test_the_help_names_every_report(run: Run) -> None:
    help_text = run("report", "--help").out
    for name in NAMES:
        assert name.replace("_", "-") in help_text


@pytest.mark.parametrize("name", NAMES)
def test_each_report_accepts_all_its_parameters(run: Run, name: str) -> None:
    help_text = run("report", name, "--help").out
    definition = REPORTS[name]
    for option in (*definition.takes, "html", "json", "customer", "sql"):
        assert ("ID  " if option == "id" else f"--{option.replace('_', '-')} ") in help_text
    assert ("--by KEY" in help_text) == (definition.by is not None)


OPTIONAL = [name for name in NAMES if name not in ("group_statement", "history")]


@pytest.mark.parametrize("name", OPTIONAL)
def test_each_report_is_printed_and_returned_as_json(run: Run, name: str) -> None:
    drawn = run("report", name.replace("_", "-"))
    assert (drawn.code, drawn.err) == (0, "")
    answer = run("report", name, "--json").json
    assert answer["report"] == name
    assert drawn.out.startswith(answer["title"])
    assert (len(answer["rows"]) > 0) == ("─" in drawn.out)


def test_amounts_are_complete_in_the_terminal_and_in_json(run: Run) -> None:
    drawn = run("report", "claims_summary", "--by", "chain,month")
    assert "12,345,678,901,234,567,890.000000000000000001" in drawn.out
    assert "1.5" in drawn.out
    rows = run("report", "claims_summary", "--by", "chain,month", "--json").json["rows"]
    assert [row["waiting_amount"] for row in rows] == [EXACT, "1.5"]
    assert rows[0]["month"] == "2026-01-01"
    assert sum(Decimal(row["claims"]) for row in rows) == 4


def test_options_may_stand_before_the_name(run: Run) -> None:
    before = run("report", "--since", "2026-01-31T12:00:00Z", "--json", "failures").json
    after = run("report", "failures", "--since", "2026-01-31T12:00:00Z", "--json").json
    assert before == after
    assert len(before["rows"]) == 1


def test_parameters_are_passed_on(run: Run) -> None:
    words = ("report", "stuck-claims", "--json", "--as-of", "2026-01-31T12:01:40Z")
    (row,) = run(*words, "--percentile", "0.99").json["rows"]
    assert (row["id"], row["age_seconds"], row["threshold_seconds"]) == ("c-4", 100.0, 96.5)
    (schedule,) = run("report", "claims-summary", "--by", "schedule", "--json").json["rows"]
    assert schedule["claims"] == 4


def test_the_sql_of_a_report_gives_its_rows(run: Run) -> None:
    words = ("report", "failures", "--by", "month", "--since", "2026-01-01")
    sql = run(*words, "--sql").out
    rows = run(*words, "--json").json["rows"]
    queried = json.loads(run("query", sql, "--format", "json").out)
    assert queried == rows
    assert rows[0]["month"] == "2026-01-01"


def test_a_period_a_customer_and_an_engine_are_passed_on(run: Run) -> None:
    def counted(*words: str) -> int:
        rows = run("report", "claims_summary", "--by", "asset", *words, "--json").json["rows"]
        return sum(row["claims"] for row in rows)

    assert counted() == counted("--engine", "duckdb") == 4
    assert counted("--since", "2026-01-31T12:00:00Z") == 3
    assert counted("--until", "2026-01-31T12:00:00Z") == 1
    assert counted("--customer", "acme") == 1


def test_a_statement_needs_a_group_and_a_month(run: Run) -> None:
    rows = run(
        *("report", "group_statement", "--group", GROUP, "--month", "2026-01", "--json")
    ).json["rows"]
    assert (len(rows), rows[-1]["claimed"], rows[-1]["last_claim"]) == (32, "1.5", "c-2")


def test_a_history_needs_an_id(run: Run) -> None:
    rows = run("report", "history", "c-2", "--until", "2026-01-31T12:01:00Z", "--json").json["rows"]
    assert [row["event"] for row in rows] == ["created", "submitted"]
    ended = run("report", "history", "c-9")
    assert (ended.code, "there is no claim" in ended.err) == (1, True)


def test_all_reports_go_into_one_file(run: Run, tmp_path: Path) -> None:
    ended = run("report", "--html", "all.html")
    assert (ended.code, ended.err) == (0, "")
    html = (tmp_path / "all.html").read_text(encoding="utf-8")
    # Every report without required parameters, claims_summary twice, and the overview first.
    assert html.count("<section") == len(OPTIONAL) + 2
    assert html.index('id="overview"') < html.index('id="claims_summary"')
    result = run("report", "--html", "all.html", "--json")
    assert sorted(result.json["reports"]) == sorted(["overview", *OPTIONAL])


def test_operator_reports_are_omitted_from_a_customers_file(run: Run, tmp_path: Path) -> None:
    ended = run("report", "--html", "all.html", "--customer", "default", "--json")
    assert ended.err == "left out: reconciliation, because this needs the scope operator:read\n"
    assert set(OPTIONAL) - set(ended.json["reports"]) == {"reconciliation"}
    html = (tmp_path / "all.html").read_text(encoding="utf-8")
    assert html.count("<section") == len(OPTIONAL) + 1


def test_an_operator_report_of_a_customer_is_run_by_the_operator(run: Run) -> None:
    group = json.dumps({"id": GROUP, "ledger": "INK", "created_at": "2026-01-01"}).encode()
    ours = CLAIMS.splitlines()[1]
    for kind, line in (("payout-groups", group), ("claims", ours)):
        assert run("load", kind, "-", "--db", "one.db", given=line).code == 0
    words = ("report", "reconciliation", "--json", "--db", "one.db")
    of_all, of_one = run(*words), run(*words, "--customer", "default")
    assert (of_one.code, of_one.err, of_one.json["rows"]) == (0, "", of_all.json["rows"])
    assert of_one.json["rows"]
    assert run(*words, "--customer", "acme").json["rows"] == []


def test_the_commands_of_an_overview_name_its_store_and_its_customer(
    run: Run, tmp_path: Path
) -> None:
    noon = {"submitted_at": "2026-01-31T12:00:00Z", "created_at": "2026-01-31T12:00:00Z"}
    paid = {"onchain_status": "CONFIRMED", "confirmed_at": "2026-01-31T12:00:30Z", **noon}
    waits = {"onchain_status": "SUBMITTED", "submitted_at": "2026-01-31T13:00:00Z"}
    ours = ("c2", "c3", "c4")
    given = lines(
        *(claim(f"paid-{each}", customer_id=each, **paid) for each in ours),
        *(claim(f"waits-{each}", customer_id=each, **waits) for each in ours),
        *(claim(f"new-{each}", customer_id=each, created_at="2026-02-01") for each in ours),
    )
    assert run("load", "claims", "-", "--db", "three.db", given=given).code == 0
    words = ("report", "--customer", "c2", "--customer", "c3", "--db", "three.db")
    command = "comptroller report stuck-claims --customer c2 --customer c3 --db three.db"
    assert command in run(*words).out
    assert command in [each["command"] for each in run(*words, "--json").json["findings"]]
    assert run(*words, "--html", "all.html").code == 0
    assert command in (tmp_path / "all.html").read_text(encoding="utf-8")
    ids = [row["id"] for row in run(*shlex.split(command)[1:], "--json").json["rows"]]
    assert {"waits-c2", "waits-c3"} <= {*ids}
    assert "waits-c4" not in ids
    one = "comptroller report stuck-claims --customer c4 --db three.db"
    assert one in run("report", "--customer", "c4", "--db", "three.db").out


@pytest.mark.parametrize("keys", ["customer", "customer,month"])
def test_the_report_of_a_customer_may_name_it(run: Run, keys: str) -> None:
    words = ("report", "claims-summary", "--by", keys, "--customer", "acme", "--json")
    rows = run(*words).json["rows"]
    assert {(row["customer"], row["claims"]) for row in rows} == {("acme", 1)}


def test_an_overview_without_claims_says_so(run: Run) -> None:
    assert run("report", "--customer", "nobody").out == "There are no claims.\n"


def test_one_report_goes_into_a_file(run: Run, tmp_path: Path) -> None:
    ended = run("report", "failures", "--by", "month", "--html", "one.html", "--json")
    assert ended.json == {"file": "one.html", "reports": ["failures"]}
    assert (tmp_path / "one.html").read_text(encoding="utf-8").count("<section") == 1


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["nope"], "No such command 'nope'"),
        (["cohort", "--by", "day"], "No such option '--by'"),
        (["cohort", "--month", "2026-01"], "No such option '--month'"),
        (["history"], "Missing argument 'ID'"),
        (["group_statement"], "Missing option '--group'"),
        (["group_statement", "--group", GROUP], "Missing option '--month'"),
        (["failures", "--start", "2026-01-01"], "No such option '--start'"),
        (["failures", "--by", "colour"], "unknown key 'colour'; one of status, chain, asset"),
        (["anomalies", "--by", "day"], "unknown key 'day'; one of status, chain, asset"),
        (["anomalies", "--measure", "weight"], "'weight' is not one of 'claims', 'amount'"),
        (["--by", "asset"], "No such option '--by'"),
    ],
)
def test_hidden_rows_are_counted(run: Run, words: list[str], why: str) -> None:
    ended = run("report", *words)
    assert ended.code == 2
    assert why in " ".join(ended.err.split())


def test_amounts_too_large_for_a_column_are_noted(run: Run, tmp_path: Path) -> None:
    large = lines(*(claim(f"big-{n}", amount="9" * 20, asset_type="BIG") for n in range(2)))
    assert run("load", "claims", "-", given=large).code == 0
    ended = run("report")
    why = "left out: amounts of claims_summary, because they have more than 20 digits"
    assert (ended.code, why in ended.err) == (0, True)
    assert "12,345,678,901,234,567,891.500000000000000001" in ended.out
    assert run("report", "--html", "all.html").code == 0
    html = (tmp_path / "all.html").read_text(encoding="utf-8")
    assert html.count("<section") == len(OPTIONAL) + 2
    assert "amounts of more than 20 digits before the point left empty" in html


def test_commands_of_findings_name_the_store(run: Run) -> None:
    assert run("sample", "claims", "--rows", "500", "--out", "claims.ndjson").code == 0
    assert run("load", "claims", "claims.ndjson", "--db", "other store.db").code == 0
    ended = run("report", "--db", "other store.db")
    commands = [line.strip() for line in ended.out.splitlines() if "comptroller report" in line]
    assert commands
    for command in commands:
        _, *words = shlex.split(command)
        assert run(*words).code == 0


def test_a_report_may_have_no_keys(run: Run) -> None:
    assert len(run("report", "confirmation-times", "--by", "", "--json").json["rows"]) == 1


def test_a_file_of_the_store_is_not_replaced(run: Run) -> None:
    ended = run("report", "failures", "--html", "comptroller.db")
    assert (ended.code, "of the open store" in ended.err) == (1, True)
    assert run("check").code == 0
