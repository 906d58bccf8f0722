"""Anchors: a few stored points, with masses, that stand for all of them better than the landmarks do.

Landmarks lie at the rim of what they cover. Where all distances are alike, most of them stay where the stream began.
Anchors are a sample of the stored points by mass. No distance to them has to be measured: where distances are
Euclidean, the distances of a point to the landmarks already hold its distance to every other point of the space that
the landmarks span. By the law of cosines, for an anchor a near a landmark l,

    |x - a|^2 = |x - l|^2 + |a - l|^2 - 2 <x - l, a - l>,

and the inner product follows from the positions of x and a in classical MDS of the landmarks with all its dimensions.
What the anchor and the point have outside that space is taken as unrelated. With other distances the formula is an
approximation that starts from a measured distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from driftmap.embedding.lmds import classical_mds, place
from driftmap.utils import Array, Ids
from driftmap.utils.hashing import GOLDEN

# Dimensions with less than this share of the largest eigenvalue would multiply the rounding errors of distances.
FAINTEST_SHARE = 1e-9


def choose_anchors(cells: Sequence[Ids], n_anchors: int, weights: Sequence[Array] | None = None) -> tuple[Ids, Array]:
    """Choose up to ``n_anchors`` stored points with masses; returns arrival numbers, ascending, and masses.

    Voronoi cells get anchors by mass (a cell with less than half the mass of an anchor gets none), and in a cell the
    points that come first in an order that depends on nothing but the arrival number and the weight: a sample that is
    spread evenly over time, and that hardly changes when a point arrives or a landmark leaves. Landmarks are anchors
    where they are drawn. The anchors of a cell share its mass equally. Deterministic, and no distance is needed.

    Parameters
    ----------
    cells : for each landmark, the arrival numbers of the stored points nearest to it, in any order
    n_anchors : the most anchors to choose
    weights : for each landmark, the masses of those points; 1 if not given

    Examples
    --------
    >>> import numpy as np
    >>> ids, masses = choose_anchors([np.arange(6), np.arange(6, 10)], n_anchors=5)
    >>> ids, masses
    (array([0, 2, 5, 7, 9]), array([2., 2., 2., 2., 2.]))
    """
    cell = np.repeat(np.arange(len(cells)), [len(ids) for ids in cells])
    ids = np.concatenate([*cells, np.empty(0, np.int64)])
    weight = np.ones(len(ids)) if weights is None else np.concatenate([*weights, np.empty(0)])
    cell_masses = np.bincount(cell, weight, len(cells)).astype(np.float64)
    quotas = _quotas(cell_masses, np.bincount(cell, minlength=len(cells)), n_anchors)
    # heavier points tend to come sooner, as in priority sampling
    order = np.lexsort((ids.astype(np.uint64) * GOLDEN / weight, cell))
    place = np.arange(len(order)) - np.searchsorted(cell[order], cell[order])
    chosen = order[place < quotas[cell[order]]]
    chosen = chosen[np.argsort(ids[chosen])]
    return ids[chosen], (cell_masses / np.maximum(quotas, 1))[cell[chosen]]


def choose_with(kept: Ids, cells: Sequence[Ids], n_anchors: int, weights: Sequence[Array]) -> Ids:
    """Choose up to ``n_anchors`` stored points, those that are kept and others by mass; returns arrival numbers.

    >>> import numpy as np
    >>> choose_with(np.array([1, 9]), [np.arange(6), np.arange(6, 10)], 5, [np.ones(6), np.ones(4)])
    array([0, 1, 5, 7, 9])
    """
    free = [~np.isin(ids, kept) for ids in cells]
    others = [ids[chosen] for ids, chosen in zip(cells, free, strict=True)]
    masses = [weight[chosen] for weight, chosen in zip(weights, free, strict=True)]
    return np.union1d(kept, choose_anchors(others, max(n_anchors - len(kept), 0), masses)[0])


def _quotas(masses: Array, sizes: Ids, n: int) -> Ids:
    """Return the number of anchors of each cell, by mass and at most the number of its points."""
    # Sainte-Lague's method: an additional anchor takes none from another cell, so quotas change little as masses grow.
    counts = np.arange(min(n, int(sizes.max(initial=0))))
    claims = np.where(counts < sizes[:, None], masses[:, None] / (counts + 0.5), 0.0).ravel()
    best = np.argsort(-claims, kind="stable")[:n]
    best = best[claims[best] > 0.0] // max(len(counts), 1)
    return np.bincount(best, minlength=len(masses))


class Inference(NamedTuple):
    """An affine function from squared distances to landmarks to those to anchors: coefficients and offsets."""

    coefficients: Array
    """(m, a)"""
    offsets: Array
    """(a,)"""


def infer_distances(distances: Array, masses: Array, anchors: Array) -> Inference:
    """The law of cosines for anchors, given by their (a, m) distances to landmarks with (m, m) distances and masses.

    >>> import numpy as np
    >>> corners = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0]])
    >>> anchor, x = np.array([[1.0, 1.0]]), np.array([[5.0, 4.0]])
    >>> def between(X, Y):
    ...     return np.linalg.norm(X[:, None] - Y, axis=2)
    >>> inference = infer_distances(between(corners, corners), np.ones(3), between(anchor, corners))
    >>> np.sqrt(between(x, corners) ** 2 @ inference.coefficients + inference.offsets).round(6)
    array([[5.]])
    """
    mds = classical_mds(distances, len(distances), masses)
    # The size of negative eigenvalues shows how far distances are from Euclidean; smaller positive ones are noise then.
    faintest = max(FAINTEST_SHARE * mds.eigenvalues[0], -mds.eigenvalues[-1])
    real = min(int(np.sum(mds.eigenvalues > faintest)), mds.n_dimensions)
    nearest = np.argmin(anchors, axis=1)
    shifts = (place(anchors**2, mds) - mds.coordinates[nearest])[:, :real]
    coefficients = mds.projection[:real].T @ shifts.T
    coefficients[nearest, np.arange(len(anchors))] += 1.0
    # The offset that is right on average for the landmarks; in the Euclidean case it is right for each of them.
    offsets = (masses / masses.sum()) @ (anchors.T**2 - distances**2 @ coefficients)
    return Inference(np.ascontiguousarray(coefficients), offsets)
