"""Stores of points: in the core, in a growing matrix, or in a list.

All but :class:`CoreStore` are sources of distances for the core (:class:`driftmap._core.DistanceSource`).
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np

from driftmap._core import Stream
from driftmap.metrics.base import Metric, checked_distances
from driftmap.utils import Array, Ids


class Store(ABC):
    """The points of a stream, numbered by rows from 0 in the order of arrival, and the metric that measures them."""

    n_features: int | None = None
    """Width of the rows; None before the first row, and where points are not rows."""

    def __init__(self, metric: Metric) -> None:
        self.metric = metric

    @abstractmethod
    def __len__(self) -> int: ...

    def check(self, X: Any) -> Any:
        """Return points in the form that is stored and measured, or raise an error that says what is wrong."""
        points = self.metric.check(X, self.n_features)
        if self.metric.form != "objects":
            self.n_features = int(points.shape[1])
        return points

    def check_queries(self, X: Any) -> Any:
        """Check points that are measured but not stored."""
        return self.check(X)

    @abstractmethod
    def take(self, rows: Ids) -> Any:
        """Return stored points."""

    @abstractmethod
    def arrival(self, row: int) -> int:
        """Return the arrival number of a stored point."""

    def pairs(self, rows: Ids, columns: Ids) -> Array:
        """Return the distances between stored points."""
        distances = self.metric.pairs(self.take(rows), self.take(columns), rows, columns)
        return checked_distances(
            np.ascontiguousarray(distances),
            lambda i: f"arrival {self.arrival(rows[i])}",
            lambda j: self.arrival(columns[j]),
            self.metric.hint,
        )

    def to_points(self, queries: Any, points: Any) -> Array:
        """Return the distances of checked points to others, in the form that :meth:`take` returns."""
        return checked_distances(self.metric.between(queries, points), "row {}".format, int, self.metric.hint)

    def to_stored(self, queries: Any, rows: Ids) -> Array:
        """Return the distances of checked points to stored ones."""
        distances = self.metric.between(queries, self.take(rows))
        return checked_distances(distances, "row {}".format, lambda j: self.arrival(rows[j]), self.metric.hint)

    def copy(self) -> Self:
        """Return an independent copy; points are shared."""
        return copy.copy(self)

    @abstractmethod
    def emptied(self, n_seen: int) -> Self:
        """Return a copy that stores no points and checks queries as after this many arrivals."""

    # --- a stream of the core ---

    @abstractmethod
    def new_stream(self, **params: Any) -> Stream:
        """Return a stream of the core that has seen nothing and learns the points of this store."""

    @abstractmethod
    def open(self, batch: Any, first: int) -> Any:
        """Return what the stream is to learn from checked points; ``first``: arrival number of the first of them."""

    def close(self) -> None:  # noqa: B027 - the core keeps nothing
        """Release the points that were given to :meth:`open`."""

    def dump(self) -> Any:
        """Return the points as a checkpoint holds them; None if the state of the stream holds them."""
        return None

    @abstractmethod
    def load(self, points: Any, state: dict[str, Any]) -> None:
        """Store what :meth:`dump` returned, before the stream is restored to ``state``."""

    def settle(self, stream: Stream) -> None:  # noqa: B027 - others hold no arrival numbers
        """Take over arrival numbers that the stream was given."""


class CoreStore(Store):
    """Rows of numbers, which the stream of the core stores and measures itself."""

    stream: Stream | None = None

    def __len__(self) -> int:
        return 0 if self.stream is None else self.stream.n_stored

    def take(self, rows: Ids) -> Array:
        """Return stored points."""
        assert self.stream is not None
        return self.stream.points(rows)

    def arrival(self, row: int) -> int:
        """Return the arrival number of a stored point."""
        assert self.stream is not None
        return int(self.stream.arrivals()[row])

    def copy(self) -> Self:
        """Return a copy without the stream, which a new one is to be made for."""
        other = super().copy()
        other.stream = None
        return other

    def emptied(self, n_seen: int) -> Self:
        """Return a copy that stores no points."""
        return self.copy()

    def new_stream(self, **params: Any) -> Stream:
        """Return a stream that stores and measures rows of this width."""
        native: Any = self.metric
        self.stream = Stream(native.name, self.n_features or 0, p=native.p, **params)
        return self.stream

    def open(self, batch: Array, first: int) -> Array:
        """Return the rows."""
        return batch

    def load(self, points: Any, state: dict[str, Any]) -> None:
        """Take the width of the rows, which the state holds."""
        if points is not None:
            raise ValueError("it stores its points in another way than its metric needs")
        self.n_features = np.shape(state["points"])[-1]


class SourceStore(Store):
    """Points that are stored here and measured for the core: a :class:`driftmap._core.DistanceSource`."""

    batch: Any = None
    """The checked points that the core is learning."""
    first = 0
    """Arrival number of the first of them."""

    @property
    def triangle(self) -> bool:
        """True if the triangle inequality is known to hold."""
        return self.metric.triangle

    def new_stream(self, **params: Any) -> Stream:
        """Return a stream that asks this store for distances."""
        source: Any = self  # each kind of store has the methods of a source
        return Stream(source, **params)

    def open(self, batch: Any, first: int) -> int:
        """Keep the points until :meth:`close`; returns their number."""
        self.batch, self.first = batch, first
        return len(batch)

    def close(self) -> None:
        """Release the points."""
        self.batch = None

    def load(self, points: Any, state: dict[str, Any]) -> None:
        """Store points, as many as the state says."""
        if points is None:
            raise ValueError("it lacks its points")
        self._load(points, state)
        if len(self) != state["n_points"]:
            raise ValueError(f"it holds {len(self)} points, not {state['n_points']}")

    @abstractmethod
    def _load(self, points: Any, state: dict[str, Any]) -> None: ...

    @abstractmethod
    def extend(self, batch: Any) -> None:
        """Store checked points."""


class PointStore(SourceStore):
    """Rows of numbers in a growing matrix, or other points in a list, with their arrival numbers.

    Truncating to a saved length undoes what was appended; dropping points makes another container.
    """

    def __init__(self, metric: Metric) -> None:
        super().__init__(metric)
        self.points: Rows | Objects = Rows() if metric.form == "rows" else Objects()
        self.arrivals: list[int] = []
        self._saved: tuple[Rows | Objects, list[int], int] = self.points, self.arrivals, 0

    def __len__(self) -> int:
        return len(self.arrivals)

    def extend(self, batch: Any) -> None:
        """Store checked points."""
        self.arrivals.extend(range(len(self), len(self) + len(batch)))
        self.points.extend(batch)

    def take(self, rows: Ids) -> Any:
        """Return stored points."""
        points = self.points.take(rows)
        return self.metric.stacked(points) if isinstance(points, list) else points

    def arrival(self, row: int) -> int:
        """Return the arrival number of a stored point."""
        return self.arrivals[row]

    def copy(self) -> Self:
        """Return an independent copy."""
        other = super().copy()
        other.points, other.arrivals = self.points.copy(), self.arrivals.copy()
        other._saved = other.points, other.arrivals, 0
        return other

    def emptied(self, n_seen: int) -> Self:
        """Return a copy that stores no points."""
        other = type(self)(self.metric)
        other.n_features = self.n_features
        return other

    def settle(self, stream: Stream) -> None:
        """Take over arrival numbers that the stream was given."""
        self.arrivals = stream.arrivals().tolist()

    def dump(self) -> Any:
        """Return all points."""
        return self.take(np.arange(len(self)))

    def _load(self, points: Any, state: dict[str, Any]) -> None:
        self.extend(self.check(points))
        self.arrivals = state["arrivals"].tolist() or self.arrivals

    # --- what the core asks for ---

    def cross(self, batch_rows: Ids, stored_rows: Ids) -> Array:
        """Return the distances of rows of the present batch to stored points."""
        if isinstance(self.batch, np.ndarray):
            batch = self.batch[batch_rows]
        else:
            batch = self.metric.stacked([self.batch[row] for row in batch_rows.tolist()])
        return checked_distances(
            self.metric.between(batch, self.take(stored_rows)),
            lambda i: f"arrival {self.first + batch_rows[i]}",
            lambda j: self.arrivals[stored_rows[j]],
            self.metric.hint,
        )

    def keep(self, batch_row: int) -> None:
        """Store a row of the present batch."""
        self.points.append(self.batch[batch_row])
        self.arrivals.append(self.first + batch_row)

    def retain(self, rows: Ids) -> None:
        """Keep only these stored points, ascending; they are renumbered."""
        self.points = self.points.retained(rows)
        self.arrivals = [self.arrivals[row] for row in rows.tolist()]

    def save(self) -> None:
        """Remember the stored points as they are now."""
        self._saved = self.points, self.arrivals, len(self.arrivals)

    def restore(self) -> None:
        """Go back to the stored points as they were remembered."""
        self.points, self.arrivals, n = self._saved
        self.points.truncate(n)
        del self.arrivals[n:]


class Rows:
    """A growing matrix."""

    def __init__(self) -> None:
        self.matrix, self.n = np.empty((0, 0)), 0

    def append(self, row: Array) -> None:
        """Add a row, a copy."""
        self.extend(row[None])

    def extend(self, batch: Array) -> None:
        """Add rows, copies."""
        end = self.n + len(batch)
        if end > len(self.matrix):
            grown = np.empty((max(end, 2 * self.n), batch.shape[1]))
            if self.n:
                grown[: self.n] = self.matrix[: self.n]
            self.matrix = grown
        self.matrix[self.n : end] = batch
        self.n = end

    def take(self, rows: Ids) -> Array:
        """Return some rows, a copy."""
        return self.matrix[: self.n][rows]

    def retained(self, rows: Ids) -> Self:
        """Return a matrix of some rows."""
        other = type(self)()
        other.extend(self.take(rows))
        return other

    def truncate(self, n: int) -> None:
        """Keep the first rows."""
        self.n = n

    def copy(self) -> Self:
        """Return an independent copy."""
        return self.retained(np.arange(self.n))


class Objects(list[Any]):
    """A list of points."""

    def take(self, rows: Ids) -> list[Any]:
        """Return some points."""
        return [self[row] for row in rows.tolist()]

    def retained(self, rows: Ids) -> Self:
        """Return a list of some points."""
        return type(self)(self.take(rows))

    def truncate(self, n: int) -> None:
        """Keep the first points."""
        del self[n:]

    def copy(self) -> Self:
        """Return an independent list of the same points."""
        return type(self)(self)
