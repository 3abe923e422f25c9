"""Runs the tests of loads with a remote service."""

from in_process import open_as, shared_open_as  # noqa: F401
from test_load_formats import *  # noqa: F403
from test_loading import *  # noqa: F403
from test_sources import *  # noqa: F403

# A remote store cannot be checked.
del test_the_same_files_twice_insert_and_update_nothing  # noqa: F821
