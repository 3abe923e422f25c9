"""Runs the tests of idempotency keys with a remote service."""

from in_process import open_as, shared_open_as  # noqa: F401
from test_idempotency import *  # noqa: F403
