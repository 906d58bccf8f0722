"""Fits by weighted stress: minimisation from a start, the best of several starts, and a placer by the result."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from driftmap import _core
from driftmap.embedding.lmds import ClassicalMDS, classical_mds
from driftmap.embedding.stress_placer import StressPlacer, extent, spread_places
from driftmap.metrics import euclidean
from driftmap.utils import Array

TRIAL_SWEEPS = 50
"""Sweeps from each view of a cold fit; only the best view is continued to convergence."""
TURNED_AXES = 4
"""Axes that views turn, the last ones: turning more of them, where a sweep is slow, has never led to less stress."""
FEW_POINTS = 128
"""A cold fit of more points starts from one of half of them: in a third of the time, to within 1 % of the stress."""
FEWEST_FIXED = {2: 5, 3: 12}
"""By dimension: with fewer fixed points, starting from places all over the map increases the mean stress."""


def cold_fit(distances: Array, masses: Array, n_components: int, tol: float, max_iter: int) -> tuple[Array, float, int]:
    """Return positions of points with these masses, their stress and the number of sweeps, as :func:`arrange` does.

    For up to 128 points, the best of several views of classical MDS. More points start from where the fit of half of
    them, evenly spread, places them.
    """
    n, weights = len(distances), masses / masses.sum()
    if n > FEW_POINTS:
        half = np.linspace(0, n - 1, max(n // 2, FEW_POINTS)).astype(np.int64)
        targets = distances[np.ix_(half, half)]
        positions, _, sweeps = cold_fit(targets, masses[half], n_components, tol, max_iter)
        if positions.shape[1] == n_components:  # else the others may extend in more dimensions
            start = make_placer(positions, targets, masses[half], tol, max_iter).place(distances[:, half])
            start[half] = positions
            positions, stress, more = arrange(distances, weights, start, tol, max_iter)
            return positions, stress, sweeps + more
    mds = classical_mds(distances, n_components + 1, masses)
    best = None
    for start in views(mds, min(mds.n_dimensions, n_components)):
        other = arrange(distances, weights, start, tol, min(TRIAL_SWEEPS, max_iter))
        if best is None or other[1] < (1 - tol) * best[1]:  # else it is the same, or its mirror image
            best = other
    assert best is not None
    positions, stress, sweeps = best
    if TRIAL_SWEEPS <= sweeps < max_iter:
        positions, stress, more = arrange(distances, weights, positions, tol, max_iter - TRIAL_SWEEPS)
        sweeps += more
    return positions, stress, sweeps


def views(mds: ClassicalMDS, k: int) -> Iterator[Array]:
    """Yield starts of a fit in k dimensions: classical MDS, and MDS in one more dimension, seen from other directions.

    Each view turns one of the last four axes towards the additional one; on the line, which has most local minima, by
    more angles.
    """
    yield mds.coordinates[:, :k]
    angles = np.arange(1, 8) * np.pi / 8 if k == 1 else np.arange(1, 4) * np.pi / 4
    axes = range(max(k - TURNED_AXES, 0), k if mds.n_dimensions > k else 0)
    for axis, angle in itertools.product(axes, angles):
        view = mds.coordinates[:, :k].copy()
        view[:, axis] = np.cos(angle) * view[:, axis] + np.sin(angle) * mds.coordinates[:, k]
        yield view


def arrange(distances: Array, weights: Array, start: Array, tol: float, max_iter: int) -> tuple[Array, float, int]:
    """Minimise the stress from a start, by sweeps until one moves points less than ``tol`` times the start's extent.

    The stress, with weights w_i w_j as in weighted SMACOF, never increases. Return the positions around their centre,
    (a, k), their normalised stress, and the number of sweeps.
    """
    if not all(np.isfinite(numbers).all() for numbers in (distances, weights, start)):
        raise ValueError("distances, weights and start must be finite")
    positions, sweeps, moved, tolerance = np.array(start, order="C"), 0, np.inf, tol * extent(start, weights)
    while sweeps < max_iter and moved > tolerance and start.shape[1]:
        moved = _core.sweep(distances, weights, positions)
        sweeps += 1
    positions -= weights @ positions
    return positions, weighted_stress(distances, positions, weights), sweeps


def weighted_stress(distances: Array, coordinates: Array, weights: Array) -> float:
    """Return the normalised stress of points with weights: root of ``sum w w' (d - |y - y'|)^2 / sum w w' d^2`` over
    pairs.

    >>> import numpy as np
    >>> weighted_stress(np.array([[0.0, 2.0], [2.0, 0.0]]), np.array([[0.0], [1.0]]), np.array([1.0, 5.0]))
    0.5
    """
    below = weights @ distances**2 @ weights
    if not below > 0:
        return 0.0
    above = weights @ (distances - euclidean(coordinates, coordinates)) ** 2 @ weights
    return float(np.sqrt(above / below))


def make_placer(positions: Array, distances: Array, masses: Array, tol: float, max_iter: int) -> StressPlacer:
    """Return a placer of points by these ones, given their positions, distances and masses."""
    squared, weights = distances**2, masses / masses.sum()
    a, k = positions.shape
    return StressPlacer(
        positions, weights, *start_map(positions, squared, squared @ weights, weights),
        tol * extent(positions, weights), max_iter, k,
        places=spread_places(positions, weights) if a >= FEWEST_FIXED.get(k, np.inf) else None,
    )  # fmt: skip


def start_map(positions: Array, squared: Array, mean_squared: Array, weights: Array) -> tuple[Array, Array]:
    """Return where a point starts: ``projection squared + shift``, its place in landmark MDS, mapped to this map.

    An affine correction, the one that best brings the fixed points from their places in landmark MDS to their
    positions, absorbs the shift that stress has given to all of them, so few Newton steps remain.
    """
    real, roots = positions.shape[1], np.sqrt(weights)[:, None]
    projection, size = -0.5 * trilateration(positions, weights), extent(positions, weights) or 1.0
    places = np.column_stack([(squared - mean_squared) @ projection.T, np.full(len(positions), size)])
    affine = np.linalg.lstsq(places * roots, positions * roots, rcond=None)[0]
    projection = affine[:real].T @ projection
    return projection, size * affine[real] - projection @ mean_squared


def trilateration(positions: Array, weights: Array) -> Array:
    """Return L'_k of landmark MDS, (k, a), for points in any position: ``-1/2 L'_k (delta_x - delta_mu)`` places x.

    It solves the linear equations of squared distances by least squares, and equals L'_k if the points lie where
    classical MDS puts them.
    """
    size = extent(positions, weights) or 1.0
    scaled = (positions - weights @ positions) / size
    weighted = scaled * weights[:, None]
    return np.linalg.pinv(scaled.T @ weighted, hermitian=True) @ (weighted / size).T
