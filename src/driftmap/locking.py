"""Locks of engines: calls from several threads wait for each other, also across fork."""

from __future__ import annotations

import os
import threading
from typing import Any
from weakref import WeakSet

Lock = Any  # threading.RLock is a function, not a type
PATIENCE = 1.0
"""Seconds for which a fork holds some locks while it waits for another, whose owner may need one of these."""

_registry = threading.RLock()
_locks: WeakSet[Lock] = WeakSet()
_held: list[Lock] = []


def new_lock() -> Lock:
    """A lock that the thread that holds it may take again, so that a metric may call what called it.

    A forked process has no other threads that could release a lock, or finish what they were doing. So all locks are
    taken before a fork and released after it, on both sides.
    """
    lock = threading.RLock()
    with _registry:
        _locks.add(lock)
    return lock


def _take_all() -> None:
    while True:
        _registry.acquire()
        _held.append(_registry)
        for lock in list(_locks):
            if not lock.acquire(timeout=PATIENCE):
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
