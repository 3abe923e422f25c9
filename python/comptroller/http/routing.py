"""Routing of requests by path and method."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from comptroller.http.exchange import Answer, Exchange
from comptroller.http.problems import Refusal, problem

#: The functions of a path by method. The function of GET also answers HEAD.
Answers = Mapping[str, Answer]

# Special keys of the tree: any segment, and the end of a path.
_ANY = None
_END = "/"


class Router:
    """Finds the function that answers a request.

    Paths are matched while percent-encoded. A segment in braces matches any text that is not empty;
    an equal literal segment has priority.

    Args:
        resources: the answers by path.
    """

    def __init__(self, resources: Mapping[str, Answers]) -> None:
        # Fast lookup for paths without braces, which most requests have.
        self._fixed = {path: answers for path, answers in resources.items() if "{" not in path}
        self._tree: dict[str | None, Any] = {}
        for path, answers in resources.items():
            node = self._tree
            for segment in path.split("/"):
                node = node.setdefault(_ANY if segment.startswith("{") else segment, {})
            node[_END] = path, answers

    def find(self, exchange: Exchange, path: str) -> Answer:
        """Returns the function of a path; sets `route` and `path_values` of the exchange.

        Raises Refusal if the path has another method, NotFound if the path does not exist.
        """
        answers = self._fixed.get(path)
        if answers is None:
            path, answers = self._match(exchange, path)
        exchange.route = path
        answer = answers.get(exchange.method)
        if answer is None:
            raise _not_allowed(answers)
        return answer

    def _match(self, exchange: Exchange, path: str) -> tuple[str, Answers]:
        node = self._tree
        values = []
        for segment in path.split("/"):
            if segment and segment not in node and _ANY in node:
                values.append(segment)
                node = node[_ANY]
            else:
                node = node.get(segment, {})
            if not node:
                break
        if _END not in node:
            raise problem("not-found", "there is nothing at this path")
        route, answers = node[_END]
        names = [each[1:-1] for each in route.split("/") if each.startswith("{")]
        exchange.path_values = dict(zip(names, values, strict=True))
        return route, answers


def _not_allowed(methods: Iterable[str]) -> Refusal:
    allowed = sorted({*methods, *(["HEAD"] if "GET" in set(methods) else [])})
    error = problem("method-not-allowed", f"this path accepts {', '.join(allowed)}")
    return Refusal(error, [(b"allow", ", ".join(allowed).encode())])
