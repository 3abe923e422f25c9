"""What tests of Spark need: a Java runtime, one session, and patience with its warnings."""

from __future__ import annotations

import shutil

import pytest

MARKS = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs a Java runtime"),
    pytest.mark.xdist_group("spark"),  # one session is enough
    # Of pyspark itself.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
