"""Filters that are too long for a URL work for a served store as for an opened one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import comptroller
import httpx2
import pytest
from comptroller.http import app
from in_process import InProcess, Tokens
from lines import ids, load, orchestration
from on_loopback import (
    open_as as served_as,  # noqa: F401
    start,  # noqa: F401
)

LIST = "/v2/orchestration/orchestrations"
FORM = {
    "content-type": "application/x-www-form-urlencoded",
    "x-http-method-override": "GET",
}
# The longest permitted texts, of characters that have three bytes percent-encoded.
RULES = [f"{number:03}/" + "<" * 124 for number in range(100)]
PROFILES = [f"{number:03}&" + ">" * 124 for number in range(100)]
FILTERS: dict[str, Any] = {"orchestration_rule_id": RULES, "profile_id": PROFILES}


def furnish(service: comptroller.Service) -> None:
    pairs = product((RULES[7], "another"), (PROFILES[99], "another"))
    rows = (
        orchestration(orchestration_rule_id=rule, profile_id=profile) for rule, profile in pairs
    )
    load(service, "orchestrations", *rows)


@pytest.mark.parametrize("customer", [None, "default"])
def test_a_served_store_accepts_the_filters_of_an_opened_one(
    store_path: Path,
    tmp_path: Path,
    served_as: Callable[..., comptroller.Service],  # noqa: F811
    customer: str | None,
) -> None:
    with comptroller.open(store_path) as operator:
        furnish(operator)
    remote_as = served_as(customer=customer)
    with comptroller.open(store_path, customer=customer) as here:
        expected = ids(here.orchestrations.list(**FILTERS))
        assert len(expected) == 1
        assert ids(remote_as.orchestrations.list(**FILTERS)) == expected
        assert ids(remote_as.orchestrations.iter(**FILTERS, order="ASC")) == expected
        for service in (here, remote_as):
            stream = service.orchestrations.stream(columns=["id"], **FILTERS)
            assert stream.to_polars()["id"].to_list() == expected
        files = [tmp_path / "here.csv", tmp_path / "remote_as.csv"]
        for service, file in zip((here, remote_as), files, strict=True):
            assert service.export("orchestrations", file, "csv", **FILTERS) == 1
        assert files[0].read_bytes() == files[1].read_bytes()
        # Both may refuse a filter, with the same error.
        with pytest.raises(comptroller.InvalidRequest) as refused:
            here.orchestrations.list(**FILTERS, status=["x"] * 101)
        with pytest.raises(comptroller.InvalidRequest) as refused_afar:
            remote_as.orchestrations.list(**FILTERS, status=["x"] * 101)
        assert refused.value.detail == refused_afar.value.detail


# ---- the form ------------------------------------------------------------------------------------


@pytest.fixture
def ask(operator: comptroller.Service) -> Any:
    furnish(operator)
    tokens = Tokens()
    client = httpx2.Client(
        transport=InProcess(app(operator, authenticator=tokens)), base_url="http://there"
    )
    client.headers["authorization"] = f"Bearer {tokens.admit()}"
    with client:
        yield client.request


@pytest.mark.parametrize(
    "path", [LIST, "/rewards/claims", "/v2/rewards/payout-groups", "/operator/export/claims"]
)
def test_a_form_is_read_as_a_query(ask: Any, path: str) -> None:
    fields = [("customer_id", "default"), ("created_at.gte", "2020-01-01T00:00:00+00:00")]
    if "claims" in path:
        fields = [("customer_id", "default"), ("chain", "INK"), ("statuses", "FAILED")]
    for given in (fields, [], [("colour", "red")], [*fields, fields[0]]):
        as_form = ask("POST", path, content=urlencode(given), headers=FORM)
        as_query = ask("GET", f"{path}?{urlencode(given)}")
        assert as_form.status_code == as_query.status_code
        if as_form.is_success:
            assert as_form.content == as_query.content


@pytest.mark.parametrize(
    ("path", "content", "headers", "status"),
    [
        (LIST, "limit=%zz", {}, 400),
        (LIST, "limit=%ff", {}, 400),
        (LIST, b"limit=\xe9", {}, 400),
        (LIST, "&".join(["status=A"] * 2001), {}, 400),
        (LIST, "x" * ((1 << 20) + 1), {}, 413),
        (LIST, "{}", {"content-type": "application/json"}, 415),
        (LIST, "limit=1", {"content-type": "text/plain"}, 415),
        (LIST + "?limit=1", "order=ASC", {}, 400),
        (LIST, "limit=1", {"x-http-method-override": "PUT"}, 400),
        (LIST, "limit=1", {"x-http-method-override": ""}, 400),
        ("/rewards/payout-groups", "name=x", {"x-http-method-override": "PUT"}, 400),
        ("/operator/load/claims", "dry_run=true", {}, 405),
        ("/operator/rewards/claims/c-1/confirm", "", {}, 405),
    ],
)
def test_an_invalid_form_is_refused(
    ask: Any, path: str, content: Any, headers: dict[str, str], status: int
) -> None:
    answer = ask("POST", path, content=content, headers=FORM | headers)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_no_other_override_is_accepted(ask: Any, method: str) -> None:
    answer = ask(method, "/v2/identity/controls", content="limit=1", headers=FORM)
    assert answer.status_code == 400
