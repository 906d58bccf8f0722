"""Threads that work for a learner while it takes in a large batch.

Arrivals depend on each other, but what one of them finds in its boxes can be looked up ahead, and cells can be merged
side by side. Whatever the threads find is checked or gathered in the order of the work, so they change no result.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from driftmap._kernels.doors import look_ahead
from driftmap._kernels.records import AHEAD, GUESS
from driftmap.landmarks.memory import one_by_one
from driftmap.parallel import one_thread

Item = TypeVar("Item")
Result = TypeVar("Result")

WIDE = 256
"""Bytes of a row from which on it is worth while to look ahead."""
PART = 2**23
"""Bytes of a batch that are looked at together: enough to be worth a thread, few enough to be up to date."""
LEAST = 512
"""Rows that are looked at together, at least."""
CALM = 0.95
"""The share of arrivals that must have joined a witness of their boxes, before the next are looked at ahead."""


class Threads:
    """So many threads, the one that learns among them."""

    def __init__(self, jobs: int = 1) -> None:
        self.jobs = jobs
        self.pool: ThreadPoolExecutor | None = None
        self.guesses = np.empty(AHEAD, GUESS)
        self.guessed = self.until = 0
        """Rows of the batch for which the guesses are."""
        self.calm = False

    @contextlib.contextmanager
    def at_work(self, batch: NDArray[np.floating]) -> Iterator[None]:
        """While this batch is learnt, there are threads, if it is worth it."""
        self.forget()
        rows = max(PART // batch[0].nbytes, LEAST)
        if self.jobs == 1 or batch[0].nbytes < WIDE or len(batch) < 2 * rows:
            yield
            return
        if len(self.guesses) < rows:
            self.guesses = np.empty(rows, GUESS)
        # BLAS has threads of its own, which wait for their next product so busily that they would be in the way
        with one_thread(), ThreadPoolExecutor(self.jobs - 1) as self.pool:
            try:
                yield
            finally:
                self.pool = None

    def forget(self) -> None:
        """What has been guessed holds no longer."""
        self.guessed = self.until = 0

    def look(
        self, batch: NDArray[np.floating], i: int, X: NDArray[np.floating], resolution: float, boxes: NDArray[np.int32]
    ) -> int:
        """Look ahead from row i on, if nobody has; returns up to which row to go before the next look."""
        if i < self.until:
            return self.until
        if self.pool is None or resolution <= 0 or len(batch) - i < LEAST:
            return len(batch)
        stop = min(i + len(self.guesses), len(batch))
        if not self.calm:
            return stop
        self.guessed, self.until = i, stop
        cuts = np.linspace(i, self.until, self.jobs + 1).astype(np.int64).tolist()
        self.share(
            lambda k: look_ahead(batch, cuts[k], cuts[k + 1], X, resolution, boxes, self.guesses, cuts[k] - i),
            range(self.jobs),
        )
        return self.until

    def note(self, hits: int, count: int) -> None:
        """Take note of how many of the last arrivals joined a witness of their boxes."""
        self.calm = hits >= CALM * count

    def share(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Do the work for all items, and return the results in their order."""
        if self.pool is None:
            return one_by_one(work, items)
        results: list[Result] = [None] * len(items)  # type: ignore[list-item]

        def do(start: int) -> None:
            for k in range(start, len(items), self.jobs):
                results[k] = work(items[k])

        others = [self.pool.submit(do, start) for start in range(1, self.jobs)]
        do(0)
        for other in others:
            other.result()
        return results
