"""The OpenAPI document: valid, complete, and consistent with the core and the server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import comptroller
import pytest

pytest.importorskip("prometheus_client")
pytest.importorskip("httpx2")
pytest.importorskip("jsonschema")

import jsonschema
from asgi_client import Asked
from comptroller import _core
from comptroller.http import EveryoneIsOperator, app, openapi
from comptroller.routes import CHECKPOINT_PATH, ROWS
from comptroller.values import KINDS

AUTHORITIES = ["local", "jwks", "off"]
DESCRIPTION = json.loads(_core.describe())
OPERATIONS = {operation["name"]: operation for operation in DESCRIPTION["operations"]}
DOCUMENT = json.loads(openapi.document())
SCHEMAS = DOCUMENT["components"]["schemas"]
BULK = {("/operator/load/{kind}", "POST")} | {(f"/operator/export/{kind}", "GET") for kind in KINDS}
TOKEN = ("/oauth2/token", "POST")
PARAMETERS = "#/components/parameters/"


def documented(document: dict[str, Any] = DOCUMENT) -> dict[tuple[str, str], dict[str, Any]]:
    """Returns the operations of a document by path and method."""
    return {
        (path, method.upper()): operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def walk(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yields everything in a document with its location."""
    yield path, value
    members = value.items() if isinstance(value, dict) else []
    members = enumerate(value) if isinstance(value, list) else members
    for name, member in members:
        yield from walk(member, (*path, str(name)))


def parameters(operation: dict[str, Any], place: str) -> dict[str, dict[str, Any]]:
    """Returns the parameters of an operation by name, by location."""
    resolved = [
        DOCUMENT["components"]["parameters"][each["$ref"].removeprefix(PARAMETERS)]
        if "$ref" in each
        else each
        for each in operation.get("parameters", [])
    ]
    return {each["name"]: each for each in resolved if each["in"] == place}


@pytest.mark.parametrize("drop_deprecated", [False, True])
@pytest.mark.parametrize("authority", AUTHORITIES)
def test_the_document_is_valid(authority: str, drop_deprecated: bool) -> None:
    validator = pytest.importorskip("openapi_spec_validator")
    document = json.loads(openapi.document(authority, drop_deprecated=drop_deprecated))
    validator.validate(document)
    schemas = [value for path, value in walk(document) if path[-1:] == ("schema",)]
    for schema in [*schemas, *document["components"]["schemas"].values()]:
        jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("authority", AUTHORITIES)
def test_all_references_exist(authority: str) -> None:
    document = json.loads(openapi.document(authority))
    operations = documented(document).values()
    ids = [operation["operationId"] for operation in operations]
    assert len(set(ids)) == len(ids)
    for path, value in walk(document):
        if path[-1:] == ("$ref",):
            place: Any = document
            for name in value.removeprefix("#/").split("/"):
                place = place[name]
        if path[-2:-1] == ("links",):
            assert value["operationId"] in ids
    tags = [tag["name"] for tag in document["tags"]]
    assert {tag for operation in operations for tag in operation["tags"]} == set(tags)
    schemes = {name for o in operations for need in o["security"] for name in need}
    assert schemes == set(document["components"]["securitySchemes"])


def test_every_component_is_used() -> None:
    used = {value for path, value in walk(DOCUMENT) if path[-1:] == ("$ref",)}
    there = {
        f"#/components/{kind}/{name}"
        for kind in ("schemas", "parameters", "headers", "responses")
        for name in DOCUMENT["components"][kind]
    }
    refusals = {f"#/components/responses/Problem{status}" for status in (404, 405)}
    assert there - used <= refusals | {"#/components/schemas/Identity"}


def test_the_document_has_exactly_the_paths_of_the_interface() -> None:
    rows = {(row.path, row.method) for row in ROWS}
    assert set(documented()) == rows | BULK | {TOKEN, (CHECKPOINT_PATH, "GET")}


def test_the_application_accepts_the_documented_requests(operator: comptroller.Service) -> None:
    document = json.loads(openapi.document("off"))
    with Asked(app(operator, authenticator=EveryoneIsOperator())) as ask:
        for path, methods in document["paths"].items():
            answer = ask("PATCH", path.replace("{id}", "x").replace("{kind}", "claims"))
            head = ["HEAD"] if "get" in methods else []
            allowed = sorted([*(method.upper() for method in methods), *head])
            assert answer.headers.get("allow") == ", ".join(allowed), path


def test_an_operation_has_its_name_at_its_first_path() -> None:
    for row in ROWS:
        published = documented()[row.path, row.method]
        name = row.operation.replace(".", "_")
        assert published["operationId"] in (name, name + "_v2", name + "_operator")
        assert published["summary"] == OPERATIONS[row.operation]["summary"]
    ids = {operation["operationId"] for operation in documented().values()}
    assert {name.replace(".", "_") for name in OPERATIONS} <= ids
    assert documented()["/rewards/claims", "GET"]["operationId"] == "claims_list"
    assert documented()["/v2/rewards/claims", "GET"]["operationId"] == "claims_list_v2"


@pytest.mark.parametrize("name", DESCRIPTION["records"])
def test_a_response_has_the_members_of_its_record_and_may_have_others(name: str) -> None:
    schema, record = SCHEMAS[name], DESCRIPTION["records"][name]["members"]
    assert list(schema["properties"]) == list(record)
    assert schema["required"] == [
        member for member, definition in record.items() if definition["required"]
    ]
    assert "additionalProperties" not in schema
    for member, definition in record.items():
        assert schema["properties"][member]["description"] == definition["doc"]


