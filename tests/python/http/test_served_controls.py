"""Runs the tests of controls with a server in this process."""

from on_loopback import open_as, operator_actor, shared_open_as, start  # noqa: F401
from test_controls import *  # noqa: F403
