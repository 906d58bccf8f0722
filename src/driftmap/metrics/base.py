"""The interface of spaces, and the storage of points that the core does not store itself."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from driftmap.utils import Array, Ids, validation
from driftmap.utils.errors import InputError


class Space(ABC):
    """Stored points and the distances between them; stored points are numbered from 0."""

    triangle: bool
    """Whether the triangle inequality is known to hold."""
    n_features: int | None = None
    """The width of rows; None: there are none yet, or points are not rows."""
    batch: Any = None
    """The checked points that the core is learning, where it does not measure itself."""
    first = 0
    """The arrival number of the first of them."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def check(self, X: Any) -> Any:
        """Points in the form in which they are stored and measured, or an error that says what is wrong."""

    def check_queries(self, X: Any) -> Any:
        """Points that are measured but not stored."""
        return self.check(X)

    @abstractmethod
    def extend(self, batch: Any) -> None:
        """Store checked points."""

    @abstractmethod
    def take(self, rows: Ids) -> Any:
        """Stored points."""

    @abstractmethod
    def pairs(self, rows: Ids, columns: Ids) -> Array:
        """Distances between stored points."""

    @abstractmethod
    def to_points(self, queries: Any, points: Any) -> Array:
        """Distances of checked points to others, in the form in which :meth:`take` gives them."""

    def to_stored(self, queries: Any, rows: Ids) -> Array:
        """Distances of checked points to stored ones."""
        return self.to_points(queries, self.take(rows))

    def copy(self) -> Self:
        """An independent copy; points are shared."""
        return copy.copy(self)

    def emptied(self, n_seen: int) -> Self:
        """A copy that stores nothing, and measures points as after so many arrivals."""
        return copy.copy(self)

    def dump(self) -> Any:
        """The stored points as a checkpoint holds them; None: the core stores them."""
        return None

    def load(self, points: Any, arrivals: list[int]) -> None:
        """Store what :meth:`dump` gave, and check it; ``arrivals`` are the arrival numbers, if not 0, 1, 2, ..."""
        raise ValueError("it stores its points in another way than its metric needs")


class PythonSpace(Space):
    """Points that are stored here and measured for the core: a :class:`driftmap._core.DistanceSource`.

    The storage is a list. Going back to a saved length is enough to undo what was appended; whatever drops points makes
    another list.
    """

    hint = ": a distance must be a finite number and not negative"
    """What to say of a distance that is no such number."""

    def __init__(self) -> None:
        self.points: list[Any] = []
        self.arrivals: list[int] = []
        self._saved: tuple[list[Any], list[int], int] = [], [], 0

    def __len__(self) -> int:
        return len(self.points)

    def extend(self, batch: Any) -> None:
        """Store checked points."""
        self.arrivals.extend(range(len(self.points), len(self.points) + len(batch)))
        self.points.extend(batch)

    def take(self, rows: Ids) -> Any:
        """Stored points."""
        return select(self.points, rows)

    @abstractmethod
    def _between(self, later: Any, earlier: Any) -> Array:
        """Distances of points to earlier ones, whatever they are."""

    def to_points(self, queries: Any, points: Any) -> Array:
        """Distances of checked points to others."""
        return checked_distances(self._between(queries, points), "row {}".format, int, self.hint)

    def to_stored(self, queries: Any, rows: Ids) -> Array:
        """Distances of checked points to stored ones."""
        distances = self._between(queries, select(self.points, rows))
        return checked_distances(distances, "row {}".format, lambda j: self.arrivals[rows[j]], self.hint)

    def copy(self) -> Self:
        """An independent copy; points are shared."""
        other = super().copy()
        other.points, other.arrivals = self.points.copy(), self.arrivals.copy()
        return other

    def emptied(self, n_seen: int) -> Self:
        """A copy that stores nothing."""
        other = super().emptied(n_seen)
        other.points, other.arrivals, other._saved = [], [], ([], [], 0)
        return other

    def dump(self) -> Any:
        """The stored points as a checkpoint holds them."""
        return self.take(np.arange(len(self)))

    def load(self, points: Any, arrivals: list[int]) -> None:
        """Store what :meth:`dump` gave, and check it."""
        self.extend(self.check(points))
        self.arrivals = arrivals or self.arrivals

    # --- what the core asks for ---

    def cross(self, batch_rows: Ids, stored_rows: Ids) -> Array:
        """Distances of rows of the present batch to stored points."""
        distances = self._between(select(self.batch, batch_rows), select(self.points, stored_rows))
        return checked_distances(
            distances,
            lambda i: f"arrival {self.first + batch_rows[i]}",
            lambda j: self.arrivals[stored_rows[j]],
            self.hint,
        )

    def _usable_pairs(self, distances: Array, rows: Ids, columns: Ids) -> Array:
        return checked_distances(
            distances,
            lambda i: f"arrival {self.arrivals[rows[i]]}",
            lambda j: self.arrivals[columns[j]],
            self.hint,
        )

    def keep(self, batch_row: int) -> None:
        """Store a row of the present batch."""
        self.points.append(self.batch[batch_row])
        self.arrivals.append(self.first + batch_row)

    def retain(self, rows: Ids) -> None:
        """Keep only these stored points, ascending; they are renumbered."""
        self.points, self.arrivals = select(self.points, rows), select(self.arrivals, rows)

    def save(self) -> None:
        """Remember the stored points as they are now."""
        self._saved = self.points, self.arrivals, len(self.points)

    def restore(self) -> None:
        """Go back to the stored points as they were remembered."""
        self.points, self.arrivals, n = self._saved
        del self.points[n:], self.arrivals[n:]


class PythonRowSpace(PythonSpace):
    """Rows of numbers that are measured for the core, in double precision."""

    def check(self, X: Any) -> Array:
        """Return X as a matrix of the stored width, or raise."""
        rows = validation.points(X, self.n_features)
        self.n_features = rows.shape[1]
        return np.asarray(rows, dtype=np.float64)

    def extend(self, batch: Array) -> None:
        """Store checked points."""
        super().extend(batch.copy())

    def take(self, rows: Ids) -> Array:
        """Stored points."""
        return np.array(super().take(rows)).reshape(len(rows), self.n_features or 0)

    def keep(self, batch_row: int) -> None:
        """Store a row of the present batch; a copy, since the batch is the caller's."""
        self.points.append(self.batch[batch_row].copy())
        self.arrivals.append(self.first + batch_row)


def select(points: Sequence[Any], rows: Ids) -> list[Any]:
    """Those with these numbers."""
    return [points[row] for row in rows.tolist()]


def checked_distances(
    distances: Array, row: Callable[[int], str], column: Callable[[int], int], hint: str = PythonSpace.hint
) -> Array:
    """The distances, or an error that names the first pair whose distance is no finite number >= 0.

    ``row`` says what a row is called, and ``column`` which arrival a column is.
    """
    if distances.size == 0 or (distances.min() >= 0 and distances.max() < np.inf):  # false for NaN
        return distances
    i, j = (int(k) for k in np.argwhere(~((distances >= 0) & (distances < np.inf)))[0])
    raise InputError(f"the distance between {row(i)} and arrival {column(j)} is {distances[i, j]}{hint}")
