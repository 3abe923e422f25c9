"""What the README shows is run as it stands, top to bottom, in an empty folder."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from comptroller.cli import main

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)


def test_the_python_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for block in blocks("python"):
        exec(block, namespace)
    assert capsys.readouterr().out.splitlines() == [
        "10000 0",
        "False True",
        "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359 PENDING",
        "5 " + namespace["page"].items[0].error_message,
        "[]",
        "insufficient-scope this needs the scope rewards:read_payout_groups",
    ]
    assert (tmp_path / "claims.ndjson").read_bytes().count(b"\n") == 10_000


def test_the_commands_of_the_readme_succeed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    commands = [
        line.removeprefix("$ ") for block in blocks("console") for line in block.splitlines()
    ]
    ours = [shlex.split(command)[1:] for command in commands if command.startswith("comptroller ")]
    assert len(ours) == 6
    assert [main(arguments) for arguments in ours] == [0] * 6


@pytest.mark.parametrize("path", re.findall(r"\]\(([^)#:]+)\)", README))
def test_what_the_readme_points_at_is_there(path):
    assert (ROOT / path).exists()
