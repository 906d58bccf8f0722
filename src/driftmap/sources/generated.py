"""A generated stream to look at: drifting clusters, one of which appears later, and occasional outliers."""

from __future__ import annotations

import time
from functools import cache

import numpy as np

from driftmap.sources.row_source import RowSource
from driftmap.utils import Array

GENERATED = "demo:"
"""The name that stands for it in place of a file."""
RATE = 200
"""Rows per second."""
BLOCK = 100
"""Rows generated from one seed."""
NEW = 4000
"""The row at which a new cluster appears."""
OUTLIER = 1700
"""Rows between two outliers."""
FEATURES = 6
COLUMNS = ("kind", "temperature", "pressure", "vibration", "load", "current", "noise")
LABELS = ("pump a", "pump b", "pump c", "pump d, new", "outlier")


class GeneratedRows(RowSource):
    """Lines of CSV at a steady rate. The line at a position is always the same."""

    def __init__(self, rate: float = RATE) -> None:
        super().__init__("generated data")
        self._rate = rate
        self._first: tuple[float, int] | None = None

    def read(self, position: int, limit: int) -> tuple[list[bytes], int]:
        """Return the lines that are due, at most ``limit``; wait for the first one. Line 0 has the names."""
        if position == 0:
            return [(",".join(COLUMNS) + "\n").encode()], 1
        start, first = self._first = self._first or (time.monotonic(), position)
        wait = start + (position + 1 - first) / self._rate - time.monotonic()
        if wait > 0:
            time.sleep(wait)
            self.waiting()
        due = first + int((time.monotonic() - start) * self._rate)
        stop = min(position + limit, max(due, position + 1))
        return [_line(i - 1) for i in range(position, stop)], stop


def _line(i: int) -> bytes:
    kind, features = generated_row(i)
    return (",".join([f'"{LABELS[kind]}"', *(f"{value:.4g}" for value in features)]) + "\n").encode()


@cache
def _clusters() -> tuple[Array, Array]:
    """Return the centres of the clusters and their directions of drift; NumPy's generators take a while to import."""
    centres = np.random.default_rng(14).normal(scale=2.6, size=(4, FEATURES))
    return centres, np.random.default_rng(6).normal(scale=1.0, size=(4, FEATURES))


def generated_row(i: int) -> tuple[int, Array]:
    """Return the kind and the features of a row."""
    centres, drifts = _clusters()
    rng = np.random.default_rng((7, i // BLOCK))
    kinds = rng.integers(0, 4 if i >= NEW else 3, BLOCK)
    noise = rng.normal(scale=0.55, size=(BLOCK, FEATURES))
    place = i % BLOCK
    if i and i % OUTLIER == 0:
        return 4, centres[0] + 14.0 * np.sign(noise[place])
    kind = int(kinds[place])
    return kind, centres[kind] + drifts[kind] * 2.5 * np.sin(i / 2500 + kind) + noise[place]
