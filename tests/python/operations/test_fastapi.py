"""Records in FastAPI: returned from endpoints, as response models and as bodies."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Annotated, Any

import comptroller
import pytest
from comptroller.description import core_description
from comptroller.records import Claim, Identity
from examples import KINDS, LINES, loaded

pydantic = pytest.importorskip("pydantic")
fastapi = pytest.importorskip("fastapi")
pytest.importorskip("httpx2")

from asgi_client import Asked  # noqa: E402

EXACT = "99999999999999999999.999999999999999999"
CLAIM = {
    "id": "c-exact",
    "payout_group_id": "00000000-0000-0000-0000-000000000001",
    "claim_type": "CLAIM_ALL",
    "onchain_status": "CONFIRMED",
    "amount": EXACT,
    "created_at": "2026-01-31T12:00:00.000000Z",
    "updated_at": "2026-01-31T12:00:00.000001Z",
}


class Batch(pydantic.BaseModel):
    """A model of the application that holds records."""

    name: str
    claims: list[Claim]


@pytest.fixture(scope="module")
def service() -> Iterator[comptroller.Service]:
    with comptroller.open(":memory:") as service:
        for kind in KINDS:
            loaded(service, kind, LINES[kind])
        loaded(service, "claims", CLAIM)
        yield service


@pytest.fixture(scope="module")
def app(service: comptroller.Service) -> Any:
    app = fastapi.FastAPI()

    @app.get("/claims/{id}")
    def one(id: str) -> Claim:
        return service.claims.get(id)

    @app.get("/model/{id}", response_model=Claim)
    def model(id: str) -> Any:
        return service.claims.get(id)

    @app.get("/claims")
    def several() -> list[Claim]:
        return list(service.claims.iter())

    @app.get("/identities")
    def identities() -> list[Identity]:
        return list(service.identities.iter())

    @app.get("/batch")
    def batch() -> Batch:
        return Batch(name="all", claims=[service.claims.get("c-exact")])

    @app.post("/echo")
    def echo(claim: Annotated[Claim, fastapi.Body()]) -> Claim:
        assert isinstance(claim, Claim)
        return claim

    return app


def called(app: Any, method: str, path: str, body: object = None) -> tuple[int, Any]:
    with Asked(app) as asked:
        answer = asked(method, path, **({} if body is None else {"json": body}))
    return answer.status_code, answer.json()


@pytest.mark.parametrize("path", ["/claims/c-exact", "/model/c-exact"])
def test_a_record_is_written_as_by_the_interface(app: Any, path: str) -> None:
    assert called(app, "GET", path) == (200, {**CLAIM, "customer_id": "default"})


def test_lists_and_models_hold_records(app: Any, service: comptroller.Service) -> None:
    status, claims = called(app, "GET", "/claims")
    assert (status, claims) == (200, [each.to_dict() for each in service.claims.iter()])
    status, ((identity, *_)) = called(app, "GET", "/identities")
    control = identity["status_details"]["active_controls"][0]
    assert (status, control["created_at"]) == (200, "2026-01-31T12:00:00.000000Z")
    assert control["deleted_at"] is None  # as the interface writes it
    status, batch = called(app, "GET", "/batch")
    assert (status, batch["claims"][0]["amount"]) == (200, EXACT)


def test_a_record_is_a_body(app: Any) -> None:
    assert called(app, "POST", "/echo", CLAIM) == (200, CLAIM)
    for wrong in ({**CLAIM, "amount": 1.5}, {**CLAIM, "amount": "1e5"}, {"id": "c"}, [CLAIM]):
        status, answer = called(app, "POST", "/echo", wrong)
        assert status == 422, answer


def test_the_schema_names_every_member(app: Any) -> None:
    document = app.openapi()
    answers = document["paths"]["/claims/{id}"]["get"]["responses"]["200"]["content"]
    assert answers["application/json"]["schema"] == {"$ref": "#/components/schemas/Claim"}
    schema = document["components"]["schemas"]["Claim"]
    members = core_description()["records"]["Claim"]["members"]
    assert schema["properties"].keys() == members.keys()
    assert schema["required"] == [name for name, each in members.items() if each["required"]]
    assert schema["properties"]["amount"]["type"] == "string"
    assert schema["properties"]["created_at"]["format"] == "date-time"
    assert schema["properties"]["onchain_status"]["enum"] == [
        *("PENDING", "SUBMITTED", "CONFIRMED", "FAILED")
    ]


def test_the_document_is_valid_and_describes_the_answers(
    app: Any,
) -> None:
    validation = pytest.importorskip("openapi_spec_validator")
    schemas = pytest.importorskip("jsonschema")
    document = json.loads(json.dumps(app.openapi()))
    validation.validate(document)
    for name, path in (("Claim", "/claims"), ("Identity", "/identities")):
        schema = document["components"]["schemas"][name]
        for each in called(app, "GET", path)[1]:
            schemas.validate(each, schema)


def test_records_need_no_pydantic() -> None:
    code = "import sys, comptroller.records; print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
