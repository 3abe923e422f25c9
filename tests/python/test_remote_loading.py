"""Loads from afar: what holds of an opened store holds of a connected one."""

from in_process import open_as, shared_open_as  # noqa: F401
from test_load_formats import *  # noqa: F403
from test_loading import *  # noqa: F403
from test_sources import *  # noqa: F403

# A check is made where the store is.
del test_the_same_files_twice_insert_and_update_nothing  # noqa: F821
