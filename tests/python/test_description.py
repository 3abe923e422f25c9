"""What is written twice agrees: the core's description, the records, the face and the stub."""

from __future__ import annotations

import ast
import inspect
import json
import re
import typing
from datetime import datetime
from pathlib import Path
from typing import Any

import comptroller
import msgspec
import pytest
from comptroller import _core, errors, operations, records
from comptroller.operations.identities import Permission

DESCRIPTION = json.loads(_core.describe())
RECORDS = DESCRIPTION["records"]
REQUESTS = DESCRIPTION["requests"]
OPERATIONS = {operation["name"]: operation for operation in DESCRIPTION["operations"]}

NOUNS = {
    "identities": operations.Identities,
    "controls": operations.Controls,
    "orchestrations": operations.Orchestrations,
    "payout_groups": operations.PayoutGroups,
    "reward_addresses": operations.RewardAddresses,
    "balances": operations.Balances,
    "claims": operations.Claims,
}
ENUMS = {
    "ControlType": ["SELL_ONLY", "CLOSED", "FROZEN", "DORMANT"],
    "SetBy": ["CLIENT", "PROVIDER"],
    "Ledger": ["ETHEREUM", "SOLANA", "INK", "XLAYER", "ARBITRUM_ONE"],
    "ClaimStatus": ["PENDING", "SUBMITTED", "CONFIRMED", "FAILED"],
    "ScheduleType": ["DAILY"],
    "Order": ["DESC", "ASC"],
    "IdentityStatus": ["APPROVED", "DISABLED", "ERROR"],
    "Action": ["BUY", "SELL", "DEPOSIT", "WITHDRAW"],
}
PROBLEMS = {
    400: "malformed-json invalid-request invalid-cursor id-mismatch ledger-mismatch",
    401: "unauthenticated",
    403: "insufficient-scope control-type-not-permitted control-not-overridable"
    " customer-not-accessible read-only",
    404: "not-found",
    405: "method-not-allowed",
    409: "already-exists already-deleted illegal-transition idempotency-in-flight",
    413: "content-too-large",
    415: "unsupported-media-type",
    422: "idempotency-key-reused",
    429: "rate-limited",
    500: "internal unusable",
    501: "unsupported",
    503: "unavailable closed",
    504: "outcome-unknown",
}


def record_of(name: str) -> type[msgspec.Struct]:
    return Permission if name == "Permission" else getattr(records, name)


def is_optional(hint: Any) -> bool:
    return type(None) in typing.get_args(hint)


def kind_of(hint: Any) -> Any:
    """A hint without None, without limits, and with only the item of a tuple or the record."""
    if typing.get_origin(hint) is typing.Annotated:
        return kind_of(typing.get_args(hint)[0])
    given = [inner for inner in typing.get_args(hint) if inner is not type(None)]
    if is_optional(hint):
        return kind_of(given[0])
    if typing.get_origin(hint) is tuple:
        return (kind_of(given[0]),)
    return typing.get_origin(hint) or hint


def kind_described(type: str) -> Any:
    """The same, of what the description says."""
    if type.endswith("[]"):
        return (kind_described(type[:-2]),)
    if type in RECORDS:
        return record_of(type)
    special = {
        "boolean": bool,
        "timestamp": datetime,
        "timestamp?": datetime,
        "amount": records.Amount,
        "metadata": dict,
        "permitted": bool,
    }
    return special.get(type, str)


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_has_the_members_that_the_core_describes(name):
    record, described = record_of(name), RECORDS[name]
    assert list(record.__struct_fields__) == list(described)
    hints = typing.get_type_hints(record, include_extras=True)
    fields = {field.name: field for field in msgspec.structs.fields(record)}
    for member, said in described.items():
        is_array = said["type"].endswith("[]")
        may_be_absent = not said["required"] and not (is_array and fields[member].required)
        assert fields[member].required is not may_be_absent or said["type"] == "timestamp?", member
        if may_be_absent:
            assert is_optional(hints[member]), member
        if said["required"] and said["type"] != "timestamp?":
            assert not is_optional(hints[member]), member
        assert kind_of(hints[member]) == kind_described(said["type"]), member
        assert said["doc"], member


def test_every_record_of_the_package_is_described():
    found = {
        name
        for name, value in vars(records).items()
        if isinstance(value, type) and issubclass(value, records.Record)
    }
    assert found - {"Record"} == set(RECORDS) - {"Permission"}


@pytest.mark.parametrize("name", [*RECORDS, "Page"])
def test_records_are_frozen(name):
    record = comptroller.Page if name == "Page" else record_of(name)
    assert record.__struct_config__.frozen


@pytest.mark.parametrize("name", ENUMS)
def test_the_words_of_closed_sets_are_those_of_the_specification(name):
    assert sorted(DESCRIPTION["enums"][name]) == sorted(ENUMS[name])


def test_no_other_set_is_closed():
    assert set(DESCRIPTION["enums"]) == set(ENUMS)


