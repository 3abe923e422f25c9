"""Runs the tests of orchestrations with a remote service."""

from in_process import open_as, shared_open_as  # noqa: F401
from test_orchestrations import *  # noqa: F403
