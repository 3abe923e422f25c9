"""The core's description, the code generated from it, and the stub of the core."""

from __future__ import annotations

import ast
import inspect
import json
import re
import subprocess
import sys
import typing
from pathlib import Path
from typing import Any

import comptroller
import pytest
from comptroller import _core, async_operations, decoding, errors, operations, records, values
from comptroller.async_operations.changes import AsyncChanges
from comptroller.async_operations.webhooks import AsyncWebhookOperations
from comptroller.http import openapi
from comptroller.operations.changes import Changes
from comptroller.operations.webhooks import WebhookOperations
from places import ROOT

DESCRIPTION = json.loads(_core.describe())
RECORDS = DESCRIPTION["records"]
OPERATIONS = {operation["name"]: operation for operation in DESCRIPTION["operations"]}

RESOURCES = {
    **{
        each["name"]: getattr(operations, each["name"].title().replace("_", ""))
        for each in DESCRIPTION["resources"]
    },
    "changes": Changes,
    "webhooks": WebhookOperations,
}
# The asynchronous twins of the classes that are not generated.
TWINS = {"changes": AsyncChanges, "webhooks": AsyncWebhookOperations}
# The journal has methods beside its operations.
OF_JOURNAL = {"journal.list", "journal.prove"}
ENUMS = DESCRIPTION["enums"]


def test_generated_files_are_up_to_date(tmp_path):
    """Compares byte for byte; `make generate` writes the files."""
    package = Path(comptroller.__file__).parent
    made, docs = tmp_path / "package", tmp_path / "docs"
    subprocess.run([sys.executable, ROOT / "generate", made, docs], check=True, capture_output=True)
    generated = {path.relative_to(made) for path in made.rglob("*.*")}
    pages = {path.relative_to(docs) for path in docs.rglob("*.md")}
    assert generated
    assert pages
    assert [name for name in generated if read(made / name) != read(package / name)] == []
    assert [name for name in pages if read(docs / name) != read(ROOT / "docs" / name)] == []
    # No file of an earlier generation is left.
    marked = {path for path in package.rglob("*.py") if "by `make generate`" in read(path)[:600]}
    modules = {path for path in generated if path.suffix == ".py"}
    assert {path.relative_to(package) for path in marked} == modules


def read(path):
    return path.read_text() if path.exists() else None


@pytest.mark.parametrize("name", RECORDS)
def test_records_are_frozen_and_every_member_is_described(name):
    record = getattr(records, name)
    assert record.__struct_config__.frozen
    assert list(record.__struct_fields__) == list(RECORDS[name]["members"])
    assert RECORDS[name]["doc"]
    for member, definition in RECORDS[name]["members"].items():
        assert definition["doc"], member


@pytest.mark.parametrize("name", ENUMS)
def test_every_value_of_a_closed_set_has_a_meaning_and_a_type_checker_knows_it(name):
    assert all(ENUMS[name].values())
    assert list(typing.get_args(getattr(values, name))) == list(ENUMS[name])


def test_an_unknown_value_of_a_closed_set_is_read():
    control = (
        b'{"id":"k","type":"PAUSED","set_by":"CLIENT","is_overridable":true,"identity_id":"i",'
        b'"created_at":"2026-01-31T12:00:00Z","deleted_at":null}'
    )
    assert decoding.read(control, records.Control).type == "PAUSED"


def methods(resource: type) -> dict[str, Any]:
    """Returns the operations of a resource, without the methods derived from its list."""
    found = inspect.getmembers(resource, inspect.isfunction)
    own = {name: method for name, method in found if not name.startswith("_")}
    return {
        name: method for name, method in own.items() if name not in ("iter", "stream", "follow")
    }


def test_every_operation_is_a_method_and_every_method_an_operation():
    reached = {f"{name}.{method}" for name, each in RESOURCES.items() for method in methods(each)}
    assert reached | OF_JOURNAL == set(OPERATIONS)


def test_a_service_has_every_resource(operator):
    for name, resource in RESOURCES.items():
        assert isinstance(getattr(operator, name), resource)


@pytest.mark.parametrize("name", sorted(OPERATIONS.keys() - OF_JOURNAL))
def test_an_operation_is_documented_and_its_async_twin_has_the_same_signature(name):
    operation = OPERATIONS[name]
    assert operation["summary"].endswith(".")
    assert operation["paths"]
    resource, method = name.split(".")
    twin = TWINS.get(resource) or getattr(async_operations, "Async" + RESOURCES[resource].__name__)
    own, other = methods(RESOURCES[resource])[method], methods(twin)[method]
    assert inspect.iscoroutinefunction(other)
    assert inspect.signature(own) == inspect.signature(other)
    assert own.__doc__ == other.__doc__
    assert own.__doc__.startswith(operation["summary"])


