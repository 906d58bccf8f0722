"""Compiled loops. The only file that imports numba; it is loaded when the first point arrives.

Two rules keep every result the same to the bit, whichever kernel computed it:

- A squared Euclidean distance is always the sum over coordinates in their order, never reassociated, never fused.
  The radius is some pair's distance and is compared with that pair again later, so one pair must have one value.
- Kernels that use a matrix product use it only to discard landmarks that are certainly not among the two nearest;
  what remains is computed exactly.

Of equally near landmarks the one that arrived first counts as nearer; landmark matrices are therefore given in order of
arrival, with ``slots`` naming the slot of each landmark. ``cells`` and ``landmarks`` are the records described in
:mod:`driftmap.state`.
"""

import numba
import numpy as np

from driftmap.state import BLOCK

# Relative slack of the triangle-inequality tests, far above the rounding error of a distance (d * 1e-16).
SLACK = 1.0 + 1e-9
# Below this, squares have lost digits to underflow, and nothing is skipped on their word.
TINY = 1e-280

jit = numba.njit(cache=True, nogil=True)
# Sums may be reordered where they only feed a bound with room to spare.
jit_reordered = numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})

# --- distances -------------------------------------------------------------------------------------------------------


@jit
def squared_distance(x, y):
    """Canonical squared Euclidean distance: coordinates in order."""
    total = 0.0
    for k in range(x.shape[0]):
        gap = x[k] - y[k]
        total += gap * gap
    return total


@jit
def squared_distances(x, y, z):
    """Squared distances of x to y and to z: two sums side by side take the time of one."""
    to_y, to_z = 0.0, 0.0
    for k in range(x.shape[0]):
        gap = x[k] - y[k]
        to_y += gap * gap
        gap = x[k] - z[k]
        to_z += gap * gap
    return to_y, to_z


@jit
def distances_to_all(x, columns, out):
    """Squared distances of x to the points in ``columns`` (d, m); the loop over points is innermost."""
    out[:] = 0.0
    for k in range(x.shape[0]):
        coordinate = x[k]
        for j in range(columns.shape[1]):
            gap = coordinate - columns[k, j]
            out[j] += gap * gap


@jit
def take_columns(X, rows, out):
    """out[:, j] = X[rows[j]]."""
    for j in range(rows.shape[0]):
        for k in range(X.shape[1]):
            out[k, j] = X[rows[j], k]


@jit
def cross_squared(X, columns, out):
    """Squared distances of all rows of X to the points in ``columns`` (d, m)."""
    for row in range(X.shape[0]):
        distances_to_all(X[row], columns, out[row])


# --- the two nearest landmarks of a point ----------------------------------------------------------------------------


@jit
def two_nearest(distances):
    """The smallest and second-smallest distance and their positions; infinity and -1 where there is none."""
    # A plain loop seldom branches if it begins with the newest landmarks, the likely nearest ones; it then beats minima
    # in vector instructions. With <=, of equally near landmarks the one that arrived first wins.
    d1, p1, d2, p2 = np.inf, -1, np.inf, -1
    for j in range(distances.shape[0] - 1, -1, -1):
        t = distances[j]
        if t <= d2:
            if t <= d1:
                d1, p1, d2, p2 = t, j, d1, p1
            else:
                d2, p2 = t, j
    return d1, p1, d2, p2


@jit
def scan_direct(X, start, stop, columns, slots, limit, nearest, nearest_slot, second, second_slot):
    """Find the two nearest landmarks of rows start..stop-1, up to and with the first one beyond ``limit``.

    Results go to positions 0, 1, ... of the last four arrays. Returns how many rows are within the limit.
    """
    distances = np.empty(columns.shape[1])
    for i in range(stop - start):
        distances_to_all(X[start + i], columns, distances)
        d1, p1, d2, p2 = two_nearest(distances)
        nearest[i], nearest_slot[i] = d1, slots[p1] if p1 >= 0 else -1
        second[i], second_slot[i] = d2, slots[p2] if p2 >= 0 else -1
        if d1 > limit:
            return i
    return stop - start


@jit
def scan_matrix(distances, slots, limit, nearest, nearest_slot, second, second_slot):
    """As :func:`scan_direct` for rows whose landmark distances are given as a matrix."""
    for i in range(distances.shape[0]):
        d1, p1, d2, p2 = two_nearest(distances[i])
        nearest[i], nearest_slot[i] = d1, slots[p1] if p1 >= 0 else -1
        second[i], second_slot[i] = d2, slots[p2] if p2 >= 0 else -1
        if d1 > limit:
            return i
    return distances.shape[0]


