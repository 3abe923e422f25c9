"""Addresses that requests of clients' webhooks may not reach."""

from __future__ import annotations

import asyncio
import socket

import comptroller
import pytest
from receiver import Receiver

pytest.importorskip("httpx2")

from comptroller.webhooks.addresses import AddressRefused, PublicNetwork, is_public
from comptroller.webhooks.network import OWNER
from comptroller.webhooks.resolving import Resolve, Resolver
from comptroller.webhooks.sending import Answer, Sender

REFUSED = "the name leads to no public address"


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "10.255.255.255",
        "100.64.0.1",
        "100.100.100.200",
        "127.0.0.1",
        "127.255.255.254",
        "168.63.129.16",
        "169.254.0.1",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.192",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.0.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:8.8.8.8",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:10::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "2002:a00:1::1",
        "3fff::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fe80::1%lo",
        "fec0::1",
        "ff02::1",
    ],
)
def test_an_address_that_is_not_public_is_refused(address: str) -> None:
    assert not is_public(address)

    def resolve(_host: str, _port: int) -> list[str]:
        return ["93.184.215.14", address]

    assert send("https://hooks.example.com/x", resolve).error == REFUSED


@pytest.mark.parametrize(
    "address",
    ["1.1.1.1", "8.8.8.8", "93.184.215.14", "172.15.255.255", "172.32.0.1", "2606:4700::1111"],
)
def test_a_public_address_is_accepted(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("host", ["localhost", "2130706433", "0x7f.1", "127.1", "[::1]"])
def test_a_name_that_leads_to_this_machine_is_refused(host: str) -> None:
    """With the system's resolver, which reads decimal, octal and hexadecimal addresses."""
    with Receiver() as receiver:
        port = receiver.url.rpartition(":")[2].partition("/")[0]
        answer = send(f"http://{host}:{port}/x")
    assert answer.error
    assert receiver.received == []


def test_the_log_has_the_reason_of_a_refusal_once(caplog: pytest.LogCaptureFixture) -> None:
    answers = iter([["10.0.0.1"]] * 3 + [["1.1.1.1"]] + [["10.0.0.1"], ["127.0.0.1"]])
    network = PublicNetwork(Resolver(lambda *_: next(answers), 1, share=1))

    async def connect() -> int:
        OWNER.set("acme")
        refusals = 0
        for _ in range(6):
            try:
                await network.addresses("hooks.example.com", 443)
            except AddressRefused:
                refusals += 1
        return refusals

    assert asyncio.run(connect()) == 5
    assert [each.getMessage().rpartition(" ")[2] for each in caplog.records] == [
        "10.0.0.1",
        "10.0.0.1",
        "127.0.0.1",
    ]


def test_a_second_answer_of_the_name_server_is_not_used() -> None:
    """The connection goes to the address that was checked."""
    asked = []

    def resolve(_host: str, _port: int) -> list[str]:
        asked.append(_host)
        return ["127.0.0.1"] if len(asked) > 1 else ["192.0.2.1"]

    with Receiver() as receiver:
        port = receiver.url.rpartition(":")[2].partition("/")[0]
        answer = send(f"http://rebinding.example.com:{port}/x", resolve)
    assert answer.error == REFUSED
    assert asked == ["rebinding.example.com"]
    assert receiver.received == []


def test_each_address_of_a_name_must_be_public() -> None:
    def resolve(_host: str, _port: int) -> list[str]:
        return ["2a00::1", "127.0.0.1"]

    with Receiver() as receiver:
        port = receiver.url.rpartition(":")[2].partition("/")[0]
        answer = send(f"http://both.example.com:{port}/x", resolve)
    assert answer.error == REFUSED
    assert receiver.received == []


def _unknown(_host: str, _port: int) -> list[str]:
    raise socket.gaierror(socket.EAI_NONAME, "unknown")


@pytest.mark.parametrize("resolve", [_unknown, lambda *_: [], lambda *_: ["10.3.4.5"]])
def test_a_customer_does_not_learn_the_names_of_the_network(
    resolve: Resolve, caplog: pytest.LogCaptureFixture
) -> None:
    """A name that does not exist looks like one that leads into the server's network."""
    assert send("https://db1.corp.example", resolve).error == REFUSED
    (logged,) = caplog.messages  # for the operator
    assert "db1.corp.example" in logged


def test_the_operator_learns_why_a_name_is_refused() -> None:
    answer = send("https://nowhere.example.com", _unknown, customer_id=None)
    assert "cannot be resolved" in (answer.error or "")


def test_a_defect_is_a_failure_of_one_request(caplog: pytest.LogCaptureFixture) -> None:
    def resolve(_host: str, _port: int) -> list[str]:
        raise KeyError("secret")

    assert send("https://hooks.example.com", resolve).error == "the request failed"
    assert "KeyError" in caplog.text


@pytest.mark.parametrize("host", ["a" * 64 + ".example.com", "a..example.com"])
@pytest.mark.parametrize("customer_id", ["acme", None])
def test_a_name_that_cannot_exist_is_a_failure(host: str, customer_id: str | None) -> None:
    """Its label is too long or empty, for which Python has another exception."""
    answer = send(f"https://{host}/x", customer_id=customer_id)
    assert (REFUSED if customer_id else "cannot be resolved") in (answer.error or "")


def test_redirects_are_not_followed() -> None:
    with Receiver() as inner, Receiver(lambda _: (307, {"location": inner.url})) as outer:
        answer = send(outer.url, customer_id=None)
    assert "redirects are not followed" in (answer.error or "")
    assert len(outer.received) == 1
    assert inner.received == []


def send(url: str, *resolve: object, customer_id: str | None = "acme") -> Answer:
    async def post() -> Answer:
        sender = Sender(*resolve, timeout_s=5)  # type: ignore[arg-type]
        try:
            return await sender.post(url, {}, b"{}", customer_id=customer_id)
        finally:
            await sender.close()

    return asyncio.run(post())


def test_a_client_cannot_store_such_a_host(acme: comptroller.Service) -> None:
    """The table of `test_webhooks` has more; this is the one of a cloud's metadata."""
    with pytest.raises(comptroller.InvalidRequest):
        acme.webhooks.create(url="https://169.254.169.254/")
