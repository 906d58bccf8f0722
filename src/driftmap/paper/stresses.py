"""Exact stress of many maps of one stream, in one pass over its pairs.

Table 1 needs sigma of some 200 maps in three dimensions each; of the Hospital stream that is 4.5e7 pairs per map. Two
facts make it cheap. Landmark MDS is nested: the first k coordinates of a map in three dimensions are the map in k, so
all k share one set of differences. And the distances between the points are the same for all maps, so a tile of them is
computed once, used for every map while it is in the processor's cache, and never stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from driftmap.parallel import n_cores, one_thread

Array = NDArray[np.float64]
Progress = Callable[[float], None]
"""Told from time to time which fraction of the work is done."""

TILE = 512
"""Points on each side of a tile: three such squares of float64 are 6 MB."""


def no_progress(fraction: float) -> None:
    """Tell nobody."""


def nested_stress(points: Array, maps: Sequence[Array], progress: Progress = no_progress) -> Array:
    """Normalised stress sigma of each map in its first 1, 2, ..., K coordinates, (n_maps, K).

    ``maps`` are coordinates of the same points, (n, K) each. All pairs are compared; nothing is sampled. The result
    does not depend on the number of threads.

    >>> points = np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 0.0]])
    >>> nested_stress(points, [points]).round(3)
    array([[0.305, 0.   ]])
    """
    columns = np.ascontiguousarray(np.stack(maps).transpose(0, 2, 1), dtype=np.float64)
    corners = [(a, b) for a in range(0, len(points), TILE) for b in range(a, len(points), TILE)]
    # Tiles release the interpreter's lock nearly all the time; BLAS threads would only get in their way.
    with one_thread(), ThreadPoolExecutor(n_cores()) as pool:
        tiles = []
        for tile in pool.map(lambda corner: _tile(points, columns, *corner), corners):
            tiles.append(tile)
            progress(len(tiles) / len(corners))
    residual = np.sum([of_tile for of_tile, _ in tiles], axis=0)
    total = float(np.sum([of_tile for _, of_tile in tiles]))
    return np.sqrt(residual / total) if total else np.zeros_like(residual)


def _tile(points: Array, columns: Array, a: int, b: int) -> tuple[Array, float]:
    """Sums over the pairs of one tile: of (d - |y - y'|)^2 for each map and k, and of d^2."""
    rows, others = slice(a, a + TILE), slice(b, b + TILE)
    d = cdist(points[rows], points[others])
    # A tile on the diagonal holds every pair twice.
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