@jit_reordered
def centre_rows(X, start, stop, centre, centred, norms):
    """Centred copies of rows start..stop-1, in the precision of ``centred``, and their squared norms."""
    for i in range(stop - start):
        x = X[start + i]
        total = 0.0
        for k in range(x.shape[0]):
            gap = x[k] - centre[k]
            centred[i, k] = gap
            total += gap * gap
        norms[i] = total


@jit
def scan_filtered(
    X, start, stop, landmarks, slots, products, norms, landmark_norms, error, norm_limit, limit,
    nearest, nearest_slot, second, second_slot, approximate,
):  # fmt: skip
    """As :func:`scan_direct`, with the inner products of centred rows and landmarks as a filter.

    A distance |x|^2 + |l|^2 - 2 x.l in floating point is off by less than ``error`` * (|x|^2 + max |l|^2). Landmarks
    that on this account cannot be among the two nearest are discarded; the others are computed exactly. Rows with a
    squared norm beyond ``norm_limit`` could overflow in the precision of the products: there all landmarks remain.
    """
    m = landmarks.shape[0]
    largest = landmark_norms.max()
    two = products.dtype.type(2)
    infinite = products.dtype.type(np.inf)
    q1, q2, q3 = 0, 1, 2
    for i in range(stop - start):
        x = X[start + i]
        for j in range(m):
            approximate[j] = landmark_norms[j] - two * products[i, j]
        # Begin with the nearest landmarks of the row before: in a stream they are likely the nearest again, and then
        # the loop over all others never branches.
        a1, p1, a2, p2, a3, p3 = infinite, q1, infinite, q2, infinite, q3
        for j in (q1, q2, q3):
            t = approximate[j]
            approximate[j] = infinite
            if t < a1:
                a1, p1, a2, p2, a3, p3 = t, j, a1, p1, a2, p2
            elif t < a2:
                a2, p2, a3, p3 = t, j, a2, p2
            else:
                a3, p3 = t, j
        for j in range(m):
            t = approximate[j]
            if t < a3:
                if t < a1:
                    a1, p1, a2, p2, a3, p3 = t, j, a1, p1, a2, p2
                elif t < a2:
                    a2, p2, a3, p3 = t, j, a2, p2
                else:
                    a3, p3 = t, j
        q1, q2, q3 = p1, p2, p3
        threshold = np.float64(a2) + 2 * error * (norms[i] + largest)
        if not norms[i] <= norm_limit:
            p1, p2, a3, threshold = 0, 1, -infinite, np.inf
        d1, d2 = squared_distances(x, landmarks[p1], landmarks[p2])
        if d2 < d1 or (d2 == d1 and p2 < p1):
            d1, p1, d2, p2 = d2, p2, d1, p1
        if a3 <= threshold:
            first, other = p1, p2
            for j in range(m):
                if j != first and j != other and not landmark_norms[j] - two * products[i, j] > threshold:
                    t = squared_distance(x, landmarks[j])
                    if t < d1 or (t == d1 and j < p1):
                        d1, p1, d2, p2 = t, j, d1, p1
                    elif t < d2 or (t == d2 and j < p2):
                        d2, p2 = t, j
        nearest[i], nearest_slot[i] = d1, slots[p1]
        second[i], second_slot[i] = d2, slots[p2]
        if d1 > limit:
            return i
    return stop - start


# --- cells: the stored points nearest to each landmark ---------------------------------------------------------------


@jit
def place(following, head, tail, tail_count, mass, free, slot):
    """Position of a new record in a cell."""
    if head[slot] < 0 or tail_count[slot] == BLOCK:
        block = free[0]
        if block < 0:
            raise RuntimeError("no free block: the state reserves too few")
        free[0] = following[block]
        following[block] = -1
        if head[slot] < 0:
            head[slot] = block
        else:
            following[tail[slot]] = block
        tail[slot] = block
        tail_count[slot] = 0
    tail_count[slot] += 1
    mass[slot] += 1
    return tail[slot] * BLOCK + tail_count[slot] - 1


@jit
def release(following, free, block, end):
    """Give the blocks of a chain back, from ``block`` up to but without ``end`` (-1: all)."""
    while block != end:
        after = following[block]
        following[block] = free[0]
        free[0] = block
        block = after


