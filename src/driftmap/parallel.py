"""How many threads work: ours, and those of the libraries for linear algebra."""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager
from typing import Any

from threadpoolctl import ThreadpoolController


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
def _controller() -> ThreadpoolController:
    """What tells libraries how many threads to use; to find these takes milliseconds."""
    return ThreadpoolController()
