"""What the README shows is run as it stands, top to bottom, in an empty folder."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import comptroller
import pytest
from comptroller.cli import main
from serving import serving

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)


def test_the_python_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for block in blocks("python"):
        if "comptroller.connect" not in block:
            exec(block, namespace)
    assert capsys.readouterr().out.splitlines() == [
        "10000 0",
        "False True",
        "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359 PENDING",
        "5 " + namespace["page"].items[0].error_message,
        "[]",
        "insufficient-scope this needs the scope rewards:read_payout_groups",
        repr(namespace["report"]),
    ]
    assert (tmp_path / "claims.svg").read_text().startswith("<svg")
    assert (tmp_path / "claims.ndjson").read_bytes().count(b"\n") == 10_000


def commands() -> list[list[str]]:
    lines = [line.removeprefix("$ ") for block in blocks("console") for line in block.splitlines()]
    split = [shlex.split(line, comments=True) for line in lines]
    return [words[1:] for words in split if words[0] == "comptroller"]


def test_the_commands_of_the_readme_succeed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    comptroller.open("rewards.db").close()
    ended = [words for words in commands() if words[0] != "serve"]
    assert len(ended) == 10
    assert [main(words) for words in ended] == [0] * 10


def test_the_service_of_the_readme_is_asked_from_afar(tmp_path):
    served = [words for words in commands() if words[0] == "serve"]
    assert served == [["serve", "--sample", "10000"], ["serve", "--db", "rewards.db"]]
    (block,) = (block for block in blocks("python") if "comptroller.connect" in block)
    with serving(*served[0][1:], cwd=tmp_path) as server:
        id, secret = server.credentials()
        names = {"comptroller": comptroller, "address": server.address}
        exec(block, names | {"client_id": id, "client_secret": secret})
    with serving(*served[1][1:], cwd=tmp_path) as server:
        assert "serves rewards.db" in server.said


@pytest.mark.parametrize("path", re.findall(r"\]\(([^)#:]+)\)", README))
def test_what_the_readme_points_at_is_there(path):
    assert (ROOT / path).exists()
