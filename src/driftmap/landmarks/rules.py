"""Which landmark leaves when an uncovered point comes in, and what the radius becomes."""

from __future__ import annotations

import numpy as np

from driftmap import _kernels
from driftmap.landmarks.cover import Cover


def tight(cover: Cover, arrival: int) -> tuple[int, int]:
    """Drop the landmark that is cheapest to lose; the radius becomes the covering radius.

    Lower bounds of all costs are at hand; they are made exact from the lowest on, until the lowest is an exact one.
    The radius can shrink as well as grow.
    """
    state = cover.state
    cover.insert(arrival)
    while not state.marks.certain[cheapest := _kernels.cheapest(state.marks.arrival, state.marks.cost)]:
        cover.cost(cheapest)
    left = cover.drop(cheapest)
    state.radius = state.covering_radius()
    return arrival, left


def paper(cover: Cover, arrival: int) -> tuple[int, int]:
    """Algorithm 2 with REMOVE (Algorithm 3), without edges.

    The second loop keeps asking about one pair; an end z of it that is a landmark becomes redundant exactly when the
    radius reaches the cost of z, because raising the radius can only shrink OnlyBy(z).
    """
    state = cover.state
    came = _newcomer(cover, arrival)  # lines 1-6
    cover.insert(came)
    pair = cover.ready().closest_beyond(state)  # lines 7-12
    landmark_slots = {int(state.marks.arrival[slot]): int(slot) for slot in state.slots()}
    ends = [landmark_slots[z] for z in (pair.r, pair.s) if z in landmark_slots]
    slot = min(ends, key=lambda slot: max(pair.distance, cover.cost(slot)))  # lines 13-17; x_r first on a tie
    radius = max(pair.distance, cover.cost(slot))
    left = cover.drop(slot)  # line 18
    state.radius = radius
    return came, left


def _newcomer(cover: Cover, arrival: int) -> int:
    """Lines 1-6 of Algorithm 2: the arrival, or, if its degree is too high, a neighbour of low degree."""
    state = cover.state
    neighbours = _neighbours(cover, arrival)
    degree = len(neighbours)
    if degree**2 <= 4 * (_edges_at_least(cover) + degree):
        return arrival
    edges = cover.search.count_edges(state)
    if degree**2 <= 4 * edges:
        return arrival
    return next(y for y in neighbours if len(_neighbours(cover, y)) ** 2 <= edges)


def _neighbours(cover: Cover, y: int) -> list[int]:
    """N(y): the stored points within the radius of a stored point, ascending."""
    near = np.flatnonzero(cover.search.column(cover.state, y) <= cover.state.radius)
    return [int(z) for z in near if z != y]


def _edges_at_least(cover: Cover) -> int:
    """A lower bound on the number of edges among the points before the newest, from the two numbers per point.

    Every point that is no landmark has an edge to one. And points within half the radius of the same landmark are
    pairwise neighbours where the triangle inequality holds.
    """
    state = cover.state
    earlier = state.n - 1
    bound = earlier - len(cover.ready().arrivals)
    space = cover.search.space
    if space.triangle:
        half = space.comparable(space.true(state.radius) / 2 * (1 - 1e-9))
        counts = [int(_kernels.count_within(state.cells, slot, half)) for slot in state.slots()]
        bound = max(bound, sum(count * (count - 1) // 2 for count in counts))
    return bound
