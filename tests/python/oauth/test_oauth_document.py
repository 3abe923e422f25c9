"""The token endpoint matches the OpenAPI document, tested with schemathesis."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

pytest.importorskip("schemathesis")

import schemathesis
from comptroller.http import openapi
from comptroller.http.oauth.token_endpoint import LARGEST_BODY
from comptroller.routes import TOKEN_PATH
from schemathesis.config import SchemathesisConfig
from schemathesis.python import asgi
from token_server import Known, Served

# schemathesis joins the URL of the server and the path as text.
DOCUMENT = json.loads(openapi.document("local")) | {"servers": [{"url": "/"}]}
CONFIG = {"seed": 7, "phases": {"fuzzing": {"error-feedback": {"enabled": False}}}}
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT, config=SchemathesisConfig.from_dict(CONFIG))
ENDPOINT = SCHEMA.include(path=TOKEN_PATH)
RESPONSES = DOCUMENT["paths"][TOKEN_PATH]["post"]["responses"]


@pytest.fixture(scope="module")
def asked(served: Served) -> Iterator[dict[str, Any]]:
    """Sends a case to the application."""
    with asgi.get_client(served.application) as client:
        yield {"app": served.application, "session": client}


@pytest.fixture
def with_tokens() -> Iterator[Counter[int]]:
    """Counts the statuses of a client's cases; some must succeed, and some fail."""
    counts: Counter[int] = Counter()
    yield counts
    assert counts[200] >= 5, counts
    assert counts[400] >= 20, counts


@ENDPOINT.parametrize()
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
def test_requests_of_a_client_match_the_document(
    case: Any, asked: dict[str, Any], known: Known, with_tokens: Counter[int]
) -> None:
    case.headers["Authorization"] = known.basic
    response = case.call(**asked)
    with_tokens[response.status_code] += 1
    case.validate_response(response)


@ENDPOINT.parametrize()
@settings(max_examples=40, suppress_health_check=list(HealthCheck))
def test_requests_without_a_client_match_the_document(case: Any, asked: dict[str, Any]) -> None:
    response = case.call(**asked)
    assert response.status_code in (400, 401, 405)
    case.validate_response(response)


def test_a_form_that_is_too_large_matches_the_document(asked: dict[str, Any]) -> None:
    form = {"grant_type": "client_credentials", "scope": "x" * LARGEST_BODY}
    media_type = "application/x-www-form-urlencoded"
    case = SCHEMA[TOKEN_PATH]["POST"].Case(body=form, media_type=media_type)
    response = case.call(**asked)
    assert response.status_code == 413
    case.validate_response(response)


def test_every_error_is_documented() -> None:
    assert RESPONSES.keys() == {"200", "400", "401", "413", "500", "503"}
    errors = DOCUMENT["components"]["schemas"]["TokenError"]["properties"]["error"]["enum"]
    assert "temporarily_unavailable" not in errors  # RFC 6749 defines it for another endpoint
    for status in ("500", "503"):
        assert RESPONSES[status] == {"$ref": f"#/components/responses/Problem{status}"}
