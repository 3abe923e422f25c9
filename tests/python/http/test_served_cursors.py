"""Runs the tests of cursors with a server in this process."""

from on_loopback import open_as, shared_open_as, start  # noqa: F401
from test_cursors import *  # noqa: F403
