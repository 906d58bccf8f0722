"""The rule "as published": the one that gives the printed column Online of the paper's Table 1.

This is not Algorithm 2, which leads to other landmarks than those the paper reports. It takes the same steps with
different bookkeeping, and gives the reported radii and stresses of all three data sets. x_0, x_1, ... are the arrivals,
m = ``n_landmarks``, rho = ``radius``, L the landmarks and N(x) the neighbour list of x. One list of candidate pairs
persists from call to call, in order of length (equal lengths: smaller indices first).

1. *Start.* L is the first m points, whatever their distances. Their pairs at distance >= rho are listed.
2. *Arrival.* x gets an edge to every earlier point at distance strictly < rho. With a landmark among these it
   is covered and its other pairs are never listed, so a growing rho gives it no further edges
   except to later uncovered arrivals. In Algorithm 2 every pair is a candidate.
3. *Uncovered arrival.* Its pairs with all earlier points at distance >= rho are listed. Lines 1-6 then select
   the newcomer as printed (no arrival of the paper's three streams reaches line 4).
4. *Lines 7-11.* The first listed pair sets rho and (x_r, x_s) but gets no edge. If neither end is in L, pairs
   are stepped over, each getting its edge, up to and including the first that has one, and that becomes
   (x_r, x_s). Algorithm 2 adds the edge of the first pair too.
5. *Lines 12-16.* As printed: step over pairs, adding the edge of each, until REMOVE(x_r, x_s)
   names a landmark.
6. *After the call* pairs shorter than rho leave the list. The pair that set rho stays, and so is the first of the
   next call, even if it has its edge. Algorithm 2 looks only at pairs without an edge.
7. *OnlyBy(z)* reads neighbour lists, where z is in N(z) only if z is one of the first m points. It is {z} if
   N(z) holds nothing, or z alone; empty if all of N(z) are landmarks; else N(z) less the lists of the other
   landmarks. In section 2.4 of the paper every z counts itself; here a later landmark can be dropped
   although no other landmark covers it.

Undoing any one of these changes the outcome on at least one of the data sets: the restriction to uncovered arrivals
in 2, the missing edge in 4, the pair that stays in 6, the asymmetry in 7. This rule exists to reproduce the
publication. For a stream that must stay covered use :class:`~driftmap.landmarks.OnlineLandmarks`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from driftmap.utils import Array

Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]

BLOCK_DISTANCES = 2**20
"""Distances computed at a time: 8 MB."""


class RadiusHistory(NamedTuple):
    """How rho grew, one entry per change; before the first it is the initial radius."""

    arrivals: Indices
    """Index of the arrival that caused the change."""
    radii: Array
    """rho from that arrival on."""


class LandmarkHistory(NamedTuple):
    """How L changed, one entry per uncovered arrival; before the first L is the first m points."""

    arrivals: Indices
    """Index of the uncovered arrival."""
    came: Indices
    """The point that joined L: the arrival, or the neighbour of it chosen in line 4 of Algorithm 2."""
    left: Indices
    """The point that REMOVE took out of L; equal to ``came`` where the newcomer was the redundant one."""


class PublishedRun(NamedTuple):
    """Result of :func:`published_landmarks`."""

    landmark_indices: Indices
    """The final L as row numbers, ascending."""
    radius: float
    """The final rho."""
    radius_history: RadiusHistory
    """Every change of rho."""
    landmark_history: LandmarkHistory
    """Every call of Algorithm 2; replayed from the first m points it gives L after any arrival."""


def published_landmarks(X: ArrayLike, n_landmarks: int, initial_radius: float = 1e-20) -> PublishedRun:
    """Landmarks of the stream of rows of ``X`` by the rule that produced the paper's printed results.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points in order of arrival, compared by Euclidean distance.
    n_landmarks : int
        m, at least 2: a single landmark leaves the rule without pairs at the second arrival.
    initial_radius : float
        rho before the first uncovered arrival; the paper's value is the default.

    Raises
    ------
    RuntimeError
        The list ran out of pairs before any landmark became redundant, a case that the rule leaves open.

    Notes
    -----
    Memory is the (m + 1, n) table of which landmark's list holds which point, and the listed pairs: at most n
    for each of the few uncovered arrivals. An uncovered arrival also counts the edges that came
    since the one before, for line 1 of Algorithm 2, which takes the distances to all their predecessors.

    Examples
    --------
    >>> import numpy as np
    >>> line = np.array([[0.0], [1.0], [4.0], [4.2], [9.0]])
    >>> run = published_landmarks(line, n_landmarks=2)
    >>> run.landmark_indices, run.radius
    (array([0, 4]), 9.0)
    >>> run.landmark_history.left
    array([1, 2])
    """
    points = np.ascontiguousarray(X, dtype=np.float64)
    if points.ndim != 2:
        raise ValueError(f"X must have two dimensions (points, features), got {points.ndim}")
    if not np.isfinite(points).all():
        raise ValueError("X must hold finite numbers only")
    if n_landmarks < 2:
        raise ValueError(f"n_landmarks must be at least 2, got {n_landmarks}")
    if not initial_radius > 0:
        raise ValueError(f"initial_radius must be positive, got {initial_radius}")

    stream = _Stream(points, min(n_landmarks, len(points)), float(initial_radius))
    calls: list[tuple[int, int, int, float]] = []
    while (arrival := stream.next_uncovered()) < len(points):
        came, left = stream.replace(arrival)
        calls.append((arrival, came, left, stream.radius))

    arrivals, came_indices, left_indices = (np.array([c[i] for c in calls], dtype=np.intp) for i in range(3))
    radii = np.array([c[3] for c in calls])
    changed = np.diff(radii, prepend=initial_radius) != 0
    return PublishedRun(
        landmark_indices=np.sort(np.array(stream.landmarks, dtype=np.intp)),
        radius=stream.radius,
        radius_history=RadiusHistory(arrivals[changed], radii[changed]),
        landmark_history=LandmarkHistory(arrivals, came_indices, left_indices),
    )


class _Pairs(NamedTuple):
    """The candidate pairs in order of length: first < second, and whether the pair has its edge."""

    length: Array
    first: Indices
    second: Indices
    joined: Mask

    def take(self, which: Indices | slice) -> _Pairs:
        return _Pairs(self.length[which], self.first[which], self.second[which], self.joined[which])

    def ordered(self) -> _Pairs:
        return self.take(np.lexsort((self.second, self.first, self.length)))

    def extended(self, length: Array, first: Indices, second: Indices) -> _Pairs:
        """The ordered list with further pairs, none of which has an edge."""
        return _Pairs(
            np.concatenate([self.length, length]),
            np.concatenate([self.first, first]),
            np.concatenate([self.second, second]),
            np.concatenate([self.joined, np.zeros(len(length), dtype=bool)]),
        ).ordered()

    def at_least(self, radius: float) -> _Pairs:
        return self.take(slice(int(np.searchsorted(self.length, radius, side="left")), None))


class _Stream:
    """State of a run. Neighbour lists are stored for landmarks only; others are computed when needed."""

    def __init__(self, points: Array, m: int, radius: float) -> None:
        first = cdist(points[:m], points[:m])
        self.points = points
        self.radius = radius
        self.m = m
        self.n_seen = m
        self.landmarks = list(range(m))
        self.is_landmark: Mask = np.arange(len(points)) < m
        # lists[i, p]: p is in the neighbour list of landmarks[i]. The diagonal puts the first m in their own.
        self.lists: Mask = np.zeros((m + 1, len(points)), dtype=bool)
        self.lists[:m, :m] = first < radius
        # rho when each point arrived. With the edges added later it determines the whole graph.
        self.radius_on_arrival: Array = np.full(len(points), radius)
        self.added: list[Indices] = []
        self.n_edges = 0
        self.n_counted = 0
        r, s = np.triu_indices(m, k=1)
        self.pairs = _Pairs(first[r, s], r, s, np.zeros(len(r), dtype=bool)).ordered().at_least(radius)

    def next_uncovered(self) -> int:
        """Process arrivals until one is uncovered; return its index, or n at the end of the stream."""
        n = len(self.points)
        size = max(1, BLOCK_DISTANCES // max(1, self.m))
        landmarks = self.points[self.landmarks]
        for start in range(self.n_seen, n, size):
            near = cdist(landmarks, self.points[start : start + size]) < self.radius
            uncovered = np.flatnonzero(~near.any(axis=0))
            n_covered = int(uncovered[0]) if len(uncovered) else near.shape[1]
            self.n_seen = start + n_covered
            self.lists[: self.m, start : self.n_seen] = near[:, :n_covered]
            self.radius_on_arrival[start : self.n_seen] = self.radius
            if len(uncovered):
                return self.n_seen
        return n

    def replace(self, x: int) -> tuple[int, int]:
        """Algorithm 2 for the uncovered arrival ``x``: the points that joined and left L."""
        self.n_seen = x + 1
        self.radius_on_arrival[x] = self.radius
        distances = cdist(self.points[:x], self.points[x : x + 1])[:, 0]
        far = np.flatnonzero(distances >= self.radius)
        self.pairs = self.pairs.extended(distances[far], far, np.full(len(far), x))

        came = self._newcomer(x)
        self.lists[self.m, : x + 1] = self._neighbour_list(came)
        self.landmarks.append(came)
        self.is_landmark[came] = True

        left, last = self._remove_one()
        self._record_edges(last)
        self.radius = float(self.pairs.length[last])
        self.pairs = self.pairs.at_least(self.radius)

        slot = self.landmarks.index(left)
        self.is_landmark[left] = False
        self.lists[slot] = self.lists[self.m]
        self.landmarks[slot] = self.landmarks[self.m]
        self.landmarks.pop()
        return came, left

    def _remove_one(self) -> tuple[int, int]:
        """Lines 7-16: the landmark to drop, and the position in the list of the pair that sets rho."""
        first, second = self.pairs.first, self.pairs.second
        candidates: list[int] = []
        # A pair without a landmark changes no landmark's list, and so not the answer of REMOVE.
        for position in np.flatnonzero(self.is_landmark[first] | self.is_landmark[second]).tolist():
            r, s = int(first[position]), int(second[position])
            if position > 0:
                self._join(r, s)
            # REMOVE is asked about the first such pair each time, x_r before x_s.
            candidates = candidates or [z for z in (r, s) if self.is_landmark[z]]
            for z in candidates:
                if self._is_redundant(z):
                    return z, position
        raise RuntimeError(
            f"the published rule has no pairs left at arrival {self.n_seen - 1} and no landmark is redundant"
        )

    def _join(self, a: int, b: int) -> None:
        for z, other in ((a, b), (b, a)):
            if self.is_landmark[z]:
                self.lists[self.landmarks.index(z), other] = True

    def _is_redundant(self, z: int) -> bool:
        """Whether OnlyBy(z) is empty, in the sense of point 7 above."""
        lists = self.lists[:, : self.n_seen]
        entries = np.flatnonzero(lists[self.landmarks.index(z)])
        if np.all(entries == z):
            return False
        return bool(self.is_landmark[entries].all() or (lists[:, entries].sum(axis=0) > 1).all())

    def _newcomer(self, x: int) -> int:
        """Lines 1-6 of Algorithm 2, in whole numbers: deg(x) <= 2 sqrt(|E|) is deg(x)^2 <= 4 |E|."""
        n_edges = self._count_edges()
        neighbours = np.flatnonzero(self._neighbour_list(x))
        if len(neighbours) ** 2 <= 4 * n_edges:
            return x
        # Theorem 3.3 guarantees that such a neighbour exists.
        return next(y for y in neighbours.tolist() if self._degree(y) ** 2 <= n_edges)

    def _degree(self, x: int) -> int:
        entries = self._neighbour_list(x)
        return int(entries.sum()) - int(entries[x])

    def _neighbour_list(self, x: int) -> Mask:
        """N(x) among the points seen: edges made on arrival, edges added since, x itself for the first m."""
        seen = np.arange(self.n_seen)
        later_radius = self.radius_on_arrival[np.maximum(seen, x)]
        entries: Mask = cdist(self.points[: self.n_seen], self.points[x : x + 1])[:, 0] < later_radius
        entries[x] = x < self.m
        for ends in self.added:
            entries[ends[1, ends[0] == x]] = True
            entries[ends[0, ends[1] == x]] = True
        return entries

    def _record_edges(self, last: int) -> None:
        """Record the new edges of the pairs stepped over: all up to ``last`` except the first."""
        stepped = slice(1, last + 1)
        new = ~self.pairs.joined[stepped]
        self.added.append(np.stack([self.pairs.first[stepped][new], self.pairs.second[stepped][new]]))
        self.pairs.joined[stepped] = True

    def _count_edges(self) -> int:
        """|E|, counting only arrivals since the last count; added pairs had no edge from their arrival."""
        size = max(1, BLOCK_DISTANCES // self.n_seen)
        for start in range(self.n_counted, self.n_seen, size):
            stop = min(start + size, self.n_seen)
            distances = cdist(self.points[start:stop], self.points[:stop])
            near = distances < self.radius_on_arrival[start:stop, None]
            self.n_edges += int(np.tril(near, k=start - 1).sum())
        self.n_counted = self.n_seen
        return self.n_edges + sum(int(ends.shape[1]) for ends in self.added)
