"""t-SNE of a few points, exactly (van der Maaten and Hinton, 2008): a cold fit, or a warm start from an earlier map."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftmap.embedding.affinities import Affinities, nearest_affinities
from driftmap.embedding.base import FLAT
from driftmap.utils import SMALLEST_NORMAL, Array, Ids

FEWEST_POINTS = 4
"""Fewer points than this have no neighbourhoods: they are placed by classical MDS."""
NEIGHBOURHOOD = 5.0
"""The perplexity of a point's affinities to those of a map."""
INITIAL_SIZE = 1e-4
"""The size of a map at the start of early exaggeration."""
EXAGGERATION = 12.0
"""By how much attraction is enlarged then, so that clusters find together."""
EXAGGERATED_ITERATIONS, COLD_ITERATIONS = 150, 400
"""Iterations with exaggeration, and after it."""
WARM_ITERATIONS, SETTLING_ITERATIONS = 50, 200
"""Iterations of a warm start, and further ones before the result is compared with a cold fit."""
STALE_LAYOUT = 0.5
"""The share of points that may be exchanged before the next cold fit, which has early exaggeration."""
MOST_WARM_LOSS = 1.1
"""Maximum loss of a warm start, relative to that of the last cold fit."""
MIN_LEARNING_RATE = 50.0
"""The least rate of learning."""
PULL_STEPS = 15
"""Steps of a point to where it is drawn."""


class Layout(NamedTuple):
    """A map of points by t-SNE."""

    ids: Ids
    """Arrival numbers, or 0, 1, 2, ... if they are not known, (a,)."""
    positions: Array
    """(a, k)"""
    loss: float
    """The Kullback-Leibler divergence of affinities on the map from the true ones."""
    reference: float
    """That of the last cold fit."""
    n_exchanged: int
    """Points exchanged since then."""


def neighbourhood(m: int) -> float:
    """The perplexity of a point's affinities to m others; less than m."""
    return min(NEIGHBOURHOOD, 1.0 + (m - 1) / 3)


def attracted(near: Affinities, positions: Array) -> Array:
    """Where points are drawn by those of a map to which they have affinities: a fixed point of attraction.

    It starts from the mean of their positions. A step goes to the mean with weights p / (1 + |y - y_j|^2).
    """
    shares, columns = near.shares, [column.take(near.points) for column in positions.T]
    places = [(shares * column).sum(axis=1) for column in columns]
    for _ in range(PULL_STEPS):
        weights = np.ones_like(shares)
        for place, column in zip(places, columns, strict=True):
            gap = column - place[:, None]
            gap *= gap
            weights += gap
        np.divide(shares, weights, out=weights)
        total = weights.sum(axis=1)
        places = [(weights * column).sum(axis=1) / total for column in columns]
    return np.stack(places, axis=1)


def lay_out(mds: Array, affinities: Array, ids: Ids, start: Array | None, before: Layout | None) -> Layout:
    """A map of points with these affinities to each other, (a, a), given their positions in classical MDS, (a, k).

    A cold fit starts from these positions, a warm start from ``start``, near which it stays.
    """
    m = len(mds)
    if m < FEWEST_POINTS:
        return Layout(ids, mds, 0.0, 0.0, 0)
    warm, n_exchanged = None, 0
    if start is not None and _extent(start) >= _extent(mds):
        warm = descend(affinities, start, WARM_ITERATIONS)
        if before is None:
            return Layout(ids, *warm, warm[1], 0)
        n_exchanged = before.n_exchanged + int(np.sum(~np.isin(ids, before.ids)))
        if n_exchanged <= STALE_LAYOUT * m and warm[1] <= MOST_WARM_LOSS * before.reference:
            return Layout(ids, *warm, before.reference, n_exchanged)
        warm, mds = descend(affinities, warm[0], SETTLING_ITERATIONS), start
    small = mds * (INITIAL_SIZE / max(float(np.sqrt((mds**2).sum(axis=1).mean())), SMALLEST_NORMAL))
    gathered = descend(affinities, small, EXAGGERATED_ITERATIONS, EXAGGERATION)
    cold = descend(affinities, gathered[0], COLD_ITERATIONS)
    return Layout(ids, *(warm if warm is not None and warm[1] <= MOST_WARM_LOSS * cold[1] else cold), cold[1], 0)


def _extent(positions: Array) -> int:
    """In how many directions positions extend."""
    sizes = np.linalg.svd(positions - positions.mean(axis=0), compute_uv=False)
    return int(np.sum(sizes > FLAT * sizes[0])) if sizes.size and sizes[0] > 0 else 0


def descend(affinities: Array, start: Array, n_iter: int, exaggeration: float = 1.0) -> tuple[Array, float]:
    """Gradient descent of t-SNE's loss with momentum and gains (Jacobs, 1988), from a start; positions and loss."""
    m = len(start)
    attraction = exaggeration * affinities
    momentum, rate = (0.5 if exaggeration > 1 else 0.8), max(m / exaggeration, MIN_LEARNING_RATE)
    positions, velocity, gains = start - start.mean(axis=0), np.zeros_like(start), np.ones_like(start)
    near, pull = np.empty((m, m)), np.empty((m, m))
    for _ in range(n_iter):
        _nearness(positions, near)
        np.multiply(near, -1.0 / near.sum(), out=pull)
        pull += attraction
        pull *= near
        gradient = 4.0 * (pull.sum(axis=1)[:, None] * positions - pull @ positions)
        gains = np.maximum(np.where(gradient * velocity < 0, gains + 0.2, gains * 0.8), 0.01)
        velocity = momentum * velocity - rate * gains * gradient
        positions = positions + velocity
        positions -= positions.mean(axis=0)
    _nearness(positions, near)
    near /= near.sum()
    there = affinities > 0
    loss = np.sum(affinities[there] * np.log(affinities[there] / np.maximum(near[there], SMALLEST_NORMAL)))
    return positions, max(float(loss), 0.0)  # a divergence, which rounding may make a little negative


def _nearness(positions: Array, out: Array) -> None:
    """1 / (1 + |y - y'|^2) of all pairs, 0 of a point with itself."""
    squares = (positions**2).sum(axis=1) + 0.5
    np.matmul(positions * -2.0, positions.T, out=out)
    out += squares
    out += squares[:, None]
    np.maximum(out, 1.0, out=out)
    np.divide(1.0, out, out=out)
    np.fill_diagonal(out, 0.0)


def carried_over(before: Layout, ids: Ids, squared: Array) -> Array | None:
    """Where points with these squared distances, (a, a), lie by an earlier map: as it has them, or drawn by those."""
    old = np.isin(ids, before.ids)
    if old.sum() < FEWEST_POINTS:
        return None
    start = np.empty((len(ids), before.positions.shape[1]))
    start[old] = before.positions[np.isin(before.ids, ids)]
    start[~old] = attracted(nearest_affinities(squared[np.ix_(~old, old)], neighbourhood(int(old.sum()))), start[old])
    return start
