"""The arrival loop for Euclidean points: both rules, without leaving compiled code.

The same steps as :mod:`driftmap.landmarks.cover` and :mod:`driftmap.landmarks.rules` take for any metric, and held to
the same oracle; here they take microseconds. ``witnesses`` is None where every point is kept.
"""

import numpy as np

from driftmap._kernels.boxes import AHEAD, GUESS, rejoin_all, remember, steps_to_unit
from driftmap._kernels.cells import (
    add_record,
    between_slots,
    cheapest,
    close_pairs_at_least,
    drop_landmark,
    enter,
    set_seconds_euclidean,
)
from driftmap._kernels.compiler import jit, jit_inner
from driftmap._kernels.distances import distances_to_all, squared_distance
from driftmap._kernels.pairs import closest_beyond, count_close_pairs
from driftmap._kernels.scan import two_nearest
from driftmap._kernels.witnesses import join, store

SHORT_LIST = 16
# A short list of neighbours pays off from this many multiplications per cell on.
SHORT_LIST_FROM = 100_000
MOST = 3
"""One in so many rows may be compared with all landmarks, before that is better done for many rows at once."""


# Sorting and counting are spelt out below: numpy's functions take seconds to compile, and there are few landmarks.


@jit_inner
def by_arrival(cells, slots):
    """Write the slots of the landmarks in order of arrival; returns their number."""
    m = 0
    for slot in range(len(cells)):
        if cells[slot].landmark >= 0:
            j = m
            while j > 0 and cells[slots[j - 1]].landmark > cells[slot].landmark:
                slots[j] = slots[j - 1]
                j -= 1
            slots[j] = slot
            m += 1
    return m


@jit_inner
def take_columns(X, cells, slots, m, columns):
    """The landmarks in the first m slots as the first m columns."""
    for j in range(m):
        row = cells[slots[j]].landmark
        for k in range(X.shape[1]):
            columns[k, j] = X[row, k]


@jit_inner
def neighbours_of(X, cells, slot, near):
    """Write the landmarks nearest to one, itself included; all others are at least the returned distance from it."""
    distances = between_slots(X, cells, slot)
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
def exact_cost(X, records, chain, cells, slot, slots, columns):
    """The cost of losing a landmark: in a large cell from the neighbours of the landmark, where these suffice."""
    if cells[slot].certain:
        return cells[slot].cost
    m = by_arrival(cells, slots)
    if m > 2 * SHORT_LIST and cells[slot].size * m * X.shape[1] > SHORT_LIST_FROM:
        near, some = np.empty(SHORT_LIST, np.int64), np.empty((X.shape[1], SHORT_LIST))
        beyond = neighbours_of(X, cells, slot, near)
        k = 0
        for j in range(m):  # in order of arrival
            for z in near:
                if z == slots[j]:
                    slots[k], slots[j] = slots[j], slots[k]
                    k += 1
        for j in range(1, SHORT_LIST):
            i = j
            while i > 0 and cells[slots[i - 1]].landmark > cells[slots[i]].landmark:
                slots[i - 1], slots[i] = slots[i], slots[i - 1]
                i -= 1
        take_columns(X, cells, slots, near.shape[0], some)
        if set_seconds_euclidean(X, records, chain, cells, slot, some, near.shape[0], slots, beyond) == 0:
            return cells[slot].cost
        m = by_arrival(cells, slots)
    take_columns(X, cells, slots, m, columns)
    set_seconds_euclidean(X, records, chain, cells, slot, columns, m, slots, np.inf)
    return cells[slot].cost


@jit_inner
def leave(X, records, chain, cells, slot):
    """Take a landmark whose cost is exact out; returns the number of its point."""
    point = cells[slot].landmark
    drop_landmark(records, chain, cells, slot, between_slots(X, cells, slot))
    return point


@jit_inner
def drop_cheapest(X, records, chain, cells, slots, columns):
    """The tight rule: take out the landmark that is cheapest to lose; returns its point and the covering radius."""
    slot = cheapest(cells)
    while not cells[slot].certain:
        exact_cost(X, records, chain, cells, slot, slots, columns)
        slot = cheapest(cells)
    left = leave(X, records, chain, cells, slot)
    radius = 0.0
    for slot in range(len(cells)):
        radius = max(radius, cells[slot].reach)
    return left, radius


@jit
def exchange(X, n_landmarks, records, chain, cells, point):
    """The tight rule with any stored point as the newcomer; returns who leaves and the covering radius."""
    slots, columns = np.empty(n_landmarks + 1, np.int64), np.empty((X.shape[1], n_landmarks + 1))
    enter(X, records, chain, cells, point)
    return drop_cheapest(X, records, chain, cells, slots, columns)


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


@jit_inner
def replace_paper(X, n, radius, records, chain, cells, slots, columns):
    """Algorithm 2 for the uncovered point n - 1; returns who came, who left and the radius."""
    m = by_arrival(cells, slots)
    came = newcomer(X, n, radius, records, chain, cells, m, n - 1)
    enter(X, records, chain, cells, came)
    m = by_arrival(cells, slots)
    take_columns(X, cells, slots, m, columns)
    reached, r, s = closest_beyond(X, n, columns, m, slots, cells, radius)
    best, best_radius = -1, np.inf
    for end in (r, s):  # x_r first, so it wins a tie
        for slot in range(len(cells)):
            if cells[slot].landmark == end:
                needed = max(reached, exact_cost(X, records, chain, cells, slot, slots, columns))
                if needed < best_radius:
                    best, best_radius = slot, needed
    return came, leave(X, records, chain, cells, best), best_radius


