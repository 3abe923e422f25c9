"""The options of `serve`, and which of them agree."""

from __future__ import annotations

import os
from datetime import datetime
from math import isfinite
from typing import Literal

import click
import msgspec

from comptroller.errors import invalid
from comptroller.loopback import is_loopback
from comptroller.postgresql import is_address

_EXTERNAL_ISSUER_OPTIONS = (
    *("jwks", "algorithm", "token_type", "customer_claim", "operator_claim", "scope_claim"),
)
# The options that a variable without a value, in a unit of systemd, would make empty.
_TEXTS = (
    *("host", "issuer", "audience", "jwks", "customer_claim", "operator_claim", "scope_claim"),
    *("tls_cert", "tls_key", "backups"),
)
# The options that each value of --auth does not accept.
_IGNORED = {
    "local": _EXTERNAL_ISSUER_OPTIONS,
    "jwks": (),
    "off": ("issuer", "audience", "rate", "leeway", *_EXTERNAL_ISSUER_OPTIONS),
}


class ServeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `serve`, by the names of their flags."""

    db: str
    state: str | None
    empty: bool
    sample: int | None
    host: str
    port: int
    auth: Literal["local", "jwks", "off"]
    issuer: str | None
    audience: str | None
    jwks: str | None
    algorithm: tuple[str, ...]
    token_type: Literal["at+jwt", "any"]
    customer_claim: str
    operator_claim: str
    scope_claim: str | None
    leeway: float
    workers: int
    rate: float | None
    tls_cert: str | None
    tls_key: str | None
    behind_proxy: bool
    backups: str | None
    webhooks: bool
    drop_deprecated: bool
    sunset: datetime | None

    @property
    def is_temporary(self) -> bool:
        """Whether the store is a temporary one."""
        return self.empty or self.sample is not None


def require_sense(options: ServeOptions, given: set[str]) -> None:
    """Raises UsageError for options that conflict, are incomplete, or have no effect."""
    if ("db" in given) + options.empty + (options.sample is not None) > 1:
        raise click.UsageError("give one of --db, --empty and --sample")
    if (options.tls_cert is None) != (options.tls_key is None):
        raise click.UsageError("give both --tls-cert and --tls-key, or neither")
    for name in _TEXTS:
        if getattr(options, name) == "":
            raise click.UsageError(f"{_option(name)} is empty; give a value, or leave it out")
    if "" in options.algorithm:
        raise click.UsageError("--algorithm is empty; give a value, or leave it out")
    for name in ("leeway", "rate"):
        number = getattr(options, name)
        if number is not None and not isfinite(number):
            raise click.UsageError(f"{_option(name)}: {number} is not a finite number")
    is_database = is_address(options.db) and not options.is_temporary
    if options.auth == "local" and is_database and options.state is None:
        raise click.UsageError("--auth local needs --state FOLDER, for the keys and clients")
    if options.workers > 1 and options.db == ":memory:" and not options.is_temporary:
        raise click.UsageError("--workers needs a store in a file; --empty makes a temporary one")
    if options.drop_deprecated and options.sunset:
        raise click.UsageError("--sunset and --drop-deprecated exclude each other")
    ignored = [_option(name) for name in _IGNORED[options.auth] if name in given]
    if ignored:
        raise click.UsageError(f"--auth {options.auth} does not accept {', '.join(ignored)}")
    missing = [
        _option(name) for name in ("issuer", "audience", "jwks") if not getattr(options, name)
    ]
    if options.auth == "jwks" and missing:
        raise click.UsageError(f"--auth jwks also needs {', '.join(missing)}")


def require_safety(options: ServeOptions) -> None:
    """Raises InvalidRequest if tokens would be sent unencrypted, or `--issuer` is missing.

    Also for a certificate or trusted proxies that are not valid, before anything is stored.
    """
    if options.tls_cert and options.tls_key:
        from comptroller.http.server.certificate import require_certificate

        require_certificate(options.tls_cert, options.tls_key)
    if options.behind_proxy:
        from comptroller.http.server.forwarding import Forwarding

        Forwarding(os.environ.get("FORWARDED_ALLOW_IPS"))
    if is_loopback(options.host) and not options.behind_proxy:
        return
    if options.auth == "off":
        raise invalid("--auth", "off is only for this machine; listen on 127.0.0.1")
    if not (options.tls_cert or options.behind_proxy):
        raise invalid(
            "--host",
            f"other machines can reach {options.host}, and would send tokens unencrypted; give"
            " --tls-cert and --tls-key, or --behind-proxy if a proxy handles TLS",
        )
    if not options.issuer:
        raise invalid(
            "--issuer",
            "missing; give the URL at which clients on other machines reach this server, such as "
            "https://books.example",
        )


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")
