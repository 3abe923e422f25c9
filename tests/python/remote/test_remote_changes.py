"""Runs the tests of the change feed with a remote service."""

from in_process import open_as, shared_open_as  # noqa: F401
from test_changes import *  # noqa: F403
