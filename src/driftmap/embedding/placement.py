"""Placement of points on a map, by their distances to points that stay where they are (the fixed points)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftmap import _core
from driftmap.utils import Array

CALL_ROWS = 4096
"""Rows placed in one call of the core, so that an interrupt (Ctrl-C) does not wait for all of them."""
MOST_STEPS = 10_000
FIELDS = (
    "positions", "weights", "projection", "shift", "tolerance", "max_iter", "n_components",
    "matrix", "offsets", "centre", "steadiness",
)  # fmt: skip


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
    """

    def __init__(
        self,
        positions: Array,
        weights: Array,
        projection: Array,
        shift: Array,
        tolerance: float,
        max_iter: int,
        n_components: int,
        matrix: Array | None = None,
        offsets: Array | None = None,
        centre: Array | None = None,
        steadiness: float = 0.0,
    ) -> None:
        # Products with views round otherwise than with copies of them, which a pickle holds.
        positions, projection = np.ascontiguousarray(positions), np.ascontiguousarray(projection)
        self.positions, self.weights, self.projection, self.shift = positions, weights, projection, shift
        self.tolerance, self.max_iter, self.n_components = tolerance, max_iter, n_components
        self.matrix, self.offsets, self.centre, self.steadiness = matrix, offsets, centre, steadiness
        if np.ndim(positions) != 2 or 0 in np.shape(weights) or max_iter < 1 or not min(tolerance, steadiness) >= 0:
            raise ValueError("there is nothing to place by, or no way to stop")
        a, k = positions.shape
        self._missing = n_components - k
        if self._missing < 0 or [np.shape(x) for x in (weights, projection, shift)] != [(a,), (k, a), (k,)]:
            raise ValueError("the fixed points have other numbers of dimensions or of points than what belongs to them")
        with np.errstate(all="ignore"):
            origin = weights @ positions
            size = float(np.sqrt(weights @ ((positions - origin) ** 2).sum(axis=1))) or 1.0
            fixed = np.vstack([(positions - origin).T / size, weights])
            start = projection * size, (shift - origin) / size
        rest = [array for array in (matrix, offsets, centre) if array is not None]
        made = (fixed, *start, np.array([*origin, size, tolerance / size, steadiness]), *rest)
        if not all(np.isfinite(numbers).all() for numbers in made):
            raise ValueError("a placement is made of finite numbers")
        steps = min(max_iter, MOST_STEPS)
        self._native = _core.Placement(
            fixed, *start, origin, size, tolerance / size, steps, matrix, offsets, centre, steadiness
        )

    def _asdict(self) -> dict[str, Any]:
        """What a checkpoint holds, and what it is rebuilt from."""
        return {name: getattr(self, name) for name in FIELDS}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(self._asdict().values())

    def replaced(self, **fields: Any) -> Placement:
        """A copy with other values of some fields."""
        return Placement(**{**self._asdict(), **fields})

    def moved(self, rotation: Array, translation: Array) -> Placement:
        """The same on a map that is turned and shifted."""
        k = len(self.shift)
        turn, by = rotation[:k, :k], translation[:k]
        return self.replaced(
            positions=self.positions @ turn + by, projection=turn.T @ self.projection, shift=self.shift @ turn + by
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


def arrange(distances: Array, weights: Array, start: Array, tolerance: float, max_iter: int) -> tuple[Array, int]:
    """Positions of the fixed points themselves, by sweeps until one moves them less than the tolerance.

    The stress between them, with weights w_i w_j as in weighted SMACOF, never goes up. Moves are root mean squares.
    Returns the positions, (a, k), and the number of sweeps.
    """
    if not all(np.isfinite(numbers).all() for numbers in (distances, weights, start)):
        raise ValueError("points are arranged by finite numbers")
    positions, sweeps, moved = np.array(start, order="C"), 0, np.inf
    while sweeps < max_iter and moved > tolerance and start.shape[1]:
        moved = _core.sweep(distances, weights, positions)
        sweeps += 1
    return positions, sweeps
