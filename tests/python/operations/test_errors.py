"""The exception classes."""

from __future__ import annotations

import errno
import pickle
from decimal import Decimal
from pathlib import Path
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
    ("rate-limited", 429, errors.RateLimited),
    ("internal", 500, errors.Error),
    ("unusable", 500, errors.Unusable),
    ("unsupported", 501, errors.Unsupported),
    ("unavailable", 503, errors.Unavailable),
    ("closed", 503, errors.Closed),
    ("read-only", 403, errors.ReadOnly),
    ("outcome-unknown", 504, errors.OutcomeUnknown),
]


@pytest.mark.parametrize(("code", "status", "kind"), ROWS)
def test_the_code_and_the_status_decide_the_class(code: str, status: int, kind: type) -> None:
    error = errors.error_for(code, status, "why", [("a.b", "must be")], "id1")
    assert type(error) is kind
    assert isinstance(error, comptroller.Error)
    assert (error.code, error.status, error.detail) == (code, status, "why")
    assert error.errors == [errors.FieldError("a.b", "must be")]
    assert error.existing == "id1"


@pytest.mark.parametrize(("code", "status", "kind"), ROWS)
def test_an_error_pickles(code: str, status: int, kind: type) -> None:
    error = errors.error_for(code, status, "why", [("a.b", "must be")], "id1", 2.5, "request-1")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert vars(again) == vars(error)
    assert str(again) == str(error)
    assert (again.retry_after, again.request_id) == (2.5, "request-1")


def test_a_missing_extra_is_an_import_error_and_pickles() -> None:
    error = errors.missing_extra("to_polars()", "polars", extra="analysis")
    assert isinstance(error, ImportError)
    assert isinstance(error, errors.Unsupported)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.name) == (errors.MissingExtra, "polars")
    assert str(again) == str(error)
    assert 'its extra "analysis"' in str(error)


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        (errno.ENOSPC, errors.Unavailable),
        (errno.EMFILE, errors.Unavailable),
        (errno.EACCES, errors.Unusable),
        (errno.ENOTDIR, errors.Unusable),
    ],
)
def test_system_errors_are_temporary_or_permanent(reason: int, kind: type) -> None:
    assert type(errors.from_os_error(OSError(reason, "why"), "why")) is kind


def test_a_program_gets_the_class_of_a_permanent_error(tmp_path: Path) -> None:
    with comptroller.open(tmp_path / "a.db") as service:
        service.identities.put(id="alice")
    with comptroller.open(tmp_path / "a.db", read_only=True) as reader:
        with pytest.raises(errors.ReadOnly) as refused:
            reader.identities.put(id="bob")
        assert (refused.value.code, refused.value.status) == ("read-only", 403)
    with pytest.raises(errors.Closed) as refused:
        reader.identities.list()
    assert not isinstance(refused.value, errors.Unavailable)
    (tmp_path / "text").write_text("no store" * 100)
    for path in ("text", "absent/a.db", "."):
        with pytest.raises(errors.Unusable):
            comptroller.open(tmp_path / path)


@pytest.mark.parametrize(
    ("detail", "fields", "shown"),
    [
        ("why", [], "code: why"),
        ("a: must be", [("a", "must be")], "code: a: must be"),
        ("two are wrong", [("a", "x"), ("b", "y")], "code: two are wrong; a: x; b: y"),
    ],
)
def test_the_text_of_an_error_has_no_repetition(
    detail: str, fields: list[tuple[str, str]], shown: str
) -> None:
    assert str(errors.error_for("code", 400, detail, fields, None)) == shown


def _tree(kind: type) -> list[type]:
    return [kind, *(each for below in kind.__subclasses__() for each in _tree(below))]


def test_every_class_is_documented_and_public() -> None:
    for kind in _tree(errors.Error):
        assert f"{kind.__name__} " in str(errors.__doc__)
        assert getattr(comptroller, kind.__name__) is kind


def test_error_messages_shorten_the_callers_text(core_client: Any, operator: Service) -> None:
    long = "x" * 900_000
    asked = [
        lambda: core_client("controls.create", body={long: 1}),
        lambda: core_client("controls.create", body=f'{{"a":{{"{long[2:]}":1}},"{long[3:]}":2}}'),
        lambda: core_client(
            "claims.put", body={"id": long, "amount": long, "onchain_status": long}
        ),
        lambda: core_client("orchestrations.put", body={"metadata": {long: 1}}),
        lambda: core_client("claims.list", {long: "1"}),
        lambda: core_client("claims.list", {"statuses": long}),
        lambda: core_client("claims.list", {"page_cursor": long}),
        lambda: core_client("claims.list", {"payout_group_id": long}),
        lambda: core_client("claims.get", {"id": long}),
        lambda: core_client("claims.fail", {"id": "1"}, {"error_message": long}),
        lambda: core_client("identities.put", body={"id": "a"}, key=long),
        lambda: core_client(long),
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
        texts = [str(refused.value), *(text for error in refused.value.errors for text in error)]
        assert max(map(len, texts)) < 1500
