"""Routing of requests by path and method."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("prometheus_client")

from comptroller import NotFound
from comptroller.http.exchange import Exchange
from comptroller.http.problems import Refusal
from comptroller.http.routing import Router

PATHS = ("/", "/a", "/a/{id}", "/a/{id}/b", "/a/new", "/a/{id}/{name}/c", "/{id}")


def exchange(method: str = "GET") -> Exchange:
    scope: Any = {"method": method, "headers": [], "query_string": b""}
    return Exchange(scope, None, None)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def router() -> Router:
    return Router({path: {"GET": path, "PUT": f"PUT {path}"} for path in PATHS})  # type: ignore


@pytest.mark.parametrize(
    ("path", "route", "values"),
    [
        ("/", "/", {}),
        ("/a", "/a", {}),
        ("/a/1", "/a/{id}", {"id": "1"}),
        ("/a/new", "/a/new", {}),
        ("/a/{id}", "/a/{id}", {"id": "{id}"}),
        ("/a/a%2Fb/b", "/a/{id}/b", {"id": "a%2Fb"}),
        ("/a/1/2/c", "/a/{id}/{name}/c", {"id": "1", "name": "2"}),
        ("/b", "/{id}", {"id": "b"}),
        ("/{}", "/{id}", {"id": "{}"}),
    ],
)
def test_a_path_leads_to_its_resource(
    router: Router, path: str, route: str, values: dict[str, str]
) -> None:
    asked = exchange()
    assert router.find(asked, path) == route
    assert (asked.route, asked.path_values) == (route, values)


@pytest.mark.parametrize(
    "path", ["", "a", "/a/", "//", "/a//b", "/a/1/", "/a/1/c", "/a/new/b", "/a/1/2", "/a/1/2/c/d"]
)
def test_an_unknown_path_is_not_found(router: Router, path: str) -> None:
    asked = exchange()
    with pytest.raises(NotFound):
        router.find(asked, path)
    assert asked.route == ""


def test_each_method_has_its_own_function(router: Router) -> None:
    assert router.find(exchange("PUT"), "/a") == "PUT /a"
    assert router.find(exchange("HEAD"), "/a") == "/a"
    refused = exchange("DELETE")
    with pytest.raises(Refusal) as refusal:
        router.find(refused, "/a/1")
    assert refused.route == "/a/{id}"
    assert refusal.value.headers == [(b"allow", b"GET, HEAD, PUT")]
