"""Runs the tests of streams with a database."""

from database_for_each_path import database_for_each_path  # noqa: F401
from test_streams_end_to_end import *  # noqa: F403
from test_streams_end_to_end import _store  # noqa: F401
