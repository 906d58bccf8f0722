"""The interface of metrics, and the check of the distances that they return."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from driftmap.utils import Array, Ids, validation
from driftmap.utils.errors import InputError

Form = Literal["rows", "sparse", "objects", "distances"]
"""What points are: rows of numbers, rows of a sparse matrix, arbitrary objects, or distances to earlier arrivals."""


class Metric(ABC):
    """Measures distances between checked points. It holds no points."""

    name: str
    triangle: bool
    """True if the triangle inequality is known to hold."""
    form: Form = "rows"
    native = False
    """True if the core measures it."""
    quick = True
    """False if a Python function measures one pair at a time."""
    least = 0.0
    """Distances below this are not measured exactly, because powers of differences underflow."""
    hint = ": a distance must be a finite number and not negative"
    """Hint appended to the error for an invalid distance."""

    @property
    def is_euclidean(self) -> bool:
        """True if points are rows of numbers, and distances the Euclidean ones."""
        return self.native and self.name == "euclidean"

    def check(self, X: Any, width: int | None) -> Any:
        """Return points in the form that is stored and measured, or raise; ``width``: of the points seen so far."""
        return np.asarray(validation.points(X, width), dtype=np.float64)

    @abstractmethod
    def between(self, later: Any, earlier: Any) -> Array:
        """Return the distances of checked points to earlier ones, (n, m). The caller checks that they are valid."""

    def pairs(self, X: Any, Y: Any, rows: Ids, columns: Ids) -> Array:
        """Return the distances between stored points, which have these rows; those to themselves are 0 to the bit."""
        distances = self.between(X, Y)
        distances[rows[:, None] == columns] = 0.0
        return distances

    def check_spread(self, rows: Any) -> None:
        """Raise an error if all rows are so close to each other that the metric cannot measure their distances."""
        if self.least > 0 and len(rows) and 0 < (gap := float(np.ptp(rows, axis=0).max())) < self.least:
            problem = (
                f"has rows that differ by at most {gap:.2g}, and distances below {self.least:.2g} cannot be measured"
            )
            raise InputError(f"{problem}, because powers underflow; multiply the data", parameter="X")

    def stacked(self, points: list[Any]) -> Any:
        """Return single points as :meth:`between` takes several of them."""
        return points


def checked_distances(
    distances: Array, row: Callable[[int], str], column: Callable[[int], int], hint: str = Metric.hint
) -> Array:
    """Return the distances, or raise an error that names the first pair whose distance is invalid.

    ``row`` names a row of the block, ``column`` gives the arrival number of a column.
    """
    if distances.size == 0 or (distances.min() >= 0 and distances.max() < np.inf):  # false for NaN
        return distances
    i, j = (int(k) for k in np.argwhere(~((distances >= 0) & (distances < np.inf)))[0])
    raise InputError(f"the distance between {row(i)} and arrival {column(j)} is {distances[i, j]}{hint}")
