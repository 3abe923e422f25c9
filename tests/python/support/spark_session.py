"""Requirements of Spark tests: a Java runtime, one session, ignored warnings."""

from __future__ import annotations

import shutil

import pytest

MARKS = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs a Java runtime"),
    pytest.mark.xdist_group("spark"),  # one session is enough
    # warnings of pyspark itself
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
