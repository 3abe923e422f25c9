"""Runs the tests of controls with a remote service."""

from in_process import open_as, operator_actor, shared_open_as  # noqa: F401
from test_controls import *  # noqa: F403
