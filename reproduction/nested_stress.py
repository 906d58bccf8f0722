"""Exact stress of many maps of one stream in 1, 2, ..., K dimensions, in one pass over its pairs of points.

Table 1 needs sigma of about 200 maps in up to three dimensions; for the Hospital stream that is 4.5e7 pairs per map.
Landmark MDS is nested: the first k coordinates of a map in three dimensions are the map in k, so all k share their
coordinate differences. The distances between the points are the same for all maps: a tile of them is computed once,
used for every map while it is in the cache, and never stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.spatial.distance import cdist

from driftmap.utils import Array
from driftmap.utils.concurrency import in_parallel, n_threads, one_thread

ReportFraction = Callable[[float], None]
"""Called from time to time with the fraction of the work that is done."""

TILE_POINTS = 512
"""Points on each side of a tile: three tiles of float64 are 6 MB."""


def no_progress(fraction: float) -> None:
    """Report nothing."""


def nested_stress(points: Array, maps: Sequence[Array], progress: ReportFraction = no_progress) -> Array:
    """Normalised stress sigma of each map in its first 1, 2, ..., K coordinates, (n_maps, K).

    ``maps`` are coordinates of the same points, (n, K) each. All pairs are compared; nothing is sampled. The result
    does not depend on the number of threads.

    >>> points = np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 0.0]])
    >>> nested_stress(points, [points]).round(3)
    array([[0.305, 0.   ]])
    """
    columns = np.ascontiguousarray(np.stack(maps).transpose(0, 2, 1), dtype=np.float64)
    corners = [(a, b) for a in range(0, len(points), TILE_POINTS) for b in range(a, len(points), TILE_POINTS)]
    # Tiles release the interpreter lock nearly all the time; BLAS threads would compete with them.
    with one_thread():
        tiles = []
        for tile in in_parallel(lambda corner: _tile(points, columns, *corner), corners, n_threads(-1)):
            tiles.append(tile)
            progress(len(tiles) / len(corners))
    residual = np.sum([of_tile for of_tile, _ in tiles], axis=0)
    total = float(np.sum([of_tile for _, of_tile in tiles]))
    return np.sqrt(residual / total) if total else np.zeros_like(residual)


def _tile(points: Array, columns: Array, a: int, b: int) -> tuple[Array, float]:
    """Sums over the pairs of one tile: of (d - |y - y'|)^2 for each map and k, and of d^2."""
    rows, others = slice(a, a + TILE_POINTS), slice(b, b + TILE_POINTS)
    d = cdist(points[rows], points[others])
    # A tile on the diagonal contains every pair twice.
    weight = 0.5 if a == b else 1.0
    n_maps, n_components, _ = columns.shape
    residual = np.empty((n_maps, n_components))
    squared, work = np.empty_like(d), np.empty_like(d)
    for i in range(n_maps):
        squared.fill(0.0)
        for k in range(n_components):
            y = columns[i, k]
            np.subtract(y[rows, None], y[None, others], out=work)
            np.multiply(work, work, out=work)
            np.add(squared, work, out=squared)
            np.sqrt(squared, out=work)
            np.subtract(work, d, out=work)
            residual[i, k] = weight * np.vdot(work, work)
    return residual, weight * float(np.vdot(d, d))
