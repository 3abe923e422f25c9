"""Runs the tests of loads that are stored whole with a database."""

import pytest
from database_for_each_path import database_for_each_path  # noqa: F401
from test_load_kept import *  # noqa: F403
from test_load_pipe import *  # noqa: F403

pytestmark = pytest.mark.slow

# It reads a store file with sqlite3.
del test_a_stream_fills_a_table_beside_other_writes  # noqa: F821
# It is about the memory of the parser.
del test_short_lines_take_little_memory  # noqa: F821
