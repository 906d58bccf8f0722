"""Compiled loops. The only file that imports numba; it is loaded when the first point arrives.

Two rules keep every result the same to the bit, whichever kernel computed it:

- A squared Euclidean distance is always the sum over coordinates in their order, never reassociated, never fused.
  The radius is some pair's distance and is compared with that pair again later, so one pair must have one value.
- Kernels that use a matrix product use it only to discard landmarks that are certainly not among the two nearest;
  what remains is computed exactly.

``nearest``/``second`` are distances in the comparison scale of the space (squared for Euclidean), ``nearest_slot``
and ``second_slot`` the landmarks they belong to. Of equally near landmarks the one that arrived first counts as
nearer; landmark matrices are therefore given in order of arrival, with ``slots`` naming the slot of each row.
"""

import numba
import numpy as np

from driftmap.state import CHUNK

# Relative slack of the triangle-inequality tests, far above the rounding error of a distance (d * 1e-16).
SLACK = 1.0 + 1e-9
# Below this, squares have lost digits to underflow, and no chunk is skipped on their word.
TINY = 1e-280

jit = numba.njit(cache=True, nogil=True)
# Minimum and maximum do not depend on the order of evaluation: here (and only here) it may be changed.
jit_reduction = numba.njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})


@jit
def squared_distance(x, y):
    """Canonical squared Euclidean distance: coordinates in order."""
    total = 0.0
    for k in range(x.shape[0]):
        gap = x[k] - y[k]
        total += gap * gap
    return total


@jit_reduction
def smallest(values):
    """Minimum of a non-empty vector without NaN."""
    low = values[0]
    for j in range(1, values.shape[0]):
        low = min(low, values[j])
    return low


@jit
def first_equal(values, value):
    """Position of the first entry equal to ``value``, which must be there."""
    j = 0
    while values[j] != value:
        j += 1
    return j


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
def cross_squared(X, columns, out):
    """Squared distances of all rows of X to the points in ``columns`` (d, m)."""
    for row in range(X.shape[0]):
        distances_to_all(X[row], columns, out[row])


@jit
def record_two_nearest(row, buffer, slots, nearest, nearest_slot, second, second_slot):
    """Write the two smallest entries of ``buffer`` (which is spoilt) as the record of ``row``."""
    m = buffer.shape[0]
    if m == 0:
        nearest[row], nearest_slot[row] = np.inf, -1
        second[row], second_slot[row] = np.inf, -1
        return
    low = smallest(buffer)
    p = first_equal(buffer, low)
    nearest[row], nearest_slot[row] = low, slots[p]
    if m == 1:
        second[row], second_slot[row] = np.inf, -1
        return
    buffer[p] = np.inf
    low = smallest(buffer)
    q = first_equal(buffer, low)
    if q == p:  # all others are infinitely far
        q = 0 if p > 0 else 1
    second[row], second_slot[row] = low, slots[q]


@jit
def scan_direct(X, start, stop, columns, slots, limit, nearest, nearest_slot, second, second_slot):
    """Record the two nearest landmarks of rows start..stop-1; stop after the first one beyond ``limit``.

    Returns how many rows from ``start`` on are within the limit.
    """
    buffer = np.empty(columns.shape[1])
    for row in range(start, stop):
        distances_to_all(X[row], columns, buffer)
        record_two_nearest(row, buffer, slots, nearest, nearest_slot, second, second_slot)
        if nearest[row] > limit:
            return row - start
    return stop - start


@jit
def rank_rows(X, rows, columns, slots, nearest, nearest_slot, second, second_slot):
    """Record the two nearest landmarks of the given rows."""
    buffer = np.empty(columns.shape[1])
    for row in rows:
        distances_to_all(X[row], columns, buffer)
        record_two_nearest(row, buffer, slots, nearest, nearest_slot, second, second_slot)


@jit
def scan_matrix(distances, start, slots, limit, nearest, nearest_slot, second, second_slot):
    """As :func:`scan_direct` for rows whose landmark distances are given as a matrix (spoilt)."""
    for i in range(distances.shape[0]):
        record_two_nearest(start + i, distances[i], slots, nearest, nearest_slot, second, second_slot)
        if nearest[start + i] > limit:
            return i
    return distances.shape[0]


