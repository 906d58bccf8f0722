"""t-SNE of some points (van der Maaten and Hinton, 2008): a cold fit, or a warm start from an earlier map."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from driftmap import _core
from driftmap.embedding.affinities import joint_affinities
from driftmap.embedding.base import FLAT
from driftmap.embedding.lmds import classical_mds, place
from driftmap.utils import SMALLEST_NORMAL, Array, Ids

if TYPE_CHECKING:
    from scipy.sparse import csr_array

FEWEST_POINTS = 4
"""Fewer points than this have no neighbourhoods: they are placed by classical MDS."""
INITIAL_SIZE = 1e-4
"""The size of a map at the start of early exaggeration."""
INITIAL_POINTS = 300
"""Classical MDS of this many points says where the others start."""
EXAGGERATION = 12.0
"""By how much attraction is enlarged then, so that clusters find together."""
EXAGGERATED_ITERATIONS, COLD_ITERATIONS = 250, 500
"""Iterations with exaggeration, and after it."""
WARM_ITERATIONS, SETTLING_ITERATIONS = 50, 200
"""Iterations of a warm start, and further ones before the result is compared with a cold fit."""
STALE_LAYOUT = 0.5
"""The share of points that may be exchanged before the next cold fit, which has early exaggeration."""
MOST_WARM_LOSS = 1.1
"""Maximum loss of a warm start, relative to that of the last cold fit."""
BLOCK_ROWS = 512
"""Rows of a block of pairs."""
MIN_LEARNING_RATE = 50.0
"""The least rate of learning; else it is the number of points over the exaggeration, as in openTSNE."""


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


def lay_out(
    distances: Array, perplexity: float, n_components: int, ids: Ids, start: Array | None, before: Layout | None
) -> Layout:
    """A map of points, given their (a, a) distances.

    A cold fit starts from classical MDS, a warm start from ``start``, near which it stays.
    """
    mds = initial_positions(distances, n_components)
    m = len(mds)
    if m < FEWEST_POINTS:
        return Layout(ids, mds, 0.0, 0.0, 0)
    affinities = joint_affinities(distances, perplexity)
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


def initial_positions(distances: Array, n_components: int) -> Array:
    """Positions by classical MDS of some points, evenly spread over all; the others are placed by these."""
    some = np.unique(np.linspace(0, len(distances) - 1, INITIAL_POINTS).astype(np.int64))
    return place(distances[:, some] ** 2, classical_mds(distances[np.ix_(some, some)], n_components))


def _extent(positions: Array) -> int:
    """In how many directions positions extend."""
    sizes = np.linalg.svd(positions - positions.mean(axis=0), compute_uv=False)
    return int(np.sum(sizes > FLAT * sizes[0])) if sizes.size and sizes[0] > 0 else 0


def descend(affinities: csr_array, start: Array, n_iter: int, exaggeration: float = 1.0) -> tuple[Array, float]:
    """Gradient descent of t-SNE's loss from a start; positions and loss."""
    positions = np.ascontiguousarray(start - start.mean(axis=0))
    momentum, rate = (0.5 if exaggeration > 1 else 0.8), max(len(start) / exaggeration, MIN_LEARNING_RATE)
    starts, columns = (index.astype(np.int64) for index in (affinities.indptr, affinities.indices))
    _core.descend_tsne(starts, columns, affinities.data, exaggeration, momentum, rate, n_iter, positions)
    return positions, loss_of(affinities, positions)


def loss_of(affinities: csr_array, positions: Array) -> float:
    """The Kullback-Leibler divergence of affinities on the map from the true ones."""
    pairs = affinities.tocoo()
    squares = ((positions[pairs.row] - positions[pairs.col]) ** 2).sum(axis=1)
    total = sum(
        float(_nearness(positions, rows).sum()) for rows in np.array_split(positions, len(positions) // 512 + 1)
    )
    on_map = np.maximum(1.0 / (1.0 + squares) / (total - len(positions)), SMALLEST_NORMAL)
    there = pairs.data > 0
    loss = np.sum(pairs.data[there] * np.log(pairs.data[there] / on_map[there]))
    return max(float(loss), 0.0)  # a divergence, which rounding may make a little negative


def _nearness(positions: Array, rows: Array) -> Array:
    squares = (rows**2).sum(axis=1)[:, None] + (positions**2).sum(axis=1) - 2.0 * rows @ positions.T
    return 1.0 / (1.0 + np.maximum(squares, 0.0))
