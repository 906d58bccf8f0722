"""Metrics that the core measures."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftmap import _core
from driftmap.metrics.base import Metric
from driftmap.metrics.table import METRICS
from driftmap.utils import Array, validation
from driftmap.utils.errors import InputError
from driftmap.utils.validation import LEAST_SQUARABLE


class NativeMetric(Metric):
    """Rows of numbers with a metric of the core; ``p`` is the exponent of "minkowski"."""

    native = True

    def __init__(self, name: str, p: float = 2.0) -> None:
        self.name, self.p = name, p
        self.triangle = METRICS[name].triangle and p >= 1
        powers = {"euclidean": 2.0, "minkowski": p}
        if name in powers:  # sums of powers are exact down to 1e-300
            self.least = float(1e-300 ** (1 / powers[name]))

    def check(self, X: Any, width: int | None) -> Array:
        """Return X as a matrix of either precision on which the metric is defined, or raise."""
        rows = validation.points(X, width)
        if METRICS[self.name].undefined:
            _check_defined(rows, self.name)
        return rows

    def between(self, later: Array, earlier: Array) -> Array:
        """Return distances between the rows of two matrices."""
        return _core.distances(later, earlier, self.name, self.p)


def _check_defined(rows: Array, name: str) -> None:
    """Raise an error that names the first row that has no direction (cosine) or no variance (correlation)."""
    if name == "correlation":
        constant = rows.max(axis=1) == rows.min(axis=1)
        rows = np.where(constant[:, None], 0.0, rows - rows.mean(axis=1, keepdims=True, dtype=np.float64))
    squares = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
    if len(bad := np.flatnonzero(squares < LEAST_SQUARABLE**2)):
        row = int(bad[0])
        if not rows[row].any():
            raise InputError(METRICS[name].undefined, row=row)
        what = "differs from its mean" if name == "correlation" else "differs from zero"
        problem = f"{what} by less than {LEAST_SQUARABLE:g}, where squares underflow; multiply the data"
        raise InputError(problem, row=row)


def euclidean(X: Array, Y: Array) -> Array:
    """Euclidean distances between the rows of two matrices.

    >>> euclidean(np.array([[0.0, 0.0], [3.0, 0.0]]), np.array([[0.0, 4.0]])).tolist()
    [[4.0], [5.0]]
    """
    return _core.distances(np.ascontiguousarray(X), np.ascontiguousarray(Y))
