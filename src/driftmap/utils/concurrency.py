"""Concurrency: a thread pool, control of BLAS threads, and locks that survive a fork."""

from __future__ import annotations

import functools
import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from numbers import Integral
from typing import Any, TypeVar
from weakref import WeakSet

from threadpoolctl import ThreadpoolController

from driftmap.utils.errors import InputError

Item = TypeVar("Item")
Result = TypeVar("Result")
Lock = Any  # threading.RLock is a function, not a type

FORK_TIMEOUT = 1.0
"""Seconds that a fork waits for a lock before it releases those it holds, which the lock's owner may need."""

_controller = functools.cache(ThreadpoolController)  # cached because finding the loaded libraries takes milliseconds
_registry = threading.RLock()
_locks: WeakSet[Lock] = WeakSet()
_held: list[Lock] = []


def n_threads(n_jobs: int | None) -> int:
    """Return the number of threads for a parameter ``n_jobs``; None: one, -1: one per core, -2: one less, ..."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise InputError(f"must be None or an integer other than 0, got {n_jobs!r}", parameter="n_jobs")
    if n_jobs > 0:
        return int(n_jobs)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return int(max(1, cores + 1 + n_jobs))


def in_parallel(work: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Generator[Result]:
    """Yield the results of the work on each item, in order; with one thread, in the thread of the caller.

    Items are read only a few ahead of the results, so neither must fit into memory.

    >>> list(in_parallel(str.upper, "abc", threads=2))
    ['A', 'B', 'C']
    """
    if threads == 1:
        yield from map(work, items)
        return
    pending: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for item in items:
                pending.append(pool.submit(work, item))
                if len(pending) > threads:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


def read_ahead(items: Generator[Item], most: int) -> Generator[Item]:
    """The same items, which a thread takes, at most ``most`` of them before they are used.

    >>> list(read_ahead((letter for letter in "abc"), 2))
    ['a', 'b', 'c']
    """
    with ThreadPoolExecutor(1, "read-ahead") as pool:
        pending: deque[Future[Item | None]] = deque(pool.submit(next, items, None) for _ in range(most))
        try:
            while (item := pending.popleft().result()) is not None:
                pending.append(pool.submit(next, items, None))
                yield item
        finally:
            pool.shutdown(cancel_futures=True)
            items.close()


def new_lock() -> Lock:
    """Return a reentrant lock (a metric may call the estimator that called it) that survives a fork.

    A forked process has no other threads that could release a lock or finish their work. So all locks are acquired
    before a fork and released after it, in both processes.
    """
    lock = threading.RLock()
    with _registry:
        _locks.add(lock)
    return lock


@contextmanager
def one_thread() -> Generator[None]:
    """Limit BLAS to one thread in this context, so that results to the bit do not depend on the number of cores.

    The limit is global to the process, so threads take turns: otherwise a thread that leaves the context would lift the
    limit for others. threadpoolctl 3.8 and later obeys only the thread that set the first limit, so this thread takes
    over control first.
    """
    with _turns:
        for library in _controller().lib_controllers:
            if hasattr(library, "clear_controlling_thread"):
                library.clear_controlling_thread(force=True)
        with _controller().limit(limits=1, user_api="blas"):
            yield


_turns = new_lock()


def _take_all() -> None:
    while True:
        _registry.acquire()
        _held.append(_registry)
        for lock in list(_locks):
            if not lock.acquire(timeout=FORK_TIMEOUT):
                break
            _held.append(lock)
        else:
            return
        _release_all()
        with lock:
            pass


def _release_all() -> None:
    while _held:
        _held.pop().release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take_all, after_in_parent=_release_all, after_in_child=_release_all)
