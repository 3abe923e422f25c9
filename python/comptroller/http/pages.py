"""HTML pages: the interactive API documentation, and an explanation of each problem."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import cache, partial
from html import escape
from importlib.util import find_spec
from pathlib import Path

from comptroller.description import problems
from comptroller.errors import missing_extra
from comptroller.http.exchange import Answer, Exchange
from comptroller.http.problems import problem

_JSON = b"application/json"
_HTML = b"text/html; charset=utf-8"
_MEDIA = {".js": b"text/javascript; charset=utf-8", ".css": b"text/css; charset=utf-8"}
_STATIC = Path(__file__).with_name("static")
# The files of the pages, and whether the package offapi has them.
_FILES = {
    "init.js": False,
    "problems.css": False,
    "swagger_bundle.js": True,
    "swagger_style.css": True,
}
_CACHED = (b"cache-control", b"public, max-age=3600")
_NOT_FRAMED = b"; base-uri 'none'; frame-ancestors 'none'"
_STRICT = (b"content-security-policy", b"default-src 'none'; style-src 'self'" + _NOT_FRAMED)
# swagger-ui sends requests only to this server, and has its icons as data: URLs.
_INTERACTIVE = (
    b"content-security-policy",
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    b"connect-src 'self'" + _NOT_FRAMED,
)


def resources(document: bytes) -> dict[str, dict[str, Answer]]:
    """Returns the pages by path and method; `document` is the OpenAPI document."""
    return {
        "/openapi.json": {"GET": partial(_openapi, document)},
        "/docs": {"GET": _docs},
        "/docs/{name}": {"GET": _file},
        "/problems": {"GET": _problems},
        "/problems/{code}": {"GET": _problem},
    }


async def _openapi(document: bytes, exchange: Exchange) -> None:
    await exchange.answer(200, _JSON, document)


async def _docs(exchange: Exchange) -> None:
    page = await asyncio.to_thread((_STATIC / "docs.html").read_bytes)
    await exchange.answer(200, _HTML, page, [_INTERACTIVE])


async def _file(exchange: Exchange) -> None:
    name = exchange.path_parameter("name")
    if name not in _FILES:
        raise problem("not-found", "this file does not exist")
    data = await asyncio.to_thread(_content, name)
    await exchange.answer(200, _MEDIA[Path(name).suffix], data, [_CACHED])


@cache
def _content(name: str) -> bytes:
    """Returns a file, which is in memory only once, however many clients read it slowly."""
    return ((_offapi() if _FILES[name] else _STATIC) / name).read_bytes()


@cache
def _offapi() -> Path:
    """Returns the folder of the package offapi, without importing it, which reads all files."""
    found = find_spec("offapi")
    if found is None or not found.submodule_search_locations:
        raise missing_extra("the page", "offapi", extra="server")
    return Path(found.submodule_search_locations[0])


async def _problems(exchange: Exchange) -> None:
    rows = (
        f'<tr><td><a href="problems/{code}">{code}</a></td><td>{kind["status"]}</td>'
        f"<td>{escape(kind['title'])}</td></tr>"
        for code, kind in problems().items()
    )
    page = _page("Problems", "docs/", ["<table>", *rows, "</table>"])
    await exchange.answer(200, _HTML, page, [_STRICT])


async def _problem(exchange: Exchange) -> None:
    code = exchange.path_parameter("code")
    if code not in problems():
        raise problem("not-found", "there is no problem with this code")
    kind = problems()[code]
    parts = [
        f"<p><code>{code}</code>, status {kind['status']}</p>",
        f"<p>{escape(kind['explanation'])}</p>",
        "<h2>What to do</h2>",
        f"<p>{escape(kind['remedy'])}</p>",
        '<p><a href="../problems">All problems</a></p>',
    ]
    page = _page(kind["title"], "../docs/", parts)
    await exchange.answer(200, _HTML, page, [_STRICT])


def _page(title: str, files: str, parts: list[str]) -> bytes:
    return "\n".join(_lines(escape(title), files, parts)).encode()


def _lines(title: str, files: str, parts: list[str]) -> Iterator[str]:
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{title}</title>"
    yield f'<link rel="stylesheet" href="{files}problems.css">'
    yield f"</head>\n<body>\n<h1>{title}</h1>"
    yield from parts
    yield "</body>\n</html>\n"
