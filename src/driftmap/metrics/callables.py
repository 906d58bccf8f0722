"""Metrics that are Python functions, of rows of numbers or of arbitrary objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain, repeat
from typing import Any

import numpy as np

from driftmap.metrics.base import PythonRowSpace, PythonSpace
from driftmap.utils import Array, Ids
from driftmap.utils.errors import InputError


class Function(PythonSpace):
    """Distances from a Python function of two points; nothing but its calls takes time."""

    def __init__(self, metric: Callable[..., float], params: dict[str, Any]) -> None:
        super().__init__()
        self.metric = partial(metric, **params) if params else metric
        self.triangle = bool(getattr(metric, "obeys_triangle", False))

    def _between(self, later: Any, earlier: Any) -> Array:
        metric, earlier = self.metric, list(earlier)
        rows = (map(metric, repeat(x), earlier) for x in later)
        return _matrix(chain.from_iterable(rows), len(later), len(earlier))

    def pairs(self, rows: Ids, columns: Ids) -> Array:
        """Distances between stored points, each evaluated as metric(later, earlier)."""
        metric, points, others = self.metric, self.points, columns.tolist()
        values = (
            metric(points[r], points[s]) if s < r else metric(points[s], points[r]) if s > r else 0.0
            for r in rows.tolist()
            for s in others
        )
        return self._usable_pairs(_matrix(values, len(rows), len(columns)), rows, columns)


def _matrix(values: Iterable[float], n: int, m: int) -> Array:
    return np.fromiter(values, np.float64, n * m).reshape(n, m)


class RowFunction(Function, PythonRowSpace):
    """Rows of numbers with a function of two rows."""


class ObjectFunction(Function):
    """Arbitrary objects (strings, graphs, anything) with a function of two of them."""

    def check(self, X: Any) -> list[Any]:
        """A list of the objects; a bare string is refused, since it would be taken letter by letter."""
        if isinstance(X, str | bytes) or not hasattr(X, "__iter__"):
            problem = f"must be a sequence of objects, got a {type(X).__name__}; put single objects in a list"
            raise InputError(problem, parameter="X")
        objects = list(X)
        if not objects:
            raise InputError("is empty: at least one object is needed", parameter="X")
        return objects
