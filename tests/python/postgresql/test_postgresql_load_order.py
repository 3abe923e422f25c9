"""Runs the tests of the order of lines, and of lines with legacy booleans, with a database."""

import pytest
from test_load_legacy import *  # noqa: F403
from test_load_order import *  # noqa: F403

pytestmark = pytest.mark.slow
