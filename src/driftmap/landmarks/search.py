"""Finding the landmarks nearest to a point: compiled for Euclidean points, through distance matrices elsewhere."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftmap import _kernels
from driftmap.metrics import EuclideanSpace, Space
from driftmap.state import StreamState

Array = NDArray[np.float64]
Ids = NDArray[np.int64]

ROWS = 1024
"""Arrivals that are scanned at a time."""
# The product pays off from this many multiplications per row on, and for this many rows (measured).
PRODUCT_FROM, PRODUCT_ROWS = 256, 64
# A short list of neighbours pays off from this many multiplications per cell on.
SHORT_LIST, SHORT_LIST_FROM = 16, 100_000


class Pair(NamedTuple):
    """Two stored points, r < s, and their distance in the comparison scale."""

    distance: float
    r: int
    s: int


class Scan:
    """The two nearest landmarks of the arrivals scanned last."""

    def __init__(self) -> None:
        self.nearest, self.second = np.empty(ROWS), np.empty(ROWS)
        self.nearest_slot, self.second_slot = np.empty(ROWS, np.int32), np.empty(ROWS, np.int32)

    def arrays(self) -> tuple[Array, NDArray[np.int32], Array, NDArray[np.int32]]:
        """In the order in which the kernels want them."""
        return self.nearest, self.nearest_slot, self.second, self.second_slot


class MatrixSearch:
    """For any metric: distances come as matrices, and nothing is assumed about them."""

    first_look = 8
    """Arrivals to look at right after a change of landmarks: what is computed beyond the next change is lost."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.found = Scan()
        self.current = False

    def landmarks_changed(self) -> None:
        """The landmarks are to be laid out anew before the next search."""
        self.current = False

    def lay_out(self, state: StreamState) -> None:
        """Take note of the present landmarks, in order of arrival."""
        self.slots = state.slots().astype(np.int32)
        self.arrivals = state.marks.arrival[self.slots]
        self.current = True

    def scan(self, start: int, stop: int, radius: float) -> int:
        """Find the two nearest landmarks of at most ROWS arrivals, up to and with the first uncovered one.

        Returns how many arrivals before it are covered.
        """
        distances = self.space.pairs(np.arange(start, stop), self.arrivals)
        return _kernels.scan_matrix(distances, self.slots, radius, *self.found.arrays())

    def insert(self, state: StreamState, newcomer: int) -> None:
        """Let the landmark in a slot compete for the points of all others."""
        there = state.marks.arrival[[newcomer]]
        for slot in np.flatnonzero(state.marks.arrival >= 0):
            if slot != newcomer:
                rows = _kernels.cell_rows(state.cells, slot, False)
                column = np.concatenate([self.space.pairs(part, there)[:, 0] for part in parts(rows)] or [np.empty(0)])
                _kernels.insert_into_cell(state.cells, state.marks, slot, newcomer, column)

    def set_seconds(self, state: StreamState, slot: int) -> None:
        """Look up the second-nearest landmarks of a cell where they are not known."""
        rows = _kernels.cell_rows(state.cells, slot, True)
        distances = np.concatenate([self.space.pairs(part, self.arrivals) for part in parts(rows)])
        _kernels.set_seconds(state.cells, state.marks, slot, distances, self.slots)

    def between_landmarks(self, state: StreamState, slot: int) -> Array:
        """Distances of one landmark to the others by slot, or zeros where nothing may be concluded from them."""
        return np.zeros(len(state.marks.arrival))

    def column(self, state: StreamState, arrival: int) -> Array:
        """Distances of all stored points to one of them."""
        there = np.array([arrival])
        return np.concatenate([self.space.pairs(part, there)[:, 0] for part in parts(np.arange(state.n))])

    def closest_beyond(self, state: StreamState) -> Pair:
        """The closest pair of a landmark and a stored point that are farther apart than the radius."""
        best = (np.inf, state.n, state.n)
        for part in parts(np.arange(state.n)):
            distances = self.space.pairs(part, self.arrivals)
            best = _kernels.closest_beyond_matrix(distances, part, self.arrivals, state.radius, *best)
        return Pair(*best)

    def count_edges(self, state: StreamState) -> int:
        """Number of pairs of stored points within the radius."""
        total = 0
        for part in parts(np.arange(1, state.n)):
            earlier = np.arange(part[-1])
            close = (self.space.pairs(part, earlier) <= state.radius) & (earlier[None, :] < part[:, None])
            total += int(close.sum())
        return total


