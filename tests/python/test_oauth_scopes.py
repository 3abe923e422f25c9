"""Scopes are exact over HTTP: each operation passes with its own scope, and with no other."""

from __future__ import annotations

from typing import Any

import comptroller
import pytest
from authorised import Served, run_all
from comptroller.description import described, operations
from comptroller.routes import ROWS, Row

SCOPES: list[str] = list(described()["scopes"])

# What no operation takes: whoever passes the scope is told of it, and nothing is written.
NONSENSE = "?nonsense=x"


@pytest.fixture(scope="module")
def tokens(served: Served) -> dict[str, str]:
    """A token for each scope alone."""
    client = served.register("client", "acme")
    operator = served.register("operator", None)
    return {
        scope: served.token(operator if scope.startswith("operator:") else client, scope=scope)
        for scope in SCOPES
    }


def needed(row: Row, scope: str) -> str:
    """The scope that the holder of a scope needs here, told by the specification's table."""
    operation = operations()[row.operation]
    if scope.startswith("operator:") or row.path.startswith("/operator/"):
        return "operator:write" if operation.is_write else "operator:read"
    return operation.scope


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.method} {row.path}")
def test_an_operation_takes_its_own_scope_alone(
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


def test_a_scope_is_compared_whole(served: Served) -> None:
    client = served.register("whole", "acme", ["identity:read_identity"])
    token = served.token(client)
    assert served.show(token, "/v2/identity/identities").status_code == 200
    assert served.show(token, "/v2/identity/controls").status_code == 403


def test_who_registers_without_scopes_has_those_of_its_kind(served: Served) -> None:
    for customer in ("acme", None):
        told = served.ask_token(served.register("all", customer)).json()["scope"].split(" ")
        assert told == [
            scope for scope in SCOPES if scope.startswith("operator:") == (customer is None)
        ]


def test_a_client_sees_its_own_customer_alone(
    served: Served, shared_operator: comptroller.Service
) -> None:
    shared_operator.identities.put(id="of-globex", customer_id="globex")
    path = "/v2/identity/identities/of-globex"
    tokens = {name: served.token(served.register(name, name)) for name in ("acme", "globex")}
    operator = served.token(served.register("operator", None))
    assert served.show(tokens["acme"], path).status_code == 404
    assert served.show(tokens["globex"], path).status_code == 200
    assert served.show(operator, path).status_code == 200
