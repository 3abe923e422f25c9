"""A value is valid by the OpenAPI document exactly if the service accepts it."""

from __future__ import annotations

import json
from typing import Any

import comptroller
import pytest

pytest.importorskip("prometheus_client")
pytest.importorskip("jsonschema")

import jsonschema
from comptroller.http import openapi
from comptroller.routes import ROWS

DOCUMENT = json.loads(openapi.document())
SCHEMAS = DOCUMENT["components"]["schemas"]


def validator(schema: dict[str, Any]) -> jsonschema.Draft202012Validator:
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
    whole = {**schema, "components": DOCUMENT["components"]}
    return jsonschema.Draft202012Validator(whole, format_checker=checker)


UUID = "0190163D-8694-739b-aea5-966c26f8ad91"
VALUES = [
    # operation, parameter, accepted values, rejected values
    ("claims.list", "id", ["a", "~" * 128, UUID, "a/b?"], ["", "a b", "é", "a" * 129]),
    ("claims.list", "payout_group_id", [UUID, UUID.lower()], ["", "a", UUID[1:], UUID + "0"]),
    ("claims.list", "chain", ["INK", " ", "é" * 128, "\x7f"], ["", "\x1f", "a\tb", "é" * 129]),
    ("claims.list", "order", ["ASC", "DESC"], ["", "asc", "ASC ", "UP"]),
    ("claims.list", "jurisdiction", ["CH"], ["", "\x00"]),
    ("orchestrations.list", "status", ["A", "A_1", "A" * 64], ["", "a", "1A", "A-B", "A" * 65]),
    ("payout_groups.list", "name_prefix", ["n" * 256], ["", "n" * 257]),
    (
        "claims.list",
        "start_time",
        ["2026-01-31T23:59:59Z", "2024-02-29T00:00:00.1234567-23:59", "2026-01-31"],
        [
            "",
            "2026-02-29",
            "31.01.2026",
            "2026-01-31T23:59:59",
            "2026-01-31 23:59:59Z",
            "2026-02-29T00:00:00Z",
        ],
    ),
]


@pytest.mark.parametrize(("operation", "name", "good", "bad"), VALUES)
def test_a_value_is_valid_if_the_service_accepts_it(
    shared_core_client: Any, operation: str, name: str, good: list[str], bad: list[str]
) -> None:
    path = next(row.path for row in ROWS if row.operation == operation)
    parameters = DOCUMENT["paths"][path]["get"]["parameters"]
    (schema,) = [parameter["schema"] for parameter in parameters if parameter.get("name") == name]
    judge = validator(schema["items"] if schema.get("type") == "array" else schema)
    for value in good:
        shared_core_client(operation, {name: value})
        judge.validate(value)
    for value in bad:
        with pytest.raises(comptroller.InvalidRequest):
            shared_core_client(operation, {name: value})
        assert not judge.is_valid(value), value


METADATA = [
    # metadata, whether it is valid
    ({}, True),
    ({"a" * 64: "b" * 512, "é": ""}, True),
    ({str(number): "" for number in range(50)}, True),
    ({str(number): "" for number in range(51)}, False),
    ({"": "b"}, False),
    ({"a" * 65: "b"}, False),
    ({"a": "b" * 513}, False),
    ({"a": "\x1f"}, False),
    ({"\t": "b"}, False),
    ({"a": 1}, False),
    ({"a": None}, False),
    ([], False),
]


@pytest.mark.parametrize(("metadata", "is_valid"), METADATA, ids=str)
def test_metadata_is_valid_if_the_service_accepts_it(
    shared_core_client: Any, metadata: Any, is_valid: bool
) -> None:
    put = {"id": "alice", "metadata": metadata}
    assert validator(SCHEMAS["PutIdentity"]).is_valid(put) is is_valid
    if is_valid:
        shared_core_client("identities.put", body=put)
    else:
        with pytest.raises(comptroller.InvalidRequest):
            shared_core_client("identities.put", body=put)


AMOUNTS = [
    # text, whether it is an amount, and whether it is a signed amount
    *((text, True, True) for text in ["0", "1.50", "9" * 20 + "." + "9" * 18, "007"]),
    *((text, False, True) for text in ["-1", "-0.5"]),
    *((text, False, False) for text in ["", "+1", ".5", "1.", "1e3", "NaN", "1_0", "٣"]),
    *((text, False, False) for text in ["9" * 21, "0." + "1" * 19, " 1", "--1"]),
]


@pytest.mark.parametrize(("text", "is_amount", "is_signed"), AMOUNTS)
def test_an_amount_is_valid_if_the_service_accepts_it(
    shared_core_client: Any, text: str, is_amount: bool, is_signed: bool
) -> None:
    orchestration = {"id": "a", "status": "PENDING", "created_at": "2026-01-31T23:59:59Z"}
    for schema, operation, record, expected in [
        (
            "OrchestrationInput",
            "orchestrations.put",
            orchestration | {"source_amount": text},
            is_signed,
        ),
        ("ObservePayoutGroup", "payout_groups.observe", {"balance": text}, is_amount),
    ]:
        assert validator(SCHEMAS[schema]).is_valid(record) is expected
        path = {"id": UUID} if "id" not in record else {}
        with pytest.raises(comptroller.Error) as refused:
            shared_core_client(operation, path, {**record, "nothing": 1})
        assert any("amount" in e.field or e.field == "balance" for e in refused.value.errors) is (
            not expected
        )