@pytest.mark.parametrize("name", DESCRIPTION["enums"])
def test_a_closed_set_has_its_values(name: str) -> None:
    assert SCHEMAS[name]["enum"] == list(DESCRIPTION["enums"][name])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.method} {row.path}")
def test_a_request_has_all_parameters_of_the_core(row: Any) -> None:
    published, operation = documented()[row.path, row.method], OPERATIONS[row.operation]
    request = operation["request"]
    described = DESCRIPTION["requests"].get(request) or DESCRIPTION["records"][request]
    members = described["members"]
    outside = {*parameters(published, "path"), *parameters(published, "query")}
    inside: set[str] = set()
    if operation["is_write"]:
        schema = SCHEMAS.get(request + "Input") or SCHEMAS[request]
        assert schema["additionalProperties"] is False
        inside = set(schema["properties"])
    assert outside | inside == set(members)
    if operation["request_source"] == "id_and_body":
        assert (outside, "id" in inside) == ({"id"}, False)


@pytest.mark.parametrize("kind", KINDS)
def test_an_export_takes_the_filters_of_its_list(kind: str) -> None:
    request = OPERATIONS[kind.replace("-", "_") + ".list"]["request"]
    filters = set(DESCRIPTION["requests"][request]["members"]) - {"limit", "order", "page_cursor"}
    published = documented()[f"/operator/export/{kind}", "GET"]
    assert set(parameters(published, "query")) == filters | {"format"}


@pytest.mark.parametrize(
    ("path", "default"), [("/operator/export/controls", True), ("/v2/identity/controls", False)]
)
def test_exports_have_deleted_controls_by_default_and_lists_have_not(
    path: str, default: bool
) -> None:
    parameter = parameters(documented()[path, "GET"], "query")["include_deleted"]
    assert parameter["schema"]["default"] is default
    assert parameter["description"].endswith(f"default {str(default).lower()}")


def test_arrays_of_a_query_are_repeated_keys_and_bounded() -> None:
    arrays = [
        parameter
        for operation in documented().values()
        for parameter in parameters(operation, "query").values()
        if parameter["schema"].get("type") == "array"
    ]
    assert arrays
    for array in arrays:
        assert (array["style"], array["explode"]) == ("form", True)
        assert array["schema"]["maxItems"] == 100


def test_deprecated_members_are_marked() -> None:
    marked = {path[:-1] for path, _ in walk(DOCUMENT) if path[-1:] == ("deprecated",)}
    flags = {
        (schema, flag)
        for schema in ("Identity", "UpdateIdentity", "PutIdentity")
        for flag in ("user_disabled", "admin_disabled")
    }
    expected = flags | {("OrchestrationPage", "orchestrations")}
    assert {(path[2], path[4]) for path in marked} == expected
    dropped = json.loads(openapi.document(drop_deprecated=True))["components"]["schemas"]
    assert list(dropped["OrchestrationPage"]["properties"]) == ["items", "next_page_cursor"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.method} {row.path}")
def test_an_operation_needs_its_scope_or_the_operators(row: Any) -> None:
    operation = OPERATIONS[row.operation]
    of_operator = "operator:write" if operation["needs_write_scope"] else "operator:read"
    of_client = [] if row.path.startswith("/operator/") else [operation["scope"]]
    published = documented()[row.path, row.method]
    scopes = dict.fromkeys([*of_client, of_operator])
    assert published["security"] == [{"oauth2": [scope]} for scope in scopes]
    assert {"401", "403", "429"} <= set(published["responses"])


def test_the_authority_decides_the_security_schemes() -> None:
    schemes = {
        authority: json.loads(openapi.document(authority))["components"]["securitySchemes"]
        for authority in AUTHORITIES
    }
    flow = schemes["local"]["oauth2"]["flows"]["clientCredentials"]
    assert flow == {"tokenUrl": "oauth2/token", "scopes": DESCRIPTION["scopes"]}
    assert schemes["jwks"]["bearer"]["scheme"] == "bearer"
    assert schemes["off"] == {}
    off = json.loads(openapi.document("off"))
    assert TOKEN not in documented(off)
    for operation in documented(off).values():
        assert operation["security"] == []
        assert not {"401", "403", "429"} & set(operation["responses"])


def test_writes_and_only_writes_take_an_idempotency_key() -> None:
    for row in ROWS:
        taken = parameters(documented()[row.path, row.method], "header")
        is_write = OPERATIONS[row.operation]["is_write"]
        assert list(taken) == ["X-Request-Id", *(["Idempotency-Key"] if is_write else [])]


def test_every_error_response_is_a_problem_with_its_codes() -> None:
    codes = [problem["code"] for problem in DESCRIPTION["problems"]]
    assert SCHEMAS["Problem"]["properties"]["code"]["enum"] == codes
    responses = DOCUMENT["components"]["responses"]
    for problem in DESCRIPTION["problems"]:
        if problem["code"] == "unsupported":  # a server never returns it
            assert f"Problem{problem['status']}" not in responses
            continue
        response = responses[f"Problem{problem['status']}"]
        assert f"`{problem['code']}`" in response["description"]
        assert list(response["content"]) == ["application/problem+json"]


def test_the_server_url_is_relative_to_the_document() -> None:
    assert DOCUMENT["servers"] == [{"url": "."}]
    assert not any("://" in value for _, value in walk(DOCUMENT) if isinstance(value, str))
