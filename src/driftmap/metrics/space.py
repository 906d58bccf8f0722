"""What a space is, and what most of them share."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from driftmap import checks, room

Array = NDArray[np.float64]
Ids = NDArray[np.int64]


class Space(Protocol):
    """Stored points and the distances between them."""

    triangle: bool
    """Whether the triangle inequality is known to hold."""

    def __len__(self) -> int: ...
    def check(self, X: Any) -> Any:
        """Return X in the form :meth:`extend` takes, or raise; changes nothing."""

    def extend(self, prepared: Any) -> None:
        """Store checked points as the next arrivals."""

    def truncate(self, n: int) -> None:
        """Forget all points from number n on."""

    def reserve(self, n: int) -> None:
        """Make room for n points."""

    def retain(self, ids: Ids) -> None:
        """Keep only these points, ascending, which are numbered anew."""

    def take(self, ids: Ids) -> Any:
        """The stored points with these arrival numbers."""

    def pairs(self, rows: Ids, columns: Ids) -> Array:
        """Distances between stored points, in the comparison scale."""

    def check_queries(self, X: Any) -> Any:
        """Return points that are to be measured but not stored in the form :meth:`to_stored` takes, or raise."""

    def to_stored(self, queries: Any, ids: Ids) -> Array:
        """True distances of checked points that are not stored to stored ones."""

    def to_points(self, queries: Any, points: Any) -> Array:
        """True distances of checked points to others, in the form in which :meth:`take` gives them."""

    def comparable(self, distance: float) -> float:
        """A distance in the comparison scale."""

    def true(self, comparable: float) -> float:
        """A value of the comparison scale as a distance."""

    def true_all(self, comparable: Array) -> Array:
        """Values of the comparison scale as distances."""


class PlainScale:
    """The comparison scale is the distance itself."""

    def reserve(self, n: int) -> None:
        """Nothing has to be done."""

    def comparable(self, distance: float) -> float:
        """A distance in the comparison scale."""
        return distance

    def true(self, comparable: float) -> float:
        """A value of the comparison scale as a distance."""
        return comparable

    def true_all(self, comparable: Array) -> Array:
        """Values of the comparison scale as distances."""
        return comparable

    def check_queries(self, X: Any) -> Any:
        """Queries look like the points themselves."""
        return self.check(X)  # type: ignore[attr-defined]


class Table(PlainScale):
    """Rows of one width in an array that grows; unused capacity is never touched, so it takes no memory."""

    single = False
    """Whether points of single precision are stored as such, as long as there are no others."""

    def __init__(self) -> None:
        self.rows: NDArray[Any] = np.empty((0, 0))
        self.n = 0

    def __len__(self) -> int:
        return self.n

    def reserve(self, n: int, like: NDArray[Any] | None = None) -> None:
        """Make room for n rows, of which some may be like these."""
        like = self.rows if like is None else like
        dtype = np.result_type(like, *[self.rows] * bool(self.n)) if self.single else np.dtype(np.float64)
        if n > len(self.rows) or dtype != self.rows.dtype:
            size = len(self.rows) if n <= len(self.rows) else max(n, 2 * len(self.rows))
            grown = room.empty((size, like.shape[1]), dtype)
            grown[: self.n] = self.rows[: self.n] if self.n else 0.0
            self.rows = grown

    def extend(self, X: Array) -> None:
        """Store checked rows."""
        n = self.n + len(X)
        self.reserve(n, X)
        self.rows[self.n : n] = X
        self.n = n

    def retain(self, ids: Ids) -> None:
        """Keep only these points, which are numbered anew."""
        first = int(np.argmin(np.append(ids, -1) == np.arange(len(ids) + 1)))  # those before it stay where they are
        self.rows[first : len(ids)] = self.rows[ids[first:]]
        self.n = len(ids)

    def truncate(self, n: int) -> None:
        """Forget all arrivals from number n on."""
        self.n = n

    def check(self, X: Any) -> Array:
        """Return X as a matrix of the stored width, or raise."""
        columns = list(map(str, X.columns)) if hasattr(X, "columns") else None
        array = checks.points(X, columns)  # single precision is taken as it comes
        if self.n and array.shape[1] != self.rows.shape[1]:
            raise ValueError(f"X has {array.shape[1]} features, but the points seen so far have {self.rows.shape[1]}")
        return array

    def take(self, ids: Ids) -> Array:
        """The stored points with these arrival numbers."""
        return np.asarray(self.rows[ids], dtype=np.float64)


def usable(distances: Array, rows: Ids | None, columns: Ids) -> Array:
    """The distances, or an error that names the first pair whose distance is no finite number >= 0."""
    good = (distances >= 0) & (distances < np.inf)
    if good.all():
        return distances + 0.0  # no negative zeros: the kernels order distances by their bits
    i, j = (int(k) for k in np.argwhere(~good)[0])
    who = f"row {i}" if rows is None else f"arrival {rows[i]}"
    raise ValueError(
        f"the distance between {who} and arrival {columns[j]} is {distances[i, j]}: "
        "a distance must be a finite number and not negative"
    )