def test_the_errors_of_an_operation_are_in_its_docstring_and_in_the_published_description():
    document = json.loads(openapi.document())
    path = document["paths"]["/v2/identity/controls"]["post"]
    assert {"403", "404", "409"} <= set(path["responses"])
    docstring = operations.Controls.create.__doc__
    assert "Forbidden: a client set FROZEN (``control-type-not-permitted``)." in docstring
    assert "NotFound: the identity does not exist." in docstring


@pytest.mark.parametrize("problem", DESCRIPTION["problems"], ids=lambda each: each["code"])
def test_a_problem_is_explained_in_sentences_and_has_an_exception(problem):
    for text in (problem["explanation"], problem["remedy"]):
        assert re.fullmatch(r"[A-Z].*\.", text)
    error = errors.error_for(problem["code"], problem["status"], "detail")
    assert error.code == problem["code"]
    # Only these two say nothing that a program could react to.
    assert (type(error) is errors.Error) == (
        problem["status"] in (405, 500) and error.code != "unusable"
    )


def test_a_scope_names_the_usual_operations_that_it_permits() -> None:
    usual = {"list", "get", "create", "update", "delete"}
    for operation in OPERATIONS.values():
        verb = operation["name"].partition(".")[2]
        scope = operation["scope"]
        is_of_records = not scope.startswith(("operator:", "changes:", "journal:"))
        if is_of_records and verb in usual:
            assert verb in re.findall(r"\w+", DESCRIPTION["scopes"][scope]), operation["name"]


def stubbed(tree: ast.AST) -> dict[str, list[str]]:
    """Returns the functions of a stub, with the arguments that may be given by name."""
    found = [node for node in ast.iter_child_nodes(tree) if isinstance(node, ast.FunctionDef)]
    return {
        node.name: [argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)]
        for node in found
    }


def named_arguments(function: Any) -> list[str]:
    """Returns the same for a function of the core, from the signature in its docstring."""
    signature = function.__doc__.splitlines()[0].rpartition(", /")[2]
    names = re.findall(r"[(,] ?(\w+):", signature)
    return [name for name in names if not name.startswith("arg")]


STUB = ast.parse(Path(comptroller.__file__).with_name("_core.pyi").read_text())
# Without the protocols of the stub, such as that of load sources.
CLASSES = {
    node.name: node
    for node in STUB.body
    if isinstance(node, ast.ClassDef) and hasattr(_core, node.name)
}


def test_the_stub_names_everything_in_the_module():
    described = {*stubbed(STUB), *CLASSES}
    assert described == {name for name in vars(_core) if not name.startswith("_")}
    for name, arguments in stubbed(STUB).items():
        assert named_arguments(getattr(_core, name)) == arguments, name


@pytest.mark.parametrize("name", CLASSES)
def test_the_stub_names_every_method(name):
    methods, kind = stubbed(CLASSES[name]), getattr(_core, name)
    public = {member for member in vars(kind) if not member.startswith("_")}
    assert {m for m in methods if not m.startswith("_")} == public
    for method, arguments in methods.items():
        is_property = not callable(getattr(kind, method, None))
        named = [] if is_property else named_arguments(getattr(kind, method))
        assert [a for a in named if a != "self"] == [a for a in arguments if a != "self"], method


def test_the_package_has_the_same_names_for_type_checkers_and_at_run_time():
    tree = ast.parse(Path(comptroller.__file__).read_text())
    typed = next(node for node in tree.body if isinstance(node, ast.If))
    imported = {
        node.module: {alias.name for alias in node.names}
        for node in typed.body
        if isinstance(node, ast.ImportFrom)
    }
    loaded = comptroller._NAMES_BY_MODULE
    assert imported == {f"comptroller.{module}": set(names) for module, names in loaded.items()}
    assert set(dir(comptroller)) - {"errors", "records"} == set.union(*imported.values()) | {
        "__version__"
    }
    for name in dir(comptroller):
        assert getattr(comptroller, name)


def test_the_package_without_its_extras_can_be_examined():
    program = """
import inspect, sys
sys.modules["httpx2"] = None  # as if it were not installed
import comptroller
assert not hasattr(comptroller, "AsyncService")
assert dict(inspect.getmembers(comptroller))["Service"] is comptroller.Service
try:
    comptroller.AsyncService
except AttributeError as error:
    assert "pip install 'comptroller[client]'" in str(error)
from comptroller import *
assert open is __builtins__.open and Service
"""
    subprocess.run([sys.executable, "-c", program], check=True)
