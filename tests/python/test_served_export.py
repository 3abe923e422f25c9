"""Exports of a server: what holds of an opened store holds of a served one."""

from on_loopback import open_as, shared_open_as, start  # noqa: F401
from test_export import *  # noqa: F403
from test_export import _full  # noqa: F401

# What is the store itself is known where that is.
del test_the_store_itself_is_never_written_over  # noqa: F821
