"""The token endpoint: RFC 6749 to the letter."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus, urlencode

import comptroller
import pytest
from comptroller.routes import TOKEN_PATH
from hypothesis import given, strategies as st
from token_server import FORM, Known, Served, basic

BASIC = 'Basic realm="comptroller"'


@pytest.fixture(scope="module")
def known(served: Served) -> Known:
    return served.register(scopes=["rewards:read_claims", "rewards:read_payout_groups"])


GRANT = "grant_type=client_credentials"
IN_BODY = GRANT + "&client_id={id}&client_secret={secret}"
ERRORS = [
    # Authorization, body, status, error
    ("{basic}", "", 400, "invalid_request"),
    ("{basic}", "grant_type=", 400, "invalid_request"),
    ("{basic}", "scope=rewards:read_claims", 400, "invalid_request"),
    ("{basic}", "grant_type=password&username=a&password=b", 400, "unsupported_grant_type"),
    ("{basic}", "grant_type=authorization_code&code=x", 400, "unsupported_grant_type"),
    ("{basic}", GRANT + "&" + GRANT, 400, "invalid_request"),
    ("{basic}", GRANT + "&scope=a&scope=b", 400, "invalid_request"),
    ("{basic}", GRANT + "&x=1&x=", 400, "invalid_request"),
    ("{basic}", GRANT + "&x=%zz", 400, "invalid_request"),
    ("{basic}", GRANT + "&x=%ff", 400, "invalid_request"),
    ("{basic}", GRANT + "&x=\xe9", 400, "invalid_request"),
    ("{basic}", GRANT + "".join(f"&x{n}=1" for n in range(200)), 400, "invalid_request"),
    ("{basic}", GRANT + "&client_secret={secret}", 400, "invalid_request"),
    ("{basic}", IN_BODY, 400, "invalid_request"),
    ("{basic}", GRANT + "&client_id=another", 400, "invalid_request"),
    ("{basic}", GRANT + "&scope=rewards:read_monitoring_address", 400, "invalid_scope"),
    ("{basic}", GRANT + "&scope=rewards:read_claims+operator:read", 400, "invalid_scope"),
    ("{basic}", GRANT + "&scope=rewards:read_claims++rewards:read_claims", 400, "invalid_scope"),
    ("{basic}", GRANT + "&scope=REWARDS:READ_CLAIMS", 400, "invalid_scope"),
    ("{basic}", GRANT + "&scope=rewards:read_claim", 400, "invalid_scope"),
    ("{wrong}", GRANT, 401, "invalid_client"),
    ("{nobody}", GRANT, 401, "invalid_client"),
    ("Basic", GRANT, 401, "invalid_client"),
    ("Basic !", GRANT, 401, "invalid_client"),
    ("Basic bm8gY29sb24=", GRANT, 401, "invalid_client"),
    ("Basic Ov//", GRANT, 401, "invalid_client"),
    ("Basic JXp6Og==", GRANT, 401, "invalid_client"),
    ("Bearer x", GRANT, 401, "invalid_client"),
    ("", GRANT, 401, "invalid_client"),
    (None, GRANT, 400, "invalid_client"),
    (None, GRANT + "&client_id={id}", 400, "invalid_client"),
    (None, GRANT + "&client_id={id}&client_secret=", 400, "invalid_client"),
    (None, GRANT + "&client_id={id}&client_secret=x", 400, "invalid_client"),
    (None, GRANT + "&client_id=nobody&client_secret=x", 400, "invalid_client"),
    (None, GRANT + "&client_secret={secret}", 400, "invalid_client"),
    (None, IN_BODY + "&client_id={id}", 400, "invalid_request"),
]


def fill(text: str, known: Known) -> str:
    return text.format(
        id=known.id,
        secret=known.secret,
        basic=known.basic,
        wrong=basic(known.id, known.secret + "x"),
        nobody=basic("nobody", known.secret),
    )


def post(served: Served, header: str | None, body: str | bytes, type: str = FORM) -> Any:
    headers = {"Content-Type": type} | ({} if header is None else {"Authorization": header})
    content = body if isinstance(body, bytes) else body.encode("latin1")
    return served.ask("POST", TOKEN_PATH, content=content, headers=headers)


def is_error(answer: Any, status: int, error: str) -> None:
    body = answer.json()
    assert (answer.status_code, body["error"]) == (status, error)
    assert body.keys() == {"error", "error_description"}
    assert all(" " <= letter <= "~" and letter not in '"\\' for letter in body["error_description"])
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["pragma"] == "no-cache"
    challenges = answer.headers.get_list("www-authenticate")
    assert challenges == ([BASIC] if status == 401 else [])


@pytest.mark.parametrize(("header", "body", "status", "error"), ERRORS)
def test_the_token_endpoint_refuses(
    served: Served, known: Known, header: str | None, body: str, status: int, error: str
) -> None:
    given = None if header is None else fill(header, known)
    answer = post(served, given, fill(body, known))
    is_error(answer, status, error)
    assert known.secret not in answer.text


@pytest.mark.parametrize(
    ("type", "body", "status"),
    [
        ("application/json", json.dumps({"grant_type": "client_credentials"}), 400),
        ("multipart/form-data; boundary=x", GRANT, 400),
        (FORM + "; charset=utf-16", GRANT, 400),
        ("", GRANT, 400),
        (FORM, GRANT + "&x=" + "a" * (16 << 10), 413),
    ],
)
def test_the_token_endpoint_accepts_only_small_forms(
    served: Served, known: Known, type: str, body: str, status: int
) -> None:
    is_error(post(served, known.basic, body, type), status, "invalid_request")


GRANTED = [
    # Authorization, body, scope
    ("{basic}", GRANT, "rewards:read_payout_groups rewards:read_claims"),
    (None, IN_BODY, "rewards:read_payout_groups rewards:read_claims"),
    ("{basic}", GRANT + "&client_id={id}", "rewards:read_payout_groups rewards:read_claims"),
    ("{basic}", GRANT + "&scope=", "rewards:read_payout_groups rewards:read_claims"),
    ("{basic}", GRANT + "&scope=rewards:read_claims", "rewards:read_claims"),
    ("{basic}", GRANT + "&scope=rewards%3Aread_claims+rewards:read_claims", "rewards:read_claims"),
    (
        "{basic}",
        GRANT + "&audience=elsewhere&x=1",
        "rewards:read_payout_groups rewards:read_claims",
    ),
    (None, IN_BODY + "&scope=rewards:read_claims", "rewards:read_claims"),
]


@pytest.mark.parametrize(("header", "body", "scope"), GRANTED)
def test_the_token_endpoint_grants(
    served: Served, known: Known, header: str | None, body: str, scope: str
) -> None:
    answer = post(served, header and fill(header, known), fill(body, known))
    document = answer.json()
    assert answer.status_code == 200
    assert document.keys() == {"access_token", "token_type", "expires_in", "scope"}
    assert (document["token_type"], document["expires_in"]) == ("Bearer", 3600)
    assert set(document["scope"].split(" ")) == set(scope.split(" "))
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["pragma"] == "no-cache"
    assert served.show(document["access_token"]).status_code == 200


@given(st.binary(max_size=30), st.binary(max_size=30))
def test_malformed_tokens_are_refused(served: Served, header: bytes, body: bytes) -> None:
    given = [(b"content-type", FORM.encode()), (b"authorization", header)]
    for content in (body, GRANT.encode() + b"&" + body):
        answer = served.ask("POST", TOKEN_PATH, content=content, headers=given)
        assert answer.status_code in (400, 401)
        assert answer.json()["error"] in ("invalid_request", "invalid_client")


def test_basic_credentials_are_form_encoded_first(served: Served, known: Known) -> None:
    every = "".join(f"%{letter:02X}" for letter in known.id.encode())
    answer = post(served, basic(every, quote_plus(known.secret)), GRANT)
    assert answer.status_code == 200
    lower = "basic" + known.basic.removeprefix("Basic")
    assert post(served, lower, GRANT).status_code == 200


def test_credentials_in_the_url_are_ignored(served: Served, known: Known) -> None:
    query = urlencode({"client_id": known.id, "client_secret": known.secret})
    form = {"grant_type": "client_credentials"}
    is_error(served.ask("POST", f"{TOKEN_PATH}?{query}", data=form), 400, "invalid_client")


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH"])
def test_the_token_endpoint_accepts_only_post(served: Served, method: str) -> None:
    answer = served.ask(method, TOKEN_PATH)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_a_revoked_client_gets_the_error_of_a_wrong_secret(
    open_as: Callable[..., comptroller.Service], store_path: Path
) -> None:
    from comptroller.http.oauth import clients

    served = Served(store_path, open_as())
    revoked = served.register()
    clients.revoke(clients.file_of(str(store_path)), revoked.id)
    served.clock.go(1)
    answers = [
        served.ask_token(each) for each in (revoked, revoked._replace(secret="x"), Known("x", "x"))
    ]
    for answer in answers:
        is_error(answer, 401, "invalid_client")
    assert len({answer.text for answer in answers}) == 1


def test_other_requests_are_answered_while_a_secret_is_checked(
    served: Served, known: Known
) -> None:
    ended: list[str] = []

    async def note(name: str, *asked: str, **how: Any) -> None:
        await served.send(*asked, **how)
        ended.append(name)

    async def both() -> None:
        form = {"grant_type": "client_credentials"}
        wrong = {"Authorization": basic(known.id, "never seen")}
        await asyncio.gather(
            note("token", "POST", TOKEN_PATH, data=form, headers=wrong),
            note("health", "GET", "/healthz"),
        )

    asyncio.run(both())
    assert ended == ["health", "token"]


@pytest.mark.parametrize("is_known", [False, True])
def test_too_many_requests_of_a_client_are_refused_and_block_no_other(
    served: Served, is_known: bool
) -> None:
    named, other = served.register(), served.register()
    ids = [named.id] * 20 if is_known else [f"nobody-{number}" for number in range(20)]

    async def crowd() -> list[Any]:
        asking = [*(Known(id, str(n)) for n, id in enumerate(ids)), other]
        form = {"grant_type": "client_credentials"}
        return await asyncio.gather(
            *(
                served.send("POST", TOKEN_PATH, data=form, headers={"Authorization": each.basic})
                for each in asking
            )
        )

    *answers, others = asyncio.run(crowd())
    assert others.status_code == 200
    counts = Counter(answer.status_code for answer in answers)
    assert counts[401] >= 8  # more, if one was refused before the last request arrived
    assert counts[503] == 20 - counts[401] > 0
    busy = next(answer for answer in answers if answer.status_code == 503)
    assert (busy.json()["code"], busy.headers["retry-after"]) == ("unavailable", "1")
    assert busy.headers["content-type"] == "application/problem+json"
    assert served.ask_token(named).status_code == 200


def test_a_secret_in_two_headers_is_refused(served: Served) -> None:
    known = served.register()
    twice = [("Authorization", known.basic)] * 2
    form = {"grant_type": "client_credentials"}
    answer = served.ask("POST", TOKEN_PATH, data=form, headers=twice)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")


@pytest.mark.parametrize(
    ("scope", "description"),
    [
        ("rewards:read_claims operator:read", "not granted to this client: operator:read"),
        ("operator:read rewards:x", "not granted to this client: operator:read, rewards:x"),
        ('a"b', "not granted to this client: a scope that does not exist"),
    ],
)
def test_a_scope_that_is_not_granted_is_named(served: Served, scope: str, description: str) -> None:
    answer = served.ask_token(served.register(), scope=scope)
    assert answer.json() == {"error": "invalid_scope", "error_description": description}
