"""Rows of a sparse matrix: distances follow from products of rows, in blocks; nothing is made dense but distances.

A product sums over the columns that two rows have in common, in their order, so a pair has one distance in every block.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftmap.metrics.base import Metric
from driftmap.metrics.table import METRICS
from driftmap.utils import Array
from driftmap.utils.errors import InputError
from driftmap.utils.validation import LARGEST_NUMBER, is_sparse, points, problem_of

SPARSE_METRICS = tuple(metric.name for metric in METRICS.values() if metric.sparse)
CLOSE = 1e-6
"""Squared distances below this share of the squared norms are measured by differences, which cancel nothing."""
PAIRS = 2**12
"""Pairs that are measured by differences at a time."""


class SparseRow(NamedTuple):
    """A row: its columns, ascending, and their values."""

    columns: NDArray[Any]
    values: Array
    width: int


class SparseRows:
    """Checked rows that can be taken one by one, unlike those of a sparse matrix."""

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix
        self.shape: tuple[int, int] = matrix.shape

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, slice):
            return SparseRows(self.matrix[rows])
        start, stop = self.matrix.indptr[rows : rows + 2]
        columns, values = self.matrix.indices[start:stop].copy(), self.matrix.data[start:stop].copy()
        return SparseRow(columns, values, int(self.shape[1]))

    def __iter__(self) -> Iterator[SparseRow]:
        return (self[row] for row in range(len(self)))


class SparseMetric(Metric):
    """Rows of sparse matrices with the Euclidean or the cosine distance."""

    form = "sparse"

    def __init__(self, name: str) -> None:
        if name not in SPARSE_METRICS:
            problem = f"={name!r} is for dense rows; sparse ones have euclidean and cosine: choose one, or X.toarray()"
            raise InputError(problem, parameter="metric")
        self.name, self.triangle = name, METRICS[name].triangle

    def check(self, X: Any, width: int | None) -> SparseRows:
        """Return rows of finite numbers, or raise an error that names the row and column."""
        if isinstance(X, SparseRows):
            X = X.matrix
        matrix = _csr(X) if is_sparse(X) else _csr_of_dense(points(X, width))
        if matrix.shape[0] == 0:
            raise InputError("Found array with 0 sample(s): at least one row is needed")
        if width is not None and matrix.shape[1] != width:
            problem = f"has {matrix.shape[1]} features, but the points seen so far have {width}"
            raise InputError(problem, parameter="X")
        bad = np.flatnonzero(~(np.abs(matrix.data) <= LARGEST_NUMBER))
        if len(bad):
            row = int(np.searchsorted(matrix.indptr, bad[0], side="right")) - 1
            raise InputError(problem_of(float(matrix.data[bad[0]])), row=row, column=int(matrix.indices[bad[0]]))
        if self.name == "cosine":
            empty = np.flatnonzero(_square_norms(matrix) == 0)
            if len(empty):
                raise InputError(METRICS["cosine"].undefined, row=int(empty[0]))
        return SparseRows(matrix)

    def between(self, later: Any, earlier: Any) -> Array:
        """Return distances between the rows of two sparse matrices."""
        X, Y = (rows.matrix if isinstance(rows, SparseRows) else rows for rows in (later, earlier))
        if self.name == "cosine":
            return squared_distances(_normalized(X), _normalized(Y)) / 2
        return np.asarray(np.sqrt(squared_distances(X, Y)))

    def stacked(self, points: list[SparseRow]) -> Any:
        """Return single rows as a sparse matrix."""
        from scipy.sparse import csr_array

        starts = np.cumsum([0, *(len(row.columns) for row in points)])
        columns = np.concatenate([np.empty(0, np.int64), *(row.columns for row in points)])
        values = np.concatenate([np.empty(0), *(row.values for row in points)])
        return csr_array((values, columns, starts), shape=(len(points), points[0].width if points else 0))


def squared_distances(X: Any, Y: Any) -> Array:
    """Squared Euclidean distances between the rows of two sparse matrices.

    >>> from scipy.sparse import csr_array
    >>> squared_distances(csr_array([[0.0, 3.0], [4.0, 0.0]]), csr_array([[0.0, 0.0]]))
    array([[ 9.], [16.]])
    """
    X, Y = _on_common_columns(X, Y)
    norms = np.add.outer(_square_norms(X), _square_norms(Y))
    squares = norms - 2 * (X @ Y.T).toarray()
    i, j = np.nonzero(squares <= CLOSE * norms)
    for first in range(0, len(i), PAIRS):
        some = slice(first, first + PAIRS)
        squares[i[some], j[some]] = _square_norms(X[i[some]] - Y[j[some]])
    return np.asarray(squares)


def _on_common_columns(X: Any, Y: Any) -> tuple[Any, Any]:
    """The same rows without columns that are empty in both: what follows takes time by the number of columns."""
    from scipy.sparse import csr_array

    used = np.unique(np.concatenate([X.indices, Y.indices]))

    def narrow(A: Any) -> Any:
        return csr_array((A.data, np.searchsorted(used, A.indices), A.indptr), shape=(A.shape[0], len(used)))

    return narrow(X), narrow(Y)


def _square_norms(X: Any) -> Array:
    """Summed one by one, in the order of columns."""
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    return np.asarray(np.bincount(rows, X.data**2, X.shape[0]), np.float64)


def _normalized(X: Any) -> Any:
    scaled = X.copy()
    scaled.data = scaled.data / np.repeat(np.sqrt(_square_norms(X)), np.diff(X.indptr))
    return scaled


def _csr(X: Any) -> Any:
    """A sparse matrix of any kind by rows, in double precision; each row has its columns in order, and none twice."""
    from scipy.sparse import csr_array

    if X.dtype.kind == "c":
        raise InputError("Complex data not supported: distances are real numbers")
    if X.dtype.kind not in "biuf":
        raise InputError(f"holds {X.dtype}, not numbers", parameter="X")
    if X.ndim != 2:
        raise InputError(f"Expected 2D array, got {X.ndim}D array instead")
    matrix = csr_array(X, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def _csr_of_dense(rows: Array) -> Any:
    from scipy.sparse import csr_array

    return csr_array(rows)
