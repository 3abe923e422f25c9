"""Runs the tests of values with a database."""

import pytest
from database_for_each_path import database_for_each_path  # noqa: F401
from test_ledger_addresses import *  # noqa: F403
from test_money import *  # noqa: F403
from test_money import _purse  # noqa: F401
from test_parameters import *  # noqa: F403
from test_timestamps import *  # noqa: F403
from test_values import *  # noqa: F403

pytestmark = pytest.mark.slow
