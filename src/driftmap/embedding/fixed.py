"""Points that stay where they are on the map, and others that are placed by their distances to them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from driftmap._kernels import doors
from driftmap._kernels.records import ABREAST, LAST_STEPS, PLACES, SEARCH

Array = NDArray[np.float64]

LANES = 8
"""The kernels take fixed points by so many; those that are left over have no weight."""
BLOCK = 512
"""Rows whose distances are worked out at a time, where all are needed, so that they are still at hand then."""


def padded(array: Array) -> Array:
    """The columns, and as many copies of the first as are needed for a multiple of the lanes."""
    more = -array.shape[-1] % LANES
    return np.concatenate([array, np.repeat(array[..., :1], more, axis=-1)], axis=-1) if more else array


def aligned(n: int, width: int) -> Array:
    """A matrix that begins where a line of the cache does, and so do its rows if the width is one of the lanes'.

    Values are not set. Loops over such rows take a fifth less time.
    """
    room = np.empty(n * width + LANES)
    first = -(room.__array_interface__["data"][0] // room.itemsize) % LANES
    return room[first : first + n * width].reshape(n, width)


def laid_out(positions: Array, weights: Array, projection: Array) -> Array:
    """Rows of fixed points as ``settle_rows`` takes them."""
    a, k = positions.shape
    rows = aligned(3 * k + 6, a + -a % LANES)
    rows[:] = 0.0
    rows[:k], rows[k : 2 * k, :a] = padded(positions.T), projection
    rows[3 * k], rows[3 * k + 1, :a] = 1.0, weights
    return rows


class Squares(NamedTuple):
    """Squared distances to the fixed points, (n, a padded), or what they are worked out from when they are needed."""

    rows: Array
    """The distances, or points, (n, d)."""
    columns: Array
    """Nothing, (0, a padded), or where the fixed points are in the space of these, (d, a padded)."""
    offsets: Array
    """What is added, (a padded,)."""

    @classmethod
    def given(cls, squared: Array) -> Self:
        """As they are."""
        a = squared.shape[1]
        return cls(squared, np.empty((0, a)), np.zeros(a))

    def of(self, some: slice | NDArray[np.intp]) -> Array:
        """The distances of some rows."""
        rows = self.rows[some]
        if len(self.columns) == 0:
            return rows
        squared = aligned(len(rows), self.columns.shape[1])
        doors.squared_to_places(rows, self.columns, self.offsets, squared)
        return squared


class Near(NamedTuple):
    """Fixed points as ``settle_near`` takes them: those of a map in the plane, of size 1 round 0."""

    exact: Array
    """Positions, weights and projection, (5, a padded)."""
    fixed: NDArray[np.float32]
    """The same in single precision."""

    @classmethod
    def prepare(cls, positions: Array, weights: Array, projection: Array, frame: Array) -> Self | None:
        """Lay out what the kernel takes; None where single precision has no such numbers."""
        a, exact = len(positions), np.zeros((5, len(positions) + -len(positions) % LANES))
        with np.errstate(all="ignore"):
            exact[:2], exact[2, :a] = padded((positions - frame[:2]).T) / frame[2], weights
            exact[3:, :a] = projection * frame[2]
            fixed = exact.astype(np.float32)
        return cls(exact, fixed) if np.isfinite(fixed).all() else None


class FixedPoints:
    """Positions and weights of fixed points, and where points start that are placed by them.

    Parameters
    ----------
    positions : (a, k)
    weights : (a,)
        Their sum is 1.
    projection, shift : (k, a) and (k,)
        A point starts from ``projection @ squared distances + shift``.
    tolerance : float
        Steps shorter than this are the last ones.
    max_iter : int
    """

    def __init__(
        self, positions: Array, weights: Array, projection: Array, shift: Array, tolerance: float, max_iter: int
    ) -> None:
        self.positions, self.weights, self.projection, self.shift = positions, weights, projection, shift
        self.tolerance, self.max_iter = tolerance, max_iter
        # what the kernels take
        centre = weights @ positions
        self.frame = np.array([*centre, np.sqrt(weights @ ((positions - centre) ** 2).sum(axis=1))])
        self.rows = laid_out(positions, weights, projection)
        self.near = Near.prepare(positions, weights, projection, self.frame) if len(shift) == 2 else None

    def _asdict(self) -> dict[str, Any]:
        """What a checkpoint holds: all that the rest follows from."""
        names = "positions", "weights", "projection", "shift", "tolerance", "max_iter"
        return {name: getattr(self, name) for name in names}

    def moved(self, rotation: Array, translation: Array) -> FixedPoints:
        """The same, turned and shifted."""
        positions, shift = self.positions @ rotation + translation, self.shift @ rotation + translation
        return FixedPoints(positions, self.weights, rotation.T @ self.projection, shift, self.tolerance, self.max_iter)

    def settle(self, squares: Squares, coordinates: Array) -> None:
        """Place points by their squared distances into the first columns of zeros."""
        k, n = len(self.shift), len(coordinates)
        blocks = [slice(i, i + BLOCK) for i in range(0, n, BLOCK)]
        if k == 1:
            self._settle_on_line(squares, coordinates, blocks)
        if k < 2:
            return
        coordinates[:, :k] = self.shift
        if self.near is None or self.max_iter <= PLACES + LAST_STEPS:
            self._settle_rows(squares, coordinates, blocks, anew=True)
            return
        left, room = np.empty(n, np.intp), _room.arrays(squares.columns.shape[1])
        on, anew = doors.settle_near(*squares, self.frame, *self.near, self.tolerance, coordinates, left, *room)
        for some, is_new in ((left[:on], False), (left[n - anew :], True)):
            parts = [some[i : i + BLOCK] for i in range(0, len(some), BLOCK)]
            self._settle_rows(squares, coordinates, parts, anew=is_new)

    def _settle_rows(
        self, squares: Squares, coordinates: Array, parts: Sequence[slice | NDArray[np.intp]], *, anew: bool
    ) -> None:
        """Place points one after the other, as their distances tell (anew) or from where they are."""
        if not parts:
            return
        k = len(self.shift)
        rows, small, limits = aligned(*self.rows.shape), np.empty((2 * k + 6, k + 1)), (self.tolerance, self.max_iter)
        rows[:] = self.rows
        if not anew:
            rows[k : 2 * k] = 0.0
        for some in parts:
            places = coordinates[some]
            doors.settle_rows(squares.of(some), rows, self.frame, small, places, *limits, False)
            coordinates[some] = places

    def _settle_on_line(self, squares: Squares, coordinates: Array, blocks: Sequence[slice]) -> None:
        middle = self.weights @ self.positions[:, 0]  # less is lost to rounding near 0
        points = self.positions[:, 0] - middle
        order = np.argsort(points, kind="stable")
        room, ordered, weights = np.empty(len(order)), points[order], self.weights[order]
        for some in blocks:
            doors.place_rows_on_line(squares.of(some), ordered, weights, order, coordinates[some], room)
        coordinates[:, 0] += middle


class Room(threading.local):
    """What ``settle_near`` works in, for each thread, kept from one call to the next."""

    n_fixed = -1
    parts: tuple[NDArray[Any], ...] = ()

    def arrays(self, a: int) -> tuple[NDArray[Any], ...]:
        """For so many fixed points."""
        if self.n_fixed != a:
            squares, singles = aligned(2 * ABREAST, a), aligned(2 * (a + SEARCH), LANES).view(np.float32)
            targets, search, slow_targets, slow_search = np.split(singles, np.cumsum([a, SEARCH, a]))
            holds, slow_holds = np.empty((2, ABREAST), np.int64)
            self.n_fixed = a
            self.parts = (
                squares[:ABREAST], targets, search, holds, squares[ABREAST:], slow_targets, slow_search, slow_holds
            )  # fmt: skip
        return self.parts


_room = Room()


def arrange(targets: Array, weights: Array, start: Array, tolerance: float, max_iter: int) -> tuple[Array, int]:
    """Settle points against each other, one at a time, until a sweep moves them less than the tolerance.

    The loss is that of weighted SMACOF, with weights w_i w_j, and never goes up. Returns the positions, (a, k), and the
    number of sweeps.
    """
    k = start.shape[1]
    if k == 1:
        line = np.array(start[:, 0])
        order, room = np.argsort(line, kind="stable"), np.empty((3, len(line) - 1))
        sweeps = doors.arrange_on_line(targets, weights, line, tolerance, max_iter, order, *room)
        return line[:, None], sweeps
    rows = laid_out(start, weights, np.zeros(start.shape).T)
    squared, room, nowhere_outside = padded(targets**2), np.empty((2 * k + 6, k + 1)), np.full(k + 1, np.inf)
    sweep, moved, coordinates = 0, np.inf, np.array(start)
    while k and sweep < max_iter and moved > tolerance * tolerance:
        before = coordinates.copy()
        doors.settle_rows(squared, rows, nowhere_outside, room, coordinates, 0.0, 1, True)
        moved = float(weights @ ((coordinates - before) ** 2).sum(axis=1))
        sweep += 1
    return coordinates, sweep


class StressRows(NamedTuple):
    """Places rows of numbers by stress, where distances are Euclidean: no distance to a landmark is needed."""

    fixed: FixedPoints
    columns: Array
    """Where the fixed points are in the space of the rows, (d, a padded)."""
    offsets: Array
    """What is added to squared distances to them: the part of the points outside the space of the landmarks."""
    n_components: int

    def moved(self, rotation: Array, translation: Array) -> StressRows:
        """The same on a map that is turned and shifted."""
        real = len(self.fixed.shift)
        return self._replace(fixed=self.fixed.moved(rotation[:real, :real], translation[:real]))

    def place(self, X: Array) -> Array:
        """Positions of rows, each by itself."""
        coordinates = np.zeros((len(X), self.n_components))
        self.fixed.settle(Squares(np.ascontiguousarray(X, dtype=np.float64), self.columns, self.offsets), coordinates)
        return coordinates