@jit
def rank_matrix(distances, rows, slots, nearest, nearest_slot, second, second_slot):
    """As :func:`rank_rows` for rows whose landmark distances are given as a matrix (spoilt)."""
    for i in range(rows.shape[0]):
        record_two_nearest(rows[i], distances[i], slots, nearest, nearest_slot, second, second_slot)


@jit
def centre_rows(X, start, stop, centre, centred, norms):
    """centred = X[start:stop] - centre in the precision of ``centred``; norms = its squared row norms."""
    d = X.shape[1]
    for i in range(stop - start):
        total = 0.0
        for k in range(d):
            gap = X[start + i, k] - centre[k]
            centred[i, k] = gap
            total += gap * gap
        norms[i] = total


@jit
def scan_filtered(
    X, start, landmarks, slots, products, norms, landmark_norms, precision, limit,
    nearest, nearest_slot, second, second_slot, buffer,
):  # fmt: skip
    """As :func:`scan_direct`, with the inner products of centred rows and landmarks as a filter.

    |x|^2 + |l|^2 - 2 x.l in floating point is off by less than ``precision`` * (|x|^2 + max |l|^2). A landmark whose
    approximate distance exceeds the second smallest one by more than twice that is certainly not among the two
    nearest; the others are computed exactly.
    """
    m = landmarks.shape[0]
    largest = landmark_norms.max()
    for i in range(products.shape[0]):
        row = start + i
        for j in range(m):
            buffer[j] = landmark_norms[j] - 2 * products[i, j]
        p = first_equal(buffer, smallest(buffer))
        buffer[p] = np.inf
        low = smallest(buffer)
        threshold = low + 2 * precision * (norms[i] + largest)
        x = X[row]
        d1, p1 = squared_distance(x, landmarks[p]), p
        q = first_equal(buffer, low)
        d2, p2 = squared_distance(x, landmarks[q]), q
        if d2 < d1 or (d2 == d1 and p2 < p1):
            d1, p1, d2, p2 = d2, p2, d1, p1
        buffer[q] = np.inf
        if smallest(buffer) <= threshold:
            for j in range(m):
                if buffer[j] <= threshold:
                    t = squared_distance(x, landmarks[j])
                    if t < d1 or (t == d1 and j < p1):
                        d1, p1, d2, p2 = t, j, d1, p1
                    elif t < d2 or (t == d2 and j < p2):
                        d2, p2 = t, j
        nearest[row], nearest_slot[row] = d1, slots[p1]
        second[row], second_slot[row] = d2, slots[p2]
        if d1 > limit:
            return i
    return products.shape[0]


@jit
def extend_chunks(start, stop, limit, nearest, nearest_slot, second, cost, chunk_nearest, chunk_second):
    """Take recorded rows start..stop-1 into the maxima per chunk and, where covered, per landmark cell."""
    for row in range(start, stop):
        c = row // CHUNK
        if row % CHUNK == 0:
            chunk_nearest[c], chunk_second[c] = nearest[row], second[row]
        else:
            chunk_nearest[c] = max(chunk_nearest[c], nearest[row])
            chunk_second[c] = max(chunk_second[c], second[row])
        if nearest[row] <= limit:
            slot = nearest_slot[row]
            cost[slot] = max(cost[slot], second[row])


@jit
def extend_spread(X, start, stop, spread):
    """Largest squared distance of a chunk's rows from its first row, kept per chunk."""
    for row in range(start, stop):
        c = row // CHUNK
        if row % CHUNK == 0:
            spread[c] = 0.0
        else:
            spread[c] = max(spread[c], squared_distance(X[row], X[c * CHUNK]))


@jit
def chunks_within(X, n, y, spread, reach):
    """Chunks that may hold a row within sqrt(reach[chunk]) of y, by the triangle inequality."""
    count = (n + CHUNK - 1) // CHUNK
    found = np.empty(count, np.int64)
    k = 0
    for c in range(count):
        t = squared_distance(X[c * CHUNK], y)
        if t < TINY or np.sqrt(t) <= (np.sqrt(spread[c]) + np.sqrt(reach[c])) * SLACK:
            found[k] = c
            k += 1
    return found[:k]


@jit
def rows_of_chunks(chunks, n):
    """The rows of the chunks, in order."""
    out = np.empty(chunks.shape[0] * CHUNK, np.int64)
    k = 0
    for c in chunks:
        for row in range(c * CHUNK, min((c + 1) * CHUNK, n)):
            out[k] = row
            k += 1
    return out[:k]


