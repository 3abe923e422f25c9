"""The layers of the project, and which layer may include or import which."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from places import ROOT

CPP = ROOT / "cpp"
PYTHON = ROOT / "python" / "comptroller"

# The files and folders at the top of the repository.
TOP = {
    *(".ci", ".clang-format", ".clang-tidy", ".editorconfig", ".gitignore"),
    *("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "SECURITY.md"),
    *("CMakeLists.txt", "Makefile", "pyproject.toml"),
    *("benchmarks", "cpp", "docs", "generate", "notebooks", "python", "tests"),
}

# The layers of the core, and the layers that each may include.
ROOMS: dict[str, set[str]] = {
    "model": set(),
    "rules": {"model"},
    "journal": {"model"},
    "json": {"model"},
    "sample": {"model", "json"},
    "files": {"model"},
    "sqlite_format": set(),
    "db": {"model"},
    "db/sqlite": {"model", "files", "db", "sqlite_format"},
    "db/postgresql": {"model", "db"},
    "store": {"model", "journal", "json", "db"},
    "service": {"model", "rules", "journal", "json", "db", "store"},
    "arrow": {"model", "rules", "files", "json", "db", "store"},
    "load": {"model", "files", "journal", "json", "db", "store", "service"},
    "export": {"model", "files", "json", "db", "store", "service"},
    "http": {"model", "service"},
    "bindings": {
        *("model", "files", "journal", "sample", "db/sqlite", "db/postgresql", "service"),
        *("http", "arrow", "load", "export"),
    },
}

# Headers of libraries, and the layers that may include them.
OWNERS = {
    r"simdjson.*": {"json"},
    r"sqlite3.*": {"db/sqlite", "sqlite_format"},
    r"sqlite_format/src/.*": {"sqlite_format"},
    r"sodium.*": {"files", "journal", "service", "http"},
    r"openssl/.*": {"journal"},
    r"pybind11/.*|Python\.h": {"bindings"},
}

# The only modules that importing the package may import.
NEEDED = {"msgspec"}
# The modules of extras, and the files that may import them at their top.
EXTRAS = {
    "altair": {"analysis"},
    "click": {"cli"},
    "duckdb": {"analysis"},
    "httpcore2": {"webhooks"},
    "httpx2": {"remote"},
    "joserfc": {"http"},
    "polars": {"analysis"},
    "prometheus_client": {"http"},
    "psycopg": {"analysis"},
    "py4j": {"analysis"},  # of pyspark
    "pyspark": {"analysis"},
    "sqlglot": {"analysis"},
    "httptools": {"http"},
    "uvloop": {"http"},
    "vl_convert": {"analysis"},
}


def room_of(path: Path) -> str:
    folder = path.parent.relative_to(CPP).as_posix()
    return folder if folder in ROOMS else folder.split("/")[0]


def wrong_includes(room: str, text: str) -> Iterator[str]:
    for header in re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', text, re.MULTILINE):
        for pattern, owners in OWNERS.items():
            if re.fullmatch(pattern, header) and room not in owners:
                yield f"{room} includes {header}, which is for {owners}"
        parts = header.split("/")
        target = "/".join(parts[:2]) if "/".join(parts[:2]) in ROOMS else parts[0]
        if target in ROOMS and target != room and target not in ROOMS[room]:
            yield f"{room} includes {header}"


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a git checkout")
def test_only_known_entries_are_at_the_top() -> None:
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert {path.split("/")[0] for path in listed.stdout.splitlines()} == TOP


@pytest.mark.parametrize("room", ROOMS)
def test_a_layer_includes_only_the_layers_below_it(room: str) -> None:
    files = [path for path in CPP.rglob("*.[ch]pp") if room_of(path) == room]
    assert files
    wrong = [
        f"{path.relative_to(ROOT)}: {reason}"
        for path in files
        for reason in wrong_includes(room, path.read_text())
    ]
    assert wrong == []


def test_every_source_belongs_to_a_known_layer() -> None:
    unknown = [path for path in CPP.rglob("*.[ch]pp") if room_of(path) not in ROOMS]
    assert unknown == []


def test_the_layers_have_no_cycle() -> None:
    for rooms in (ROOMS, imported()):
        left = {room: set(below) & rooms.keys() for room, below in rooms.items()}
        while left:
            lowest = {room for room, below in left.items() if not below}
            assert lowest, f"a circle among {sorted(left)}"
            left = {room: below - lowest for room, below in left.items() if room not in lowest}


def components() -> dict[str, set[str]]:
    """Returns the components of the core (a header with its source) and what each includes."""
    found: dict[str, set[str]] = {}
    for path in CPP.rglob("*.[ch]pp"):
        name = path.relative_to(CPP).with_suffix("").as_posix()
        headers = re.findall(r'^#include "([^"]+)\.hpp"', path.read_text(), re.MULTILINE)
        found.setdefault(name, set()).update(set(headers) - {name})
    return found


def circles(graph: dict[str, set[str]]) -> set[frozenset[str]]:
    """Returns the groups of components that include each other, directly or through others."""
    reached: dict[str, set[str]] = {}
    for name in graph:
        seen: set[str] = set()
        left = [name]
        while left:
            new = graph[left.pop()] & graph.keys() - seen
            seen |= new
            left += new
        reached[name] = seen
    return {
        frozenset(each for each in reached[name] if name in reached[each])
        for name in graph
        if name in reached[name]
    }


def test_no_components_include_each_other() -> None:
    assert circles(components()) == set()


def test_a_circle_of_components_is_detected() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": set[str]()}
    assert circles(graph) == {frozenset("abc")}


@pytest.mark.parametrize(
    ("room", "include"),
    [
        ("model", '#include "rules/claims.hpp"'),
        ("rules", '#include "store/claims.hpp"'),
        ("store", '#include "db/sqlite/connection.hpp"'),
        ("service", "#include <sqlite3.h>"),
        ("service", '#include "load/loader.hpp"'),
        ("load", "#include <simdjson.h>"),
        ("sample", '  #  include "store/claims.hpp"'),
        ("arrow", "#include <pybind11/pybind11.h>"),
        ("load", "#include <Python.h>"),
        ("db", "#include <sodium.h>"),
        ("service", "#include <openssl/evp.h>"),
        ("journal", '#include "store/claims.hpp"'),
        ("sqlite_format", '#include "model/error.hpp"'),
        ("sqlite_format", "#include <simdjson.h>"),
        ("db/sqlite", '#include "sqlite_format/src/pages.hpp"'),
        ("store", '#include "sqlite_format/sqlite_format.hpp"'),
    ],
)
def test_a_forbidden_include_is_detected(room: str, include: str) -> None:
    assert list(wrong_includes(room, f"#pragma once\n{include}\n"))


def part_of(path: Path) -> str:
    """Returns the layer of a file of the package; empty for the package itself."""
    name = path.relative_to(PYTHON).parts[0].removesuffix(".py")
    return "" if name == "__init__" else name


def imports(tree: ast.AST, *, only_at_the_top: bool = False) -> Iterator[str]:
    """Returns the modules imported at run time, without those under TYPE_CHECKING."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            assert node.module is not None
            # An import from the package may name a layer or a public name.
            yield from (f"{node.module}.{entry.name}" for entry in node.names)
        elif not (only_at_the_top and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)):
            yield from imports(node, only_at_the_top=only_at_the_top)


