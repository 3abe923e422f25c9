"""Runs the tests of cursors with a remote service."""

from in_process import open_as, shared_open_as  # noqa: F401
from test_cursors import *  # noqa: F403