@jit
def column_of_chunks(X, n, chunks, y):
    """Squared distances to y of all rows of the chunks, in order."""
    out = np.empty(chunks.shape[0] * CHUNK)
    k = 0
    for c in chunks:
        for row in range(c * CHUNK, min((c + 1) * CHUNK, n)):
            out[k] = squared_distance(X[row], y)
            k += 1
    return out[:k]


@jit
def insert_landmark(
    chunks, n, column, slot, slot_arrival, nearest, nearest_slot, second, second_slot,
    cost, stale, chunk_nearest, chunk_second,
):  # fmt: skip
    """Let the landmark in ``slot`` compete for every row of the chunks; ``column`` holds its distances to them.

    A cell that loses the row which attained its cost is marked stale.
    """
    arrival = slot_arrival[slot]
    k = 0
    for c in chunks:
        high1, high2 = 0.0, 0.0
        for row in range(c * CHUNK, min((c + 1) * CHUNK, n)):
            t = column[k]
            k += 1
            s1, s2 = nearest_slot[row], second_slot[row]
            if s1 < 0 or t < nearest[row] or (t == nearest[row] and arrival < slot_arrival[s1]):
                if s1 >= 0 and second[row] == cost[s1]:
                    stale[s1] = True
                second[row], second_slot[row] = nearest[row], s1
                nearest[row], nearest_slot[row] = t, slot
                cost[slot] = max(cost[slot], second[row])
            elif s2 < 0 or t < second[row] or (t == second[row] and arrival < slot_arrival[s2]):
                if second[row] == cost[s1]:
                    stale[s1] = True
                second[row], second_slot[row] = t, slot
            high1 = max(high1, nearest[row])
            high2 = max(high2, second[row])
        chunk_nearest[c], chunk_second[c] = high1, high2


@jit
def refresh_costs(chunks, n, nearest_slot, second, stale, cost):
    """Recompute the cost of stale cells, all of whose rows lie in the chunks."""
    for slot in range(stale.shape[0]):
        if stale[slot]:
            cost[slot] = 0.0
    for c in chunks:
        for row in range(c * CHUNK, min((c + 1) * CHUNK, n)):
            slot = nearest_slot[row]
            if stale[slot]:
                cost[slot] = max(cost[slot], second[row])
    stale[:] = False


@jit
def orphans(chunks, n, slot, nearest_slot, second_slot):
    """Rows of the chunks whose nearest or second-nearest landmark is the one in ``slot``."""
    size = 0
    for c in chunks:
        for row in range(c * CHUNK, min((c + 1) * CHUNK, n)):
            if nearest_slot[row] == slot or second_slot[row] == slot:
                size += 1
    found = np.empty(size, np.int64)
    k = 0
    for c in chunks:
        for row in range(c * CHUNK, min((c + 1) * CHUNK, n)):
            if nearest_slot[row] == slot or second_slot[row] == slot:
                found[k] = row
                k += 1
    return found


@jit
def adopt(rows, chunks, n, nearest, nearest_slot, second, cost, chunk_nearest, chunk_second):
    """After re-ranked rows: raise the costs of the cells that hold them now, renew the chunks' maxima."""
    for row in rows:
        slot = nearest_slot[row]
        if slot >= 0:
            cost[slot] = max(cost[slot], second[row])
    for c in chunks:
        high1, high2 = 0.0, 0.0
        for row in range(c * CHUNK, min((c + 1) * CHUNK, n)):
            high1 = max(high1, nearest[row])
            high2 = max(high2, second[row])
        chunk_nearest[c], chunk_second[c] = high1, high2


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
    beyond = np.empty(m)
    best, best_r, best_s = np.inf, np.int64(n), np.int64(n)
    for row in range(n):
        distances_to_all(X[row], columns, buffer)
        for j in range(m):
            beyond[j] = buffer[j] if buffer[j] > limit else np.inf
        low = smallest(beyond)
        if low <= best and low < np.inf:
            for j in range(m):
                if beyond[j] == low:
                    r, s = min(row, arrivals[j]), max(row, arrivals[j])
                    if low < best or r < best_r or (r == best_r and s < best_s):
                        best, best_r, best_s = low, r, s
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
