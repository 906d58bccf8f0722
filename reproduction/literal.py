"""Algorithms 2 to 4 line by line, with explicit edges and a sorted list of pairs: the baseline of computation time.

This is not what the package runs: ``OnlineLandmarks(rule="paper")`` (``src/core/replacement.h``) finds the same
landmarks without edges, pairs or sorting. This file takes time in proportion to n^3, as the paper's corollary states;
use it on short streams only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

INITIAL_RADIUS = 1e-20  # the paper's


class LiteralRun(NamedTuple):
    """Result of :func:`literal_landmarks`."""

    landmarks: list[int]
    """The final L, ascending."""
    radius: float
    """The final rho."""


def literal_landmarks(X: ArrayLike, n_landmarks: int) -> LiteralRun:
    """Landmarks of the stream of rows of ``X`` by Algorithm 2 as printed, with Euclidean distances.

    An edge joins points at distance <= rho, equal lengths enter together, and an "arbitrary" neighbour is the one with
    the smallest index, as everywhere in the package.

    >>> literal_landmarks([[0.0], [1.0], [4.0], [4.2], [9.0]], n_landmarks=2)
    LiteralRun(landmarks=[1, 4], radius=3.2)
    """
    graph = _Graph(n_landmarks)
    for x in np.asarray(X, dtype=np.float64).tolist():
        graph.arrive(x)
    return LiteralRun(sorted(graph.landmarks), graph.radius)


def newcomer(x: int, neighbours: Sequence[set[int]], n_edges: int) -> int:
    """Lines 1-6 of Algorithm 2: the point that joins L when x is uncovered.

    It is x itself if deg(x) <= 2 sqrt(|E|), else the first neighbour of x with degree <= sqrt(|E|). Theorem 3.3
    guarantees that one exists. Degrees are squared, so that the comparisons are exact.

    >>> star = [{1, 2, 3, 4, 5, 6}, *({0} for _ in range(6))]
    >>> newcomer(0, star, n_edges=6)  # 6 > 2 sqrt(6)
    1
    """
    if len(neighbours[x]) ** 2 <= 4 * n_edges:
        return x
    return min(y for y in neighbours[x] if len(neighbours[y]) ** 2 <= n_edges)


class _Graph:
    """The geometric graph (V, E), its landmarks L and the sorted pairs that have no edge yet."""

    def __init__(self, m: int) -> None:
        self.m, self.radius = m, INITIAL_RADIUS
        self.points: list[list[float]] = []
        self.neighbours: list[set[int]] = []
        self.n_edges = 0
        self.landmarks: set[int] = set()
        self.pairs: list[tuple[float, int, int]] = []

    def arrive(self, x: list[float]) -> None:
        n = len(self.points)
        lengths = [(math.dist(x, y), s, n) for s, y in enumerate(self.points)]
        self.points.append(x)
        self.neighbours.append(set())
        for length, s, _ in lengths:
            if length <= self.radius:
                self.join(s, n)
        self.pairs += [pair for pair in lengths if pair[0] > self.radius]
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
        """Add the shortest missing edge and others of the same length, which is the new rho; returns (x_r, x_s)."""
        self.radius, r, s = self.pairs[0]
        stop = next((i for i, pair in enumerate(self.pairs) if pair[0] > self.radius), len(self.pairs))
        for _, a, b in self.pairs[:stop]:
            self.join(a, b)
        # Of equally short pairs, REMOVE gets the first that has a landmark.
        first = next(((a, b) for _, a, b in self.pairs[:stop] if a in self.landmarks or b in self.landmarks), (r, s))
        del self.pairs[:stop]
        return first

    def replace(self, x: int) -> None:
        """Algorithm 2."""
        self.landmarks.add(newcomer(x, self.neighbours, self.n_edges))
        self.pairs.sort()  # Timsort merges sorted runs: Algorithm 4
        r, s = self.next_pair()
        while r not in self.landmarks and s not in self.landmarks:
            r, s = self.next_pair()
        while (redundant := self.remove(r, s)) is None:
            self.next_pair()
        self.landmarks.remove(redundant)

    def remove(self, r: int, s: int) -> int | None:
        """Algorithm 3."""
        return next((z for z in (r, s) if z in self.landmarks and not self.only_by(z)), None)

    def only_by(self, z: int) -> set[int]:
        """OnlyBy(z) of section 2.4."""
        return {y for y in self.neighbours[z] | {z} if len((self.neighbours[y] | {y}) & self.landmarks) == 1}
