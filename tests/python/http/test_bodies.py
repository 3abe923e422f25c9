"""Request bodies: JSON objects of known members; errors name the member."""

from __future__ import annotations

import json
from typing import Any

import comptroller
import pytest
from lines import at, control, fresh, orchestration, refused

MIB = 1 << 20


def nested(depth: int) -> str:
    """Returns a body whose innermost array has this depth."""
    return '{"id":"a","metadata":' + "[" * (depth - 1) + "]" * (depth - 1) + "}"


MALFORMED = [
    "",
    " ",
    "{",
    "}",
    '{"id":"a"',
    '{"id":"a",}',
    '{"id" "a"}',
    '{id:"a"}',
    "{'id':'a'}",
    '{"id":"a"} {}',
    '{"id":"a"}x',
    '{"id":"a\nb"}',
    '{"id":"a\\x"}',
    '{"id":"a\\u12"}',
    '{"id":"a","ref_id":NaN}',
    '{"id":"a","ref_id":01}',
    '{"id":"a","ref_id":1.}',
    '{"id":"a","ref_id":+1}',
    '{"id":"a","ref_id":nul}',
    '{"id":"a","ref_id":"unterminated}',
    '{"id":"a"} // comment',
    # Escapes that are not Unicode scalar values.
    '{"id":"a","ref_id":"\\ud800"}',
    '{"id":"a","ref_id":"\\udc00"}',
    '{"id":"a","ref_id":"\\ud800\\ud800"}',
    '{"id":"a","ref_id":"\\ud800x"}',
    nested(33),
    nested(5000),
]
NOT_UTF8 = [b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80"]


@pytest.mark.parametrize("body", [text for text in MALFORMED if text.strip()])
def test_a_body_that_is_not_json_is_malformed(shared_core_client, body):
    with refused("malformed-json", 400) as caught:
        shared_core_client("identities.put", body=body)
    assert isinstance(caught.value, comptroller.InvalidRequest)


@pytest.mark.parametrize("junk", NOT_UTF8)
def test_a_body_that_is_not_utf8_is_malformed(shared_core_client, junk):
    with refused("malformed-json", 400):
        shared_core_client("identities.put", body=b'{"id":"a","ref_id":"' + junk + b'"}')


@pytest.mark.parametrize("body", ["[]", '"a"', "1", "true", "null", "[{}]"])
def test_a_body_that_is_not_an_object_is_invalid(shared_core_client, body):
    with refused("invalid-request", 400):
        shared_core_client("identities.put", body=body)


@pytest.mark.parametrize(
    "body",
    [
        '{"id":"a","id":"a"}',
        '{"id":"a","ref_id":"r","ref_id":"s"}',
        '{"id":"a","\\u0069d":"b"}',
        '{"id":"a","metadata":{"k":"1","k":"1"}}',
        '{"id":"a","metadata":{"k":"1","\\u006b":"2"}}',
    ],
)
def test_a_duplicate_member_is_invalid(shared_core_client, body):
    with refused("invalid-request", 400):
        shared_core_client("identities.put", body=body)
    with refused("not-found"):
        shared_core_client("identities.get", {"id": "a"})


def test_a_duplicate_deep_inside_is_invalid(shared_core_client):
    line = '{"id":"m","status":"A","created_at":"2026-01-01T00:00:00Z","source":%s}'
    for source in ('{"fiat":{"memo":"","memo":""}}', '{"fiat":{},"fiat":{}}'):
        with refused("invalid-request", 400):
            shared_core_client("orchestrations.put", body=line % source)


def test_a_document_may_be_32_deep(shared_core_client):
    with refused("invalid-request", 400):  # An array is not valid metadata, but it is valid JSON.
        shared_core_client("identities.put", body=nested(32))


def test_a_body_may_be_one_mebibyte(shared_core_client):
    body = json.dumps({"id": fresh("big")})
    whole = body[:-1] + " " * (MIB - len(body)) + "}"
    assert len(whole) == MIB
    assert shared_core_client("identities.put", body=whole)["status"] == "APPROVED"
    with refused("content-too-large", 413):
        shared_core_client("identities.put", body=whole + " ")


UNKNOWN_MEMBERS = [
    ("identities.put", {"id": "a", "ref_ids": "x"}, "ref_id"),
    ("identities.put", {"id": "a", "status": "APPROVED"}, ""),
    ("identities.put", {"id": "a", "created_at": "2026-01-01T00:00:00Z"}, ""),
    (
        "controls.create",
        {"identity_id": "a", "type": "CLOSED", "reason_code": "X", "set_by": "CLIENT"},
        "",
    ),
    (
        "controls.create",
        {"identity_id": "a", "type": "CLOSED", "reason_cod": "X"},
        "reason_code",
    ),
    ("balances.record", {"adress_id": "x"}, "address_id"),
    ("claims.submit", {"tx_hsh": "x"}, "tx_hash"),
    ("payout_groups.update", {"nam": "x"}, "name"),
]


@pytest.mark.parametrize(("operation", "body", "nearest"), UNKNOWN_MEMBERS)
def test_an_unknown_member_is_refused_and_the_nearest_is_named(
    shared_core_client, operation, body, nearest
):
    takes_id = operation in ("claims.submit", "payout_groups.update")
    id = "01900000-0000-7000-8000-000000000000"
    with refused("invalid-request", 400) as caught:
        shared_core_client(operation, {"id": id} if takes_id else {}, body)
    error_text = " ".join(
        [caught.value.detail, *[part for pair in caught.value.errors for part in pair]]
    )
    assert nearest in error_text


@pytest.mark.parametrize(
    "member",
    ["id", "set_by", "created_at", "created_by", "deleted_at", "deleted_by", "customer_id"],
)
@pytest.mark.parametrize("who", ["core_client", "acme_core_client"])
def test_server_members_of_a_control_cannot_be_set(request, operator, who, member):
    operator.identities.put(id="a", customer_id="acme")
    value = control(created_by="x", deleted_by="x", customer_id="globex").get(member, at(0))
    text = value if isinstance(value, str) else value.isoformat()
    body = {"identity_id": "a", "type": "CLOSED", "reason_code": "X", member: text}
    with refused("invalid-request", 400):
        request.getfixturevalue(who)("controls.create", body=body)
    assert operator.controls.list(include_deleted=True).items == []


@pytest.mark.parametrize(
    "member", ["id", "customer_id", "ref_id", "status", "status_details", "created_at"]
)
def test_members_of_an_identity_outside_an_update_cannot_be_set(acme_core_client, operator, member):
    before = operator.identities.put(id="a", customer_id="acme")
    with refused("invalid-request", 400):
        acme_core_client("identities.update", {"id": "a"}, {member: "b", "metadata": {"k": "v"}})
    assert operator.identities.get("a") == before


WRONG_TYPES = [
    ("identities.put", {"id": 1}),
    ("identities.put", {"id": "a", "ref_id": 1}),
    ("identities.put", {"id": "a", "ref_id": None}),
    ("identities.put", {"id": "a", "ref_id": ["x"]}),
    ("identities.put", {"id": "a", "user_disabled": "true"}),
    ("identities.put", {"id": "a", "user_disabled": 1}),
    ("identities.put", {"id": "a", "user_disabled": None}),
    ("identities.put", {"id": "a", "metadata": []}),
    ("identities.put", {"id": "a", "metadata": None}),
    ("orchestrations.put", {"source_amount": 1}),
    ("orchestrations.put", {"source_amount": 1.5}),
    ("orchestrations.put", {"source": "x"}),
    ("orchestrations.put", {"source": {"fiat": []}}),
    ("orchestrations.put", {"created_at": 1769903999}),
    ("orchestrations.put", {"ref_id": None}),
]


@pytest.mark.parametrize(("operation", "members"), WRONG_TYPES)
def test_a_member_of_the_wrong_type_is_refused_and_named(shared_core_client, operation, members):
    base: dict[str, Any] = {}
    if operation == "orchestrations.put":
        base = orchestration(created_at="2026-01-01T00:00:00Z")
    with refused("invalid-request", 400) as caught:
        shared_core_client(operation, body=base | members)
    (wrong,) = [name for name in members if name != "id" or len(members) == 1]
    assert caught.value.errors[0].field.split(".")[0] == wrong


def test_a_nested_member_is_named_by_its_path(shared_core_client):
    line = orchestration(created_at="2026-01-01T00:00:00Z")
    with refused("invalid-request", 400) as caught:
        shared_core_client("orchestrations.put", body=line | {"source": {"fiat": {"memo": 1}}})
    assert [error.field for error in caught.value.errors] == ["source.fiat.memo"]


def test_escapes_are_decoded(shared_core_client):
    name = fresh("escaped")
    body = f'{{"id":"{name}",' + '"ref_id":"\\u00e9\\ud83d\\ude00\\/\\"\\\\"}'
    assert shared_core_client("identities.put", body=body)["ref_id"] == 'é😀/"\\'


@pytest.mark.parametrize("escape", ["\\u0000", "\\u0001", "\\n", "\\t", "\\u001f"])
def test_an_escaped_control_character_is_refused(shared_core_client, escape):
    with refused("invalid-request", 400):
        shared_core_client("identities.put", body='{"id":"a","ref_id":"' + escape + '"}')


def test_an_unknown_operation_is_refused(shared_core_client):
    for name in ("claims.delete", "", "claims", "Claims.list", "claims.list "):
        with pytest.raises(comptroller.Error) as caught:
            shared_core_client(name)
        assert caught.value.status in (400, 404)


def test_a_write_takes_no_other_parameters_than_its_id(shared_core_client):
    with refused("invalid-request", 400):
        shared_core_client("identities.put", {"id": "a"}, {"id": "a"})
    with refused("invalid-request", 400):
        shared_core_client("identities.update", {"id": "a", "metadata": "x"}, {})
    with refused("invalid-request", 400):
        shared_core_client("identities.update", {}, {"metadata": {}})
