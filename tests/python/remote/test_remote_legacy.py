"""Runs the tests of the deprecated booleans with a remote service."""

from in_process import open_as, operator_actor, shared_open_as  # noqa: F401
from test_legacy import *  # noqa: F403
