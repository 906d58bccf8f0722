"""The arrival loop for Euclidean points: both rules, without leaving compiled code.

The same steps as :mod:`driftmap.landmarks.cover` and :mod:`driftmap.landmarks.rules` take for any metric, and held to
the same oracle; here they take microseconds.
"""

import numpy as np

from driftmap._kernels.cells import (
    between_slots,
    cheapest,
    close_pairs_at_least,
    drop_landmark,
    insert_euclidean,
    place,
    set_seconds_euclidean,
)
from driftmap._kernels.compiler import jit, jit_inner
from driftmap._kernels.distances import distances_to_all, squared_distance
from driftmap._kernels.pairs import closest_beyond, count_close_pairs
from driftmap._kernels.scan import two_nearest

SHORT_LIST = 16
# A short list of neighbours pays off from this many multiplications per cell on.
SHORT_LIST_FROM = 100_000


# Sorting and counting are spelt out below: numpy's functions take seconds to compile, and there are few landmarks.


@jit_inner
def by_arrival(arrival, slots):
    """Write the slots of the landmarks in order of arrival; returns their number."""
    m = 0
    for slot in range(arrival.shape[0]):
        if arrival[slot] >= 0:
            j = m
            while j > 0 and arrival[slots[j - 1]] > arrival[slot]:
                slots[j] = slots[j - 1]
                j -= 1
            slots[j] = slot
            m += 1
    return m


@jit_inner
def take_columns(X, arrival, slots, m, columns):
    """The landmarks in the first m slots as the first m columns."""
    for k in range(X.shape[1]):
        for j in range(m):
            columns[k, j] = X[arrival[slots[j]], k]


@jit_inner
def neighbours_of(X, arrival, slot, near):
    """Write the landmarks nearest to one, itself included; all others are at least the returned distance from it."""
    distances = between_slots(X, arrival, slot)
    for j in range(near.shape[0]):
        best = 0
        for other in range(1, distances.shape[0]):
            if distances[other] < distances[best]:
                best = other
        near[j] = best
        distances[best] = np.inf
    beyond = np.inf
    for other in range(distances.shape[0]):
        beyond = min(beyond, distances[other])
    return beyond


@jit_inner
def exact_cost(X, cells, landmarks, slot, slots, columns):
    """The cost of losing a landmark: in a large cell from the neighbours of the landmark, where these suffice."""
    if landmarks.certain[slot]:
        return landmarks.cost[slot]
    arrival = landmarks.arrival
    m = by_arrival(arrival, slots)
    if m > 2 * SHORT_LIST and cells.mass[slot] * m * X.shape[1] > SHORT_LIST_FROM:
        near, some = np.empty(SHORT_LIST, np.int64), np.empty((X.shape[1], SHORT_LIST))
        beyond = neighbours_of(X, arrival, slot, near)
        k = 0
        for j in range(m):  # in order of arrival
            for z in near:
                if z == slots[j]:
                    slots[k], slots[j] = slots[j], slots[k]
                    k += 1
        for j in range(1, SHORT_LIST):
            i = j
            while i > 0 and arrival[slots[i - 1]] > arrival[slots[i]]:
                slots[i - 1], slots[i] = slots[i], slots[i - 1]
                i -= 1
        take_columns(X, arrival, slots, near.shape[0], some)
        if set_seconds_euclidean(X, cells, landmarks, slot, some, near.shape[0], slots, beyond) == 0:
            return landmarks.cost[slot]
        m = by_arrival(arrival, slots)
    take_columns(X, arrival, slots, m, columns)
    set_seconds_euclidean(X, cells, landmarks, slot, columns, m, slots, np.inf)
    return landmarks.cost[slot]


@jit_inner
def degree_of(X, n, x, radius):
    """Number of stored points within the radius of one of them, without itself."""
    degree = -1
    for row in range(n):
        degree += squared_distance(X[row], X[x]) <= radius
    return degree


@jit_inner
def newcomer(X, n, radius, cells, landmarks, m, x):
    """Lines 1-6 of Algorithm 2: the arrival, or, if its degree is too high, a neighbour of low degree."""
    degree = degree_of(X, n, x, radius)
    edges = n - 1 - m + degree  # at least: every point that is no landmark has an edge to one
    if degree * degree > 4 * edges:
        half = np.sqrt(radius) / 2 * (1 - 1e-9)  # at least, too; x itself is in no cell's inner half
        edges = close_pairs_at_least(cells, landmarks, half * half) + degree
    if degree * degree > 4 * edges:
        edges = count_close_pairs(X, n, radius)
    if degree * degree > 4 * edges:
        for y in range(n):
            if y != x and squared_distance(X[y], X[x]) <= radius:
                degree = degree_of(X, n, y, radius)
                if degree * degree <= edges:
                    return y
    return x


@jit_inner
def enter(X, cells, landmarks, arrival):
    """Make a stored point a landmark."""
    slot = 0
    while landmarks.arrival[slot] >= 0:
        slot += 1
    landmarks.arrival[slot] = arrival
    insert_euclidean(X, cells, landmarks, slot)


@jit_inner
def leave(X, cells, landmarks, slot):
    """Take a landmark whose cost is exact out; returns its arrival number."""
    arrival = landmarks.arrival[slot]
    drop_landmark(cells, landmarks, slot, between_slots(X, landmarks.arrival, slot))
    return arrival


