"""Distances, always in double precision, whatever that of the points, and summed in the same order.

Points are named by matrix and row: a row cut out of a matrix would be counted in and out by numba, each time.
"""

import numpy as np

from driftmap._kernels.compiler import jit, jit_inlined, jit_inlined_reordered, jit_inner

# Relative slack of tests by the triangle inequality and of sums in another order, far above the rounding error of a
# distance (d * 1e-16).
SLACK = 1.0 + 1e-9
# Below this, squares have lost digits to underflow, and nothing is skipped on their word.
TINY = 1e-280
# Coordinates from which on a sum in another order is faster, and one in single precision, if the points are of that.
WIDE, VERY_WIDE = 12, 64
# Between these a sum of squares in single precision has lost nothing to underflow or overflow.
SINGLE = (1e-30, 1e30)


@jit_inlined
def squared_distance(A, i, B, j):
    """Canonical squared Euclidean distance of row i of A and row j of B: coordinates in order."""
    total = 0.0
    for k in range(A.shape[1]):
        gap = np.float64(A[i, k]) - B[j, k]
        total += gap * gap
    return total


@jit_inlined_reordered
def reordered_distance(A, i, B, j, zero):
    """As :func:`squared_distance`, summed in any order and in the precision of ``zero``, or of the points if higher."""
    total = zero
    for k in range(A.shape[1]):
        gap = (A[i, k] + zero) - B[j, k]
        total += gap * gap
    return np.float64(total)


@jit_inlined
def quick_distance(A, i, B, j):
    """As :func:`squared_distance`, but it may be off by a factor of up to :func:`slack_of`."""
    if A.shape[1] < WIDE:
        return squared_distance(A, i, B, j)
    if A.shape[1] >= VERY_WIDE:
        quick = reordered_distance(A, i, B, j, A.dtype.type(0))
        if SINGLE[0] < quick < SINGLE[1]:
            return quick
    return reordered_distance(A, i, B, j, 0.0)


@jit_inlined
def slack_of(A):
    """By what factor :func:`quick_distance` of such points may be off: d sums in single precision, twice."""
    return 1.0 + (A.shape[1] + 8) * 2.0**-22


@jit_inlined
def squared_within(A, i, B, j, limit):
    """As :func:`squared_distance` where that is at most the limit; else something larger than the limit, sooner."""
    limit = max(limit * slack_of(A), TINY)
    if quick_distance(A, i, B, j) > limit:
        return np.inf
    return squared_distance(A, i, B, j)


@jit_inlined
def squared_distances(A, i, B, j, h):
    """Squared distances of row i of A to rows j and h of B: two sums side by side take the time of one."""
    to_j, to_h = 0.0, 0.0
    for k in range(A.shape[1]):
        gap = np.float64(A[i, k]) - B[j, k]
        to_j += gap * gap
        gap = np.float64(A[i, k]) - B[h, k]
        to_h += gap * gap
    return to_j, to_h


@jit_inner
def distances_to_all(A, i, columns, m, out):
    """Squared distances of row i of A to the first m points in ``columns``; the loop over points is innermost."""
    for j in range(m):
        out[j] = 0.0
    d = A.shape[1]
    whole = d - d % 4
    for k in range(0, whole, 4):  # four at a time: the sums, still in order, are loaded and stored less often
        w, x, y, z = A[i, k], A[i, k + 1], A[i, k + 2], A[i, k + 3]
        for j in range(m):
            first, second = w - columns[k, j], x - columns[k + 1, j]
            third, fourth = y - columns[k + 2, j], z - columns[k + 3, j]
            out[j] = out[j] + first * first + second * second + third * third + fourth * fourth
    for k in range(whole, d):
        for j in range(m):
            gap = A[i, k] - columns[k, j]
            out[j] += gap * gap


@jit
def cross_squared(X, columns, out):
    """Squared distances of all rows of X to the points in ``columns`` (d, m)."""
    for row in range(X.shape[0]):
        distances_to_all(X, row, columns, columns.shape[1], out[row])
