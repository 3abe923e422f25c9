"""Runs the tests of loaded data frames with a database."""

import pytest
from database_for_each_path import database_for_each_path  # noqa: F401
from test_load_frames import *  # noqa: F403
from test_load_frames import _filled  # noqa: F401

pytestmark = pytest.mark.slow
