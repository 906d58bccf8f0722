"""Time each kernel of ``benchmarks/cases.py`` and its reference: pytest benchmarks

This is for closer analysis (``-k learning``, ``--benchmark-autosave``, ``--benchmark-compare``). It has no assertions,
and the normal test run does not collect it; ``benchmarks/speed.py`` is the check.
"""

import pytest
from threadpoolctl import threadpool_limits

from benchmarks.cases import CASES


@pytest.mark.parametrize("side", ["kernel", "reference"])
@pytest.mark.parametrize("name", CASES)
def test_time(benchmark, name, side):
    """Time a slice of a kernel or of its reference."""
    benchmark.group = name
    with threadpool_limits(1):
        benchmark.pedantic(getattr(CASES[name](), side), rounds=50, warmup_rounds=2)
