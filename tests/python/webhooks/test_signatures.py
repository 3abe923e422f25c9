"""Signatures, verified by the published packages of Standard Webhooks."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import comptroller
import pytest
from places import ROOT
from receiver import Received, Receiver, delivering

pytest.importorskip("httpx2")
standardwebhooks = pytest.importorskip("standardwebhooks")

#: Where `make test` puts the package of npm.
NPM = ROOT / ".venv" / "npm"
VERIFY = """
const { Webhook } = require("standardwebhooks");
const { secret, headers, body } = JSON.parse(require("fs").readFileSync(0, "utf8"));
try {
  console.log(new Webhook(secret).verify(body, headers).type);
} catch (error) {
  console.log(error.message);
}
"""


class Signed:
    """A request, and the secrets before and after a rotation."""

    def __init__(self, tmp_path: Path) -> None:
        with (
            comptroller.open(tmp_path / "store.db") as svc,
            Receiver() as receiver,
            delivering(svc),
        ):
            made = svc.webhooks.create(url=receiver.url)
            self.first = svc.webhooks.secret(made.id)
            svc.webhooks.rotate(made.id)
            self.second = svc.webhooks.secret(made.id)
            svc.identities.put(id="alice", metadata={"name": "Älice"})
            (self.request,) = receiver.take(1)


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Signed:
    return Signed(tmp_path_factory.mktemp("webhooks"))


def test_the_package_of_python_verifies_both_secrets(signed: Signed) -> None:
    request = signed.request
    for secret in (signed.first.secret, signed.second.secret):
        event = standardwebhooks.Webhook(secret).verify(request.body, request.headers)
        assert event["type"] == "identity.updated"
        assert event["data"]["metadata"]["name"] == "Älice"


def altered(request: Received) -> dict[str, Received]:
    """Returns what a receiver must refuse, by what was done to it."""
    headers = request.headers
    signatures = headers["webhook-signature"].split()
    earlier = int((datetime.now(UTC) - timedelta(minutes=6)).timestamp())
    return {
        "another body": request._replace(body=request.body.replace(b"alice", b"alica")),
        "an old timestamp": request._replace(
            headers={**headers, "webhook-timestamp": str(earlier)}
        ),
        "another id": request._replace(headers={**headers, "webhook-id": "msg_other"}),
        "no v1 signature": request._replace(
            headers={
                **headers,
                "webhook-signature": " ".join(each for each in signatures if each[:3] != "v1,"),
            }
        ),
        "another signature": request._replace(
            headers={
                **headers,
                "webhook-signature": "v1," + base64.b64encode(bytes(32)).decode(),
            }
        ),
    }


@pytest.mark.parametrize(
    "how",
    ["another body", "an old timestamp", "another id", "no v1 signature", "another signature"],
)
def test_what_was_altered_or_replayed_is_refused(signed: Signed, how: str) -> None:
    request = altered(signed.request)[how]
    for secret in (signed.first.secret, signed.second.secret):
        with pytest.raises(standardwebhooks.WebhookVerificationError):
            standardwebhooks.Webhook(secret).verify(request.body, request.headers)


def test_the_public_key_verifies_v1a(signed: Signed) -> None:
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    headers, body = signed.request.headers, signed.request.body
    content = b".".join(
        (headers["webhook-id"].encode(), headers["webhook-timestamp"].encode(), body)
    )
    signatures = [
        base64.b64decode(each[4:])
        for each in headers["webhook-signature"].split()
        if each.startswith("v1a,")
    ]
    assert len(signatures) == 2
    keys = [signed.second.public_key, signed.first.public_key]
    for key, signature in zip(keys, signatures, strict=True):
        public = ed25519.Ed25519PublicKey.from_public_bytes(
            base64.b64decode(key.removeprefix("whpk_"))
        )
        public.verify(signature, content)


@pytest.fixture
def npm() -> str:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    if not (NPM / "node_modules" / "standardwebhooks").is_dir():
        pytest.skip("the npm package standardwebhooks is missing; run `make .venv/npm/created`")
    return node


def test_the_package_of_npm_verifies(signed: Signed, npm: str) -> None:
    def verify(request: Received, secret: str) -> str:
        given = {"secret": secret, "headers": request.headers, "body": request.body.decode()}
        ran = subprocess.run(
            [npm, "-e", VERIFY],
            input=json.dumps(given),
            cwd=NPM,
            capture_output=True,
            text=True,
            check=True,
        )
        return ran.stdout.strip()

    for secret in (signed.first.secret, signed.second.secret):
        assert verify(signed.request, secret) == "identity.updated"
    for how, request in altered(signed.request).items():
        assert "identity.updated" not in verify(request, signed.first.secret), how


def test_the_signatures_of_a_rotation_end(tmp_path: Path) -> None:
    """The former secret signs for 24 hours."""
    from comptroller import _core

    with comptroller.open(tmp_path / "store.db") as svc:
        made = svc.webhooks.create(url="http://127.0.0.1:9/")
        svc.webhooks.rotate(made.id)
        until = svc.webhooks.secret(made.id).previous_until
        assert until is not None
        assert timedelta(hours=23) < until - datetime.now(UTC) < timedelta(hours=25)
        (webhook,) = _core.active_webhooks(*svc.host.store_with_principal())
        moment = int(until.timestamp() * 1_000_000)
        assert webhook.destination.sign(b"x", moment - 1_000_000).count("v1,") == 2
        assert webhook.destination.sign(b"x", moment + 1_000_000).count("v1,") == 1
