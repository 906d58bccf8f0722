"""Landmark Isomap: distances along the sheet on which the points lie, instead of straight distances.

A graph joins each stored point to its nearest others. Lengths of shortest paths from the landmarks (geodesics) are the
input of classical MDS (de Silva and Tenenbaum, 2003); other points are placed by their distances to landmarks that are
near on the sheet, where straight distances and geodesics agree.
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from driftmap.embedding.base import (
    Configured,
    StoredPoints,
    check_arrivals,
    check_between,
    check_stored,
    check_to_landmarks,
)
from driftmap.embedding.charts import make_charts
from driftmap.embedding.lmds import classical_mds
from driftmap.embedding.neighbours import nearest_neighbours
from driftmap.embedding.procrustes import procrustes
from driftmap.embedding.row_placement import SquaredRows, in_blocks, rows_by_squares
from driftmap.utils import SMALLEST_NORMAL, Array, Ids, validation
from driftmap.utils.concurrency import one_thread

TOUCHING = SMALLEST_NORMAL
"""The length of a path between points at distance 0; scipy's graphs cannot have edges of length 0."""
STALE_PATHS = 0.5
"""The shares of exchanged landmarks and of added stored points after which all paths are computed again."""


class Paths(NamedTuple):
    """Lengths of shortest paths between landmarks, and when they were computed."""

    landmarks: Ids
    """Arrival numbers."""
    lengths: Array
    """(m, m); infinity where there is no path."""
    n_exchanged: int
    """Landmarks exchanged since all paths were computed."""
    n_stored: int
    """Number of points stored at that time."""


