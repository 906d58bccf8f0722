"""Points measured by a Python function: rows of numbers, or arbitrary objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftmap.metrics.space import PlainScale, Table, usable

Array = NDArray[np.float64]
Ids = NDArray[np.int64]


class CallableMixin:
    """Distances from a Python function of two points."""

    def __init__(self, metric: Callable[..., float], params: dict[str, Any]) -> None:
        super().__init__()
        self.metric, self.params = metric, params
        self.triangle = bool(getattr(metric, "obeys_triangle", False))

    def _get(self, i: int) -> Any:
        raise NotImplementedError

    def pairs(self, rows: Ids, columns: Ids) -> Array:
        """Distances between stored points, each evaluated as metric(later, earlier)."""
        out = np.zeros((len(rows), len(columns)))
        for i, r in enumerate(rows):
            for j, s in enumerate(columns):
                if r != s:
                    out[i, j] = self.metric(self._get(max(r, s)), self._get(min(r, s)), **self.params)
        return usable(out, rows, columns)

    def to_stored(self, queries: Any, ids: Ids) -> Array:
        """True distances of checked points that are not stored to stored ones."""
        return usable(self._all_pairs(queries, [self._get(s) for s in ids]), None, ids)

    def to_points(self, queries: Any, points: Any) -> Array:
        """True distances of checked points to others."""
        return usable(self._all_pairs(queries, points), None, np.arange(len(points)))

    def _all_pairs(self, queries: Any, points: Any) -> Array:
        out = np.array([[self.metric(x, y, **self.params) for y in points] for x in queries], dtype=float)
        return out.reshape(len(queries), len(points))


class RowSpace(CallableMixin, Table):
    """Rows of numbers with a function of two rows."""

    def _get(self, i: int) -> Array:
        return self.rows[i]


class ObjectSpace(CallableMixin, PlainScale):
    """Arbitrary objects (strings, graphs, anything) with a function of two of them."""

    def __init__(self, metric: Callable[..., float], params: dict[str, Any]) -> None:
        super().__init__(metric, params)
        self.objects: list[Any] = []

    def __len__(self) -> int:
        return len(self.objects)

    def _get(self, i: int) -> Any:
        return self.objects[i]

    def check(self, X: Any) -> list[Any]:
        """A list of the objects; a bare string is refused, since it would be taken letter by letter."""
        if isinstance(X, str | bytes) or not hasattr(X, "__iter__"):
            raise ValueError(f"X must be a sequence of objects, got a {type(X).__name__}; put single objects in a list")
        objects = list(X)
        if not objects:
            raise ValueError("X is empty: at least one object is needed")
        return objects

    def extend(self, objects: Sequence[Any]) -> None:
        """Store checked objects as the next arrivals."""
        self.objects.extend(objects)

    def truncate(self, n: int) -> None:
        """Forget all arrivals from number n on."""
        del self.objects[n:]

    def retain(self, ids: Ids) -> None:
        """Keep only these objects, which are numbered anew."""
        self.objects = self.take(ids)

    def take(self, ids: Ids) -> list[Any]:
        """The stored objects with these arrival numbers."""
        return [self.objects[i] for i in ids]
