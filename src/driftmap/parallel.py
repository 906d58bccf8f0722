"""How many threads work: ours, and those of the libraries for linear algebra."""

from __future__ import annotations

import functools
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from numbers import Integral
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST = 4
"""Threads of :func:`in_parallel`, at most: with more, writing takes longer than mapping."""


def n_cores() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def n_threads(n_jobs: int | None) -> int:
    """The number of threads that a parameter ``n_jobs`` asks for; None: one, -1: one per core, -2: one less, ..."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise ValueError(f"n_jobs must be None or an integer other than 0, got {n_jobs!r}")
    return int(n_jobs if n_jobs > 0 else max(1, n_cores() + 1 + n_jobs))


def one_thread() -> AbstractContextManager[Any]:
    """Within this, products are computed by one thread only."""
    limited: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limited


@functools.cache
def _controller() -> Any:
    """Sets how many threads libraries use; to find these takes milliseconds."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def in_parallel(work: Callable[[Item], Result], items: Iterable[Item]) -> Generator[tuple[Item, Result]]:
    """Each item with what the work makes of it, in order; some are worked on at once."""
    waiting: deque[tuple[Item, Future[Result]]] = deque()
    threads = min(MOST, n_cores())
    with ThreadPoolExecutor(threads) as pool:
        try:
            for item in items:
                waiting.append((item, pool.submit(work, item)))
                if len(waiting) > threads:
                    first, future = waiting.popleft()
                    yield first, future.result()
            for item, future in waiting:
                yield item, future.result()
        finally:
            pool.shutdown(cancel_futures=True)
