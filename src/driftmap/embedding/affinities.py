"""Affinities: how much each point of a map counts as a neighbour of a point, at the same perplexity for all.

The affinity of point j to another one is proportional to ``exp(-beta d_j^2)``, with the beta at which the perplexity (e
to the power of the entropy: the effective number of neighbours) is as asked for.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from driftmap.utils import SMALLEST_NORMAL, Array, Ids

TAIL = 3.0
"""Points taken into account, in perplexities: the others have hardly any affinity."""
STEPS, LONGEST = 8, 1.5
"""Steps of the search for the logarithm of beta, and the longest of them."""
LEAST_LOG_BETA, MOST_LOG_BETA = -6.0, 40.0
"""The logarithms between which it is sought, where the squared distance at the rank of the perplexity is 1."""
LARGEST_SQUARE = 1e100
"""Larger squared distances than this count as this: their squares would overflow."""


class Affinities(NamedTuple):
    """Affinities of points to those of a map that are near; those of a point sum to 1."""

    points: Ids
    """(n, s), ascending"""
    shares: Array
    """(n, s)"""

    def dense(self, m: int) -> Array:
        """To all m of them, (n, m)."""
        out = np.zeros((len(self.points), m))
        np.put_along_axis(out, self.points, self.shares, axis=1)
        return out


def nearest_affinities(squared: Array, perplexity: float) -> Affinities:
    """Affinities to the nearest points of a map, given squared distances to all, (n, m); each row by itself.

    >>> import numpy as np
    >>> nearest_affinities(np.array([[1.0, 1.0, 1.0, 9.0, 100.0]]), 2.0).shares.round(2)
    array([[0.33, 0.33, 0.33, 0.  , 0.  ]])
    """
    n, m = squared.shape
    s = min(m, math.ceil(TAIL * perplexity) + 1)
    if s < m:
        points = np.argpartition(squared, s - 1, axis=1)[:, :s]
        points.sort(axis=1)  # in an order that does not depend on how the processor finds them
        squared = np.take_along_axis(squared, points, axis=1)
    else:
        points = np.broadcast_to(np.arange(m), (n, m))
    return Affinities(points, shares_at(squared, perplexity))


def shares_at(squared: Array, perplexity: float) -> Array:
    """Affinities of this perplexity, given squared distances, (n, s).

    Newton's method for the logarithm of beta; bisection where a step of his would leave the bracket. As many points
    that are equally near as the perplexity, or more: they share equally.
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


def joint_affinities(squared: Array, perplexity: float) -> Array:
    """t-SNE's affinities of points to each other, (m, m), given squared distances; all of them sum to 1."""
    m = len(squared)
    others = ~np.eye(m, dtype=bool)
    out = np.zeros((m, m))
    out[others] = shares_at(squared[others].reshape(m, m - 1), perplexity).ravel()
    out += out.T
    return out / out.sum()


def shared_affinities(affinities: Array, masses: Array) -> Array:
    """Affinities of m points to each other, (m, m), by what is near both of them, (w, m); all of them sum to 1.

    A step from a point to one that has affinity to it, by mass, and from there to another of the m.
    """
    out = affinities.T @ (affinities * masses[:, None])
    np.fill_diagonal(out, 0.0)
    sums = out.sum(axis=1, keepdims=True)
    out = np.where(sums > 0, out / np.where(sums > 0, sums, 1.0), 1.0 / (len(out) - 1))
    np.fill_diagonal(out, 0.0)
    out += out.T
    return out / out.sum()
