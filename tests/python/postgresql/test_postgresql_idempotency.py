"""Runs the tests of idempotency keys with a database."""

from test_idempotency import *  # noqa: F403
