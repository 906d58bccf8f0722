"""Algorithms 2 and 3 word by word, with explicit edges and a sorted list of pairs: a yardstick for computation time.

The package's own ``OnlineLandmarks(rule="paper")`` finds the same landmarks without edges, pairs or sorting. This file
shows what that saves, and takes time in proportion to n^3 for what the other does in n: use it on short streams only.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class LiteralRun(NamedTuple):
    """Result of :func:`literal_landmarks`."""

    landmarks: list[int]
    """The final L, ascending."""
    radius: float
    """The final rho."""


def literal_landmarks(X: ArrayLike, n_landmarks: int, initial_radius: float = 1e-20) -> LiteralRun:
    """Landmarks of the stream of rows of ``X`` by Algorithm 2 as printed.

    An edge joins points at distance <= rho, equal lengths enter together, and an "arbitrary" neighbour is the one with
    the smallest index, as everywhere in the package.

    >>> literal_landmarks([[0.0], [1.0], [4.0], [4.2], [9.0]], n_landmarks=2)
    LiteralRun(landmarks=[1, 4], radius=3.2)
    """
    graph = _Graph(n_landmarks, initial_radius)
    for x in np.asarray(X, dtype=np.float64).tolist():
        graph.arrive(x)
    return LiteralRun(sorted(graph.landmarks), graph.radius)


class _Graph:
    """The geometric graph (V, E), its landmarks L and the pairs that are no edges yet."""

    def __init__(self, m: int, radius: float) -> None:
        self.m, self.radius = m, radius
        self.points: list[list[float]] = []
        self.neighbours: list[set[int]] = []
        self.n_edges = 0
        self.landmarks: set[int] = set()
        self.waiting: list[tuple[float, int, int]] = []

    def arrive(self, x: list[float]) -> None:
        n = len(self.points)
        lengths = [(math.dist(x, y), s, n) for s, y in enumerate(self.points)]
        self.points.append(x)
        self.neighbours.append(set())
        for length, s, _ in lengths:
            if length <= self.radius:
                self.join(s, n)
        self.waiting += [pair for pair in lengths if pair[0] > self.radius]
        if not self.neighbours[n].isdisjoint(self.landmarks):
            return
        if len(self.landmarks) < self.m:
            self.landmarks.add(n)
        else:
            self.replace(n)

    def join(self, r: int, s: int) -> None:
        self.neighbours[r].add(s)
        self.neighbours[s].add(r)
        self.n_edges += 1

    def next_pair(self) -> tuple[int, int]:
        """Add the shortest missing edge, and others of the same length; rho is that length."""
        self.radius, r, s = self.waiting[0]
        stop = next((i for i, pair in enumerate(self.waiting) if pair[0] > self.radius), len(self.waiting))
        for _, a, b in self.waiting[:stop]:
            self.join(a, b)
        # Of equally short pairs the first with a landmark is the one that REMOVE is asked about.
        first = next(((a, b) for _, a, b in self.waiting[:stop] if a in self.landmarks or b in self.landmarks), (r, s))
        del self.waiting[:stop]
        return first

    def replace(self, x: int) -> None:
        """Algorithm 2."""
        came = x
        if len(self.neighbours[x]) > 2 * math.sqrt(self.n_edges):
            came = min(y for y in self.neighbours[x] if len(self.neighbours[y]) <= math.sqrt(self.n_edges))
        self.landmarks.add(came)
        self.waiting.sort()  # merges sorted runs, which is Algorithm 4
        r, s = self.next_pair()
        while r not in self.landmarks and s not in self.landmarks:
            r, s = self.next_pair()
        while (gone := self.remove(r, s)) is None:
            self.next_pair()
        self.landmarks.remove(gone)

    def remove(self, r: int, s: int) -> int | None:
        """Algorithm 3."""
        return next((z for z in (r, s) if z in self.landmarks and not self.only_by(z)), None)

    def only_by(self, z: int) -> set[int]:
        """OnlyBy(z), Eq. (unique_cover)."""
        return {y for y in self.neighbours[z] | {z} if len((self.neighbours[y] | {y}) & self.landmarks) == 1}
