"""Work on several pieces at once, on other threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from driftmap.parallel import n_cores

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST = 4
"""Threads at most: with more, writing takes longer than mapping."""


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
