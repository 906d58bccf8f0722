"""Measures of the quality of a map. Each one suits the embeddings that preserve what it measures:

====================================================  ================================================================
measure                                               suitable for
====================================================  ================================================================
``stress``, ``stress_estimate``, ``landmark_stress``  stress, lmds, weighted-lmds, which preserve distances
``scaled_stress``                                     these and, against geodesics, isomap: up to a factor
``residual_variance``                                 these and, against geodesics, isomap: up to a linear function
``procrustes_error``                                  all except the t-SNE family, if the true coordinates are known
``trustworthiness``, ``neighborhood_preservation``    all; the t-SNE family preserves only neighbours
``displacement``                                      all: compares two frames of a map
``covering_radius``                                   the landmarks; independent of the embedding
====================================================  ================================================================

Measures over all pairs work in blocks, without an n x n matrix; ``stress_estimate`` samples pairs and gives a standard
error.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from driftmap.metrics import MetricLike, Store, euclidean
from driftmap.metrics.factory import stored
from driftmap.utils import Array, Ids, validation
from driftmap.utils.errors import InputError

__all__ = [
    "Displacement",
    "Estimate",
    "covering_radius",
    "displacement",
    "landmark_stress",
    "neighborhood_preservation",
    "procrustes_error",
    "residual_variance",
    "scaled_stress",
    "stress",
    "stress_estimate",
    "trustworthiness",  # noqa: F822 - see __getattr__
]

BLOCK_ROWS = 512
"""Rows of a block of distances."""


class Estimate(NamedTuple):
    """A sampled value and its standard error."""

    value: float
    standard_error: float


class Displacement(NamedTuple):
    """How far points moved between two maps, relative to the diameter of the first."""

    median: float
    max: float


class FittedMap(Protocol):
    """A map with the distances and positions of its landmarks, such as a fitted DriftMap."""

    @property
    def landmark_embedding_(self) -> Array: ...
    def landmark_distances(self) -> Array: ...


def stress(X: Any, coordinates: Any, *, metric: MetricLike = "euclidean") -> float:
    """Return the normalised stress sigma of a map: root of ``sum (d - |y - y'|)^2 / sum d^2`` over all pairs.

    It is exact, takes time proportional to the number of pairs, and needs little memory.

    >>> stress([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]], [[0.0], [5.0], [10.0]])
    0.0
    """
    above, below = 0.0, 0.0
    for d, on_map in _all_pairs(*_points(X, coordinates, metric)):
        above += float(np.sum((d - on_map) ** 2))
        below += float(np.sum(d**2))
    return _root(above, below)


def scaled_stress(X: Any, coordinates: Any, *, metric: MetricLike = "euclidean") -> float:
    """Return the normalised stress of a map after scaling it by the factor that minimises the stress.

    It suits maps that preserve distances up to a factor, such as Isomap against geodesic distances
    (``metric="precomputed"``): paths in its graph are slightly longer than geodesics.

    >>> scaled_stress([[0.0], [1.0], [3.0]], [[0.0], [2.0], [6.0]])
    0.0
    """
    both, of_data, of_map = 0.0, 0.0, 0.0
    for d, on_map in _all_pairs(*_points(X, coordinates, metric)):
        both += float(np.sum(d * on_map))
        of_data += float(np.sum(d**2))
        of_map += float(np.sum(on_map**2))
    if of_map == 0:
        return _root(of_data, of_data)
    return _root(max(of_data - both**2 / of_map, 0.0), of_data)


def residual_variance(X: Any, coordinates: Any, *, metric: MetricLike = "euclidean") -> float:
    """Return 1 - R^2 between true distances and those on the map (Tenenbaum, de Silva and Langford, 2000).

    For isomap, pass geodesic distances with ``metric="precomputed"`` if they are known.

    >>> round(residual_variance([[0.0], [1.0], [3.0]], [[0.0], [2.0], [6.0]]), 12)
    0.0
    """
    sums, n = np.zeros(5), 0
    store, Y = _points(X, coordinates, metric)
    shifts = None
    for d, on_map in _all_pairs(store, Y):
        if shifts is None:  # shifting close to the means avoids cancellation below
            shifts = float(d.mean()), float(on_map.mean())
        x, y = d - shifts[0], on_map - shifts[1]
        sums += [x.sum(), y.sum(), np.sum(x * x), np.sum(y * y), np.sum(x * y)]
        n += x.size
    if n == 0:
        return 0.0
    x, y, xx, yy, xy = sums / n
    variances = max(xx - x * x, 0.0) * max(yy - y * y, 0.0)
    return float(1.0 - (xy - x * y) ** 2 / variances) if variances > 0 else 1.0


def neighborhood_preservation(
    X: Any, coordinates: Any, *, n_neighbors: int = 12, metric: MetricLike = "euclidean"
) -> float:
    """Return the mean share of a point's ``n_neighbors`` nearest neighbours that are also nearest on the map (recall).

    It suits all embeddings, above all the t-SNE family. Unlike trustworthiness, it counts lost neighbours, and ignores
    how far away false neighbours are.

    >>> neighborhood_preservation([[0.0], [1.0], [3.0], [7.0]], [[0.0], [1.0], [3.0], [-9.0]], n_neighbors=1)
    0.75
    """
    validation.integer_at_least(n_neighbors, "n_neighbors", 1)
    store, Y = _points(X, coordinates, metric)
    n, kept = len(store), 0
    if n <= n_neighbors:
        problem = f"={n_neighbors} is too many for {n} points: at most {n - 1} are possible"
        raise InputError(problem, parameter="n_neighbors")
    for first in range(0, n, BLOCK_ROWS):
        rows = np.arange(first, min(first + BLOCK_ROWS, n))
        true, found = (_nearest(d, rows, n_neighbors) for d in (store.pairs(rows, np.arange(n)), euclidean(Y[rows], Y)))
        is_true = np.zeros((len(rows), n), dtype=bool)
        np.put_along_axis(is_true, true, True, axis=1)
        kept += int(np.take_along_axis(is_true, found, axis=1).sum())
    return kept / (n * n_neighbors)


def _nearest(distances: Array, rows: Ids, k: int) -> Ids:
    """Return the k nearest neighbours of each of these points; ties go to the first."""
    distances[np.arange(len(rows)), rows] = np.inf
    return np.argsort(distances, axis=1, kind="stable")[:, :k]


def procrustes_error(truth: Any, coordinates: Any) -> float:
    """Return the distance of a map from the true coordinates, after the best similarity transformation.

    This is the root mean square residual, divided by that of the true coordinates about their mean: 0 for the same
    shape, 1 for unrelated coordinates. It suits embeddings that preserve shapes if the true coordinates are known:
    isomap on a developable sheet, stress and landmark MDS on points of a plane.

    >>> round(procrustes_error([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]], [[5.0, 5.0], [5.0, 9.0], [3.0, 5.0]]), 12)
    0.0
    """
    true, found = validation.points(truth), validation.places(coordinates)
    if len(true) != len(found):
        raise ValueError(f"truth has {len(true)} rows, but coordinates has {len(found)}")
    true, found = true - true.mean(axis=0), found - found.mean(axis=0)
    spread, size = np.linalg.norm(true), np.linalg.norm(found)
    if spread == 0:
        return 0.0 if size == 0 else 1.0
    if size == 0:
        return 1.0
    fit = float(np.linalg.svd((found / size).T @ (true / spread), compute_uv=False).sum())
    return float(np.sqrt(max(1.0 - fit**2, 0.0)))


def stress_estimate(
    X: Any,
    coordinates: Any,
    *,
    n_pairs: int = 1_000_000,
    metric: MetricLike = "euclidean",
    random_state: Any = 0,
) -> Estimate:
    """Estimate the normalised stress from a random sample of pairs, with its standard error.

    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((2000, 3))
    >>> estimate = stress_estimate(X, X[:, :2], n_pairs=20_000)
    >>> abs(estimate.value - stress(X, X[:, :2])) < 4 * estimate.standard_error
    True
    """
    from sklearn.utils import check_random_state  # slow to import

    validation.integer_at_least(n_pairs, "n_pairs", 2)
    store, Y = _points(X, coordinates, metric)
    n = len(store)
    if n * (n - 1) // 2 <= n_pairs:
        return Estimate(stress(X, coordinates, metric=metric), 0.0)
    random = check_random_state(random_state)
    above, below = np.empty(n_pairs), np.empty(n_pairs)
    # Pairs are drawn in small squares, so that the metric measures blocks instead of single pairs.
    side = 8 if n > 64 else 1
    per_square = side * side
    for first in range(0, n_pairs, per_square):
        rows, columns = random.randint(n, size=side), random.randint(n, size=side)
        while np.intersect1d(rows, columns).size:
            columns = random.randint(n, size=side)
        d = store.pairs(rows, columns)
        gap = d - euclidean(Y[rows], Y[columns])
        size = min(per_square, n_pairs - first)
        above[first : first + size] = (gap**2).ravel()[:size]
        below[first : first + size] = (d**2).ravel()[:size]
    value = _root(float(above.sum()), float(below.sum()))
    if value in (0.0, float("inf")):
        return Estimate(value, 0.0)
    # Delta method for the root of a ratio. Squares are independent of each other, pairs within a square are not.
    residual = above - value**2 * below
    sums = np.add.reduceat(residual, np.arange(0, n_pairs, per_square))
    error = np.sqrt(np.sum(sums**2)) / below.sum() / (2 * value)
    return Estimate(value, float(error))


def landmark_stress(fitted: FittedMap) -> float:
    """Return the normalised stress of a fitted map over the landmarks only (the paper's sigma_L)."""
    return stress(fitted.landmark_distances(), fitted.landmark_embedding_, metric="precomputed")


def covering_radius(
    X: Any, landmarks: Any, *, metric: MetricLike = "euclidean", metric_params: dict[str, Any] | None = None
) -> float:
    """Return the largest distance of a point to its nearest landmark; landmarks are given as points.

    >>> covering_radius([[0.0], [2.0], [7.0]], landmarks=[[0.0], [5.0]])
    2.0
    """
    store = stored(landmarks, metric, metric_params)
    queries, ids = store.check_queries(X), np.arange(len(store))
    blocks = [store.to_stored(queries[a : a + BLOCK_ROWS], ids) for a in range(0, len(queries), BLOCK_ROWS)]
    return float(max(block.min(axis=1).max() for block in blocks))


def displacement(before: Any, after: Any) -> Displacement:
    """Measure how far points moved between two maps, relative to the first map's diameter (its largest distance).

    >>> displacement([[0.0], [10.0]], [[0.1], [10.0]])
    Displacement(median=0.005, max=0.01)
    """
    old, new = validation.places(before), validation.places(after)
    if old.shape != new.shape:
        raise ValueError(f"the maps must have the same shape, got {old.shape} and {new.shape}")
    moved = np.linalg.norm(new - old, axis=1)
    diameter = _diameter(old)
    if diameter == 0:
        return Displacement(*(0.0 if not moved.any() else float("inf") for _ in range(2)))
    return Displacement(float(np.median(moved)) / diameter, float(moved.max()) / diameter)


def __getattr__(name: str) -> Any:
    """Import scikit-learn's ``trustworthiness`` on first use, because scikit-learn is slow to import."""
    if name == "trustworthiness":
        from sklearn.manifold import trustworthiness

        return trustworthiness
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _diameter(X: Array) -> float:
    """Return the largest distance between two points."""
    reach = np.linalg.norm(X - X.mean(axis=0), axis=1)
    far = X[np.argmax(np.linalg.norm(X - X[np.argmax(reach)], axis=1))]
    least = np.linalg.norm(X - far, axis=1).max()  # a lower bound of the diameter
    # Both ends of the diameter are at least this far from the mean; most points are not.
    outer = X[reach >= (least - reach.max()) * (1 - 1e-9)]
    return max(float(euclidean(outer[a : a + BLOCK_ROWS], outer).max()) for a in range(0, len(outer), BLOCK_ROWS))


def _all_pairs(store: Store, Y: Array) -> Iterator[tuple[Array, Array]]:
    """Yield blocks of true distances and those on the map; each pair occurs once."""
    n = len(store)
    for first in range(0, n, BLOCK_ROWS):
        rows = np.arange(first, min(first + BLOCK_ROWS, n))
        for start in range(0, first + BLOCK_ROWS, 8 * BLOCK_ROWS):
            columns = np.arange(start, min(start + 8 * BLOCK_ROWS, rows[-1] + 1))
            d, on_map = store.pairs(rows, columns), euclidean(Y[rows], Y[columns])
            if columns[-1] >= first:
                once = columns[None, :] < rows[:, None]
                d, on_map = d[once], on_map[once]
            if d.size:
                yield d, on_map


def _points(X: Any, coordinates: Any, metric: MetricLike) -> tuple[Store, Array]:
    store = stored(X, metric)
    Y = validation.places(coordinates)
    if len(Y) != len(store):
        raise ValueError(f"X has {len(store)} points, but coordinates has {len(Y)} rows")
    return store, Y


def _root(above: float, below: float) -> float:
    """Return the root of a ratio; points that are all equal have stress 0, or infinity if the map separates them."""
    if below == 0:
        return 0.0 if above == 0 else float("inf")
    return float(np.sqrt(above / below))
