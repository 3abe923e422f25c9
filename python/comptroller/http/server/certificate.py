"""The certificate of a server, which SIGHUP reloads."""

from __future__ import annotations

import logging
import ssl
from pathlib import Path
from typing import TYPE_CHECKING

from comptroller.bulk.files import refuse_open_store
from comptroller.errors import Error, unusable

if TYPE_CHECKING:
    from comptroller.http.metrics import Metrics

_log = logging.getLogger(__name__)


class Certificate:
    """A certificate chain and its private key in PEM files; their expiry is shown at /metrics.

    Attributes:
        context: of the server's connections.
    """

    def __init__(self, chain: str, key: str, metrics: Metrics) -> None:
        _refuse_open_stores(chain, key)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(chain, key)
        self._chain, self._key = chain, key
        self._metrics = metrics
        self._show_expiry()

    def reload(self) -> None:
        """Reads the files again for new connections; logs an error if they cannot be used."""
        try:
            # Checked first: loading a mismatched pair would leave the context without a key.
            require_certificate(self._chain, self._key)
            self.context.load_cert_chain(self._chain, self._key, password="")
        except (Error, OSError) as error:
            _log.error("the certificate was not reloaded: %s", error)
        else:
            self._show_expiry()

    def _show_expiry(self) -> None:
        from cryptography import x509

        try:
            chain = x509.load_pem_x509_certificates(Path(self._chain).read_bytes())
            expires = min(each.not_valid_after_utc.timestamp() for each in chain)
            self._metrics.certificate_expires(expires)
        except (ValueError, OSError) as error:
            _log.error("the expiry of the certificate is not shown: %s", error)


def require_certificate(certificate: str, key: str) -> None:
    """Raises Unusable unless the files are a certificate chain and its private key."""
    _refuse_open_stores(certificate, key)
    try:
        # An empty password, so that an encrypted key fails instead of prompting on the terminal.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except OSError as error:
        raise unusable(
            f"--tls-cert {certificate} and --tls-key {key} cannot be used ({error.strerror}); they "
            "must be a certificate chain and its private key without a password, in PEM"
        ) from error


def _refuse_open_stores(certificate: str, key: str) -> None:
    refuse_open_store("--tls-cert", certificate)
    refuse_open_store("--tls-key", key)