@jit
def add_rows(cells, landmarks, start, count, nearest, nearest_slot, second, second_slot):
    """Take newly scanned rows into the cells of their nearest landmarks."""
    rows, nearests, seconds, second_slots = cells.row, cells.nearest, cells.second, cells.second_slot
    following, head, tail, tail_count = cells.following, cells.head, cells.tail, cells.tail_count
    mass, free = cells.mass, cells.free
    cost, reach = landmarks.cost, landmarks.reach
    for i in range(count):
        slot = nearest_slot[i]
        if head[slot] >= 0 and tail_count[slot] < BLOCK:
            # as in ``place``: this runs for every arrival, and handing over six arrays costs more than the work
            k = tail[slot] * BLOCK + tail_count[slot]
            tail_count[slot] += 1
            mass[slot] += 1
        else:
            k = place(following, head, tail, tail_count, mass, free, slot)
        rows[k] = start + i
        nearests[k] = nearest[i]
        seconds[k] = second[i]
        second_slots[k] = second_slot[i]
        cost[slot] = max(cost[slot], second[i])
        reach[slot] = max(reach[slot], nearest[i])


@jit
def cell_rows(cells, slot, only_unknown):
    """The stored points of a cell, all or those whose second-nearest landmark is unknown, in the cell's order."""
    rows, second_slots, following, head = cells.row, cells.second_slot, cells.following, cells.head
    tail, tail_count, mass = cells.tail, cells.tail_count, cells.mass
    out = np.empty(mass[slot], np.int64)
    k = 0
    block = head[slot]
    while block >= 0:
        size = tail_count[slot] if block == tail[slot] else BLOCK
        for i in range(block * BLOCK, block * BLOCK + size):
            out[k] = rows[i]
            k += not only_unknown or second_slots[i] < 0
        block = following[block]
    return out[:k]


@jit
def insert_into_cell(cells, landmarks, slot, newcomer, column):
    """Let the landmark in slot ``newcomer`` compete for the points of a cell; ``column`` holds its distances to them.

    Points it is nearest to move to its cell. Cost and reach of the cell are found anew on the way.
    """
    rows, nearests, seconds, second_slots = cells.row, cells.nearest, cells.second, cells.second_slot
    following, head, tail, tail_count = cells.following, cells.head, cells.tail, cells.tail_count
    mass, free = cells.mass, cells.free
    slot_arrival, cost, certain, reach = landmarks.arrival, landmarks.cost, landmarks.certain, landmarks.reach
    arrival = slot_arrival[newcomer]
    older = arrival < slot_arrival[slot]
    cost[slot], certain[slot], reach[slot] = 0.0, True, 0.0
    kept = 0  # records are moved together on the way: this many are done, the next place is ``there``
    block = head[slot]
    to_block, there = block, block * BLOCK
    k = 0
    while block >= 0:
        size = tail_count[slot] if block == tail[slot] else BLOCK
        for i in range(block * BLOCK, block * BLOCK + size):
            t = column[k]
            k += 1
            d1, d2, s2 = nearests[i], seconds[i], second_slots[i]
            if t < d1 or (t == d1 and older):
                to = place(following, head, tail, tail_count, mass, free, newcomer)
                rows[to], nearests[to], seconds[to], second_slots[to] = rows[i], t, d1, slot
                cost[newcomer] = max(cost[newcomer], d1)
                reach[newcomer] = max(reach[newcomer], t)
                continue
            if t < d2 or (t == d2 and s2 >= 0 and arrival < slot_arrival[s2]):
                d2, s2 = t, newcomer  # also where the second is unknown: it is no nearer than d2
            if kept > 0 and kept % BLOCK == 0:
                to_block = following[to_block]
                there = to_block * BLOCK
            rows[there], nearests[there], seconds[there], second_slots[there] = rows[i], d1, d2, s2
            there += 1
            kept += 1
            cost[slot] = max(cost[slot], d2)
            certain[slot] &= s2 >= 0
            reach[slot] = max(reach[slot], d1)
        after = following[block]
        if to_block != block:  # what lies between is free; given back at once, so that few blocks are ever needed
            release(following, free, following[to_block], block)
            following[to_block] = block
        block = after
    if kept < mass[slot]:
        mass[slot] = kept
        if kept == 0:
            release(following, free, head[slot], -1)
            head[slot], tail[slot], tail_count[slot] = -1, -1, 0
        else:
            release(following, free, following[to_block], -1)
            following[to_block] = -1
            tail[slot], tail_count[slot] = to_block, kept - (kept - 1) // BLOCK * BLOCK


@jit
def between_slots(X, slot_arrival, slot):
    """Squared distances of one landmark to the others, by slot; infinity for free slots."""
    n_slots = slot_arrival.shape[0]
    out = np.empty(n_slots)
    y = X[slot_arrival[slot]]
    for a in range(0, n_slots, 2):
        b = min(a + 1, n_slots - 1)
        out[a], out[b] = squared_distances(y, X[max(slot_arrival[a], 0)], X[max(slot_arrival[b], 0)])
    for other in range(n_slots):
        if slot_arrival[other] < 0:
            out[other] = np.inf
    return out


