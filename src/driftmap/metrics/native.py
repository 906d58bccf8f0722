"""Metrics of the core, which also stores their points."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftmap import _core
from driftmap.metrics.base import Space, checked_distances
from driftmap.utils import Array, Ids, validation
from driftmap.utils.errors import InputError

OBEY_TRIANGLE = frozenset({"euclidean", "cityblock", "chebyshev", "minkowski", "canberra", "hamming"})

UNDEFINED = {
    "cosine": "is zero and has no direction, which metric='cosine' needs: drop such rows",
    "correlation": "is constant, so metric='correlation' is not defined for it: drop such rows",
}
"""What is wrong with rows for which a metric is not defined."""


class NativeSpace(Space):
    """Rows of numbers with a metric of the core.

    The points of a stream are stored by :class:`driftmap._core.Stream`; those that are stored here are for callers
    that need all of them.
    """

    def __init__(self, name: str, p: float = 2.0) -> None:
        self.name, self.p = name, p
        self.triangle = name in OBEY_TRIANGLE and p >= 1
        self._parts: list[Array] = []

    @property
    def rows(self) -> Array:
        """All points that are stored here."""
        if len(self._parts) > 1:
            self._parts = [np.concatenate(self._parts)]
        return self._parts[0] if self._parts else np.empty((0, 0))

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def check(self, X: Any) -> Array:
        """Return X as a matrix of the stored width on which the metric is defined, or raise."""
        rows = validation.points(X, self.n_features)
        self.n_features = rows.shape[1]
        if self.name in ("cosine", "correlation"):
            _check_defined(rows, self.name)
        return rows

    check_queries = check

    def extend(self, batch: Array) -> None:
        """Store checked points."""
        self._parts.append(batch.astype(np.float64))

    def take(self, rows: Ids) -> Array:
        """Stored points."""
        return self.rows[rows]

    def pairs(self, rows: Ids, columns: Ids) -> Array:
        """Distances between stored points."""
        return self.to_points(self.take(rows), self.take(columns))

    def to_points(self, queries: Array, points: Array) -> Array:
        """Distances of checked points to others."""
        return checked_distances(_core.distances(queries, points, self.name, self.p), "row {}".format, int)


def _check_defined(rows: Array, name: str) -> None:
    """Raise an error that names the first row that has no direction (cosine) or no variance (correlation)."""
    if name == "correlation":
        constant = rows.max(axis=1) == rows.min(axis=1)
        rows = np.where(constant[:, None], 0.0, rows - rows.mean(axis=1, keepdims=True, dtype=np.float64))
    bad = np.flatnonzero(np.einsum("ij,ij->i", rows, rows, dtype=np.float64) == 0)
    if len(bad):
        raise InputError(UNDEFINED[name], row=int(bad[0]))


def euclidean(X: Array, Y: Array) -> Array:
    """Euclidean distances between the rows of two matrices.

    >>> euclidean(np.array([[0.0, 0.0], [3.0, 0.0]]), np.array([[0.0, 4.0]])).tolist()
    [[4.0], [5.0]]
    """
    return _core.distances(np.ascontiguousarray(X), np.ascontiguousarray(Y))


def squared_euclidean(X: Array, Y: Array) -> Array:
    """Squares of the distances that :func:`euclidean` gives."""
    return euclidean(X, Y) ** 2