@pytest.mark.parametrize("name", [name for name in RECORDS if name != "Permission"])
def test_a_records_docstring_tells_the_words_of_its_closed_sets(name):
    told = re.findall(r"[A-Z_]+", record_of(name).__doc__ or "")
    for member, said in RECORDS[name].items():
        assert set(ENUMS.get(said["type"].removesuffix("[]"), [])) <= set(told), member


def methods(noun: type) -> dict[str, Any]:
    """What a noun can be asked, but for the walks that are made of its list."""
    found = inspect.getmembers(noun, inspect.isfunction)
    own = {name: method for name, method in found if not name.startswith("_")}
    return {name: method for name, method in own.items() if name not in ("iter", "stream")}


def test_every_operation_is_a_method_and_every_method_an_operation():
    reached = {f"{name}.{method}" for name, noun in NOUNS.items() for method in methods(noun)}
    assert reached == set(OPERATIONS)


def test_a_service_has_every_noun(operator):
    for name, noun in NOUNS.items():
        assert isinstance(getattr(operator, name), noun)


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_method_takes_what_its_operation_takes(name):
    noun, method = name.split(".")
    signature = inspect.signature(methods(NOUNS[noun])[method])
    taken = {name for name in signature.parameters if name not in ("self", "unknown")}
    operation = OPERATIONS[name]
    assert operation["is_write"] is ("idempotency_key" in taken)
    taken.discard("idempotency_key")
    if operation["request"] in RECORDS:  # the whole record is the request
        assert taken in ({"record"}, set(RECORDS[operation["request"]]))
        return
    members = REQUESTS[operation["request"]]
    expected = {member.replace("created_at.", "created_at_") for member in members}
    if name == "controls.delete":  # another name of control_id
        expected.discard("id")
    assert taken == expected
    for member, said in members.items():
        parameter = signature.parameters.get(member.replace("created_at.", "created_at_"))
        if parameter and said["required"]:
            assert parameter.default is inspect.Parameter.empty, member


@pytest.mark.parametrize("name", [f"{noun}.list" for noun in NOUNS])
def test_walks_and_streams_take_the_filters_of_the_list(name):
    noun = NOUNS[name.split(".")[0]]
    paging = {"limit", "order", "page_cursor"}
    wanted = set(inspect.signature(noun.list).parameters) - {"self", "unknown"} - paging
    for twin in (noun.iter, noun.stream):
        (filters,) = typing.get_args(typing.get_type_hints(twin)["filters"])
        assert set(filters.__annotations__) == wanted


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_method_answers_the_record_that_is_described(name):
    noun, method = name.split(".")
    answer = typing.get_type_hints(methods(NOUNS[noun])[method])["return"]
    described = OPERATIONS[name]["answer"]
    if method == "list":
        assert typing.get_args(answer) == (record_of(described),)
    else:
        assert answer is (bool if described == "Permission" else record_of(described))


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_and_its_method_are_documented(name):
    noun, method = name.split(".")
    assert OPERATIONS[name]["doc"]
    assert "Specification" in (inspect.getdoc(methods(NOUNS[noun])[method]) or "")


def test_problem_codes_are_those_that_are_documented():
    described = {problem["code"]: problem["status"] for problem in DESCRIPTION["problems"]}
    assert described == {code: status for status, text in PROBLEMS.items() for code in text.split()}
    for code, status in described.items():
        assert errors.make(code, status, "detail").code == code


def stubbed(tree: ast.AST) -> dict[str, list[str]]:
    """The functions of a stub, with the arguments that may be given by name."""
    found = [node for node in ast.iter_child_nodes(tree) if isinstance(node, ast.FunctionDef)]
    return {
        node.name: [argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)]
        for node in found
    }


def named_arguments(function: Any) -> list[str]:
    """The same of a function of the core, from the signature that begins its docstring."""
    names = re.findall(r"[(,] ?(\w+):", function.__doc__.splitlines()[0])
    return [name for name in names if not name.startswith("arg")]


def test_the_stub_names_what_the_module_has():
    stub = ast.parse(Path(comptroller.__file__).with_name("_core.pyi").read_text())
    classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
    described = {*stubbed(stub), *classes} - {"Readable"}  # what a load reads, no class of its own
    described = {name for name in described if not name.startswith("_")}
    assert described == {name for name in vars(_core) if not name.startswith("_")}
    for name, arguments in stubbed(stub).items():
        assert named_arguments(getattr(_core, name)) == arguments, name


@pytest.mark.parametrize("name", ["Principal", "Store", "ArrowSource", "Sample"])
def test_the_stub_names_what_a_class_has(name):
    stub = ast.parse(Path(comptroller.__file__).with_name("_core.pyi").read_text())
    (declared,) = [n for n in stub.body if isinstance(n, ast.ClassDef) and n.name == name]
    methods, kind = stubbed(declared), getattr(_core, name)
    attributes = {n.target.id for n in declared.body if isinstance(n, ast.AnnAssign)}
    public = {member for member in vars(kind) if not member.startswith("_")}
    assert {m for m in methods if not m.startswith("_")} | attributes == public
    for method, arguments in methods.items():
        is_property = not callable(getattr(kind, method))
        named = [] if is_property else named_arguments(getattr(kind, method))
        assert [a for a in named if a != "self"] == [a for a in arguments if a != "self"], method