@jit
def insert_euclidean(X, cells, landmarks, newcomer):
    """Let a new landmark compete for all points that the triangle inequality leaves in question."""
    rows, seconds, second_slots, following = cells.row, cells.second, cells.second_slot, cells.following
    head, tail, tail_count, mass = cells.head, cells.tail, cells.tail_count, cells.mass
    slot_arrival, cost = landmarks.arrival, landmarks.cost
    n_slots = slot_arrival.shape[0]
    y = X[slot_arrival[newcomer]]
    from_y = between_slots(X, slot_arrival, newcomer)
    column = np.empty(mass.max())
    for slot in range(n_slots):
        # |y - z| > 2 b for a landmark z within b of a point: the point is farther than b from y
        if slot == newcomer or slot_arrival[slot] < 0 or from_y[slot] > max(TINY, 4 * SLACK * cost[slot]):
            continue
        k = 0
        contested = False
        block = head[slot]
        while block >= 0:
            size = tail_count[slot] if block == tail[slot] else BLOCK
            for i in range(block * BLOCK, block * BLOCK + size):
                bound = max(TINY, 4 * SLACK * seconds[i])
                s2 = second_slots[i]
                column[k] = np.inf
                if from_y[slot] <= bound and (s2 < 0 or from_y[s2] <= bound):
                    column[k] = squared_distance(X[rows[i]], y)
                    contested |= column[k] <= seconds[i]
                k += 1
            block = following[block]
        if contested:
            insert_into_cell(cells, landmarks, slot, newcomer, column)


@jit
def cheapest(slot_arrival, cost):
    """Slot of the landmark with the smallest cost; of equals, the one that arrived first."""
    best = -1
    for slot in range(slot_arrival.shape[0]):
        if slot_arrival[slot] >= 0 and (
            best < 0
            or cost[slot] < cost[best]
            or (cost[slot] == cost[best] and slot_arrival[slot] < slot_arrival[best])
        ):
            best = slot
    return best


@jit
def set_seconds(cells, landmarks, slot, distances, slots):
    """Look up the unknown second-nearest landmarks of a cell, given the distances of those points to all landmarks."""
    seconds, second_slots, following, head = cells.second, cells.second_slot, cells.following, cells.head
    tail, tail_count = cells.tail, cells.tail_count
    cost, certain = landmarks.cost, landmarks.certain
    k = 0
    block = head[slot]
    while block >= 0:
        size = tail_count[slot] if block == tail[slot] else BLOCK
        for i in range(block * BLOCK, block * BLOCK + size):
            if second_slots[i] < 0:
                _, _, d2, p2 = two_nearest(distances[k])
                k += 1
                seconds[i], second_slots[i] = d2, slots[p2]
                cost[slot] = max(cost[slot], d2)
        block = following[block]
    certain[slot] = True


@jit
def set_seconds_euclidean(X, cells, landmarks, slot, columns, slots, beyond):
    """As :func:`set_seconds`, from the landmarks in ``columns``; all others are at least ``beyond`` from this one.

    Points for which that does not suffice stay as they are; returns their number.
    """
    rows, seconds, second_slots, following = cells.row, cells.second, cells.second_slot, cells.following
    head, tail, tail_count = cells.head, cells.tail, cells.tail_count
    cost, certain = landmarks.cost, landmarks.certain
    distances = np.empty(columns.shape[1])
    left = 0
    block = head[slot]
    while block >= 0:
        size = tail_count[slot] if block == tail[slot] else BLOCK
        for i in range(block * BLOCK, block * BLOCK + size):
            if second_slots[i] < 0:
                distances_to_all(X[rows[i]], columns, distances)
                d1, _, d2, p2 = two_nearest(distances)
                if (np.sqrt(d1) + np.sqrt(d2)) * SLACK < np.sqrt(beyond):
                    seconds[i], second_slots[i] = d2, slots[p2]
                    cost[slot] = max(cost[slot], d2)
                else:
                    left += 1
        block = following[block]
    certain[slot] = left == 0
    return left


