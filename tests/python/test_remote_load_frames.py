"""Data frames loaded from afar: what holds of an opened store holds of a connected one."""

from in_process import open_as, shared_open_as  # noqa: F401
from test_load_frames import *  # noqa: F403

# They load into stores of their own.
del test_a_stream_loads_back_to_an_equal_store  # noqa: F821
del test_a_slice_of_a_table_is_read_as_such  # noqa: F821
