"""Metrics of scipy's ``cdist``, where the core does not know the name or its parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftmap.metrics.base import PythonRowSpace
from driftmap.metrics.native import OBEY_TRIANGLE
from driftmap.utils import Array, Ids
from driftmap.utils.columns import suggestion
from driftmap.utils.errors import InputError

SUGGESTED = (
    "braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine", "dice", "euclidean", "hamming",
    "jaccard", "jensenshannon", "mahalanobis", "manhattan", "minkowski", "nan_euclidean", "precomputed",
    "rogerstanimoto", "russellrao", "seuclidean", "sokalsneath", "sqeuclidean", "yule",
)  # fmt: skip
"""Names that may have been meant by one that is unknown."""
NEED_DATA = {
    "seuclidean": "V (the variance of each column)",
    "mahalanobis": "VI (the inverse covariance matrix)",
}


class ScipySpace(PythonRowSpace):
    """Rows of numbers with a metric that scipy's cdist knows by name."""

    def __init__(self, name: str, params: dict[str, Any]) -> None:
        super().__init__()
        need = NEED_DATA.get(name)
        if need is not None and need.split()[0] not in params:
            raise InputError(
                f"={name!r} needs metric_params={{{need.split()[0]!r}: ...}}: {need}; "
                "taken from each batch it would change with the batch size",
                parameter="metric",
            )
        try:
            _cdist(np.zeros((1, 2)), np.ones((1, 2)), name)
        except ValueError as error:
            if "metric" in str(error).lower():
                hint = suggestion(name, SUGGESTED)
                problem = f"={name!r} is not known{hint}: give a name that scipy's cdist knows or a callable"
                raise InputError(problem, parameter="metric") from None
        self.name, self.params = name, params
        # scipy's jensenshannon is the root of the divergence, which is a metric
        self.triangle = name in {*OBEY_TRIANGLE, "jensenshannon"} and not params.get("p", 2) < 1

    def check(self, X: Any) -> Array:
        """Return X as a matrix of the stored width that the metric's parameters fit, or raise."""
        rows = super().check(X)
        d = rows.shape[1]
        for name, shape in (("VI", (d, d)), ("V", (d,)), ("w", (d,))):
            given = np.shape(self.params.get(name, np.empty(shape)))
            if given != shape:
                problem = f"[{name!r}] must have shape {shape} for {d} features, got {given}"
                raise InputError(problem, parameter="metric_params")
        return rows

    def pairs(self, rows: Ids, columns: Ids) -> Array:
        """Distances between stored points, each evaluated as metric(later, earlier)."""
        X, Y, earlier = self.take(rows), self.take(columns), rows[:, None] < columns
        if earlier.all():
            distances = self._between(Y, X).T
        elif earlier.any():
            distances = np.where(earlier, self._between(Y, X).T, self._between(X, Y))
        else:
            distances = self._between(X, Y)
        distances[rows[:, None] == columns] = 0.0
        return self._usable_pairs(np.ascontiguousarray(distances), rows, columns)

    def _between(self, later: Any, earlier: Any) -> Array:
        shape = -1, self.n_features or 1
        X, Y = np.asarray(later, dtype=np.float64).reshape(shape), np.asarray(earlier, dtype=np.float64).reshape(shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            try:
                distances = _cdist(X, Y, self.name, **self.params)
            except TypeError as error:
                problem = f"={self.params} is not what metric={self.name!r} takes"
                raise InputError(problem, parameter="metric_params") from error
        if distances.size == 0 or distances.min() >= 0:
            return distances
        # Rounding may leave a tiny negative value, or the root of one.
        for i, j in np.argwhere(np.isnan(distances)):
            x, y = X[i], Y[j]
            shares = self.name == "jensenshannon" and min(x.min(), y.min()) >= 0 < min(x.sum(), y.sum())
            if shares or np.array_equal(x, y):
                distances[i, j] = 0.0
        return np.maximum(distances, 0.0)


def _cdist(X: Array, Y: Array, name: str, **params: Any) -> Array:
    """scipy's distances, imported when they are asked for: most streams do without."""
    from scipy.spatial.distance import cdist

    distances: Array = cdist(X, Y, name, **params)
    return distances
