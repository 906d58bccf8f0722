"""Affinities: how much each point of a map counts as a neighbour of a point, at the same perplexity for all.

The affinity of point j to another one is proportional to ``exp(-beta d_j^2)``, with the beta at which the perplexity (e
to the power of the entropy: the effective number of neighbours) is as asked for.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from driftmap.metrics import euclidean
from driftmap.utils import SMALLEST_NORMAL, Array, Ids

if TYPE_CHECKING:
    from scipy.sparse import csr_array

TAIL = 3.0
"""Points taken into account, in perplexities: the others have hardly any affinity."""
STEPS, LONGEST = 8, 1.5
"""Steps of the search for the logarithm of beta, and the longest of them."""
LEAST_LOG_BETA, MOST_LOG_BETA = -6.0, 40.0
"""The logarithms between which it is sought, where the squared distance at the rank of the perplexity is 1."""
LARGEST_SQUARE = 1e100
"""Larger squared distances than this count as this: their squares would overflow."""


def shares_at(squared: Array, perplexity: float) -> Array:
    """Affinities of this perplexity, given squared distances, (n, s); each row by itself.

    Newton's method for the logarithm of beta; bisection where a step of his would leave the bracket. As many points
    that are equally near as the perplexity, or more: they share equally.

    >>> import numpy as np
    >>> shares_at(np.array([[1.0, 1.0, 1.0, 9.0, 100.0]]), 2.0).round(2)
    array([[0.33, 0.33, 0.33, 0.  , 0.  ]])
    """
    excess = squared - squared.min(axis=1)[:, None]
    rank = min(math.ceil(perplexity), excess.shape[1] - 1)
    scale = np.partition(excess, rank, axis=1)[:, rank]
    scale = np.where(scale > 0, scale, excess.max(axis=1))
    excess /= np.where(scale > 0, scale, 1.0)[:, None]
    np.minimum(excess, LARGEST_SQUARE, out=excess)
    squares, target = excess * excess, math.log(perplexity)
    n = len(excess)
    b, low, high = np.zeros(n), np.full(n, LEAST_LOG_BETA), np.full(n, MOST_LOG_BETA)
    for _ in range(STEPS):
        beta = np.exp(b)
        weights = np.exp(-beta[:, None] * excess)
        total = weights.sum(axis=1)
        mean = (weights * excess).sum(axis=1) / total
        variance = (weights * squares).sum(axis=1) / total - mean * mean
        gap = np.log(total) + beta * mean - target
        low, high = np.where(gap > 0, b, low), np.where(gap > 0, high, b)
        step = gap / np.maximum(beta * beta * variance, SMALLEST_NORMAL)
        b = b + np.clip(step, (low - b) / 2, (high - b) / 2).clip(-LONGEST, LONGEST)
    weights = np.exp(-np.exp(b)[:, None] * excess)
    return weights / weights.sum(axis=1)[:, None]


def nearest_affinities(distances: Array, perplexity: float) -> tuple[Ids, Array]:
    """Of points to their nearest others, given the (n, n) distances: numbers, ascending, and shares, both (n, s).

    Of equally near ones the earliest are taken.
    """
    n = len(distances)
    s = min(n - 1, math.ceil(TAIL * perplexity) + 1)
    points, squared = np.empty((n, s), np.int64), np.empty((n, s))
    for i in range(n):
        row = distances[i].copy()
        row[i] = np.inf
        last = np.partition(row, s - 1)[s - 1]
        nearer, equal = np.flatnonzero(row < last), np.flatnonzero(row == last)
        points[i] = np.sort(np.concatenate([nearer, equal[: s - len(nearer)]]))
        squared[i] = row[points[i]] ** 2
    return points, shares_at(squared, perplexity)


def joint_affinities(distances: Array, perplexity: float) -> csr_array:
    """t-SNE's affinities of points to each other, a sparse (n, n) matrix, given their distances; all sum to 1."""
    from scipy.sparse import csr_array  # it takes long to import

    points, shares = nearest_affinities(distances, perplexity)
    n, s = points.shape
    out = csr_array((shares.ravel(), points.ravel(), np.arange(0, n * s + 1, s)), shape=(n, n))
    out = (out + out.T) / (2.0 * n)
    out.sort_indices()
    return out


def divergences(distances: Array, positions: Array, perplexity: float) -> Array:
    """Per point, the Kullback-Leibler divergence of its affinities on the map from the true ones, (n,).

    Of n points to each other, given their (n, n) distances and (n, k) positions. On the map, affinities are those of
    t-SNE for each point by itself: proportional to 1 / (1 + |y - y'|^2).
    """
    points, shares = nearest_affinities(distances, perplexity)
    near = 1.0 / (1.0 + euclidean(positions, positions) ** 2)
    np.fill_diagonal(near, 0.0)
    on_map = np.take_along_axis(near, points, axis=1) / np.maximum(near.sum(axis=1), SMALLEST_NORMAL)[:, None]
    ratios = np.divide(shares, np.maximum(on_map, SMALLEST_NORMAL), out=np.ones_like(shares), where=shares > 0)
    return np.maximum((shares * np.log(ratios)).sum(axis=1), 0.0)
