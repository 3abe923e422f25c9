"""Runs the tests of streams with a remote service."""

from in_process import open_as, shared_open_as  # noqa: F401
from test_streams_end_to_end import *  # noqa: F403
from test_streams_end_to_end import _store  # noqa: F401
