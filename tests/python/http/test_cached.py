"""The caching of a result for a second."""

from __future__ import annotations

import pytest

pytest.importorskip("prometheus_client")

from comptroller.http.cached import CachedForASecond


def test_a_result_that_takes_long_is_cached_for_a_second_after_its_end() -> None:
    now = [0.0]

    def compute() -> float:
        now[0] += 1.5
        return now[0]

    cached = CachedForASecond(compute, lambda: now[0])
    assert [cached(), cached()] == [1.5, 1.5]
    now[0] += 1
    assert cached() == 4
