"""Runs the tests of changes with a database."""

from test_changes import *  # noqa: F403
from test_changes_of_customers import *  # noqa: F403

# These change a store file with sqlite3.
del test_a_cursor_behind_the_end_is_refused  # noqa: F821
del test_a_store_from_before_the_journal  # noqa: F821
