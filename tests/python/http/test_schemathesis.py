"""The service matches its OpenAPI document, tested with schemathesis.

Every operation gets requests at the limits of its schema and random ones, valid and invalid, and in
chains along links; about four thousand requests, with all checks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import comptroller
import hypothesis
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.errors import FailedHealthCheck, Flaky
from hypothesis.stateful import run_state_machine_as_test

pytest.importorskip("prometheus_client")
pytest.importorskip("schemathesis")

import schemathesis
from comptroller.http import EveryoneIsOperator, app, openapi
from comptroller.routes import TOKEN_PATH
from comptroller.values import KINDS
from schemathesis.config import SchemathesisConfig
from schemathesis.core.failures import FailureGroup
from schemathesis.python import asgi
from schemathesis.specs.openapi.checks import positive_data_acceptance
from serving import serving


class RuleOutsideSchema(NamedTuple):
    """The error of a rule that JSON Schema cannot state."""

    code: str
    field: str  # the end of the first field's name
    message: str  # the message

    def matches(self, problem: dict[str, Any]) -> bool:
        """Whether an error is this one."""
        fault = (problem.get("errors") or [{"field": "", "message": ""}])[0]
        is_of_field = fault["field"].endswith(self.field)
        return problem["code"] == self.code and is_of_field and self.message in fault["message"]


OUTSIDE_SCHEMA = [
    # A cursor must be that of an earlier page with the same filters.
    RuleOutsideSchema("invalid-cursor", "page_cursor", "is not a cursor of this list"),
    RuleOutsideSchema("invalid-cursor", "after", "is not a cursor of this list"),
    # The URL of a webhook must be https for a customer; its types must be those of events.
    RuleOutsideSchema("invalid-request", "url", "must be "),
    RuleOutsideSchema("invalid-request", "event_types", "is no type of event"),
    # A replay needs a time or a place.
    RuleOutsideSchema("invalid-request", "since", "is required, and not both"),
    RuleOutsideSchema("invalid-request", "after", "is empty; give a cursor"),
    # The id of the body must be that of the path.
    RuleOutsideSchema("id-mismatch", "id", "but the path names"),
    # Mixed case must be the checksum of EIP-55, base58 must have 32 bytes.
    RuleOutsideSchema("invalid-request", "address", "must be an address of"),
    # An address and its payout group must be on one ledger.
    RuleOutsideSchema("ledger-mismatch", "payout_group_id", "the group is on"),
    # The ids of a control in the query and in the body must be equal.
    RuleOutsideSchema("invalid-request", "control_id", "is required"),
    RuleOutsideSchema("invalid-request", "control_id", "differs from id"),
    RuleOutsideSchema("invalid-request", "", "differs between the query and the body"),
    # A parameter of a load holds a JSON text.
    RuleOutsideSchema("invalid-request", "mapping", "must be JSON text"),
    RuleOutsideSchema("invalid-request", "mapping", "duplicate member"),
    # A key must not be reused for another request.
    RuleOutsideSchema("idempotency-key-reused", "", ""),
]
# schemathesis joins the URL of the server and the path as text.
DOCUMENT = json.loads(openapi.document("off")) | {"servers": [{"url": "/"}]}


def schema(**generation: Any) -> Any:
    """Returns the schema for schemathesis, without duplicates: the second paths of the rewards, and
    exports, which have the parameters of lists and one more.
    """
    # Schemathesis must not skip requests by earlier responses.
    fuzzing = {"extra-data-sources": {"responses": False}, "error-feedback": {"enabled": False}}
    config = SchemathesisConfig.from_dict(
        {"seed": 7, "generation": generation, "phases": {"fuzzing": fuzzing}}
    )
    loaded = schemathesis.openapi.from_dict(DOCUMENT, config=config)
    return loaded.exclude(path_regex="^/v2/rewards|^/operator/export/(?!claims)")


@schemathesis.serializer("application/x-ndjson")
def lines(_context: Any, value: Any) -> bytes:
    return str(value).encode()


@pytest.fixture(scope="module")
def application(
    shared_operator: comptroller.Service, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Any]]:
    """Sends cases to the application, whose store has records of every kind."""
    folder = tmp_path_factory.mktemp("sample")
    comptroller.sample("all", rows=100, seed=7, out=folder)
    for kind in KINDS:
        shared_operator.load(kind, folder / f"{kind}.ndjson")
    made = app(shared_operator, authenticator=EveryoneIsOperator(on_loopback=False))
    with asgi.get_client(made) as client:
        yield {"app": made, "session": client}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Sends cases to a server, which knows the token."""
    with serving("--sample", "100", cwd=tmp_path_factory.mktemp("served")) as server:
        issued = server.ask(
            "POST",
            TOKEN_PATH,
            data={"grant_type": "client_credentials"},
            auth=server.credentials(),
        )
        token = issued.json()["access_token"]
        yield {"base_url": server.address, "headers": {"Authorization": f"Bearer {token}"}}


@pytest.fixture(scope="module", params=["application", "server"])
def served(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Both ways of sending a case."""
    way: dict[str, Any] = request.getfixturevalue(request.param)
    return way


def check(case: Any, response: Any, **more: Any) -> None:
    """Runs all checks on a response, except for errors that no schema can express."""
    excused = response.status_code in (400, 422) and any(
        rule.matches(response.json()) for rule in OUTSIDE_SCHEMA
    )
    excluded = [positive_data_acceptance] if excused else []
    case.validate_response(response, excluded_checks=excluded, **more)


@schema().parametrize()
@settings(max_examples=8, suppress_health_check=list(HealthCheck))
def test_an_operation_matches_its_description(case: Any, served: dict[str, Any]) -> None:
    response = case.call(**served)
    check(case, response)
    if (
        response.status_code == 422
    ):  # without the key, which was used before, so that it is a new request
        del case.headers["Idempotency-Key"]
        check(case, case.call(**served))


@pytest.mark.parametrize("seed", range(4))
def test_chains_of_operations_match_their_descriptions(served: dict[str, Any], seed: int) -> None:
    failures: list[Exception] = []

    @hypothesis.seed(seed)
    class Chain(schema(mode="positive").as_state_machine()):
        def before_call(self, case: Any) -> None:
            # A chain continues with the records of a list, so nothing is filtered.
            if case.operation.definition.raw["operationId"].endswith("_list"):
                case.query = {}

        def get_call_kwargs(self, case: Any) -> dict[str, Any]:
            return served

        def validate_response(self, response: Any, case: Any, **more: Any) -> None:
            try:
                check(case, response, recorder=self.recorder)
            except FailureGroup as failure:
                failures.append(failure)

    steps = settings(
        max_examples=8, stateful_step_count=10, suppress_health_check=[HealthCheck.too_slow]
    )
    # The store changes, so chains are not reproducible. If few chains can be generated, stop
    # instead of trying a thousand times.
    with suppress(Flaky, FailedHealthCheck):
        run_state_machine_as_test(Chain, settings=steps)
    if failures:
        raise failures[0]
