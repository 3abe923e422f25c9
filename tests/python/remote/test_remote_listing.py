"""Runs the tests of lists with a remote service."""

from in_process import open_as, shared_open_as  # noqa: F401
from test_listing import *  # noqa: F403
