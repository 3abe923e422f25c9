"""Runs the tests of exports with a server in this process."""

from on_loopback import open_as, shared_open_as, start  # noqa: F401
from test_export import *  # noqa: F403
from test_export import _full  # noqa: F401

# Only the machine of the store knows its files.
del test_the_store_itself_is_never_written_over  # noqa: F821
