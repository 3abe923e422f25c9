"""The target of the requests of a webhook is that of its URL, unchanged."""

from __future__ import annotations

import comptroller
import pytest
from receiver import Receiver, delivering
from webhook_cases import until

pytest.importorskip("httpx2")

#: What follows the authority of a URL, if it begins with a slash.
TARGETS = [
    "/",
    "//",
    "//hooks//",
    "/;",
    "/hooks;v=1",
    "/hooks;v=1?x=2",
    "/a;b;c/d;e=f?g;h=i",
    "/tenant;v=1/hooks",
    "/hooks?",
    "/hooks/?",
    "/hooks??",
    "/hooks?next=/a;b?c://d",
    "/a%2Fb%2f%3F%25",
    "/a%zz",
    "/a/./b/../c",
    "/~!$&'()*+,=:@[]-._",
]
#: Those to which a slash is prepended.
WITHOUT_PATH = ["", "?", "?x=2", "?x=/;y"]


def test_the_target_is_what_follows_the_authority(svc: comptroller.Service) -> None:
    expected = [*TARGETS, *(f"/{each}" for each in WITHOUT_PATH)]
    with Receiver() as receiver, delivering(svc):
        server = receiver.url.removesuffix("/hooks")
        for target in (*TARGETS, *WITHOUT_PATH):
            assert svc.webhooks.create(url=server + target).url == server + target
        svc.identities.put(id="alice")
        received = receiver.take(len(expected))
    assert sorted(each.path for each in received) == sorted(expected)
    assert {each.headers["host"] for each in received} == {server.removeprefix("http://")}


def test_a_host_in_brackets_without_an_address_is_the_reason_of_a_failure(
    svc: comptroller.Service,
) -> None:
    """The operator can register such a URL; the other webhooks get their events."""
    with Receiver() as receiver, delivering(svc):
        made = svc.webhooks.create(url="http://[beef]/hooks")
        svc.webhooks.create(url=receiver.url)
        svc.identities.put(id="alice")
        receiver.take(1)
        until(lambda: any(each.attempts for each in svc.webhooks.deliveries(made.id)))
        (failed,) = svc.webhooks.deliveries(made.id)
    assert (failed.last_error or "").startswith("the URL of the webhook is not valid: ")
