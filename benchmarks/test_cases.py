"""The times of the cases that matter, kernel and reference side by side: pytest benchmarks

For looking closer (``-k learning``, ``--benchmark-autosave``, ``--benchmark-compare``); nothing is asserted here, and
the normal test run does not collect it. ``benchmarks/speed.py`` is the check.
"""

import pytest
from threadpoolctl import threadpool_limits

from benchmarks.cases import CASES


@pytest.mark.parametrize("side", ["kernel", "reference"])
@pytest.mark.parametrize("name", CASES)
def test_time(benchmark, name, side):
    """A slice of a kernel, or of its reference."""
    benchmark.group = name
    with threadpool_limits(1):
        benchmark.pedantic(getattr(CASES[name](), side), rounds=50, warmup_rounds=2)
