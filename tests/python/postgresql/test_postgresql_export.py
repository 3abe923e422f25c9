"""Runs the tests of exports with a database."""

import pytest
from test_export import *  # noqa: F403
from test_export import _full  # noqa: F401

pytestmark = pytest.mark.slow

# A database has no file that an export could replace.
del test_the_store_itself_is_never_written_over  # noqa: F821
del test_a_file_beside_the_store_is_never_written_over  # noqa: F821
del test_no_export_replaces_a_file_of_a_store  # noqa: F821
