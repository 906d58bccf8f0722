"""What an uncovered point changes, for Euclidean points: both rules.

The same steps as :mod:`driftmap.landmarks.rules` takes for any metric, and held to the same oracle.
"""

import numpy as np

from driftmap._kernels.cells import (
    between_slots,
    cheapest,
    close_pairs_at_least,
    drop_landmark,
    enter,
    set_seconds_euclidean,
)
from driftmap._kernels.compiler import jit, jit_inner
from driftmap._kernels.distances import squared_distance
from driftmap._kernels.pairs import closest_beyond, count_close_pairs

# Sorting and counting are spelt out below: numpy's functions take seconds to compile, and there are few landmarks.


@jit_inner
def by_arrival(cells, slots):
    """Write the slots of the landmarks in order of arrival; returns their number.

    They are sorted from the last order on, of which hardly anything has changed.
    """
    m, free = 0, len(cells)
    for k in range(len(cells)):
        slot = cells[k].order
        if cells[slot].landmark < 0:
            free -= 1
            slots[free] = slot
            continue
        j = m
        while j > 0 and cells[slots[j - 1]].landmark > cells[slot].landmark:
            slots[j] = slots[j - 1]
            j -= 1
        slots[j] = slot
        m += 1
    for k in range(len(cells)):
        cells[k].order = slots[k]
    return m


@jit_inner
def take_columns(X, cells, slots, m, columns):
    """The landmarks in the first m slots as the first m columns."""
    for j in range(m):
        row = cells[slots[j]].landmark
        for k in range(X.shape[1]):
            columns[k, j] = X[row, k]


@jit_inner
def leave(X, records, chain, cells, slot, from_slot):
    """Take a landmark whose cost is exact out; returns the number of its point."""
    point = cells[slot].landmark
    between_slots(X, cells, slot, from_slot)
    drop_landmark(records, chain, cells, slot, from_slot)
    return point


@jit_inner
def degree_of(X, n, x, radius):
    """Number of stored points within the radius of one of them, without itself."""
    degree = -1
    for row in range(n):
        degree += squared_distance(X, row, X, x) <= radius
    return degree


@jit_inner
def newcomer(X, n, radius, records, chain, cells, m, x):
    """Lines 1-6 of Algorithm 2: the arrival, or, if its degree is too high, a neighbour of low degree."""
    degree = degree_of(X, n, x, radius)
    edges = n - 1 - m + degree  # at least: every point that is no landmark has an edge to one
    if degree * degree > 4 * edges:
        half = np.sqrt(radius) / 2 * (1 - 1e-9)  # at least, too; x itself is in no cell's inner half
        edges = close_pairs_at_least(records, chain, cells, half * half) + degree
    if degree * degree > 4 * edges:
        edges = count_close_pairs(X, n, radius)
    if degree * degree > 4 * edges:
        for y in range(n):
            if y != x and squared_distance(X, y, X, x) <= radius:
                degree = degree_of(X, n, y, radius)
                if degree * degree <= edges:
                    return y
    return x


@jit
def admit_tight(X, n_landmarks, radius, records, chain, cells, point, slots, columns, distances, column):
    """The tight rule for an uncovered point: it becomes a landmark, and the one that is cheapest to lose leaves.

    To work in: ``slots``, ``columns`` and ``distances`` as in :func:`driftmap._kernels.learn.advance`, ``column`` as in
    :func:`driftmap._kernels.cells.enter`. Returns the points that come and leave (-1: none), and the radius.
    """
    m = by_arrival(cells, slots)
    if cells[slots[0]].landmark == point:  # the very first is one already
        return point, -1, radius
    enter(X, records, chain, cells, point, distances, column)
    if m < n_landmarks:
        return point, -1, radius
    m = by_arrival(cells, slots)
    slot, runner_up = cheapest(cells)
    if not cells[slot].certain:
        take_columns(X, cells, slots, m, columns)
    while not cells[slot].certain:
        set_seconds_euclidean(X, records, chain, cells, slot, columns, m, slots, distances, runner_up)
        slot, runner_up = cheapest(cells)
    left = leave(X, records, chain, cells, slot, distances)
    radius = 0.0
    for slot in range(len(cells)):
        radius = max(radius, cells[slot].reach)
    return point, left, radius


@jit
def admit_paper(X, n_landmarks, radius, records, chain, cells, point, slots, columns, distances, column):
    """As :func:`admit_tight`, by Algorithm 2; the point is the last that is stored."""
    m, n = by_arrival(cells, slots), point + 1
    if cells[slots[0]].landmark == point:
        return point, -1, radius
    if m < n_landmarks:
        enter(X, records, chain, cells, point, distances, column)
        return point, -1, radius
    point = newcomer(X, n, radius, records, chain, cells, m, point)
    enter(X, records, chain, cells, point, distances, column)
    m = by_arrival(cells, slots)
    take_columns(X, cells, slots, m, columns)
    reached, r, s = closest_beyond(X, n, columns, m, slots, distances, cells, radius)
    best, best_radius = -1, np.inf
    for end in (r, s):  # x_r first, so it wins a tie
        for slot in range(len(cells)):
            if cells[slot].landmark == end:
                if not cells[slot].certain:
                    set_seconds_euclidean(X, records, chain, cells, slot, columns, m, slots, distances, np.inf)
                needed = max(reached, cells[slot].cost)
                if needed < best_radius:
                    best, best_radius = slot, needed
    return point, leave(X, records, chain, cells, best, distances), best_radius