@jit_inner
def compare(A, i, columns, m, slots, distances):
    """Distance and slot of the two landmarks nearest to row i of A; infinity and slots 0 and -1 if there is none."""
    distances_to_all(A, i, columns, m, distances)
    d1, p1, d2, p2 = two_nearest(distances, m)
    return d1, slots[p1] if p1 >= 0 else 0, d2, slots[p2] if p2 >= 0 else -1


@jit_inner
def put(n, m, d1, slot, d2, second_slot, records, chain, cells):
    """Take the newly stored point n into its cell; the very first one is the landmark of its own."""
    if m == 0:
        cells[slot].landmark = n
        d1 = 0.0
    add_record(records, chain, cells, n, d1, slot, d2, second_slot)


@jit_inner
def admit(
    X, n, m, n_landmarks, arrival, radius, records, chain, cells, slots, columns, event, came, left, radii
):  # fmt: skip
    """The tight rule for the uncovered point n - 1, and what happened as an event; returns the radius."""
    came[event, 0], came[event, 1], left[event], radii[event, 0] = arrival, n - 1, -1, radius
    if m > 0:
        enter(X, records, chain, cells, n - 1)
    if m == n_landmarks:
        left[event], radius = drop_cheapest(X, records, chain, cells, slots, columns)
    radii[event, 1] = radius
    return radius


@jit_inner
def advance(
    batch, i, stop, first, X, n, limit, radius, resolution, calm, records, chain, cells, witnesses, boxes, slots,
    columns, distances,
):  # fmt: skip
    """Take in rows of a batch from i on, up to and with the first uncovered one.

    Ends before a row that would have to be stored where there is no room for it, at row ``stop``, and after ``calm``
    rows that were compared with all landmarks, if most were. Returns the rows that are done, the number of stored
    points, whether the last row is uncovered, and the number of landmarks.
    """
    m = by_arrival(cells, slots)
    take_columns(X, cells, slots, m, columns)
    compared, begun = 0, i
    steps, guesses = steps_to_unit(resolution), np.empty(AHEAD, GUESS)
    while i < stop:
        if witnesses is not None and steps > 0:
            i = rejoin_all(batch, i, stop, X, steps, boxes, resolution, witnesses, guesses)
            if i == stop:
                break
        if compared == calm:
            if i - begun < MOST * compared:
                break
            compared, begun = 0, i
        compared += 1
        d1, slot, d2, second_slot = compare(batch, i, columns, m, slots, distances)
        uncovered = d1 > radius  # also the very first point
        if witnesses is not None and resolution >= 0 and not uncovered:
            row = join(X, records, chain, cells, slot, batch, i, d1, resolution, witnesses, 0.0, np.inf, np.inf)
            if row >= 0:
                if steps > 0:
                    remember(batch, i, steps, boxes, row)
                i += 1
                continue
        if n == limit:
            break
        store(batch, i, first, X, n, witnesses, 0.0)
        if witnesses is not None and steps > 0:
            remember(batch, i, steps, boxes, n)
        put(n, m, d1, slot, d2, second_slot, records, chain, cells)
        n += 1
        i += 1
        if uncovered:
            return i, n, True, m
    return i, n, False, m


# The two loops differ in one call; a rule handed over as an argument would be compiled again in every process.


@jit
def learn_tight(
    batch, i, stop, first, X, n, limit, radius, resolution, n_landmarks, calm, records, chain, cells, witnesses,
    boxes, came, left, radii,
):  # fmt: skip
    """Take in rows of a batch from i on by the tight rule.

    Row i is arrival ``first + i``. Stops at row ``stop``, after ``calm`` rows without an event that were compared with
    all landmarks (if most were), after too many events, and before a row for which there is no room. Events go to
    ``came`` (numbers of the row and of the stored point that became a landmark), ``left`` (-1: nobody) and ``radii``
    (before, after). Returns the rows that are done, the number of stored points, the radius and the number of events.
    """
    slots, distances = np.empty(n_landmarks + 1, np.int64), np.empty(n_landmarks + 1)
    columns = np.empty((X.shape[1], n_landmarks + 1))
    events = 0
    while events < came.shape[0]:
        i, n, uncovered, m = advance(
            batch, i, stop, first, X, n, limit, radius, resolution, calm, records, chain, cells, witnesses, boxes,
            slots, columns, distances,
        )  # fmt: skip
        if not uncovered:
            break
        radius = admit(
            X, n, m, n_landmarks, first + i - 1, radius, records, chain, cells, slots, columns, events, came, left,
            radii,
        )  # fmt: skip
        events += 1
    return i, n, radius, events


@jit
def learn_paper(
    batch, i, stop, first, X, n, limit, radius, resolution, n_landmarks, calm, records, chain, cells, witnesses,
    boxes, came, left, radii,
):  # fmt: skip
    """As :func:`learn_tight`, by Algorithm 2."""
    slots, distances = np.empty(n_landmarks + 1, np.int64), np.empty(n_landmarks + 1)
    columns = np.empty((X.shape[1], n_landmarks + 1))
    events = 0
    while events < came.shape[0]:
        i, n, uncovered, m = advance(
            batch, i, stop, first, X, n, limit, radius, resolution, calm, records, chain, cells, witnesses, boxes,
            slots, columns, distances,
        )  # fmt: skip
        if not uncovered:
            break
        came[events, 0], came[events, 1], left[events], radii[events, 0] = first + i - 1, n - 1, -1, radius
        if m == n_landmarks:
            came[events, 1], left[events], radius = replace_paper(X, n, radius, records, chain, cells, slots, columns)
        elif m > 0:
            enter(X, records, chain, cells, n - 1)
        radii[events, 1] = radius
        events += 1
    return i, n, radius, events
