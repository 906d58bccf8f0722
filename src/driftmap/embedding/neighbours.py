"""Nearest neighbours of the stored points, reused between frames: only new stored points are measured.

The lists depend on the stored points alone, not on the number of updates.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from driftmap.utils import Array, Ids

MEASURED_ROWS = 256
"""Points measured against all others in one call."""

Measure = Callable[[Ids, Ids], Array]
"""Distances between stored points, (rows, columns), given by their arrival numbers."""


class NeighbourLists(NamedTuple):
    """For each stored point, its nearest others by length and arrival number. Duplicates (length 0) do not count.

    Twice as many are kept as are asked for: when a stored point is forgotten or merged into another, a list that loses
    it is still long enough, nearly always.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([0.0, 1.0, 3.0, 7.0, 7.0])
    >>> def measure(rows, columns):
    ...     return np.abs(points[rows][:, None] - points[columns])
    >>> lists = NeighbourLists.empty(2).updated(np.arange(5), measure)
    >>> lists.nearest()[0].tolist()
    [[1, 2], [0, 2], [1, 0], [2, 1], [2, 1]]
    """

    k: int
    """Number of neighbours."""
    ids: Ids
    """Arrival numbers of the stored points, ascending, (w,)."""
    neighbours: Ids
    """Arrival numbers, nearest first, (w, 2k); -1 after the last one."""
    lengths: Array
    """Their distances, ascending; infinity after the last one."""
    complete: Array
    """(w,): the list contains all other points that are nearer than this."""

    @classmethod
    def empty(cls, k: int) -> NeighbourLists:
        """Start without points."""
        none = np.empty((0, 2 * k))
        return cls(k, np.empty(0, np.int64), none.astype(np.int64), none, np.empty(0))

    def updated(self, ids: Ids, measure: Measure) -> NeighbourLists:
        """Update the lists to the points that are stored now, of which later ones come last."""
        if np.array_equal(ids, self.ids):
            return self
        w, width = len(ids), 2 * self.k
        neighbours, lengths, complete = np.full((w, width), -1, np.int64), np.full((w, width), np.inf), np.zeros(w)
        kept = np.isin(self.ids, ids, assume_unique=True)
        rows = np.searchsorted(ids, self.ids[kept])
        neighbours[rows], lengths[rows] = _without(self.neighbours[kept], self.lengths[kept], ids)
        complete[rows] = self.complete[kept]
        is_new = np.ones(w, bool)
        is_new[rows] = False
        new = np.flatnonzero(is_new)
        for first in range(0, len(new), MEASURED_ROWS):
            block = new[first : first + MEASURED_ROWS]
            distances = measure(ids[block], ids)
            neighbours[block], lengths[block], complete[block] = _nearest(distances, ids, width)
            _insert(neighbours, lengths, complete, rows, distances[:, rows].T, ids[block])
        short = np.flatnonzero(((lengths < complete[:, None]).sum(axis=1) < self.k) & (complete < np.inf) & ~is_new)
        for first in range(0, len(short), MEASURED_ROWS):
            block = short[first : first + MEASURED_ROWS]
            neighbours[block], lengths[block], complete[block] = _nearest(measure(ids[block], ids), ids, width)
        return NeighbourLists(self.k, ids, neighbours, lengths, complete)

    def nearest(self) -> tuple[Ids, Array]:
        """Return the k nearest of each point, as positions in ``ids`` (-1: there are no more), and their distances."""
        neighbours = self.neighbours[:, : self.k]
        found = np.searchsorted(self.ids, neighbours)
        return np.where(neighbours < 0, -1, found), self.lengths[:, : self.k]


def nearest_neighbours(distances: Array, k: int) -> tuple[Ids, Array]:
    """Return the k nearest of each of n points that are not at distance 0, and their distances; -1 and infinity: no
    more.

    >>> import numpy as np
    >>> line = np.array([0.0, 1.0, 3.0])
    >>> nearest_neighbours(np.abs(line[:, None] - line), k=1)[0].tolist()
    [[1], [0], [1]]
    """
    ids = np.arange(len(distances))
    return NeighbourLists.empty(k).updated(ids, lambda rows, columns: distances[np.ix_(rows, columns)]).nearest()


def _without(neighbours: Ids, lengths: Array, ids: Ids) -> tuple[Ids, Array]:
    """Return the lists without points that are no longer stored; the others move up."""
    gone = ~np.isin(neighbours, ids)
    order = np.argsort(gone, axis=1, kind="stable")
    neighbours, lengths = np.where(gone, -1, neighbours), np.where(gone, np.inf, lengths)
    return np.take_along_axis(neighbours, order, axis=1), np.take_along_axis(lengths, order, axis=1)


def _nearest(distances: Array, ids: Ids, width: int) -> tuple[Ids, Array, Array]:
    """Return the first ``width`` of each row by length and arrival number, and the distance up to which the list is
    complete.
    """
    distances = np.where(distances > 0, distances, np.inf)
    n, w = distances.shape
    if w > width:
        picked = np.sort(np.argpartition(distances, width - 1, axis=1)[:, :width], axis=1)
        last = np.take_along_axis(distances, picked, axis=1).max(axis=1)
        for row in np.flatnonzero((distances <= last[:, None]).sum(axis=1) > width):
            # ties with the last one: take the earliest
            near, equal = np.flatnonzero(distances[row] < last[row]), np.flatnonzero(distances[row] == last[row])
            picked[row] = np.sort(np.concatenate([near, equal[: width - len(near)]]))
    else:
        last = np.full(n, np.inf)
        picked = np.tile(np.arange(w), (n, 1))
    lengths = np.take_along_axis(distances, picked, axis=1)
    order = np.argsort(lengths, axis=1, kind="stable")
    lengths = np.take_along_axis(lengths, order, axis=1)
    neighbours = np.where(lengths < np.inf, ids[np.take_along_axis(picked, order, axis=1)], -1)
    missing = ((0, 0), (0, width - lengths.shape[1]))
    return np.pad(neighbours, missing, constant_values=-1), np.pad(lengths, missing, constant_values=np.inf), last


def _insert(neighbours: Ids, lengths: Array, complete: Array, rows: Ids, distances: Array, ids: Ids) -> None:
    """Insert later points into the lists of these rows, given their (rows, points) distances; in place."""
    distances = np.where((distances > 0) & (distances < complete[rows, None]), distances, np.inf)
    hit = np.flatnonzero(distances.min(axis=1, initial=np.inf) < np.inf)
    rows, width = rows[hit], lengths.shape[1]
    longer = np.hstack([lengths[rows], distances[hit]])
    order = np.argsort(longer, axis=1, kind="stable")  # of equally near points, earlier ones stay first
    order, dropped = order[:, :width], order[:, width]
    lengths[rows] = np.take_along_axis(longer, order, axis=1)
    candidates = np.hstack([neighbours[rows], np.tile(ids, (len(rows), 1))])
    neighbours[rows] = np.where(lengths[rows] < np.inf, np.take_along_axis(candidates, order, axis=1), -1)
    beyond = np.take_along_axis(longer, dropped[:, None], axis=1)[:, 0]
    complete[rows] = np.minimum(complete[rows], beyond)
