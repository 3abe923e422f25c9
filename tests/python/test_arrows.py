"""The rooms of the project and the arrows between them: who may include or import whom."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CPP = ROOT / "cpp"
PYTHON = ROOT / "python" / "comptroller"

# Each room of the core, and the rooms it may include besides itself.
ROOMS: dict[str, set[str]] = {
    "model": set(),
    "rules": {"model"},
    "json": {"model"},
    "sample": {"model", "json"},
    "files": {"model"},
    "db": {"model"},
    "db/sqlite": {"model", "files", "db"},
    "store": {"model", "json", "db"},
    "service": {"model", "rules", "json", "db", "store"},
    "arrow": {"model", "rules", "files", "json", "db", "store"},
    "load": {"model", "files", "json", "db", "store", "service"},
    "http": {"model", "service"},
    "bindings": {"model", "sample", "db/sqlite", "service", "http", "arrow", "load"},
}

# Headers of others, and the rooms that may include them.
OWNERS = {
    r"simdjson.*": {"json"},
    r"sqlite3.*": {"db/sqlite"},
    r"sodium.*": {"service", "http"},
    r"pybind11/.*|Python\.h": {"bindings"},
}

# Each part of the package, and the parts it may import when it runs.
PARTS: dict[str, set[str]] = {
    "errors": set(),
    "values": set(),
    "route_table": set(),
    "decoding": {"arguments"},
    "records": {"decoding"},
    "figures": set(),
    "markup": set(),
    "pages": {"markup"},
    "arguments": {"errors", "values"},
    "streams": {"errors", "routes"},
    "files": {"errors"},
    "loopback": set(),
    "progress": {"errors", "streams"},
    "parquet": {"errors", "files", "streams", "analysis"},
    "loading": {"_core", "errors", "values", "arguments", "markup", "progress", "streams"},
    "operations": {"errors", "values", "decoding", "records", "pages", "arguments", "streams"},
    "async_operations": {"values", "records", "pages", "arguments", "operations"},
    "sampling": {"_core", "errors", "values", "arguments", "files"},
    "analysis": {
        *("_core", "errors", "values", "arguments", "figures", "markup", "progress", "routes"),
        "streams",
    },
    "service": {
        *("errors", "decoding", "arguments", "streams", "markup", "parquet", "loading"),
        *("operations", "progress", "routes", "analysis"),
    },
    "async_service": {"async_operations"},
    "local": {"_core", "errors", "arguments", "files", "streams", "loading", "service"},
    "routes": {"_core", "route_table"},
    "remote": {
        *("", "_core", "errors", "decoding", "records", "arguments", "files", "streams", "loading"),
        *("service", "async_service", "routes", "loopback"),
    },
    "http": {
        *("", "_core", "errors", "values", "arguments", "files", "loading", "service", "local"),
        *("routes", "loopback"),
    },
    "pulling": {
        *("errors", "values", "decoding", "files", "records", "loading", "progress", "local"),
        *("remote", "routes", "service"),
    },
    # Programs see what everybody sees: the package's own names, errors, records and reports.
    "cli": {
        *("", "errors", "values", "records", "figures", "markup", "files", "loading", "parquet"),
        *("streams", "analysis", "pulling", "http", "loopback"),
    },
    "__main__": {"cli"},
    # Names are loaded when they are used; see its own table.
    "": set(),
}

# Nothing else may be imported by importing the package.
NEEDED = {"msgspec"}
# What extras bring: the parts that may import it at their top.
EXTRAS = {
    "altair": {"analysis"},
    "click": {"cli"},
    "duckdb": {"analysis"},
    "httpx2": {"remote"},
    "joserfc": {"http"},
    "polars": {"analysis"},
    "prometheus_client": {"http"},
    "py4j": {"analysis"},  # of pyspark
    "pyspark": {"analysis"},
    "sqlglot": {"analysis"},
    "uvicorn": {"http"},
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


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_includes_only_the_rooms_below_it(room: str) -> None:
    files = [path for path in CPP.rglob("*.[ch]pp") if room_of(path) == room]
    assert files
    wrong = [
        f"{path.relative_to(ROOT)}: {reason}"
        for path in files
        for reason in wrong_includes(room, path.read_text())
    ]
    assert wrong == []


def test_every_source_is_in_a_room_that_is_known() -> None:
    unknown = [path for path in CPP.rglob("*.[ch]pp") if room_of(path) not in ROOMS]
    assert unknown == []


def test_no_room_is_below_itself() -> None:
    for rooms in (ROOMS, PARTS):
        left = {room: set(below) & rooms.keys() for room, below in rooms.items()}
        while left:
            lowest = {room for room, below in left.items() if not below}
            assert lowest, f"a circle among {sorted(left)}"
            left = {room: below - lowest for room, below in left.items() if room not in lowest}


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
    ],
)
def test_a_wrong_arrow_is_seen(room: str, include: str) -> None:
    assert list(wrong_includes(room, f"#pragma once\n{include}\n"))


def part_of(path: Path) -> str:
    name = path.relative_to(PYTHON).parts[0].removesuffix(".py")
    return "" if name == "__init__" else name


def imports(tree: ast.AST, *, only_at_the_top: bool = False) -> Iterator[str]:
    """The modules that are imported when the code runs, not those for type checkers alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            assert node.module is not None
            if node.module == "comptroller":
                parts = {entry.name for entry in node.names} & (PARTS.keys() | {"_core"})
                yield from (f"comptroller.{part}" for part in parts)
                if len(parts) < len(node.names):
                    yield "comptroller"
            else:
                yield node.module
        elif not (only_at_the_top and isinstance(node, ast.FunctionDef)):
            yield from imports(node, only_at_the_top=only_at_the_top)


@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_the_package_imports_only_the_parts_below_it(part: str) -> None:
    files = [path for path in PYTHON.rglob("*.py") if part_of(path) == part]
    assert files
    wrong = []
    for path in files:
        for module in imports(ast.parse(path.read_text())):
            names = module.split(".")
            target = names[1] if len(names) > 1 else ""
            if names[0] == "comptroller" and target != part and target not in PARTS[part]:
                wrong.append(f"{path.relative_to(ROOT)} imports {module}")
    assert wrong == []


def test_every_part_of_the_package_is_known() -> None:
    found = {part_of(path) for path in PYTHON.rglob("*.py")}
    assert found == PARTS.keys()


def test_what_is_optional_is_imported_when_it_is_used() -> None:
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


def test_every_extra_is_of_modules_that_the_package_imports() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    named = {
        re.split(r"[<>=]", each)[0].replace("-", "_")
        for name in extras
        if name != "all"
        for each in extras[name]
        if not each.startswith("comptroller[")
    }
    sources = "".join(path.read_text() for path in PYTHON.rglob("*.py"))
    # Not imported by the package under that name: DuckDB's rows need pytz where they hold times, a
    # server parses through httptools, and vl-convert-python is imported as vl_convert.
    elsewhere = {"pytz", "httptools", "vl_convert_python"}
    assert named > elsewhere
    for module in named - elsewhere:
        used = rf"(import|from) {module}\b|(require|find_spec)\(.{module}\b"
        assert re.search(used, sources), module
