"""Runs the tests of exports that load back with databases."""

import pytest
from database_for_each_path import database_for_each_path  # noqa: F401
from test_export_tables import (  # noqa: F401
    test_amounts_of_an_excel_file_are_text,
    test_an_export_loads_to_an_equal_store,
    test_an_unknown_suffix_is_refused,
    test_identities_that_only_controls_name_are_no_lines,
)
from test_round_trip import *  # noqa: F403
from test_round_trip import _sampled  # noqa: F401

pytestmark = pytest.mark.slow

# It loads thousands of lines one by one.
del test_a_line_has_no_members_of_another  # noqa: F821