def modules(*, only_at_the_top: bool) -> dict[str, set[str]]:
    """Returns the modules of the package, and the modules of it that each imports."""

    def name_of(path: Path) -> str:
        parts = path.relative_to(PYTHON.parent).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    found: dict[str, set[str]] = {name_of(path): set() for path in PYTHON.rglob("*.py")}
    for path in PYTHON.rglob("*.py"):
        importing = name_of(path)
        for module in imports(ast.parse(path.read_text()), only_at_the_top=only_at_the_top):
            target = module if module in found else module.rpartition(".")[0]
            if target in found and target != importing:
                found[importing].add(target)
    # The package itself only gives names that are loaded on demand.
    return {name: below - {PYTHON.name} for name, below in found.items() if name != PYTHON.name}


# Modules that import each other only inside functions: a report, a table and the overview have
# methods that return HTML, and `presentation` makes it of them.
ON_DEMAND = frozenset(
    f"comptroller.analysis.{name}"
    for name in ("overview", "presentation", "query", "report", "table")
)


def test_no_modules_import_each_other_at_their_top() -> None:
    graph = modules(only_at_the_top=True)
    assert graph["comptroller.remote.host"] >= {"comptroller.errors", "comptroller.remote.session"}
    assert circles(graph) == set()


def test_modules_that_import_each_other_on_demand_are_known() -> None:
    assert circles(modules(only_at_the_top=False)) == {ON_DEMAND}


# A package and a folder in it that import each other at their tops: the engines run the statements
# of `assemble`, and the reports run on the engines.
NESTED = {frozenset({"comptroller.analysis", "comptroller.analysis.engines"})}