@jit_inner
def replace_tight(X, n, cells, landmarks, slots, columns):
    """The tight rule for the uncovered arrival n - 1; returns who left and the radius."""
    enter(X, cells, landmarks, n - 1)
    slot = cheapest(landmarks.arrival, landmarks.cost)
    while not landmarks.certain[slot]:
        exact_cost(X, cells, landmarks, slot, slots, columns)
        slot = cheapest(landmarks.arrival, landmarks.cost)
    left = leave(X, cells, landmarks, slot)
    radius = 0.0
    for slot in range(landmarks.reach.shape[0]):
        radius = max(radius, landmarks.reach[slot])
    return left, radius


@jit_inner
def replace_paper(X, n, radius, cells, landmarks, slots, columns):
    """Algorithm 2 for the uncovered arrival n - 1; returns who came, who left and the radius."""
    m = by_arrival(landmarks.arrival, slots)
    came = newcomer(X, n, radius, cells, landmarks, m, n - 1)
    enter(X, cells, landmarks, came)
    m = by_arrival(landmarks.arrival, slots)
    take_columns(X, landmarks.arrival, slots, m, columns)
    reached, r, s = closest_beyond(X, n, columns, m, slots, landmarks.arrival, radius)
    best, best_radius = -1, np.inf
    for end in (r, s):  # x_r first, so it wins a tie
        for slot in range(landmarks.arrival.shape[0]):
            if landmarks.arrival[slot] == end:
                needed = max(reached, exact_cost(X, cells, landmarks, slot, slots, columns))
                if needed < best_radius:
                    best, best_radius = slot, needed
    return came, leave(X, cells, landmarks, best), best_radius


@jit_inner
def advance(X, n, stop, radius, calm, cells, landmarks, slots, columns, distances):
    """Take in rows from n on, up to and with the first uncovered one, or until ``calm`` covered ones or ``stop``.

    Returns the number of rows known now, whether the last one is uncovered, and the number of landmarks.
    """
    m = by_arrival(landmarks.arrival, slots)
    take_columns(X, landmarks.arrival, slots, m, columns)
    last = min(n + calm, stop)
    while n < last:
        slot = np.int64(0)
        if m > 0:
            distances_to_all(X[n], columns, distances[:m])
        d1, p1, d2, p2 = two_nearest(distances, m)
        if m > 0:
            slot = slots[p1]
        else:  # the very first point: there is no cell yet to take it from
            landmarks.arrival[0] = n
            d1 = 0.0
        to = place(cells.following, cells.head, cells.tail, cells.tail_count, cells.mass, cells.free, slot)
        cells.row[to] = n
        cells.nearest[to] = d1
        cells.second[to] = d2
        cells.second_slot[to] = slots[p2] if p2 >= 0 else -1
        landmarks.cost[slot] = max(landmarks.cost[slot], d2)
        landmarks.reach[slot] = max(landmarks.reach[slot], d1)
        n += 1
        if d1 > radius or m == 0:
            return n, True, m
    return n, False, m


# The two loops differ in one call; a rule handed over as an argument would be compiled again in every process.


@jit
def learn_tight(X, n, stop, radius, n_landmarks, calm, cells, landmarks, came, left, radii):
    """Take in rows from n on by the tight rule, up to ``stop``, ``calm`` covered ones in a row or too many events.

    Events go to ``came`` (arrival number of the row and of the point that became a landmark), ``left`` (-1: nobody) and
    ``radii`` (before, after). Returns the number of rows known now, the radius and the number of events.
    """
    slots, distances = np.empty(n_landmarks + 1, np.int64), np.empty(n_landmarks + 1)
    columns = np.empty((X.shape[1], n_landmarks + 1))
    events = 0
    while events < came.shape[0]:
        n, uncovered, m = advance(X, n, stop, radius, calm, cells, landmarks, slots, columns, distances)
        if not uncovered:
            break
        note(came, left, radii, events, n, radius)
        if m < n_landmarks:
            if m > 0:
                enter(X, cells, landmarks, n - 1)
        else:
            left[events], radius = replace_tight(X, n, cells, landmarks, slots, columns)
        radii[events, 1] = radius
        events += 1
    return n, radius, events


@jit
def learn_paper(X, n, stop, radius, n_landmarks, calm, cells, landmarks, came, left, radii):
    """As :func:`learn_tight`, by Algorithm 2."""
    slots, distances = np.empty(n_landmarks + 1, np.int64), np.empty(n_landmarks + 1)
    columns = np.empty((X.shape[1], n_landmarks + 1))
    events = 0
    while events < came.shape[0]:
        n, uncovered, m = advance(X, n, stop, radius, calm, cells, landmarks, slots, columns, distances)
        if not uncovered:
            break
        note(came, left, radii, events, n, radius)
        if m < n_landmarks:
            if m > 0:
                enter(X, cells, landmarks, n - 1)
        else:
            came[events, 1], left[events], radius = replace_paper(X, n, radius, cells, landmarks, slots, columns)
        radii[events, 1] = radius
        events += 1
    return n, radius, events


@jit_inner
def note(came, left, radii, events, n, radius):
    """Begin an event: the newest row comes, nobody leaves."""
    came[events, 0] = n - 1
    came[events, 1] = n - 1
    left[events] = -1
    radii[events, 0] = radius
