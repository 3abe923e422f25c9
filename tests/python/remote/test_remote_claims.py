"""Runs the tests of claims with a remote service."""

from in_process import open_as, shared_open_as  # noqa: F401
from test_claims import *  # noqa: F403
