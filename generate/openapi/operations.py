"""The routes as operations of the OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from comptroller import description, routes
from comptroller.description import Operation
from comptroller.routes import Row

from openapi import schemas
from openapi.components import (
    header_parameters,
    headers,
    refusals,
    security,
)
from openapi.schemas import Field, Schema, reference

_OF_WRITES = frozenset({409, 413, 415, 422, 504})


def tag(operation: str) -> str:
    """Returns the tag of an operation, the name of its resource."""
    return operation.partition(".")[0].replace("_", " ")


def operation(row: Row) -> Schema:
    """Returns the OpenAPI operation of a route."""
    operation = description.operations()[row.operation]
    of_client = [] if row.is_operators else [operation.scope]
    scopes = dict.fromkeys([*of_client, operation.scope_of(is_operator=True)])
    of_write = ["Idempotency-Key"] if operation.is_write else []
    schema: Schema = {
        "operationId": _id(row),
        "tags": [tag(row.operation)],
        "summary": operation.summary,
        "parameters": [*_parameters(operation, row), *header_parameters(*of_write)],
        "responses": {
            "200": _success(operation, row),
            **refusals(_statuses(operation)),
        },
        "security": security(scopes),
    }
    if not _is_first(row) and not row.is_operators:
        schema["description"] = f"The same as `{_name(row)}`."
    elif operation.details:
        schema["description"] = operation.details
    if operation.is_write:
        schema["requestBody"] = _body(operation)
    return schema


def _is_first(row: Row) -> bool:
    """Whether this is the first path of an operation that has several."""
    return row == next(first for first in routes.ROWS if first.operation == row.operation)


def _name(row: Row) -> str:
    return row.operation.replace(".", "_")


def _id(row: Row) -> str:
    return _name(row) if _is_first(row) else f"{_name(row)}_{row.path.split('/')[1]}"


def _statuses(operation: Operation) -> frozenset[int]:
    own = frozenset(description.problems()[each.code]["status"] for each in operation.errors)
    return own | (_OF_WRITES if operation.is_write else frozenset())


def _parameters(operation: Operation, row: Row) -> Iterator[Schema]:
    in_query = not operation.is_write or operation.request_source == "either"
    for field in schemas.fields(operation.request):
        if field.name == "id" and "{id}" in row.path:
            yield parameter(field, "path")
        elif in_query:
            yield parameter(field, "query")


def parameter(field: Field, place: Literal["path", "query"]) -> Schema:
    """Returns the parameter of a member in a path or a query."""
    schema: Schema = {
        "name": field.name,
        "in": place,
        "description": field.doc,
        "required": field.is_required and not field.is_array,
        "schema": schemas.value(field),
    }
    return schema | ({"style": "form", "explode": True} if field.is_array else {})


def _body(operation: Operation) -> Schema:
    schema = reference(schemas.input_name(operation.request))
    if operation.body_envelope:
        enclosed = _enclosed(operation.body_envelope, schema) | {"additionalProperties": False}
        schema = {"oneOf": [enclosed, schema]}
    is_required = bool(schemas.body(operation.request, operation.request_source)["required"])
    return {"required": is_required, "content": {"application/json": {"schema": schema}}}


def _enclosed(name: str, schema: Schema) -> Schema:
    return {"type": "object", "properties": {name: schema}, "required": [name]}


def _success(operation: Operation, row: Row) -> Schema:
    schema = reference(operation.answer + "Page" if operation.is_list else operation.answer)
    if row.envelope is not None:
        schema = _enclosed(row.envelope, schema)
    names = ["Idempotent-Replayed"] if operation.is_write else []
    if operation.name == "orchestrations.list":
        names = ["Deprecation", "Sunset"]
    answer: Schema = {
        "description": _about_answer(operation),
        "headers": headers(*names),
        "content": {"application/json": {"schema": schema}},
    }
    links = dict(_links(operation, row))
    return answer | ({"links": links} if links else {})


def _about_answer(operation: Operation) -> str:
    if operation.is_list:
        return "A page of the records that match."
    record: Schema = description.core_description()["records"][operation.answer]
    return "The record." if "id" in record["members"] else str(record["doc"])


def _links(operation: Operation, row: Row) -> Iterator[tuple[str, Schema]]:
    """Yields links to the other operations on the returned record."""
    # A deleted record has none; the alias paths would repeat the links.
    if row.method == "DELETE" or not _is_first(row):
        return
    member = "/items/0" if operation.is_list else ""
    member = f"/{row.envelope}" if row.envelope else member
    for other in routes.ROWS:
        is_same_resource = tag(other.operation) == tag(row.operation)
        if is_same_resource and "{id}" in other.path and _is_first(other) and other != row:
            given = {"id": f"$response.body#{member}/id"}
            yield _id(other), {"operationId": _id(other), "parameters": given}
