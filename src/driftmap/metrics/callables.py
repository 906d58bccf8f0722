"""Metrics that are Python functions, of rows of numbers or of arbitrary objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain, repeat
from typing import Any

import numpy as np

from driftmap.metrics.base import Metric
from driftmap.utils import Array, Ids
from driftmap.utils.errors import InputError

SAME = 1e-6
"""The relative difference of distances by which two functions count as the same one: processors round differently."""


class RowFunction(Metric):
    """A Python function of two rows of numbers. Each distance is one call."""

    quick = False

    name = "function"

    def __init__(self, metric: Callable[..., float], params: dict[str, Any]) -> None:
        self.metric = partial(metric, **params) if params else metric
        self.triangle = bool(getattr(metric, "obeys_triangle", False))

    def between(self, later: Any, earlier: Any) -> Array:
        """Return the distances of points to earlier ones."""
        metric, earlier = self.metric, list(self._given(earlier))
        rows = (map(metric, repeat(x), earlier) for x in self._given(later))
        return _matrix(chain.from_iterable(rows), len(later), len(earlier))

    def _given(self, points: Any) -> Any:
        """Return the points as the function gets them: it cannot write into the rows that are stored."""
        rows = np.asarray(points).view()
        rows.flags.writeable = False
        return rows

    def pairs(self, X: Any, Y: Any, rows: Ids, columns: Ids) -> Array:
        """Return distances between stored points, each evaluated as metric(later, earlier)."""
        X, Y = self._given(X), self._given(Y)
        metric, others = self.metric, list(zip(Y, columns.tolist(), strict=True))
        values = (
            metric(x, y) if s < r else metric(y, x) if s > r else 0.0
            for x, r in zip(X, rows.tolist(), strict=True)
            for y, s in others
        )
        return _matrix(values, len(rows), len(columns))


def check_function(metric: Metric, later: Any, earlier: Any, stated: Array) -> None:
    """Raise an error unless a function given with a checkpoint gives the distances in it, point by point."""
    pairs = zip(later, earlier, strict=True)
    measured = np.array([metric.between([x], [y])[0, 0] for x, y in pairs])
    if not np.allclose(measured, stated, rtol=SAME, atol=SAME * float(np.max(stated, initial=0.0))):
        raise ValueError("its distances are not those that its metric gives")


def _matrix(values: Iterable[float], n: int, m: int) -> Array:
    return np.fromiter(values, np.float64, n * m).reshape(n, m)


class ObjectFunction(RowFunction):
    """A Python function of two arbitrary objects (strings, graphs, anything)."""

    form = "objects"

    def _given(self, points: Any) -> Any:
        """Return the objects themselves."""
        return points

    def check(self, X: Any, width: int | None) -> list[Any]:
        """Return a list of the objects; a bare string is refused, since it would be taken letter by letter."""
        if isinstance(X, str | bytes) or not hasattr(X, "__iter__"):
            problem = f"must be a sequence of objects, got a {type(X).__name__}; put single objects in a list"
            raise InputError(problem, parameter="X")
        objects = list(X)
        if not objects:
            raise InputError("is empty: at least one object is needed", parameter="X")
        return objects