def test_packages_that_import_each_other_at_their_top_are_known() -> None:
    """A package is its files without those of the folders in it; those at the top are their own."""

    def package_of(name: str) -> str:
        folder = PYTHON.parent / name.replace(".", "/")
        above = name.rpartition(".")[0]
        return name if folder.is_dir() or above == PYTHON.name else above

    found: dict[str, set[str]] = {}
    for name, below in modules(only_at_the_top=True).items():
        package = package_of(name)
        found.setdefault(package, set()).update({package_of(each) for each in below} - {package})
    assert circles(found) == NESTED


def imported() -> dict[str, set[str]]:
    """Returns the layers of the package, and the layers that each imports."""
    found: dict[str, set[str]] = {part_of(path): set() for path in PYTHON.rglob("*.py")}
    for path in PYTHON.rglob("*.py"):
        for module in imports(ast.parse(path.read_text())):
            package, _, rest = f"{module}.".partition(".")
            target = rest.partition(".")[0]
            if package == "comptroller" and target in found:
                found[part_of(path)].add(target)
    # Importing the package itself only gives names that are loaded on demand.
    del found[""]
    return {room: below - {room, ""} for room, below in found.items()}


# The rooms of the adapter, and the rooms that each may import; empty for the application.
HTTP_ROOMS = {
    "": {""},
    "oauth": {"", "oauth"},
    "server": {"", "oauth", "server"},
}


@pytest.mark.parametrize("room", HTTP_ROOMS)
def test_the_application_knows_neither_its_server_nor_its_tokens(room: str) -> None:
    folder = PYTHON / "http"
    found = set()
    for path in (folder / room).glob("*.py"):
        for module in imports(ast.parse(path.read_text())):
            within = module.removeprefix("comptroller.http.")
            if within != module:
                first = within.partition(".")[0]
                found.add(first if (folder / first).is_dir() else "")
    assert found <= HTTP_ROOMS[room]


def arrows(rooms: dict[str, set[str]]) -> list[str]:
    """Returns the imports as arrows of a Mermaid chart, without implied ones."""

    def below(room: str) -> set[str]:
        return rooms[room].union(*(below(each) for each in rooms[room]))

    def drawn(room: str) -> list[str]:
        return sorted(
            each for each in rooms[room] if not any(each in below(other) for other in rooms[room])
        )

    return [f"{room} --> {' & '.join(drawn(room))}" for room in sorted(rooms) if rooms[room]]


def test_the_package_chart_shows_the_imports_of_layers() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    (chart,) = re.findall(r"^```mermaid\nflowchart TD\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert chart.split("\n") == [*(f"  {arrow}" for arrow in arrows(imported())), ""]


def test_an_implied_import_is_not_drawn() -> None:
    rooms = {"a": {"b", "c", "d"}, "b": {"c"}, "c": set(), "d": set[str]()}
    assert arrows(rooms) == ["a --> b & d", "b --> c"]


def test_optional_modules_are_imported_on_demand() -> None:
    for path in PYTHON.rglob("*.py"):
        for module in imports(ast.parse(path.read_text()), only_at_the_top=True):
            name = module.split(".")[0]
            known = {"comptroller", *NEEDED, *sys.stdlib_module_names}
            allowed = name in known or part_of(path) in EXTRAS.get(name, ())
            assert allowed, f"{path.relative_to(ROOT)} imports {module} at its top"


def test_every_source_is_built() -> None:
    listed = set(re.findall(r"\S+\.cpp", (ROOT / "CMakeLists.txt").read_text()))
    found = {
        path.relative_to(ROOT).as_posix()
        for folder in ("cpp", "tests/cpp")
        for path in (ROOT / folder).rglob("*.cpp")
    }
    assert found - listed == set()


def test_every_module_of_an_extra_is_imported_by_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    named = {
        re.split(r"[<>=\[]", each)[0].replace("-", "_")
        for name in extras
        if name != "all"
        for each in extras[name]
        if not each.startswith("comptroller[")
    }
    sources = "".join(path.read_text() for path in PYTHON.rglob("*.py"))
    # Not imported by the package under that name: DuckDB's rows need pytz where they hold times, a
    # server parses through httptools, vl-convert-python is imported as vl_convert, and
    # backports-zstd as backports.zstd.
    elsewhere = {"pytz", "httptools", "vl_convert_python", "backports_zstd"}
    assert named > elsewhere
    for module in named - elsewhere:
        used = rf"(import|from) {module}\b|(require|find_spec)\(.{module}\b"
        assert re.search(used, sources), module
