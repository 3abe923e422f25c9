"""Runs the tests of streams with a server in this process."""

from on_loopback import open_as, shared_open_as, start  # noqa: F401
from test_streams_end_to_end import *  # noqa: F403
from test_streams_end_to_end import _store  # noqa: F401
