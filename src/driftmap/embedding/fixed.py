"""Points that stay where they are on the map, and others that are placed by their distances to them."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from driftmap._kernels import doors
from driftmap._kernels.records import ABREAST, LAST_STEPS, PLACES, SEARCH

Array = NDArray[np.float64]

LANES = 8
"""The kernels take fixed points by so many; those that are left over have no weight."""
BLOCK = 512
"""Rows whose distances are worked out at a time, so that they are still at hand when the rows are placed."""


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


class FixedPoints(NamedTuple):
    """Positions and weights of fixed points, and where points start that are placed by them."""

    positions: Array
    """(a, k)"""
    weights: Array
    """(a,); their sum is 1."""
    projection: Array
    """(k, a): a point starts from ``projection @ squared distances + shift``."""
    shift: Array
    """(k,)"""
    tolerance: float
    """Steps shorter than this are the last ones."""
    max_iter: int
    rows: Array
    """What the kernels take."""

    @classmethod
    def prepare(
        cls, positions: Array, weights: Array, projection: Array, shift: Array, tolerance: float, max_iter: int
    ) -> Self:
        """Lay out the rows that the kernels take."""
        a, k = positions.shape
        rows = aligned(3 * k + 6, a + -a % LANES)
        rows[:] = 0.0
        rows[:k], rows[k : 2 * k, :a] = padded(positions.T), projection
        rows[3 * k], rows[3 * k + 1, :a] = 1.0, weights
        return cls(positions, weights, projection, shift, tolerance, max_iter, rows)

    def moved(self, rotation: Array, translation: Array) -> FixedPoints:
        """The same, turned and shifted."""
        positions, shift = self.positions @ rotation + translation, self.shift @ rotation + translation
        return self.prepare(positions, self.weights, rotation.T @ self.projection, shift, self.tolerance, self.max_iter)

    def settle(self, squared: Array, coordinates: Array, rows: Array) -> None:
        """Place points by their squared distances, (n, a padded), into the first columns of zeros.

        ``rows`` is a copy of those here to work in, one for each thread.
        """
        k = len(self.shift)
        if k == 0:
            return
        if k == 1:
            middle = self.weights @ self.positions[:, 0]  # less is lost to rounding near 0
            points = self.positions[:, 0] - middle
            order = np.argsort(points, kind="stable")
            room = np.empty(len(order))
            doors.place_rows_on_line(squared, points[order], self.weights[order], order, coordinates, room)
            coordinates[:, 0] += middle
            return
        coordinates[:, :k] = self.shift
        if k == 2:
            settle_abreast(squared, rows, coordinates, self.tolerance, self.max_iter)
            return
        doors.settle_rows(
            squared, rows, np.empty((2 * k + 5, k + 1)), coordinates, self.tolerance, self.max_iter, False
        )


class Room(threading.local):
    """What ``settle_near`` works in, for each thread, kept from one call to the next."""

    n_fixed = -1
    parts: tuple[NDArray[Any], ...] = ()

    def arrays(self, a: int) -> tuple[NDArray[Any], ...]:
        """For so many fixed points."""
        if self.n_fixed != a:
            singles = aligned(a + SEARCH, LANES).view(np.float32)
            points = np.empty((3, a)), np.empty((3, a), np.float32)
            self.n_fixed, self.parts = a, (*points, singles[:a], singles[a:], np.empty(ABREAST, np.int64))
        return self.parts


_room = Room()


def settle_abreast(squared: Array, rows: Array, coordinates: Array, tolerance: float, max_iter: int) -> None:
    """As the kernel ``settle_rows`` in two dimensions, where no row is a fixed point itself."""
    left = np.arange(len(squared))
    if max_iter > PLACES + LAST_STEPS:
        room = _room.arrays(squared.shape[1])
        left = left[: doors.settle_near(squared, rows, coordinates, left, tolerance, *room)]
    if len(left):
        places = coordinates[left]
        doors.settle_rows(squared[left], rows, np.empty((9, 3)), places, tolerance, max_iter, False)
        coordinates[left] = places


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
    rows = FixedPoints.prepare(start, weights, np.zeros(start.shape).T, np.zeros(k), 0.0, 1).rows
    squared, room = padded(targets**2), np.empty((2 * k + 5, k + 1))
    sweep, moved, coordinates = 0, np.inf, np.array(start)
    while k and sweep < max_iter and moved > tolerance * tolerance:
        before = coordinates.copy()
        doors.settle_rows(squared, rows, room, coordinates, 0.0, 1, True)
        moved = weights @ ((coordinates - before) ** 2).sum(axis=1)
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
        X = np.ascontiguousarray(X)
        fixed, n = self.fixed, len(self.fixed.rows)
        room = aligned(n + min(len(X), BLOCK), len(self.offsets))
        rows, squared, coordinates = room[:n], room[n:], np.zeros((len(X), self.n_components))
        rows[:] = fixed.rows
        for i in range(0, len(X), BLOCK):
            part = X[i : i + BLOCK]
            block = squared[: len(part)]
            doors.squared_to_places(part, self.columns, self.offsets, block)
            fixed.settle(block, coordinates[i : i + BLOCK], rows)
        return coordinates