class LandmarkIsomap(Configured):
    """Landmark Isomap, and its online form under ``partial_fit``.

    Landmarks go where classical MDS of their geodesics puts them. A point is placed by local charts, landmark MDS on 8
    landmarks that are near to each other on the sheet, blended over the three nearest landmarks.

    Under ``partial_fit`` only paths from new landmarks are computed; all of them are when half of the landmarks have
    been exchanged, when the stored points have doubled, or when parts of the graph have come together.

    A graph in several parts is embedded part by part. They are laid side by side, as far apart as their nearest
    landmarks; there is one warning, and ``n_parts_`` says how many there are.

    Parameters
    ----------
    n_components : int
        Dimension of the map.
    n_neighbors : int
        Neighbours of a stored point in the graph. Too many make short cuts between layers of the sheet, too few leave
        it in parts.

    Examples
    --------
    >>> import numpy as np
    >>> from driftmap import DriftMap
    >>> turns = np.linspace(1.0, 4.0, 400)
    >>> spiral = np.column_stack([turns * np.cos(3 * turns), turns * np.sin(3 * turns)])
    >>> line = DriftMap(1, n_landmarks=40, embedding=LandmarkIsomap(1, n_neighbors=4)).fit_transform(spiral)[:, 0]
    >>> along = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(spiral, axis=0), axis=1)))
    >>> bool(np.corrcoef(line, along)[0, 1] ** 2 > 0.999)  # unrolled
    True
    """

    needs: ClassVar[frozenset[str]] = frozenset({"neighbours", "start"})
    coordinates_: Array
    """Positions of the landmarks, (m, k)."""
    n_dimensions_: int
    """Number of real coordinates among the k; the others are 0."""
    n_parts_: int
    """Number of parts of the graph that have landmarks."""
    paths_: Paths
    """Geodesics between the landmarks."""

    def __init__(self, n_components: int = 2, *, n_neighbors: int = 9) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self._warned = False

    def check(self, n_landmarks: int) -> None:
        """Raise an error for parameters that no stream could satisfy."""
        validation.integer_at_least(self.n_neighbors, "n_neighbors", 1)

    def fit(
        self,
        distances: Array,
        masses: Array | None = None,
        *,
        stored: StoredPoints | None = None,
        start: Array | None = None,
    ) -> Self:
        """Place landmarks given their (m, m) distances, and the stored points with their nearest neighbours.

        Without stored points the graph is one of the landmarks. ``start`` says how parts of the graph lay on the last
        map: they are laid out alike.
        """
        distances = check_between(distances)
        m = len(distances)
        self.check(m)
        before = None if stored is None else getattr(self, "paths_", None)
        if stored is None:
            everything = np.arange(m)
            neighbours = nearest_neighbours(distances, self.n_neighbors)
            stored = StoredPoints(everything, everything, validation.positive_masses(masses, m), None, *neighbours)
        if start is not None and start.shape != (m, self.n_components):
            raise ValueError(f"start must have shape {(m, self.n_components)}, got {start.shape}")
        self.paths_ = shortest_paths(stored, distances, before)
        with one_thread():
            self.coordinates_, self.n_dimensions_ = lay_out_parts(
                self.paths_.lengths, distances, self.n_components, start
            )
        self._prepare()
        if self.n_parts_ > 1 and not self._warned:
            self._warned = True
            warnings.warn(
                f"the graph of {self.n_neighbors} nearest neighbours is in {self.n_parts_} parts, which are embedded "
                "apart and laid side by side; more neighbours (n_neighbors) or more points may join them",
                UserWarning,
                stacklevel=2,
            )
        return self

    def _prepare(self) -> None:
        """Return the charts that place points."""
        lengths = self.paths_.lengths
        self.n_parts_ = len(parts_of(lengths))
        with one_thread():
            self._charts = make_charts(lengths, self.coordinates_)

    def place(self, distances: Array) -> Array:
        """Place points from their (n, m) distances to the landmarks; rows are independent of each other."""
        distances = check_to_landmarks(distances, len(self.coordinates_))
        return in_blocks(lambda part: self._charts.place(part * part), distances)

    def for_rows(self, landmarks: Array) -> SquaredRows:
        """Return an object that places rows of numbers as :meth:`place` places their distances to these landmarks, (m,
        d).
        """
        return rows_by_squares(self._charts.place, landmarks, self.n_components)

    def state(self) -> dict[str, Any]:
        """Return the state for a checkpoint."""
        own = {"coordinates": self.coordinates_, "n_dimensions": self.n_dimensions_, "warned": self._warned}
        return self.paths_._asdict() | own

    def restore(self, distances: Array, masses: Array, state: dict[str, Any]) -> Self:
        """Restore a state, or raise an error that says why it is invalid."""
        own = {name: state[name] for name in ("coordinates", "n_dimensions", "warned")}
        paths, m = Paths(*(state[name] for name in Paths._fields)), len(check_between(distances))
        check_arrivals("landmarks", paths.landmarks, m)
        check_stored("paths", paths.lengths, (m, m), finite=False)
        check_stored("positions", own["coordinates"], (m, self.n_components))
        for name in ("n_exchanged", "n_stored"):
            validation.integer_at_least(getattr(paths, name), name, 0)
        if (paths.lengths < 0).any() or np.diag(paths.lengths).any() or (paths.lengths != paths.lengths.T).any():
            raise ValueError("its path lengths are not valid distances")
        self.paths_, self.coordinates_, self._warned = paths, own["coordinates"], bool(own["warned"])
        self.n_dimensions_ = min(validation.integer_at_least(own["n_dimensions"], "n_dimensions", 0), self.n_components)
        self._prepare()
        return self


# --- geodesics ---


