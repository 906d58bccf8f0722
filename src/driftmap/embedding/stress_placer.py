"""Placing points on a map by the stress of their distances to points that do not move (the fixed points)."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftmap import _core
from driftmap.metrics import euclidean
from driftmap.utils import Array

CALL_ROWS = 4096
"""Rows placed in one call of the core, so that an interrupt (Ctrl-C) need not wait for all rows."""
MOST_STEPS = 10_000
FEWEST_PLACES, MOST_PLACES = 28, 56
"""Starting places, per k^2 in k dimensions: the number of fixed points, within these limits."""
BASIS = 16
"""Principal directions by which the stress at all places is computed; few suffice, because it is smooth. A multiple of
8.
"""


class Places(NamedTuple):
    """Places all over a map, and tables that give the stress of a point there, from its distances in sizes of the map.

    Up to a constant that all places share, the stress is the product of ``losses`` with the distances and 1. If there
    is a basis, it is the product of ``losses`` with 8 b numbers and 1; these are the product of the basis with the
    distances. Both tables hold their columns in groups of eight, as the core reads them.
    """

    positions: Array
    """(8 p, k)"""
    basis: Array
    """(b (a + 1), 8)"""
    losses: Array
    """(p (a + 1), 8), or (p (8 b + 1), 8)"""


@dataclass(eq=False, repr=False)
class StressPlacer:
    """Places points where their stress is least: the sum over fixed points of ``weight (distance - |y - position|)^2``.

    What is given of a point says how its squared distances to the fixed points follow: from its distances to other
    points, ``distances^2 @ matrix + offsets`` (or ``distances^2`` itself without a matrix), or, if there is a centre,
    from the point x itself, ``|x - centre|^2 + (x - centre) @ matrix + offsets``. Immutable.

    Parameters
    ----------
    positions, weights : (a, k) and (a,)
        The fixed points.
    projection, shift : (k, a) and (k,)
        A search starts from ``projection @ squared distances + shift``.
    tolerance : float
        Steps shorter than this are the last ones.
    max_iter : int
        The most steps of a search.
    n_components : int
        Dimensions of the map; those beyond k are 0.
    matrix, offsets, centre : (d, a), (a,) and (d,), or None
    steadiness : float
        Weight of the squared distance to the start, which is added to the stress; not on the line.
    places : Places, or None
        A point that lies off the map starts from the one of these where its stress is least. For any other point, a
        deeper minimum is looked for behind the fixed point that pulls hardest. None: one search from one start. Not on
        the line.
    """

    positions: Array
    weights: Array
    projection: Array
    shift: Array
    tolerance: float
    max_iter: int
    n_components: int
    matrix: Array | None = None
    offsets: Array | None = None
    centre: Array | None = None
    steadiness: float = 0.0
    places: Places | None = None

    def __post_init__(self) -> None:
        # Products with views round otherwise than with copies of them, which a pickle holds.
        self.positions, self.projection = np.ascontiguousarray(self.positions), np.ascontiguousarray(self.projection)
        positions, weights, matrix, offsets = self.positions, self.weights, self.matrix, self.offsets
        stops = self.max_iter >= 1 and min(self.tolerance, self.steadiness) >= 0
        if np.ndim(positions) != 2 or 0 in np.shape(weights) or not stops:
            raise ValueError("fixed points, max_iter >= 1, and tolerance and steadiness >= 0 are needed")
        a, k = positions.shape
        self._missing = self.n_components - k
        shapes = [np.shape(x) for x in (weights, self.projection, self.shift)]
        if self._missing < 0 or shapes != [(a,), (k, a), (k,)]:
            raise ValueError("weights, projection or shift do not match the fixed points")
        d, b = (a, a) if matrix is None else matrix.shape
        fits = b == a and (matrix is None) == (offsets is None) and (offsets is None or np.shape(offsets) == (a,))
        if not fits or (self.centre is not None and np.shape(self.centre) != (d,)):
            raise ValueError("matrix and offsets do not match the number of features or fixed points")
        with np.errstate(all="ignore"):
            self._origin = weights @ positions
            self._size = extent(positions, weights) or 1.0
            scales = [self._size, self.tolerance / self._size, self.steadiness, 1 / self._size]
        made = (positions, weights, self.projection, self.shift, matrix, offsets, self.centre, *(self.places or ()))
        if not all(np.isfinite(numbers).all() for numbers in (*made, self._origin, scales) if numbers is not None):
            raise ValueError("all numbers by which points are placed must be finite")

    @cached_property
    def _native(self) -> _core.Placement:
        """Return the placer on a map of size 1 around 0."""
        origin, size, nowhere = self._origin, self._size, np.empty((0, 8))
        fixed = np.vstack([(self.positions - origin).T / size, self.weights])
        places, *tables = self.places or Places(np.empty((0, len(origin))), nowhere, nowhere)
        return _core.Placement(
            fixed, self.projection * size, (self.shift - origin) / size, origin, size, self.tolerance / size,
            min(self.max_iter, MOST_STEPS), self.matrix, self.offsets, self.centre, self.steadiness,
            (places - origin) / size, *tables,
        )  # fmt: skip

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    def moved(self, rotation: Array, translation: Array) -> StressPlacer:
        """Return the placer on a map that is rotated and shifted."""
        k = len(self.shift)
        turn, by = rotation[:k, :k], translation[:k]
        return replace(
            self,
            positions=self.positions @ turn + by,
            projection=turn.T @ self.projection,
            shift=self.shift @ turn + by,
            places=self.places and self.places._replace(positions=self.places.positions @ turn + by),
        )

    def place(self, X: NDArray[Any]) -> Array:
        """Return the positions of points, each independent of the others; rows of float64 or float32."""
        if len(X) <= CALL_ROWS:
            coordinates = self._native.place(X)
        else:
            coordinates = np.concatenate(
                [self._native.place(X[i : i + CALL_ROWS]) for i in range(0, len(X), CALL_ROWS)]
            )
        return np.pad(coordinates, ((0, 0), (0, self._missing))) if self._missing else coordinates


def extent(positions: Array, weights: Array) -> float:
    """Return the root of the weighted mean squared distance from the centre."""
    return float(np.sqrt(weights @ ((positions - weights @ positions) ** 2).sum(axis=1)))


def spread_places(positions: Array, weights: Array) -> Places:
    """Places all over a map of these fixed points and a little beyond.

    They are terms of an additive recurrence (Kronecker's sequence, by powers of a generalised golden ratio), which
    fills a cube evenly, also by its first terms, carried over to the ball of radius 2 and from there to the ellipsoid
    of the fixed points. The distances from the fixed points to the first 48 places, 3 ``BASIS``, have principal
    directions; the first ``BASIS`` of these are a basis for the distances to all places.
    """
    a, k = positions.shape
    n = k * k * min(max(FEWEST_PLACES, a), MOST_PLACES) // 8 * 8
    ratio = 2.0
    for _ in range(40):  # the root of x^(k + 1) = x + 1
        ratio = (1.0 + ratio) ** (1.0 / (k + 1))
    cube = 2.0 * ((np.arange(1.0, n + 1)[:, None] * ratio ** -np.arange(1.0, k + 1) + 0.5) % 1.0) - 1.0
    ball = cube * (2.0 * np.abs(cube).max(axis=1) / np.linalg.norm(cube, axis=1))[:, None]
    centre, roots = weights @ positions, np.sqrt(weights)[:, None]
    _, lengths, axes = np.linalg.svd((positions - centre) * roots, full_matrices=False)
    places = centre + ball @ (lengths[:, None] * axes)
    distances = roots * euclidean(positions, places) / (extent(positions, weights) or 1.0)
    squares, basis = (distances**2).sum(axis=0), np.empty((a + 1, 0))
    if BASIS * (a + n) < a * n:  # two small products instead of a large one
        directions = np.linalg.svd(distances[:, : 3 * BASIS], full_matrices=False)[0][:, :BASIS]
        distances, basis, roots = directions.T @ distances, np.vstack([roots * directions, np.zeros(BASIS)]), np.ones(1)
    tables = (basis, np.vstack([-2.0 * roots * distances, squares]))
    return Places(places, *(table.reshape(len(table), -1, 8).swapaxes(0, 1).reshape(-1, 8) for table in tables))
