"""Points of which nothing is known but their distances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftmap.metrics.space import PlainScale, usable

Array = NDArray[np.float64]
Ids = NDArray[np.int64]


class PrecomputedSpace(PlainScale):
    """Each arrival brings its distances to all earlier arrivals; they are kept as one packed triangle."""

    triangle = False

    def __init__(self) -> None:
        self.n = 0
        self.triangle_of_distances: Array = np.empty(0)

    def __len__(self) -> int:
        return self.n

    def check(self, X: Any) -> list[Array]:
        """The distances that count: for the i-th new row, those to all earlier arrivals."""
        array = distances_given(X)
        if array.ndim != 2:
            raise ValueError(f"Expected 2D array, got {array.ndim}D array instead: one row of distances per arrival")
        new = len(array)
        if new == 0:
            raise ValueError("Found array with 0 sample(s): at least one row of distances is needed")
        if array.shape[1] not in (self.n + new, self.n + new - 1):
            raise ValueError(
                f"{new} new rows after {self.n} arrivals need {self.n + new} columns (distances to all arrivals "
                f"up to the last new one), got {array.shape[1]}"
            )
        return [
            usable(array[i, None, : self.n + i], np.array([self.n + i]), np.arange(self.n + i))[0] for i in range(new)
        ]

    def extend(self, rows: Sequence[Array]) -> None:
        """Store checked rows as the next arrivals."""
        n = self.n + len(rows)
        size = n * (n - 1) // 2
        if size > len(self.triangle_of_distances):
            grown = np.empty(max(size, 2 * len(self.triangle_of_distances)))
            used = self.n * (self.n - 1) // 2
            grown[:used] = self.triangle_of_distances[:used]
            self.triangle_of_distances = grown
        for i, row in enumerate(rows, start=self.n):
            self.triangle_of_distances[i * (i - 1) // 2 : i * (i + 1) // 2] = row
        self.n = n

    def truncate(self, n: int) -> None:
        """Forget all arrivals from number n on."""
        self.n = n

    def retain(self, ids: Ids) -> None:
        """Not possible: every arrival brings its distances to all earlier ones."""
        raise NotImplementedError("precomputed distances are kept as a whole")

    def take(self, ids: Ids) -> Array:
        """The distances among these arrivals: all that is known of them."""
        return self.pairs(ids, ids)

    def pairs(self, rows: Ids, columns: Ids) -> Array:
        """Distances between stored points."""
        later = np.maximum(rows[:, None], columns[None, :])
        earlier = np.minimum(rows[:, None], columns[None, :])
        same = later == earlier
        at = np.where(same, 0, later * (later - 1) // 2 + earlier)
        if not len(self.triangle_of_distances):
            return np.zeros(at.shape)
        return np.where(same, 0.0, self.triangle_of_distances[at])

    def check_queries(self, X: Any) -> Array:
        """Rows of distances to all arrivals."""
        array = distances_given(X)
        if len(array) == 0:
            raise ValueError("Found array with 0 sample(s): at least one row of distances is needed")
        if array.ndim != 2 or array.shape[1] != self.n:
            raise ValueError(
                f"X must hold the distances to all {self.n} arrivals: shape (n, {self.n}), got {array.shape}"
            )
        return array

    def to_stored(self, queries: Array, ids: Ids) -> Array:
        """The distances to some of the arrivals."""
        return usable(queries[:, ids], None, ids)

    def to_points(self, queries: Any, points: Any) -> Array:
        """Not possible: nothing is known of points but their distances to arrivals."""
        raise NotImplementedError("precomputed distances are those to arrivals")


def distances_given(X: Any) -> Array:
    """Distances as real numbers, or an error that says what they are instead."""
    if hasattr(X, "toarray"):
        raise TypeError("Sparse data was passed for X, but dense distances are needed: use X.toarray()")
    array = np.asarray(X)
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: distances are real numbers")
    return array.astype(np.float64)
