"""The tree of errors."""

from __future__ import annotations

import pickle
from decimal import Decimal
from typing import Any

import comptroller
import pytest
from comptroller import Service, errors

ROWS = [
    ("malformed-json", 400, errors.InvalidRequest),
    ("invalid-cursor", 400, errors.InvalidRequest),
    ("unauthenticated", 401, errors.Unauthenticated),
    ("insufficient-scope", 403, errors.Forbidden),
    ("not-found", 404, errors.NotFound),
    ("method-not-allowed", 405, errors.Error),
    ("already-exists", 409, errors.Conflict),
    ("content-too-large", 413, errors.InvalidRequest),
    ("unsupported-media-type", 415, errors.InvalidRequest),
    ("idempotency-key-reused", 422, errors.InvalidRequest),
    ("rate-limited", 429, errors.Error),
    ("internal", 500, errors.Error),
    ("unavailable", 503, errors.Unavailable),
]


@pytest.mark.parametrize(("code", "status", "kind"), ROWS)
def test_the_status_decides_the_class(code: str, status: int, kind: type) -> None:
    error = errors.make(code, status, "why", [("a.b", "must be")], "id1")
    assert type(error) is kind
    assert isinstance(error, comptroller.Error)
    assert (error.code, error.status, error.detail) == (code, status, "why")
    assert error.errors == [errors.FieldError("a.b", "must be")]
    assert error.existing == "id1"


@pytest.mark.parametrize(("code", "status", "kind"), ROWS)
def test_an_error_pickles(code: str, status: int, kind: type) -> None:
    error = errors.make(code, status, "why", [("a.b", "must be")], "id1")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert vars(again) == vars(error)
    assert str(again) == str(error)


@pytest.mark.parametrize(
    ("detail", "fields", "shown"),
    [
        ("why", [], "code: why"),
        ("a: must be", [("a", "must be")], "code: a: must be"),
        ("two are wrong", [("a", "x"), ("b", "y")], "code: two are wrong; a: x; b: y"),
    ],
)
def test_it_says_everything_once(detail: str, fields: list[tuple[str, str]], shown: str) -> None:
    assert str(errors.make("code", 400, detail, fields, None)) == shown


def test_every_class_is_drawn_and_public() -> None:
    for kind in [errors.Error, *errors.Error.__subclasses__()]:
        assert f"{kind.__name__} " in str(errors.__doc__)
        assert getattr(comptroller, kind.__name__) is kind


def test_no_refusal_repeats_what_was_sent_at_length(door: Any, operator: Service) -> None:
    long = "x" * 900_000
    asked = [
        lambda: door("controls.create", body={long: 1}),
        lambda: door("controls.create", body=f'{{"a":{{"{long[2:]}":1}},"{long[3:]}":2}}'),
        lambda: door("claims.put", body={"id": long, "amount": long, "onchain_status": long}),
        lambda: door("orchestrations.put", body={"metadata": {long: 1}}),
        lambda: door("claims.list", {long: "1"}),
        lambda: door("claims.list", {"statuses": long}),
        lambda: door("claims.list", {"page_cursor": long}),
        lambda: door("claims.list", {"payout_group_id": long}),
        lambda: door("claims.get", {"id": long}),
        lambda: door("claims.fail", {"id": "1"}, {"error_message": long}),
        lambda: door("identities.put", body={"id": "a"}, key=long),
        lambda: door(long),
        lambda: operator.load(long, []),
        lambda: operator.export(long, "x"),
        lambda: operator.export("claims", "x", long),
        lambda: operator.claims.stream([long]),
        lambda: operator.claims.list(**{long: 1}),
        lambda: operator.claims.put({long: 1.5}),
        lambda: operator.claims.put({"amount": Decimal("1" + "0" * 900_000)}),
        lambda: comptroller.open(":memory:", customer="a", scopes=[long]),
        lambda: comptroller.open(":memory:", customer=long),
        lambda: comptroller.sample(long),
        lambda: comptroller.sample("claims", customer=long),
    ]
    for ask in asked:
        with pytest.raises(comptroller.Error) as refused:
            ask()
        told = [str(refused.value), *(text for error in refused.value.errors for text in error)]
        assert max(map(len, told)) < 1500
