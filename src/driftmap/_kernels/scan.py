"""The two nearest landmarks of points that have just arrived."""

import numpy as np

from driftmap._kernels.compiler import jit, jit_inlined, jit_inner, jit_reordered
from driftmap._kernels.distances import distances_to_all, squared_distance, squared_distances


@jit_inner
def two_nearest(distances, m):
    """The smallest and second-smallest of m distances and their positions; infinity and -1 where there is none."""
    # A plain loop seldom branches if it begins with the newest landmarks, the likely nearest ones; it then beats minima
    # in vector instructions. With <=, of equally near landmarks the one that arrived first wins.
    d1, p1, d2, p2 = np.inf, -1, np.inf, -1
    for j in range(m - 1, -1, -1):
        t = distances[j]
        if t <= d2:
            if t <= d1:
                d1, p1, d2, p2 = t, j, d1, p1
            else:
                d2, p2 = t, j
    return d1, p1, d2, p2


@jit_inlined
def note(found, d1, p1, d2, p2, slots):
    """Write down the two nearest landmarks of a point, given their positions."""
    found.nearest, found.nearest_slot = d1, slots[p1] if p1 >= 0 else -1
    found.second, found.second_slot = d2, slots[p2] if p2 >= 0 else -1


@jit
def scan_direct(X, start, stop, columns, slots, distances, limit, found):
    """Find the two nearest landmarks of rows start..stop-1, up to and with the first one beyond ``limit``.

    Results go to positions 0, 1, ... of ``found``. Returns how many rows are within the limit.
    """
    for i in range(stop - start):
        distances_to_all(X, start + i, columns, columns.shape[1], distances)
        d1, p1, d2, p2 = two_nearest(distances, columns.shape[1])
        note(found[i], d1, p1, d2, p2, slots)
        if d1 > limit:
            return i
    return stop - start


@jit
def scan_matrix(distances, slots, limit, found):
    """As :func:`scan_direct` for rows whose landmark distances are given as a matrix."""
    for i in range(distances.shape[0]):
        d1, p1, d2, p2 = two_nearest(distances[i], distances.shape[1])
        note(found[i], d1, p1, d2, p2, slots)
        if d1 > limit:
            return i
    return distances.shape[0]


@jit_reordered
def centre_rows(X, start, stop, centre, centred, norms):
    """Centred copies of rows start..stop-1, in the precision of ``centred``, and their squared norms."""
    for i in range(stop - start):
        total = 0.0
        for k in range(X.shape[1]):
            gap = X[start + i, k] - centre[k]
            centred[i, k] = gap
            total += gap * gap
        norms[i] = total


@jit
def scan_filtered(
    X, start, stop, landmarks, slots, products, norms, landmark_norms, approximate, error, norm_limit, limit,
    found,
):  # fmt: skip
    """As :func:`scan_direct`, with the inner products of centred rows and landmarks as a filter.

    A distance |x|^2 + |l|^2 - 2 x.l in floating point is off by less than ``error`` * (|x|^2 + max |l|^2). Landmarks
    that on this account cannot be among the two nearest are discarded; the others are computed exactly. Rows with a
    squared norm beyond ``norm_limit`` could overflow in the precision of the products: there all landmarks remain.
    """
    m = landmarks.shape[0]
    largest = landmark_norms[0]
    for j in range(1, m):
        largest = max(largest, landmark_norms[j])
    two = products.dtype.type(2)
    infinite = products.dtype.type(np.inf)
    q1, q2, q3 = 0, 1, 2
    for i in range(stop - start):
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
        d1, d2 = squared_distances(X, start + i, landmarks, p1, p2)
        if d2 < d1 or (d2 == d1 and p2 < p1):
            d1, p1, d2, p2 = d2, p2, d1, p1
        if a3 <= threshold:
            first, other = p1, p2
            for j in range(m):
                if j != first and j != other and not landmark_norms[j] - two * products[i, j] > threshold:
                    t = squared_distance(X, start + i, landmarks, j)
                    if t < d1 or (t == d1 and j < p1):
                        d1, p1, d2, p2 = t, j, d1, p1
                    elif t < d2 or (t == d2 and j < p2):
                        d2, p2 = t, j
        note(found[i], d1, p1, d2, p2, slots)
        if d1 > limit:
            return i
    return stop - start
