"""`load --suggest`: the mapping that the columns and the values of a file suggest."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import comptroller
import pytest

xlsxwriter = pytest.importorskip("xlsxwriter")

UUID = "5f0c0000-0000-4000-8000-000000000001"
PLAIN = UUID.replace("-", "")
HEAD = "id,payout_group_id,claim_type,onchain_status,created_at,amount"
ROW = f"c{{n}},{UUID},CLAIM_ALL,CONFIRMED,{{day}},{{amount}}"


@pytest.fixture(name="run")
def _run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Any:
    main = pytest.importorskip("comptroller.cli").main
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> str:
        code = main([*words, "--db", "store.db"])
        output = capsys.readouterr()
        assert code == 0, output
        return str(output.out)

    return run


def suggested(run: Any, text: str, *words: str) -> tuple[dict[str, Any], str]:
    Path("s.csv").write_text(text)
    printed = run("load", "claims", "s.csv", "--suggest", *words)
    return tomllib.loads(printed), printed


def test_a_suggested_mapping_names_columns_and_reads_values(run: Any, tmp_path: Path) -> None:
    text = "Claim ID;Payout group;Betrag;Created\nR-1;GRP-001;1.655,39;31.01.2026 13:00\n"
    mapping, printed = suggested(run, text)
    assert mapping == {
        "separator": ";",
        "decimal": ",",
        "ids": "uuid5",
        "rename": {
            "Claim ID": "id",
            "Payout group": "payout_group_id",
            "Betrag": "amount",
            "Created": "created_at",
        },
    }
    assert "# not found: claim_type, onchain_status" in printed
    assert '# tz = "UTC"  # fill in: the time zone of times such as' in printed
    assert not (tmp_path / "store.db").exists()


# days, amounts, what the mapping says of them, and what it says as a comment
UNDECIDED: list[tuple[list[str], list[str], dict[str, Any], list[str]]] = [
    (["2026-01-31"], ["1.5"], {}, []),
    (["03/04/2026"], ["1"], {}, ["# dayfirst = true  # fill in true or false: 03/04/2026 may"]),
    (["03/04/2026", "13/04/2026"], ["1"], {"dayfirst": True}, []),
    (["03/04/2026", "04/13/2026"], ["1"], {"dayfirst": False}, []),
    (["13/04/2026", "04/13/2026"], ["1"], {}, ["some have the day first, some the month"]),
    (["2026-01-31"], ['"1,5"'], {"decimal": ","}, []),
    (["2026-01-31"], ['"1.655,39"', '"1.655"'], {"decimal": ","}, []),
    (["2026-01-31"], ["1.655.390"], {"decimal": ","}, []),
    (["2026-01-31"], ["0.655", "1.655"], {}, []),
    (["2026-01-31"], ["1.655"], {}, ['# decimal = ","  # choose: 1.655 may be 1.655 or 1655']),
    (["2026-01-31"], ['"1,655"'], {}, ['# decimal = ","  # choose: 1,655 may be 1.655 or 1655']),
    (["2026-01-31"], ['"1655,390"'], {"decimal": ","}, []),
    (["2026-01-31"], ['"1,5"', "1'234.567"], {}, ["1,5 has a decimal comma, 1'234.567 a decimal"]),
    (["2026-01-31"], ['"123,456"', "123.456"], {}, ["choose: 123,456 may be 123.456 or 123456"]),
    (["2026-01-31"], ['"1,5"', "1.5"], {}, ["1,5 has a decimal comma, 1.5 a decimal point"]),
]


@pytest.mark.parametrize(("days", "amounts", "expected", "remarks"), UNDECIDED)
def test_what_no_value_decides_is_a_comment(
    run: Any, days: list[str], amounts: list[str], expected: dict[str, Any], remarks: list[str]
) -> None:
    count = max(len(days), len(amounts))
    rows = [
        ROW.format(n=n, day=days[n % len(days)], amount=amounts[n % len(amounts)])
        for n in range(count)
    ]
    mapping, printed = suggested(run, "\n".join([HEAD, *rows, ""]))
    assert mapping == expected
    for remark in remarks:
        assert remark in printed
    assert ("choose" in printed or "true or false" in printed) == bool(remarks)
    Path("s.toml").write_text(printed)
    with comptroller.open(":memory:") as store:
        result = store.load("claims", "s.csv", mapping="s.toml")
    is_accepted = not remarks or amounts == ["1.655"]  # then the point is decimal
    assert (result.inserted == count) is is_accepted


# ids of groups, the option that the mapping has, and what it says
IDS = [
    ([UUID, UUID.upper()], None, ""),
    (["GRP-1", "GRP-2"], "uuid5", '# makes UUIDs of ids such as "GRP-1"'),
    ([PLAIN, UUID], "uuid5", f'# makes UUIDs of ids such as "{PLAIN}"'),
    (
        [UUID, f"{UUID[:-1]}x", UUID],
        None,
        f'# ids = "uuid5"  # choose: 1 of 3 ids is not a UUID, such as "{UUID[:-1]}x"; correct it',
    ),
    (["", "GRP-1", "", UUID, "GRP-2"], None, "2 of 3 ids are not UUIDs, such as"),
    ([PLAIN, PLAIN[:-1]], None, "1 of 2 ids is not a UUID, such as"),
]


@pytest.mark.parametrize(("ids", "option", "remark"), IDS)
def test_a_mistyped_uuid_suggests_no_conversion(
    run: Any, ids: list[str], option: str | None, remark: str
) -> None:
    rows = [f"c{n},{id},CLAIM_ALL,CONFIRMED,2026-01-31,1" for n, id in enumerate(ids)]
    mapping, printed = suggested(run, "\n".join([HEAD, *rows, ""]))
    assert mapping.get("ids") == option
    assert remark in printed
    assert ("ids =" in printed) == bool(remark)


# the columns of numbers and times, the members, and the comments
COLUMNS = [
    ("gross,net", {}, ['choose a column: "', '# "']),
    ("total,amount EUR", {"amount EUR": "amount"}, ['"total" also has numbers']),
    ("Betrag", {"Betrag": "amount"}, []),
]

# columns with a value each, and the members
LONE = [
    ({"Datum": "31.01.2026", "Betrag": "1,5"}, {"Datum": "created_at", "Betrag": "amount"}),
    ({"Datum": "2026/01/31", "Betrag": "15"}, {"Datum": "created_at", "Betrag": "amount"}),
    ({"date": "2026-01-31"}, {"date": "created_at"}),
    (
        {"date": "2026-01-31", "updated": "2026-02-01"},
        {"date": "created_at", "updated": "updated_at"},
    ),
    ({"created_at": "2026-01-31", "date": "2026-02-01"}, {}),
    ({"created_at": "2026-01-31", "last update": "2026-02-01"}, {"last update": "updated_at"}),
]


@pytest.mark.parametrize(("cells", "renamed"), LONE)
def test_days_are_no_amounts_and_first_of_all_created_at(
    run: Any, cells: dict[str, str], renamed: dict[str, str]
) -> None:
    text = f"id;{';'.join(cells)}\nc;{';'.join(cells.values())}\n"
    mapping, printed = suggested(run, text)
    assert mapping.get("rename", {}) == renamed, printed


@pytest.mark.parametrize(("names", "renamed", "remarks"), COLUMNS)
def test_the_columns_that_may_be_the_amount_are_named(
    run: Any, names: str, renamed: dict[str, str], remarks: list[str]
) -> None:
    cells = ",".join(f"{n}.5" for n in range(names.count(",") + 1))
    mapping, printed = suggested(run, f"id,{names}\nc,{cells}\n")
    assert mapping.get("rename", {}) == renamed
    for name in names.split(","):
        assert f'"{name}"' in printed
    for remark in remarks:
        assert remark in printed


def test_the_options_of_a_suggestion_are_facts(run: Any, tmp_path: Path) -> None:
    text = "Nr|Tag|gross|net\nR-1|03/04/2026|1,655|2,5\n"
    given = ["--separator", "|", "--dayfirst", "--rename", "net=amount", "--rename", "Nr=id"]
    given += ["--constant", "claim_type=CLAIM_ALL", "--tz", "Europe/Zurich"]
    mapping, printed = suggested(run, text, *given)
    assert mapping == {
        "separator": "|",
        "dayfirst": True,
        "decimal": ",",
        "tz": "Europe/Zurich",
        "rename": {"net": "amount", "Nr": "id", "Tag": "created_at"},
        "constants": {"claim_type": "CLAIM_ALL"},
    }
    assert '# not used: "gross"' in printed
    (tmp_path / "x.toml").write_text(printed)
    assert suggested(run, text, "--map", "x.toml")[0] == mapping
    with xlsxwriter.Workbook(tmp_path / "x.xlsx") as book:
        book.add_worksheet("notes").write_column(0, 0, ["Note", "x"])
        book.add_worksheet("May").write_column(0, 0, ["amount", 1.5])
    printed = run("load", "claims", "x.xlsx", "--suggest", "--sheet", "May")
    assert tomllib.loads(printed) == {"sheet": "May", "floats": "shortest"}
