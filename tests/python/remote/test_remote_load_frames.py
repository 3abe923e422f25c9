"""Runs the tests of loaded data frames with a remote service."""

from in_process import open_as, shared_open_as  # noqa: F401
from test_load_frames import *  # noqa: F403

# These tests open their own stores.
del test_a_stream_loads_back_to_an_equal_store  # noqa: F821
del test_a_slice_of_a_table_is_read_correctly  # noqa: F821
