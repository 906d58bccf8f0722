"""Rows of numbers: Euclidean, and with every metric that scipy knows by name."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftmap._kernels import doors
from driftmap.metrics.space import Table, usable

Array = NDArray[np.float64]
Ids = NDArray[np.int64]

# Named metrics of scipy that obey the triangle inequality (jensenshannon is a metric in scipy: the root is taken).
OBEY_TRIANGLE = {"euclidean", "cityblock", "chebyshev", "hamming", "jensenshannon", "canberra"}
NEED_DATA = {
    "seuclidean": "V (the variance of each column)",
    "mahalanobis": "VI (the inverse covariance matrix)",
}


class EuclideanSpace(Table):
    """Points with the Euclidean distance; the comparison scale is the square."""

    triangle = True
    single = True

    def pairs(self, rows: Ids, columns: Ids) -> Array:
        """Squared distances, summed over coordinates in order as everywhere."""
        return self._squared(self.rows[rows], self.rows[columns])

    def to_stored(self, queries: Any, ids: Ids) -> Array:
        """True distances of checked points that are not stored to stored ones."""
        return self.to_points(queries, self.rows[ids])

    def to_points(self, queries: Any, points: Any) -> Array:
        """True distances of checked points to others."""
        return np.sqrt(self._squared(queries, points))

    def _squared(self, X: Array, Y: Array) -> Array:
        out = np.empty((len(X), len(Y)))
        doors.cross_squared(np.asarray(X, dtype=np.float64), np.ascontiguousarray(Y.T, dtype=np.float64), out)
        return out

    def comparable(self, distance: float) -> float:
        """The largest number whose root is at most the distance; its square may miss a pair at just this distance."""
        square = distance * distance
        if square < math.inf:
            while math.sqrt(square) > distance:
                square = math.nextafter(square, 0.0)
            while math.sqrt(above := math.nextafter(square, math.inf)) <= distance:
                square = above
        return square

    def true(self, comparable: float) -> float:
        """The root."""
        return float(np.sqrt(comparable))

    def true_all(self, comparable: Array) -> Array:
        """The roots."""
        return np.sqrt(comparable)


def euclidean(X: Array, Y: Array) -> Array:
    """Euclidean distances between the rows of two matrices.

    >>> euclidean(np.array([[0.0, 0.0], [3.0, 0.0]]), np.array([[0.0, 4.0]])).tolist()
    [[4.0], [5.0]]
    """
    squared = squared_euclidean(X, Y)
    return np.sqrt(squared, out=squared)


def squared_euclidean(X: Array, Y: Array) -> Array:
    """Squares of the distances that :func:`euclidean` gives."""
    return EuclideanSpace()._squared(np.ascontiguousarray(X), Y)


class NamedSpace(Table):
    """Points with a metric that scipy's cdist knows by name."""

    def __init__(self, name: str, params: dict[str, Any]) -> None:
        super().__init__()
        need = NEED_DATA.get(name)
        if need is not None and need.split()[0] not in params:
            raise ValueError(
                f"metric {name!r} needs metric_params={{{need.split()[0]!r}: ...}}: {need}; "
                "taken from each batch it would change with the batch size"
            )
        try:
            _cdist(np.zeros((1, 2)), np.ones((1, 2)), name)
        except ValueError as error:
            if "metric" in str(error).lower():
                raise ValueError(
                    f"unknown metric {name!r}: give a name that scipy's cdist knows or a callable"
                ) from None
        self.name, self.params = name, params
        self.triangle = name in OBEY_TRIANGLE or (name == "minkowski" and params.get("p", 2) >= 1)

    def pairs(self, rows: Ids, columns: Ids) -> Array:
        """Distances between stored points, each evaluated as metric(later, earlier)."""
        X, Y = self.rows[rows], self.rows[columns]
        out = self._distances(X, Y)
        earlier = rows[:, None] < columns[None, :]
        if earlier.any():
            out = np.where(earlier, self._distances(Y, X).T, out)
        out[rows[:, None] == columns[None, :]] = 0.0
        return usable(out, rows, columns)

    def to_stored(self, queries: Any, ids: Ids) -> Array:
        """True distances of checked points that are not stored to stored ones."""
        return usable(self._distances(queries, self.rows[ids]), None, ids)

    def to_points(self, queries: Any, points: Any) -> Array:
        """True distances of checked points to others."""
        return usable(self._distances(queries, points), None, np.arange(len(points)))

    def check(self, X: Any) -> Array:
        """Return X as a matrix of the stored width that the metric's parameters fit, or raise."""
        array = super().check(X)
        d = array.shape[1]
        for name, shape in (("VI", (d, d)), ("V", (d,)), ("w", (d,))):
            given = np.shape(self.params.get(name, np.empty(shape)))
            if given != shape:
                raise ValueError(f"metric_params[{name!r}] must have shape {shape} for {d} features, got {given}")
        return array

    def _distances(self, X: Array, Y: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            try:
                distances = _cdist(X, Y, self.name, **self.params)
            except TypeError as error:
                raise ValueError(f"metric {self.name!r} does not take metric_params={self.params}") from error
        # Rounding may leave a tiny negative value, for example in the cosine distance, or the root of one.
        for i, j in np.argwhere(np.isnan(distances)):
            x, y = X[i], Y[j]
            shares = self.name == "jensenshannon" and min(x.min(), y.min()) >= 0 < min(x.sum(), y.sum())
            if shares or np.array_equal(x, y):
                distances[i, j] = 0.0
        return np.maximum(distances, 0.0)


def _cdist(X: Array, Y: Array, name: str, **params: Any) -> Array:
    """scipy's distances, imported when they are asked for: most streams are Euclidean and do without."""
    from scipy.spatial.distance import cdist

    distances: Array = cdist(X, Y, name, **params)
    return distances
