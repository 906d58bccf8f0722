"""Metrics of scipy's ``cdist``, where the core does not know the name or its parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftmap.metrics.base import Metric
from driftmap.metrics.table import ALIASES, METRICS
from driftmap.utils import Array, Ids
from driftmap.utils.columns import suggestion
from driftmap.utils.errors import InputError


class ScipyMetric(Metric):
    """Rows of numbers with a metric that scipy's cdist knows by name."""

    def __init__(self, name: str, params: dict[str, Any]) -> None:
        known = METRICS.get(name)
        if known is not None and known.parameter and known.parameter not in params:
            need = known.parameter
            raise InputError(
                f"={name!r} needs metric_params={{{need!r}: ...}}: {need} ({known.meaning}); "
                "taken from each batch it would change with the batch size",
                parameter="metric",
            )
        try:
            _cdist(np.zeros((1, 2)), np.ones((1, 2)), name)
        except ValueError as error:
            if "metric" in str(error).lower():
                hint = suggestion(name, [*METRICS, *ALIASES])
                problem = f"={name!r} is not known{hint}: give a name that scipy's cdist knows or a callable"
                raise InputError(problem, parameter="metric") from None
        self.name, self.params = name, params
        self.triangle = known is not None and known.triangle and not params.get("p", 2) < 1

    def check(self, X: Any, width: int | None) -> Array:
        """Return X as a matrix that the metric's parameters fit, or raise."""
        rows: Array = super().check(X, width)
        d = rows.shape[1]
        for name, shape in (("VI", (d, d)), ("V", (d,)), ("w", (d,))):
            given = np.shape(self.params.get(name, np.empty(shape)))
            if given != shape:
                problem = f"[{name!r}] must have shape {shape} for {d} features, got {given}"
                raise InputError(problem, parameter="metric_params")
        return rows

    def pairs(self, X: Array, Y: Array, rows: Ids, columns: Ids) -> Array:
        """Return distances between stored points, each evaluated as metric(later, earlier)."""
        earlier = rows[:, None] < columns
        if earlier.all():
            distances = self.between(Y, X).T
        elif earlier.any():
            distances = np.where(earlier, self.between(Y, X).T, self.between(X, Y))
        else:
            distances = self.between(X, Y)
        distances[rows[:, None] == columns] = 0.0
        return distances

    def between(self, later: Array, earlier: Array) -> Array:
        """Return distances between the rows of two matrices; rounding errors below 0 are made 0."""
        X, Y = later, earlier
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
    """scipy's distances, imported on first use, because most streams need none."""
    from scipy.spatial.distance import cdist

    distances: Array = cdist(X, Y, name, **params)
    return distances
