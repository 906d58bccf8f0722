"""Placement of points on a map, by their distances to points that stay where they are (the fixed points)."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftmap import _core
from driftmap.metrics import euclidean
from driftmap.utils import Array
from driftmap.utils.concurrency import one_thread

CALL_ROWS = 4096
"""Rows placed in one call of the core, so that an interrupt (Ctrl-C) does not wait for all of them."""
MOST_STEPS = 10_000
FEWEST_PLACES, MOST_PLACES = 28, 56
"""Places to start from in k dimensions, divided by k^2: as many as there are fixed points, but no fewer and no more."""
BASIS = 24
"""The first places, from whose stress that of all others follows, since it is smooth; a multiple of eight."""
RIDGE = 1e-8
"""Of the regression by which it follows, relative to the trace: keeps the factors small, for single precision."""


@dataclass(eq=False, repr=False)
class Placement:
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
    places : (p, k), or None
        A point that lies off the map starts from the one of these where its stress is least, and minima on the other
        side of fixed points are looked for; None: one search from one start. Not on the line.
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
    places: Array | None = None

    def __post_init__(self) -> None:
        # Products with views round otherwise than with copies of them, which a pickle holds.
        self.positions, self.projection = np.ascontiguousarray(self.positions), np.ascontiguousarray(self.projection)
        positions, weights, matrix, offsets = self.positions, self.weights, self.matrix, self.offsets
        stops = self.max_iter >= 1 and min(self.tolerance, self.steadiness) >= 0
        if np.ndim(positions) != 2 or 0 in np.shape(weights) or not stops:
            raise ValueError("there is nothing to place by, or no way to stop")
        a, k = positions.shape
        self._missing = self.n_components - k
        shapes = [np.shape(x) for x in (weights, self.projection, self.shift)]
        if self._missing < 0 or shapes != [(a,), (k, a), (k,)]:
            raise ValueError("the fixed points have other numbers of dimensions or of points than what belongs to them")
        d, b = (a, a) if matrix is None else matrix.shape
        fits = b == a and (matrix is None) == (offsets is None) and (offsets is None or np.shape(offsets) == (a,))
        if not fits or (self.centre is not None and np.shape(self.centre) != (d,)):
            raise ValueError("what says how squared distances follow has other numbers of features or of fixed points")
        with np.errstate(all="ignore"):
            self._origin = weights @ positions
            self._size = float(np.sqrt(weights @ ((positions - self._origin) ** 2).sum(axis=1))) or 1.0
            scales = [self._size, self.tolerance / self._size, self.steadiness, 1 / self._size]
        made = (positions, weights, self.projection, self.shift, matrix, offsets, self.centre, self.places)
        if not all(np.isfinite(numbers).all() for numbers in (*made, self._origin, scales) if numbers is not None):
            raise ValueError("a placement is made of finite numbers")

    @cached_property
    def _native(self) -> _core.Placement:
        """The placement on a map of size 1 round 0."""
        origin, size, weights, (a, k) = self._origin, self._size, self.weights, self.positions.shape
        fixed = (self.positions - origin).T / size
        places, basis, losses = np.empty((0, k)), np.empty((1, 0)), np.empty((a + 1, 0))
        if self.places is not None:
            places = (self.places - origin) / size
            lengths = euclidean(fixed.T, places)
            losses = -2.0 * weights[:, None] * lengths
            if BASIS * (a + len(places)) < losses.size:  # two small products instead of a large one
                basis = np.vstack([losses[:, :BASIS], np.zeros(BASIS)])
                with one_thread():
                    products = (weights[:, None] * lengths[:, :BASIS]).T @ lengths
                    ridge = RIDGE * np.trace(products) * np.eye(BASIS)
                    losses = np.linalg.solve(products[:, :BASIS] + ridge, products)
            losses = np.vstack([losses, (weights[:, None] * lengths**2).sum(axis=0)])
        by_eight = (table.reshape(len(table), -1, 8).swapaxes(0, 1).reshape(-1, 8) for table in (basis, losses))
        return _core.Placement(
            np.vstack([fixed, weights]), self.projection * size, (self.shift - origin) / size, origin, size,
            self.tolerance / size, min(self.max_iter, MOST_STEPS), self.matrix, self.offsets, self.centre,
            self.steadiness, places, *by_eight,
        )  # fmt: skip

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    def moved(self, rotation: Array, translation: Array) -> Placement:
        """The same on a map that is turned and shifted."""
        k = len(self.shift)
        turn, by = rotation[:k, :k], translation[:k]
        return replace(
            self,
            positions=self.positions @ turn + by,
            projection=turn.T @ self.projection,
            shift=self.shift @ turn + by,
            places=None if self.places is None else self.places @ turn + by,
        )

    def place(self, X: NDArray[Any]) -> Array:
        """Positions of points, each by itself; rows of float64 or float32."""
        if len(X) <= CALL_ROWS:
            coordinates = self._native.place(X)
        else:
            coordinates = np.concatenate(
                [self._native.place(X[i : i + CALL_ROWS]) for i in range(0, len(X), CALL_ROWS)]
            )
        return np.pad(coordinates, ((0, 0), (0, self._missing))) if self._missing else coordinates


def spread_places(positions: Array, weights: Array) -> Array:
    """Places all over a map of these fixed points and a little beyond, (p, k).

    They are terms of an additive recurrence (Kronecker's sequence, by powers of a generalised golden ratio), which
    fills a cube evenly, also by its first terms, carried over to the ball of radius 2 and from there to the ellipsoid
    of the fixed points.
    """
    a, k = positions.shape
    n = k * k * min(max(FEWEST_PLACES, a), MOST_PLACES) // 8 * 8
    ratio = 2.0
    for _ in range(40):  # the root of x^(k + 1) = x + 1
        ratio = (1.0 + ratio) ** (1.0 / (k + 1))
    cube = 2.0 * ((np.arange(1.0, n + 1)[:, None] * ratio ** -np.arange(1.0, k + 1) + 0.5) % 1.0) - 1.0
    ball = cube * (2.0 * np.abs(cube).max(axis=1) / np.linalg.norm(cube, axis=1))[:, None]
    centre = weights @ positions
    _, lengths, axes = np.linalg.svd((positions - centre) * np.sqrt(weights)[:, None], full_matrices=False)
    return centre + ball @ (lengths[:, None] * axes)
