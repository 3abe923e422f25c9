"""Scopes over HTTP: each operation accepts only its own scope."""

from __future__ import annotations

from typing import Any

import comptroller
import pytest
from comptroller.description import core_description, operations
from comptroller.routes import ROWS, Row
from token_server import Served, run_all

SCOPES: list[str] = list(core_description()["scopes"])

# A parameter that no operation accepts: a request with the scope is invalid and writes nothing.
NONSENSE = "?nonsense=x"


@pytest.fixture(scope="module")
def tokens(served: Served) -> dict[str, str]:
    """Returns a token for each scope alone."""
    scopes = [scope for scope in SCOPES if not scope.startswith("operator:")]
    client = served.register("client", "acme", scopes)
    operator = served.register("operator", None)
    return {
        scope: served.token(operator if scope.startswith("operator:") else client, scope=scope)
        for scope in SCOPES
    }


def needed(row: Row, scope: str) -> str:
    """Returns the required scope, from the table of the specification."""
    operation = operations()[row.operation]
    if scope.startswith("operator:") or row.path.startswith("/operator/"):
        return "operator:write" if operation.needs_write_scope else "operator:read"
    return operation.scope


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.method} {row.path}")
def test_an_operation_accepts_only_its_own_scope(
    served: Served, tokens: dict[str, str], row: Row
) -> None:
    path = row.path.replace("{id}", "nothing") + NONSENSE

    async def asked(scope: str) -> tuple[str, Any]:
        token = {"Authorization": f"Bearer {tokens[scope]}"}
        return scope, await served.send(row.method, path, headers=token)

    passed = []
    for scope, answer in run_all(map(asked, SCOPES)):
        if answer.status_code == 403:
            challenge = f'Bearer error="insufficient_scope", scope="{needed(row, scope)}"'
            assert answer.headers["www-authenticate"] == challenge
            assert answer.json()["code"] == "insufficient-scope"
        else:
            assert (answer.status_code, answer.json()["code"]) == (400, "invalid-request")
            passed.append(scope)
    assert passed == [scope for scope in SCOPES if scope == needed(row, scope)]
    assert 1 <= len(passed) <= 2


# Requests of which the core finds that a second scope is missing: the scopes that the client has,
# the request, and the scope that it lacks.
SECOND = [
    ("changes:read", "GET", "/v2/changes?resources=claims", None, "rewards:read_claims"),
    (
        "webhooks:write",
        "POST",
        "/v2/webhooks",
        {"url": "https://hooks.example.com", "event_types": ["claim.*"]},
        "rewards:read_claims",
    ),
]


@pytest.mark.parametrize(("scope", "method", "path", "body", "lacked"), SECOND)
def test_a_second_scope_that_is_missing_is_named_in_the_challenge(
    served: Served, scope: str, method: str, path: str, body: Any, lacked: str
) -> None:
    client = served.register("second", "acme", [scope])
    token = {"Authorization": f"Bearer {served.token(client)}"}
    answer = served.ask(method, path, headers=token, json=body)
    assert answer.status_code == 403
    assert lacked in answer.json()["detail"]
    challenge = f'Bearer error="insufficient_scope", scope="{lacked}"'
    assert answer.headers["www-authenticate"] == challenge


def test_a_scope_must_match_completely(served: Served) -> None:
    client = served.register("whole", "acme", ["identity:read_identity"])
    token = served.token(client)
    assert served.show(token, "/v2/identity/identities").status_code == 200
    assert served.show(token, "/v2/identity/controls").status_code == 403


def test_a_client_without_scopes_has_all_client_scopes(served: Served) -> None:
    for customer in ("acme", None):
        scopes = served.ask_token(served.register("all", customer)).json()["scope"].split(" ")
        by_name = "journal:read"
        assert scopes == [
            scope
            for scope in SCOPES
            if scope.startswith("operator:") == (customer is None) and scope != by_name
        ]


def test_a_client_sees_only_its_own_customer(
    served: Served, shared_operator: comptroller.Service
) -> None:
    shared_operator.identities.put(id="of-globex", customer_id="globex")
    path = "/v2/identity/identities/of-globex"
    tokens = {name: served.token(served.register(name, name)) for name in ("acme", "globex")}
    operator = served.token(served.register("operator", None))
    assert served.show(tokens["acme"], path).status_code == 404
    assert served.show(tokens["globex"], path).status_code == 200
    assert served.show(operator, path).status_code == 200