@jit
def drop_landmark(cells, landmarks, slot, from_slot):
    """Take a landmark out; its points go to their second-nearest, which must be known.

    What the second-nearest landmark of the points concerned is now, nobody asks yet: it is unknown (slot -1) and no
    nearer than the former one, so distances and costs stay as lower bounds. ``from_slot`` holds the distances of the
    landmark to the others, or zeros where nothing may be concluded from them.
    """
    rows, nearests, seconds, second_slots = cells.row, cells.nearest, cells.second, cells.second_slot
    following, head, tail, tail_count = cells.following, cells.head, cells.tail, cells.tail_count
    mass, free = cells.mass, cells.free
    slot_arrival, cost, certain, reach = landmarks.arrival, landmarks.cost, landmarks.certain, landmarks.reach
    block = head[slot]
    while block >= 0:
        size = tail_count[slot] if block == tail[slot] else BLOCK
        for i in range(block * BLOCK, block * BLOCK + size):
            heir, t = second_slots[i], seconds[i]
            to = place(following, head, tail, tail_count, mass, free, heir)
            rows[to], nearests[to], seconds[to], second_slots[to] = rows[i], t, t, -1
            cost[heir] = max(cost[heir], t)
            certain[heir] = False
            reach[heir] = max(reach[heir], t)
        after = following[block]
        release(following, free, block, after)
        block = after
    head[slot], tail[slot], tail_count[slot], mass[slot] = -1, -1, 0, 0
    slot_arrival[slot], cost[slot], certain[slot], reach[slot] = -1, 0.0, True, 0.0
    for other in range(slot_arrival.shape[0]):
        if slot_arrival[other] < 0 or from_slot[other] > max(TINY, 4 * SLACK * cost[other]):
            continue
        block = head[other]
        while block >= 0:
            size = tail_count[other] if block == tail[other] else BLOCK
            for i in range(block * BLOCK, block * BLOCK + size):
                if second_slots[i] == slot:
                    second_slots[i] = -1
                    certain[other] = False
            block = following[block]


@jit
def count_within(cells, slot, limit):
    """Number of points of a cell within the limit of its landmark."""
    nearests, following, head, tail = cells.nearest, cells.following, cells.head, cells.tail
    tail_count = cells.tail_count
    total = 0
    block = head[slot]
    while block >= 0:
        size = tail_count[slot] if block == tail[slot] else BLOCK
        for i in range(block * BLOCK, block * BLOCK + size):
            total += nearests[i] <= limit
        block = following[block]
    return total


# --- the paper's rule ------------------------------------------------------------------------------------------------


@jit
def column_of(X, n, y):
    """Squared distances of all rows to y."""
    out = np.empty(n)
    for row in range(n):
        out[row] = squared_distance(X[row], y)
    return out


@jit
def closest_beyond_matrix(distances, rows, arrivals, limit, best, best_r, best_s):
    """The smallest entry > limit of a rows-by-landmarks matrix, as (distance, r, s) with r < s, if it beats ``best``.

    Of equal pairs the lexicographically smallest wins.
    """
    for i in range(distances.shape[0]):
        for j in range(distances.shape[1]):
            t = distances[i, j]
            if limit < t <= best:
                r, s = min(rows[i], arrivals[j]), max(rows[i], arrivals[j])
                if t < best or r < best_r or (r == best_r and s < best_s):
                    best, best_r, best_s = t, r, s
    return best, best_r, best_s


@jit
def closest_beyond(X, n, columns, arrivals, limit):
    """As :func:`closest_beyond_matrix` over all stored rows and the landmarks in ``columns`` (d, m)."""
    m = columns.shape[1]
    buffer = np.empty(m)
    best, best_r, best_s = np.inf, np.int64(n), np.int64(n)
    for row in range(n):
        distances_to_all(X[row], columns, buffer)
        for j in range(m):
            t = buffer[j]
            if limit < t <= best:
                r, s = min(row, arrivals[j]), max(row, arrivals[j])
                if t < best or r < best_r or (r == best_r and s < best_s):
                    best, best_r, best_s = t, r, s
    return best, best_r, best_s


@jit
def count_close_pairs(X, n, limit):
    """Number of pairs of rows within the limit."""
    total = 0
    for r in range(1, n):
        x = X[r]
        for s in range(r):
            if squared_distance(x, X[s]) <= limit:
                total += 1
    return total


# --- embedding -------------------------------------------------------------------------------------------------------


@jit
def project(distances, mean_squared, projection, out):
    """out = -1/2 projection (distances^2 - mean_squared), row by row, always in the same order of summation."""
    k, m = projection.shape
    for row in range(distances.shape[0]):
        for c in range(k):
            out[row, c] = 0.0
        for j in range(m):
            gap = -0.5 * (distances[row, j] * distances[row, j] - mean_squared[j])
            for c in range(k):
                out[row, c] += projection[c, j] * gap