class EuclideanSearch(MatrixSearch):
    """For Euclidean points: compiled loops, and the triangle inequality to look at fewer points."""

    space: EuclideanSpace
    first_look = 32  # row by row, so nothing is lost

    def __init__(self, space: EuclideanSpace) -> None:
        super().__init__(space)
        self.room: dict[str, Any] = {}  # working memory, kept from one set of landmarks to the next

    def lay_out(self, state: StreamState) -> None:
        """What the loops want is made when it is asked for."""
        super().lay_out(state)
        self._columns: Array | None = None
        self.filter: ProductFilter | None = None

    @property
    def columns(self) -> Array:
        """The landmarks as columns (d, m)."""
        if self._columns is None:
            self._columns = self.take_columns(self.arrivals)
        return self._columns

    def take_columns(self, arrivals: Ids) -> Array:
        """Stored points as columns."""
        out = np.empty((self.space.rows.shape[1], len(arrivals)))
        _kernels.take_columns(self.space.rows, arrivals, out)
        return out

    def scan(self, start: int, stop: int, radius: float) -> int:
        """As for any metric; many arrivals at once go through a matrix product that discards far landmarks."""
        X = self.space.rows
        m, d = len(self.arrivals), X.shape[1]
        if stop - start >= PRODUCT_ROWS and m * d >= PRODUCT_FROM and m >= 3:
            if self.filter is None:
                self.filter = ProductFilter(X[self.arrivals], radius, self.room)
            if self.filter.usable:
                return self.filter.scan(X, start, stop, self.slots, radius, self.found)
        return _kernels.scan_direct(X, start, stop, self.columns, self.slots, radius, *self.found.arrays())

    def insert(self, state: StreamState, newcomer: int) -> None:
        """Let the landmark in a slot compete for the points in question."""
        _kernels.insert_euclidean(self.space.rows, state.cells, state.marks, newcomer)

    def set_seconds(self, state: StreamState, slot: int) -> None:
        """In a large cell from the neighbours of the landmark; where these do not suffice, from all."""
        m, d = len(self.arrivals), self.space.rows.shape[1]
        if m > 2 * SHORT_LIST and state.cells.mass[slot] * m * d > SHORT_LIST_FROM:
            from_slot = self.between_landmarks(state, slot)[self.slots]
            order = np.argpartition(from_slot, SHORT_LIST)
            near = np.sort(order[:SHORT_LIST])  # in order of arrival
            beyond = float(from_slot[order[SHORT_LIST]])
            if not self._set_seconds(state, slot, self.take_columns(self.arrivals[near]), self.slots[near], beyond):
                return
        self._set_seconds(state, slot, self.columns, self.slots, np.inf)

    def _set_seconds(
        self, state: StreamState, slot: int, columns: Array, slots: NDArray[np.int32], beyond: float
    ) -> int:
        return _kernels.set_seconds_euclidean(self.space.rows, state.cells, state.marks, slot, columns, slots, beyond)

    def between_landmarks(self, state: StreamState, slot: int) -> Array:
        """Squared distances of one landmark to the others, by slot."""
        return _kernels.between_slots(self.space.rows, state.marks.arrival, slot)

    def column(self, state: StreamState, arrival: int) -> Array:
        """Distances of all stored points to one of them."""
        return _kernels.column_of(self.space.rows, state.n, self.space.rows[arrival])

    def closest_beyond(self, state: StreamState) -> Pair:
        """The closest pair of a landmark and a stored point that are farther apart than the radius."""
        return Pair(*_kernels.closest_beyond(self.space.rows, state.n, self.columns, self.arrivals, state.radius))

    def count_edges(self, state: StreamState) -> int:
        """Number of pairs of stored points within the radius."""
        return int(_kernels.count_close_pairs(self.space.rows, state.n, state.radius))


class ProductFilter:
    """Inner products of centred rows and landmarks: which landmarks cannot be among the two nearest.

    Single precision where its error is small against the squared radius, else double: the result is the same, since
    the landmarks that remain are computed exactly.
    """

    def __init__(self, landmarks: Array, squared_radius: float, room: dict[str, Any]) -> None:
        m, d = landmarks.shape
        self.landmarks = landmarks
        self.centre = landmarks.mean(axis=0)
        centred = landmarks - self.centre
        norms = (centred**2).sum(axis=1)
        largest = norms.max()
        # Twice the usual bound on the error of a sum of d products, for the rounding of the inputs.
        dtype: type[np.floating[Any]] = np.float32
        self.error, self.norm_limit = (d + 16) * 2.0**-23, 1e30
        if not (2 * self.error * largest < 0.1 * squared_radius and 1e-20 < largest < 1e30):
            dtype = np.float64
            self.error, self.norm_limit = (d + 16) * 2.0**-52, 1e300
        self.usable = 1e-200 < largest < 1e300
        self.columns = np.ascontiguousarray(centred.T.astype(dtype))
        self.norms = norms.astype(dtype)
        if room.get("shape") != (d, m, dtype):
            room |= {"shape": (d, m, dtype), "norms": np.empty(ROWS), "approximate": np.empty(m, dtype)}
            room |= {"centred": np.empty((ROWS, d), dtype), "products": np.empty((ROWS, m), dtype)}
        self.room = room

    def scan(self, X: Array, start: int, stop: int, slots: NDArray[np.int32], limit: float, found: Scan) -> int:
        """Find the two nearest landmarks of the rows, up to and with the first one beyond the limit."""
        rows, room = stop - start, self.room
        _kernels.centre_rows(X, start, stop, self.centre, room["centred"], room["norms"])
        with np.errstate(all="ignore"):  # rows beyond norm_limit may overflow; their products are not used
            np.matmul(room["centred"][:rows], self.columns, out=room["products"][:rows])
        return _kernels.scan_filtered(
            X, start, stop, self.landmarks, slots, room["products"], room["norms"], self.norms, self.error,
            self.norm_limit, limit, *found.arrays(), room["approximate"],
        )  # fmt: skip


def make_search(space: Space) -> MatrixSearch:
    """The search that fits a space."""
    return EuclideanSearch(space) if isinstance(space, EuclideanSpace) else MatrixSearch(space)


def parts(rows: Ids) -> list[Ids]:
    """The rows in parts whose distance matrices stay small."""
    return [rows[a : a + ROWS] for a in range(0, len(rows), ROWS)]
