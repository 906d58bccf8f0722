"""Precomputed distances: each arrival brings its distances to all earlier ones."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from driftmap.metrics.base import Metric, checked_distances
from driftmap.metrics.stores import SourceStore
from driftmap.utils import Array, Ids
from driftmap.utils.errors import InputError


class Precomputed(Metric):
    """Distances that come with the arrivals; between other points none is known."""

    name = "precomputed"
    form = "distances"
    triangle = False

    def between(self, later: Any, earlier: Any) -> Array:
        """Not possible."""
        raise NotImplementedError("precomputed distances are those to arrivals")


class DistanceStore(SourceStore):
    """The distances of each arrival to all earlier ones, as one packed triangle."""

    def __init__(self, metric: Metric) -> None:
        super().__init__(metric)
        self.n = self._saved = 0
        self.packed: Array = np.empty(0)

    def __len__(self) -> int:
        return self.n

    def check(self, X: Any) -> Array:
        """Return the distances of each new row to all earlier arrivals; the others are 0."""
        array = _distances_given(X)
        if array.ndim != 2:
            raise InputError(f"Expected 2D array, got {array.ndim}D array instead: one row of distances per arrival")
        new = len(array)
        if new == 0:
            raise InputError("Found array with 0 sample(s): at least one row of distances is needed")
        if array.shape[1] not in (self.n + new, self.n + new - 1):
            raise InputError(
                f"has {array.shape[1]} columns, but {new} new rows after {self.n} arrivals need {self.n + new} columns "
                "(distances to all arrivals up to the last new one)",
                parameter="X",
            )
        array[np.arange(array.shape[1]) >= self.n + np.arange(new)[:, None]] = 0.0
        return checked_distances(array, lambda i: f"arrival {self.n + i}", int)

    def check_queries(self, X: Any) -> Array:
        """Return rows of distances to all arrivals."""
        array = _distances_given(X)
        if len(array) == 0:
            raise InputError("Found array with 0 sample(s): at least one row of distances is needed")
        if array.ndim != 2 or array.shape[1] != self.n:
            raise InputError(
                f"must hold the distances to all {self.n} arrivals: shape (n, {self.n}), got {array.shape}",
                parameter="X",
            )
        return array

    def extend(self, batch: Array) -> None:
        """Store checked rows."""
        for row in batch:
            start, end = self.n * (self.n - 1) // 2, self.n * (self.n + 1) // 2
            if end > len(self.packed):
                grown = np.empty(max(end, 2 * len(self.packed)))
                grown[:start] = self.packed[:start]
                self.packed = grown
            self.packed[start:end] = row[: self.n]
            self.n += 1

    def take(self, rows: Ids) -> Array:
        """Return the distances among these arrivals: all that is known of them."""
        return self.pairs(rows, rows)

    def arrival(self, row: int) -> int:
        """Return the row: every arrival is stored."""
        return int(row)

    def pairs(self, rows: Ids, columns: Ids) -> Array:
        """Return the distances between stored points."""
        later, earlier = np.maximum(rows[:, None], columns), np.minimum(rows[:, None], columns)
        same = later == earlier
        if not len(self.packed):
            return np.zeros(same.shape)
        return np.where(same, 0.0, self.packed[np.where(same, 0, later * (later - 1) // 2 + earlier)])

    def to_stored(self, queries: Array, rows: Ids) -> Array:
        """Return the distances to some of the arrivals."""
        return checked_distances(queries[:, rows], "row {}".format, lambda j: int(rows[j]))

    def copy(self) -> Self:
        """Return an independent copy."""
        other = super().copy()
        other.packed = self.dump().copy()
        return other

    def emptied(self, n_seen: int) -> Self:
        """Return a copy that knows the number of arrivals, and none of their distances."""
        other = super().copy()
        other.n, other.packed = n_seen, np.empty(0)
        return other

    def dump(self) -> Array:
        """Return all distances, packed: those of arrival 1, of arrival 2, and so on."""
        return self.packed[: self.n * (self.n - 1) // 2]

    def _load(self, points: Any, state: dict[str, Any]) -> None:
        self.packed = checked_distances(np.array(points, dtype=np.float64, ndmin=2), "distance {}".format, int)[0]
        self.n = (1 + int(np.sqrt(8 * len(self.packed) + 1))) // 2

    # --- what the core asks for; it stores every arrival ---

    def cross(self, batch_rows: Ids, stored_rows: Ids) -> Array:
        """Return the distances of rows of the present batch to stored points."""
        return self.batch[batch_rows[:, None], stored_rows]

    def keep(self, batch_row: int) -> None:
        """Store a row of the present batch."""
        self.extend(self.batch[batch_row : batch_row + 1])

    def retain(self, rows: Ids) -> None:
        """Not possible: every arrival brings its distances to all earlier ones."""
        raise NotImplementedError("precomputed distances are stored as a whole")

    def save(self) -> None:
        """Remember the stored points as they are now."""
        self._saved = self.n

    def restore(self) -> None:
        """Go back to the stored points as they were remembered."""
        self.n = self._saved


def _distances_given(X: Any) -> Array:
    """Distances as real numbers, a copy, or an error that says what they are instead."""
    if hasattr(X, "toarray"):
        raise InputError("Sparse data was passed for X, but dense distances are needed: use X.toarray()")
    array = np.asarray(X)
    if array.dtype.kind == "c":
        raise InputError("Complex data not supported: distances are real numbers")
    return array.astype(np.float64)
