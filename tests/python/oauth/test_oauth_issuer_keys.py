"""The keys of an external issuer: where and when they are fetched."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import time
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

import comptroller
import pytest
from comptroller.http.oauth.jwks import PublishedKeys
from external_issuer import Guest, Place, a_key, a_place
from joserfc import jwt
from joserfc.jwk import OctKey, OKPKey


def test_keys_are_fetched_once_and_again_after_ten_minutes(guest: Guest, place: Place) -> None:
    key = a_key()
    place.publish(key)
    token = guest.token(key)
    assert guest.show_all(*[token] * 20) == [200] * 20
    assert len(place.requests) == 1
    guest.clock.go(599)
    guest.show(token)
    assert len(place.requests) == 1
    guest.clock.go(1)
    assert guest.show(token).status_code == 200
    # A request waits for an unknown key.
    assert guest.show(guest.token(a_key(kid="k2"))).status_code == 401
    assert len(place.requests) == 2


def test_cached_keys_are_used_during_a_refresh(guest: Guest, place: Place) -> None:
    old, new = a_key(), a_key(kid="k2")
    place.publish(old)
    token = guest.token(old)
    assert guest.show(token).status_code == 200
    place.may_answer.clear()
    guest.clock.go(600)
    assert guest.show_all(*[token] * 3) == [200] * 3
    place.publish(new)
    place.may_answer.set()
    assert guest.show(guest.token(new)).status_code == 200
    assert guest.show(token).status_code == 401
    assert len(place.requests) == 2


def test_an_unknown_key_triggers_a_refresh_with_a_limit(guest: Guest, place: Place) -> None:
    first, second, unknown = a_key(), a_key(kid="k2"), a_key(kid="k3")
    place.publish(first)
    assert guest.show(guest.token(first)).status_code == 200
    place.publish(first, second)
    assert guest.show(guest.token(second)).status_code == 401
    guest.clock.go(30)
    assert guest.show_all(*[guest.token(second)] * 5) == [200] * 5
    assert len(place.requests) == 2
    for number in range(10):
        assert guest.show(guest.token(unknown, jti=str(number))).status_code == 401
    assert len(place.requests) == 2
    guest.clock.go(30)
    assert guest.show(guest.token(unknown)).status_code == 401
    assert len(place.requests) == 3


def test_keys_are_fetched_after_the_wall_clock_was_set_back(guest: Guest, place: Place) -> None:
    old, new = a_key(), a_key(kid="k2")
    place.publish(old)
    assert guest.show(guest.token(old)).status_code == 200
    guest.clock.now -= 3600
    place.publish(new)
    guest.monotonic.go(30)
    assert guest.show(guest.token(new)).status_code == 200
    assert guest.show(guest.token(old)).status_code == 401


def test_a_verified_token_ends_with_its_key(guest: Guest, place: Place) -> None:
    old, new = a_key(), a_key(kid="k2")
    place.publish(old)
    token = guest.token(old)
    assert guest.show(token).status_code == 200
    place.publish(new)
    guest.clock.go(1200)
    assert guest.show(token).status_code == 401


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (500, b""),
        (404, b'{"keys":[]}'),
        (200, b""),
        (200, b"[]"),
        (200, b"{}"),
        (200, b'{"keys":[]}'),
        (200, b'{"keys":{}}'),
        (200, b'{"keys":[1,null,{},{"kty":"OKP"},{"kty":"oct","k":"AA","kid":"k1"}]}'),
        (200, b"[" * 100_000),
        (200, b" " * ((1 << 20) + 1)),
    ],
)
def test_without_keys_tokens_are_unavailable_and_cached_keys_stay(
    guest: Guest, place: Place, caplog: pytest.LogCaptureFixture, status: int, body: bytes
) -> None:
    key = a_key()
    token = guest.token(key)
    place.status, place.body = status, body
    with caplog.at_level(logging.WARNING):
        answer = guest.show(token)
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert answer.headers["retry-after"] == "1"
    assert "were not refreshed" in caplog.text
    assert guest.show(token).status_code == 503
    assert len(place.requests) == 1
    guest.clock.go(30)
    place.status = 200
    place.publish(key)
    assert guest.show(token).status_code == 200
    guest.clock.go(1200)
    place.status, place.body = status, body
    assert guest.show(token).status_code == 200
    assert len(place.requests) == 3


def test_an_unreachable_issuer_is_unavailable(operator: comptroller.Service, place: Place) -> None:
    guest = Guest(operator, "http://127.0.0.1:1/keys")
    assert guest.show_all(*[guest.token(a_key())] * 3) == [503] * 3


@pytest.mark.parametrize(
    "begins", [b"HTTP/1.1 200 ", b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n"]
)
def test_a_slow_issuer_times_out(begins: bytes) -> None:
    ended = Event()

    def drip() -> None:
        connected, _ = listening.accept()
        with connected, suppress(OSError):
            connected.sendall(begins)
            while not ended.wait(0.05):
                connected.sendall(b" ")

    began = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        dripping = Thread(target=drip)
        dripping.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/keys"
        keys = PublishedKeys(url, time.monotonic, within_s=0.5)
        with pytest.raises(comptroller.Unavailable):
            asyncio.run(keys.generation())
        assert time.monotonic() - began < 10
        ended.set()
        dripping.join()


def test_a_redirection_is_not_followed(guest: Guest, place: Place) -> None:
    key = a_key()
    with a_place() as other:
        other.publish(key)
        place.status, place.location = 302, other.url
        assert guest.show(guest.token(key)).status_code == 503
        assert other.requests == []


def test_urls_in_a_token_are_not_fetched(guest: Guest, place: Place) -> None:
    ours, theirs = a_key(), a_key()
    place.publish(ours)
    with a_place() as other:
        other.publish(theirs)
        header = {
            "alg": "Ed25519",
            "typ": "at+jwt",
            "kid": "k1",
            "jku": other.url,
            "x5u": other.url,
        }
        claims = jwt.decode(guest.token(ours), ours, algorithms=["Ed25519"]).claims
        token = jwt.encode(header, claims, theirs, algorithms=["Ed25519"])
        assert guest.show(token).status_code == 401
        unknown = jwt.encode(header | {"kid": "k9"}, claims, theirs, algorithms=["Ed25519"])
        assert guest.show(unknown).status_code == 401
        elsewhere = guest.token(theirs, iss=other.url, jku=other.url)
        assert guest.show(elsewhere).status_code == 401
        assert other.requests == []


def publish(file: Path, key: OKPKey) -> None:
    file.write_text(json.dumps({"keys": [key.as_dict(private=False)]}))


def test_the_keys_may_be_a_file(operator: comptroller.Service, tmp_path: Path) -> None:
    key = a_key()
    file = tmp_path / "keys.json"
    publish(file, a_key(kid="old"))
    guest = Guest(operator, str(file))
    assert guest.show(guest.token(key)).status_code == 401
    publish(file, key)
    guest.clock.go(30)
    assert guest.show(guest.token(key)).status_code == 200


@pytest.mark.parametrize("held", [None, "", "[]", '{"keys":[]}', '{"keys":[{"kty":"OKP"}]}'])
def test_a_file_without_keys_is_refused_at_once(
    operator: comptroller.Service, tmp_path: Path, held: str | None
) -> None:
    file = tmp_path / "keys.json"
    if held is not None:
        file.write_text(held)
    with pytest.raises(comptroller.Unusable, match=r"keys\.json cannot be used for the keys"):
        Guest(operator, str(file))


def test_a_symmetric_key_in_the_set_is_ignored(guest: Guest, place: Place) -> None:
    shared = OctKey.import_key({"kty": "oct", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQ", "kid": "k2"})
    place.body = json.dumps(
        {"keys": [a_key().as_dict(private=False), shared.as_dict(private=True)]}
    ).encode()
    assert guest.show(guest.token(shared, "HS256")).status_code == 401


@pytest.mark.parametrize(
    "source",
    [
        "http://accounts.example/keys",
        "http://127.0.0.1.example/keys",
        "file:///etc/passwd",
        "ftp://accounts.example/keys",
        "https://user:password@accounts.example/keys",
        "https://",
        "://",
    ],
)
def test_keys_are_not_fetched_over_plain_http(operator: comptroller.Service, source: str) -> None:
    with pytest.raises(comptroller.InvalidRequest, match="jwks") as refused:
        Guest(operator, source)
    assert "password" not in str(refused.value)


@pytest.mark.parametrize("name", ["issuer", "audience", "customer_claim", "operator_claim"])
def test_configured_values_must_not_be_empty(operator: comptroller.Service, name: str) -> None:
    with pytest.raises(comptroller.InvalidRequest, match=name):
        Guest(operator, "keys.json", **{name: ""})
