"""The service over HTTP: :func:`app` makes an ASGI application for any ASGI server.

Needs the extra ``comptroller[server]``.
"""

from comptroller.http.app import App as app  # noqa: N813
from comptroller.http.authentication import EveryoneIsOperator

__all__ = ["EveryoneIsOperator", "app"]
