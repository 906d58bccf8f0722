"""Finding the landmarks nearest to a point: compiled for Euclidean points, through distance matrices elsewhere."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftmap import _kernels
from driftmap.metrics import EuclideanSpace, Space
from driftmap.state import CHUNK, StreamState

Array = NDArray[np.float64]
Ids = NDArray[np.int64]

BLOCK = 1024
"""Rows whose inner products with the landmarks are computed at a time."""
# The product pays off from this many multiplications per row on, and for this many rows (measured).
PRODUCT_FROM, PRODUCT_ROWS = 256, 32


class Pair(NamedTuple):
    """Two stored points, r < s, and their distance in the comparison scale."""

    distance: float
    r: int
    s: int


class MatrixSearch:
    """For any metric: distances come as matrices, and nothing is assumed about them."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.current = False

    def landmarks_changed(self) -> None:
        """The landmarks are to be laid out anew before the next search."""
        self.current = False

    def lay_out(self, state: StreamState) -> None:
        """Take note of the present landmarks, in order of arrival."""
        self.slots = state.slots().astype(np.int32)
        self.arrivals = state.slot_arrival[self.slots]
        self.current = True

    def scan(self, state: StreamState, start: int, stop: int) -> int:
        """Record the two nearest landmarks of arrivals start..stop-1, up to and with the first uncovered one.

        Returns how many arrivals before it are covered.
        """
        distances = self.space.pairs(np.arange(start, stop), self.arrivals)
        return _kernels.scan_matrix(distances, start, self.slots, state.radius, *_records(state))

    def rank(self, state: StreamState, rows: Ids) -> None:
        """Record the two nearest landmarks of stored rows anew."""
        for part in _parts(rows):
            distances = self.space.pairs(part, self.arrivals)
            _kernels.rank_matrix(distances, part, self.slots, *_records(state))

    def extend(self, state: StreamState, start: int, stop: int) -> None:
        """Take note of newly stored rows."""

    def chunks_near(self, state: StreamState, arrival: int, reach: Array) -> Ids:
        """Chunks that may hold a row within the chunk's reach of a stored point: here, all."""
        return np.arange(state.n_chunks)

    def column(self, state: StreamState, chunks: Ids, arrival: int) -> Array:
        """Distances of the rows of the chunks to a stored point."""
        rows = _kernels.rows_of_chunks(chunks, state.n)
        return self.space.pairs(rows, np.array([arrival]))[:, 0]

    def closest_beyond(self, state: StreamState) -> Pair:
        """The closest pair of a landmark and a stored point that are farther apart than the radius."""
        best = (np.inf, state.n, state.n)
        for part in _parts(np.arange(state.n)):
            distances = self.space.pairs(part, self.arrivals)
            best = _kernels.closest_beyond_matrix(distances, part, self.arrivals, state.radius, *best)
        return Pair(*best)

    def count_edges(self, state: StreamState) -> int:
        """Number of pairs of stored points within the radius."""
        total = 0
        for part in _parts(np.arange(1, state.n)):
            distances = self.space.pairs(part, np.arange(part[-1]))
            close = (distances <= state.radius) & (np.arange(part[-1])[None, :] < part[:, None])
            total += int(close.sum())
        return total


class EuclideanSearch(MatrixSearch):
    """For Euclidean points: compiled loops, and the triangle inequality to skip chunks."""

    space: EuclideanSpace

    def lay_out(self, state: StreamState) -> None:
        """Lay out the landmarks as the loops want them."""
        super().lay_out(state)
        self.rows = self.space.rows[self.arrivals]
        self.columns = np.ascontiguousarray(self.rows.T)
        self.filter: ProductFilter | None = None

    def scan(self, state: StreamState, start: int, stop: int) -> int:
        """As for any metric; large blocks go through a matrix product that discards far landmarks."""
        m, d = self.rows.shape
        if stop - start < PRODUCT_ROWS or m * d < PRODUCT_FROM or m < 3:
            return _kernels.scan_direct(
                self.space.rows, start, stop, self.columns, self.slots, state.radius, *_records(state)
            )
        if self.filter is None:
            self.filter = ProductFilter(self.rows, state.radius)
        for first in range(start, stop, BLOCK):
            last = min(first + BLOCK, stop)
            covered = self.filter.scan(self.space.rows, first, last, self.slots, state)
            if covered < last - first:
                return first + covered - start
        return stop - start

    def rank(self, state: StreamState, rows: Ids) -> None:
        """Record the two nearest landmarks of stored rows anew."""
        _kernels.rank_rows(self.space.rows, rows, self.columns, self.slots, *_records(state))

    def extend(self, state: StreamState, start: int, stop: int) -> None:
        """Keep the spread of each chunk."""
        _kernels.extend_spread(self.space.rows, start, stop, state.chunk_spread)

    def chunks_near(self, state: StreamState, arrival: int, reach: Array) -> Ids:
        """Chunks that may hold a row within the chunk's reach of a stored point."""
        X = self.space.rows
        return _kernels.chunks_within(X, state.n, X[arrival], state.chunk_spread, reach)

    def column(self, state: StreamState, chunks: Ids, arrival: int) -> Array:
        """Distances of the rows of the chunks to a stored point."""
        return _kernels.column_of_chunks(self.space.rows, state.n, chunks, self.space.rows[arrival])

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

    def __init__(self, landmarks: Array, squared_radius: float) -> None:
        self.landmarks = landmarks
        self.centre = landmarks.mean(axis=0)
        centred = landmarks - self.centre
        norms = (centred**2).sum(axis=1)
        m, d = landmarks.shape
        dtype: type = np.float32
        self.precision = (d + 16) * 2.0**-23
        largest = norms.max()
        if not (2 * self.precision * largest < 0.1 * squared_radius and 1e-20 < largest < 1e30):
            dtype = np.float64
            self.precision = (d + 16) * 2.0**-52
        self.columns = np.ascontiguousarray(centred.T.astype(dtype))
        self.norms = norms.astype(dtype)
        self.centred = np.empty((BLOCK, d), dtype)
        self.row_norms = np.empty(BLOCK)
        self.products = np.empty((BLOCK, m), dtype)
        self.buffer = np.empty(m, dtype)

    def scan(self, X: Array, start: int, stop: int, slots: NDArray[np.int32], state: StreamState) -> int:
        """Record the two nearest landmarks of rows start..stop-1, up to the first uncovered one."""
        rows = stop - start
        _kernels.centre_rows(X, start, stop, self.centre, self.centred, self.row_norms)
        np.matmul(self.centred[:rows], self.columns, out=self.products[:rows])
        return _kernels.scan_filtered(
            X, start, self.landmarks, slots, self.products[:rows], self.row_norms, self.norms, self.precision,
            state.radius, *_records(state), self.buffer,
        )  # fmt: skip


def make_search(space: Space) -> MatrixSearch:
    """The search that fits a space."""
    return EuclideanSearch(space) if isinstance(space, EuclideanSpace) else MatrixSearch(space)


def _records(state: StreamState) -> tuple[NDArray[np.generic], ...]:
    return state.nearest, state.nearest_slot, state.second, state.second_slot


def _parts(rows: Ids) -> list[Ids]:
    """The rows in parts whose distance matrices stay small."""
    return [rows[a : a + 4 * CHUNK] for a in range(0, len(rows), 4 * CHUNK)]
