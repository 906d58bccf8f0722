"""Which landmark leaves when an uncovered point comes in, and what the radius becomes."""

from __future__ import annotations

import numpy as np

from driftmap.landmarks.cover import CHUNKS_AT_A_TIME, Cover
from driftmap.state import CHUNK


def tight(cover: Cover, arrival: int) -> tuple[int, int]:
    """Drop the landmark that is cheapest to lose; the radius becomes the covering radius.

    ``cost`` is known for every landmark, so this needs no search. The radius can shrink as well as grow.
    """
    state = cover.state
    cover.insert(arrival)
    slots = state.slots()
    left = cover.drop(int(slots[np.argmin(state.cost[slots])]))
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
    landmark_slots = {int(state.slot_arrival[slot]): int(slot) for slot in state.slots()}
    ends = [landmark_slots[z] for z in (pair.r, pair.s) if z in landmark_slots]
    slot = min(ends, key=lambda slot: max(pair.distance, state.cost[slot]))  # lines 13-17; x_r first on a tie
    radius = max(pair.distance, float(state.cost[slot]))
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
    state = cover.state
    found: list[int] = []
    for first in range(0, state.n_chunks, CHUNKS_AT_A_TIME):
        chunks = np.arange(first, min(first + CHUNKS_AT_A_TIME, state.n_chunks))
        column = cover.search.column(state, chunks, y)
        found += (np.flatnonzero(column <= state.radius) + first * CHUNK).tolist()
    found.remove(y)
    return found


def _edges_at_least(cover: Cover) -> int:
    """A lower bound on the number of edges among the points before the newest, from the two numbers per point.

    Every point that is no landmark has an edge to one. And points within half the radius of the same landmark are
    pairwise neighbours where the triangle inequality holds.
    """
    state = cover.state
    earlier = state.n - 1
    bound = earlier - len(cover.ready().arrivals)
    if cover.search.space.triangle:
        space = cover.search.space
        half = space.comparable(space.true(state.radius) / 2 * (1 - 1e-9))
        close = state.nearest[:earlier] <= half
        counts = np.bincount(state.nearest_slot[:earlier][close])
        bound = max(bound, int((counts * (counts - 1) // 2).sum()))
    return bound
