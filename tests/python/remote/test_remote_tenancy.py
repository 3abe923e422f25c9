"""Runs the tests of tenancy with a remote service."""

from in_process import open_as, shared_open_as  # noqa: F401
from test_tenancy import *  # noqa: F403
