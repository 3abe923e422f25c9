"""Runs the tests of the change feed with a server in this process."""

from on_loopback import open_as, shared_open_as, start  # noqa: F401
from test_changes import *  # noqa: F403
from test_changes_of_customers import *  # noqa: F403
