"""Distances, always summed in the same order.

Points are named by matrix and row: a row cut out of a matrix would be counted in and out by numba, each time.
"""

import numpy as np

from driftmap._kernels.compiler import jit, jit_inlined, jit_inner

# Relative slack of tests by the triangle inequality and of sums in another order, far above the rounding error of a
# distance (d * 1e-16).
SLACK = 1.0 + 1e-9
# Below this, squares have lost digits to underflow, and nothing is skipped on their word.
TINY = 1e-280
# Coordinates from which on four sums side by side are worth the trouble.
WIDE = 12


@jit_inlined
def squared_distance(A, i, B, j):
    """Canonical squared Euclidean distance of row i of A and row j of B: coordinates in order."""
    total = 0.0
    for k in range(A.shape[1]):
        gap = A[i, k] - B[j, k]
        total += gap * gap
    return total


@jit_inlined
def quick_distance(A, i, B, j, limit):
    """As :func:`squared_distance`, but off in the last digits: four sums side by side take the time of one.

    Beyond the limit it may stop sooner, with anything that is larger.
    """
    d = A.shape[1]
    if d < WIDE:
        return squared_distance(A, i, B, j)
    a, b, c, e = 0.0, 0.0, 0.0, 0.0
    whole, total = d - d % 4, 0.0
    k = 0
    while k < whole and total <= limit:
        stop = min(k + 32, whole)
        while k < stop:
            a += (A[i, k] - B[j, k]) ** 2
            b += (A[i, k + 1] - B[j, k + 1]) ** 2
            c += (A[i, k + 2] - B[j, k + 2]) ** 2
            e += (A[i, k + 3] - B[j, k + 3]) ** 2
            k += 4
        total = (a + b) + (c + e)
    for k in range(whole, d):
        total += (A[i, k] - B[j, k]) ** 2
    return total


@jit_inlined
def squared_within(A, i, B, j, limit):
    """As :func:`squared_distance` where that is at most the limit; else something larger than the limit, sooner."""
    limit = max(limit * SLACK, TINY)
    if quick_distance(A, i, B, j, limit) > limit:
        return np.inf
    return squared_distance(A, i, B, j)


@jit_inlined
def squared_distances(A, i, B, j, h):
    """Squared distances of row i of A to rows j and h of B: two sums side by side take the time of one."""
    to_j, to_h = 0.0, 0.0
    for k in range(A.shape[1]):
        gap = A[i, k] - B[j, k]
        to_j += gap * gap
        gap = A[i, k] - B[h, k]
        to_h += gap * gap
    return to_j, to_h


@jit_inner
def distances_to_all(A, i, columns, m, out):
    """Squared distances of row i of A to the first m points in ``columns``; the loop over points is innermost."""
    for j in range(m):
        out[j] = 0.0
    for k in range(A.shape[1]):
        coordinate = A[i, k]
        for j in range(m):
            gap = coordinate - columns[k, j]
            out[j] += gap * gap


@jit
def cross_squared(X, columns, out):
    """Squared distances of all rows of X to the points in ``columns`` (d, m)."""
    d, m = columns.shape
    whole = d - d % 4
    for row in range(X.shape[0]):
        for j in range(m):
            out[row, j] = 0.0
        for k in range(0, whole, 4):  # four at a time: the sums, still in order, are loaded and stored less often
            w, x, y, z = X[row, k], X[row, k + 1], X[row, k + 2], X[row, k + 3]
            for j in range(m):
                first, second = w - columns[k, j], x - columns[k + 1, j]
                third, fourth = y - columns[k + 2, j], z - columns[k + 3, j]
                out[row, j] = out[row, j] + first * first + second * second + third * third + fourth * fourth
        for k in range(whole, d):
            for j in range(m):
                gap = X[row, k] - columns[k, j]
                out[row, j] += gap * gap