def shortest_paths(stored: StoredPoints, distances: Array, before: Paths | None = None) -> Paths:
    """Return the geodesics between the landmarks; those of the previous frame are reused while they are valid."""
    ids, w = stored.ids[stored.landmarks], len(stored.ids)
    if before is not None:
        same, old = np.isin(before.landmarks, ids), np.isin(ids, before.landmarks)
        n_exchanged, grown = before.n_exchanged + int(np.sum(~old)), abs(w - before.n_stored)
        known = before.lengths[np.ix_(same, same)]
        is_stale = n_exchanged > STALE_PATHS * len(ids) or grown > STALE_PATHS * before.n_stored
        if not is_stale and np.isfinite(known).all():
            rows = geodesics_from(stored, distances, np.flatnonzero(~old))
            if np.isfinite(rows).all():
                lengths = np.empty_like(distances)
                lengths[np.ix_(old, old)], lengths[~old], lengths[:, ~old] = known, rows, rows.T
                for row in rows:  # a new landmark may provide shorter paths
                    np.minimum(lengths, row[:, None] + row, out=lengths)
                return Paths(ids, np.minimum(lengths, lengths.T), n_exchanged, before.n_stored)
    lengths = geodesics_from(stored, distances, np.arange(len(ids)))
    return Paths(ids, np.minimum(lengths, lengths.T), 0, w)


def geodesics_from(stored: StoredPoints, distances: Array, sources: Ids) -> Array:
    """Return lengths of shortest paths from some landmarks to all, (sources, m); infinity where there is no path."""
    from scipy.sparse import coo_array  # slow to import
    from scipy.sparse.csgraph import dijkstra

    assert stored.neighbours is not None
    assert stored.lengths is not None
    w, k = stored.neighbours.shape
    there = stored.neighbours >= 0
    rows, columns = np.broadcast_to(np.arange(w)[:, None], (w, k))[there], stored.neighbours[there]
    twins = np.argwhere(np.triu(distances == 0, 1))  # landmarks in the same place
    joined = [np.append(ends, stored.landmarks[twin]) for ends, twin in zip((rows, columns), twins.T, strict=True)]
    edges = np.append(np.maximum(stored.lengths[there], TOUCHING), np.full(len(twins), TOUCHING))
    graph = coo_array((edges, tuple(joined)), shape=(w, w)).tocsr()
    lengths: Array = dijkstra(graph.maximum(graph.T), indices=stored.landmarks[sources])
    return np.where(distances[sources] == 0, 0.0, lengths[:, stored.landmarks])


def parts_of(lengths: Array) -> list[Ids]:
    """Return the groups of landmarks that paths join, the largest first."""
    _, labels = np.unique(np.argmax(np.isfinite(lengths), axis=1), return_inverse=True)
    return sorted((np.flatnonzero(labels == label) for label in range(labels.max() + 1)), key=lambda part: -len(part))


# --- the map ---


def lay_out_parts(lengths: Array, distances: Array, n_components: int, start: Array | None) -> tuple[Array, int]:
    """Return the positions of landmarks, and the number of real coordinates.

    Each part of the graph has its own classical MDS. The other parts are added to the largest one, always the nearest
    next: as far from those already placed as its nearest landmark, along the first axis or in the direction that it had
    before.
    """
    parts = parts_of(lengths)
    coordinates, real = np.zeros((len(lengths), n_components)), 0
    for part in parts:
        mds = classical_mds(lengths[np.ix_(part, part)], n_components)
        coordinates[part], real = mds.coordinates, max(real, mds.n_dimensions)
        if start is not None and len(parts) > 1:
            k = mds.n_dimensions
            coordinates[part, :k] = coordinates[part, :k] @ procrustes(coordinates[part, :k], start[part, :k])[0]
    laid, left = parts[0], parts[1:]
    while left:
        bridges = [distances[np.ix_(laid, part)].min() for part in left]
        nearest = int(np.argmin(bridges))
        part = left.pop(nearest)
        way = np.eye(n_components)[0]
        if start is not None:
            before = start[part].mean(axis=0) - start[laid].mean(axis=0)
            length = np.linalg.norm(before)
            way = before / length if length > 0 else way
        shift = (coordinates[laid] @ way).max() + bridges[nearest] - (coordinates[part] @ way).min()
        middle = coordinates[laid].mean(axis=0)
        coordinates[part] += middle + (shift - middle @ way) * way
        laid, real = np.append(laid, part), max(real, int(np.flatnonzero(way)[-1]) + 1)
    return coordinates, real
