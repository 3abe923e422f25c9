"""Runs the tests of loads with a server in this process."""

from on_loopback import open_as, shared_open_as, start  # noqa: F401
from test_loading import *  # noqa: F403
from test_sources import *  # noqa: F403

# A remote store cannot be checked.
del test_the_same_files_twice_insert_and_update_nothing  # noqa: F821
