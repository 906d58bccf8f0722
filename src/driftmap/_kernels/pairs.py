"""What the paper's rule asks about pairs of points."""

import numpy as np

from driftmap._kernels.compiler import jit, jit_inner
from driftmap._kernels.distances import distances_to_all, squared_distance


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


@jit_inner
def closest_beyond(X, n, columns, m, slots, distances, cells, limit):
    """As :func:`closest_beyond_matrix` over all stored points and the m landmarks in ``columns``."""
    best, best_r, best_s = np.inf, np.int64(n), np.int64(n)
    for row in range(n):
        distances_to_all(X, row, columns, m, distances)
        hits = 0  # counted without a branch first: nearly always there is none
        for j in range(m):
            hits += (distances[j] > limit) & (distances[j] <= best)
        if hits > 0:
            for j in range(m):
                t, z = distances[j], cells[slots[j]].landmark
                if limit < t <= best:
                    r, s = min(row, z), max(row, z)
                    if t < best or r < best_r or (r == best_r and s < best_s):
                        best, best_r, best_s = t, r, s
    return best, best_r, best_s


@jit_inner
def count_close_pairs(X, n, limit):
    """Number of pairs of rows within the limit."""
    total = 0
    for r in range(1, n):
        for s in range(r):
            if squared_distance(X, r, X, s) <= limit:
                total += 1
    return total
