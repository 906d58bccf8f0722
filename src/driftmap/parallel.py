"""How many threads work: ours, and those of the libraries for linear algebra."""

from __future__ import annotations

import functools
import os
from contextlib import AbstractContextManager
from typing import Any


def n_cores() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def n_threads(n_jobs: int | None) -> int:
    """The number of threads that a parameter ``n_jobs`` asks for; None: one, -1: one per core."""
    if n_jobs is None:
        return 1
    from joblib import effective_n_jobs  # which takes a while to import

    return int(effective_n_jobs(n_jobs))


def one_thread() -> AbstractContextManager[Any]:
    """Within this, products are computed by one thread only."""
    limited: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limited


@functools.cache
def _controller() -> Any:
    """What tells libraries how many threads to use; to find these takes milliseconds."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
