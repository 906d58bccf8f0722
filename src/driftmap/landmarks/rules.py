"""Which landmark leaves when an uncovered point comes in, and what the radius becomes.

For any metric; :mod:`driftmap._kernels.learn` takes the same steps for Euclidean points.
"""

from __future__ import annotations

import numpy as np

from driftmap._kernels import doors
from driftmap.landmarks.cover import LONGEST_LOOK, Cover


def tight(cover: Cover, arrival: int) -> tuple[int, int]:
    """Drop the landmark that is cheapest to lose; the radius becomes the covering radius.

    Lower bounds of all costs are at hand; they are made exact from the lowest on, until the lowest is an exact one.
    The radius can shrink as well as grow.
    """
    cover.insert(arrival)
    while not cover.state.cells["certain"][cheapest := doors.cheapest(cover.state.cells)[0]]:
        cover.cost(cheapest)
    left = cover.drop(cheapest)
    cover.state.radius = cover.state.covering_radius()
    return arrival, left


def paper(cover: Cover, arrival: int) -> tuple[int, int]:
    """Algorithm 2 with REMOVE (Algorithm 3), without edges.

    The second loop keeps asking about one pair; an end z of it that is a landmark becomes redundant exactly when the
    radius reaches the cost of z, because raising the radius can only shrink OnlyBy(z).
    """
    state = cover.state
    came = _newcomer(cover, arrival)  # lines 1-6
    cover.insert(came)
    distance, *ends = _closest_beyond(cover)  # lines 7-12
    slot_of = {int(state.cells["landmark"][slot]): int(slot) for slot in state.slots()}
    candidates = [slot_of[z] for z in ends if z in slot_of]
    slot = min(candidates, key=lambda slot: max(distance, cover.cost(slot)))  # lines 13-17; x_r first on a tie
    radius = max(distance, cover.cost(slot))
    left = cover.drop(slot)  # line 18
    state.radius = radius
    return came, left


def _newcomer(cover: Cover, arrival: int) -> int:
    """Lines 1-6 of Algorithm 2: the arrival, or, if its degree is too high, a neighbour of low degree."""
    neighbours = _neighbours(cover, arrival)
    degree = len(neighbours)
    if degree**2 <= 4 * (_edges_at_least(cover) + degree):
        return arrival
    edges = _count_edges(cover)
    if degree**2 <= 4 * edges:
        return arrival
    return next(y for y in neighbours if len(_neighbours(cover, y)) ** 2 <= edges)


def _neighbours(cover: Cover, y: int) -> list[int]:
    """N(y): the stored points within the radius of a stored point, ascending."""
    near = np.flatnonzero(cover.column(y) <= cover.state.radius)
    return [int(z) for z in near if z != y]


def _edges_at_least(cover: Cover) -> int:
    """A lower bound on the number of edges among the points before the newest, without counting them.

    Every point that is no landmark has an edge to one. And points within half the radius of the same landmark are
    pairwise neighbours where the triangle inequality holds.
    """
    state, space = cover.state, cover.space
    bound = state.n - 1 - len(state.slots())
    if space.triangle:
        half = space.comparable(space.true(state.radius) / 2 * (1 - 1e-9))
        bound = max(bound, int(doors.close_pairs_at_least(state.records, state.chain, state.cells, half)))
    return bound


def _count_edges(cover: Cover) -> int:
    """Number of pairs of stored points within the radius."""
    total = 0
    for first in range(1, cover.state.n, LONGEST_LOOK):
        rows = np.arange(first, min(first + LONGEST_LOOK, cover.state.n))
        earlier = np.arange(rows[-1])
        close = (cover.space.pairs(rows, earlier) <= cover.state.radius) & (earlier[None, :] < rows[:, None])
        total += int(close.sum())
    return total


def _closest_beyond(cover: Cover) -> tuple[float, int, int]:
    """The closest pair of a landmark and a stored point that are farther apart than the radius: distance, r < s."""
    state = cover.state
    landmarks = state.landmarks()
    best = (np.inf, state.n, state.n)
    for first in range(0, state.n, LONGEST_LOOK):
        rows = np.arange(first, min(first + LONGEST_LOOK, state.n))
        distances = cover.space.pairs(rows, landmarks)
        best = doors.closest_beyond_matrix(distances, rows, landmarks, state.radius, *best)
    return best
