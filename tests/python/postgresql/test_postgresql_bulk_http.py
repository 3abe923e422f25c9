"""Runs the tests of loads and exports over HTTP with a database."""

import pytest
from test_bulk_http import *  # noqa: F403

pytestmark = pytest.mark.slow

# It changes a store file.
del test_an_export_that_fails_in_the_middle_has_no_end  # noqa: F821
