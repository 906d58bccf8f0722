"""Rows of which some numbers are missing: distances over the columns that both rows have."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftmap.metrics.base import Metric
from driftmap.utils import Array, validation
from driftmap.utils.errors import InputError


class MaskedEuclidean(Metric):
    """The Euclidean distance over the columns that both rows have, scaled up to all columns; NaN is missing."""

    name = "nan_euclidean"
    triangle = False
    hint = ": they have no column in common; fill or drop rows of which so much is missing"

    def check(self, X: Any, width: int | None) -> Array:
        """Return X as a matrix in which every row has a number, or raise."""
        rows = np.asarray(validation.points(X, width, missing=True), dtype=np.float64)
        empty = np.flatnonzero(np.isnan(rows).all(axis=1))
        if len(empty):
            raise InputError("has no number at all: drop such rows first", row=int(empty[0]))
        return rows

    def between(self, later: Array, earlier: Array) -> Array:
        """Return distances between the rows of two matrices."""
        return masked_euclidean(later, earlier)


def masked_euclidean(X: Array, Y: Array) -> Array:
    """Distances between the rows of two matrices over the columns that both have; NaN if there are none.

    >>> masked_euclidean(np.array([[0.0, np.nan, 1.0, 2.0]]), np.array([[3.0, 5.0, 5.0, np.nan]]))
    array([[7.07106781]])
    """
    total, common = np.zeros((len(X), len(Y))), np.zeros((len(X), len(Y)))
    # Column by column: each pair has one order of summation, whatever block it is in.
    for x, y in zip(X.T, Y.T, strict=True):
        squares = np.subtract.outer(x, y) ** 2
        known = ~np.isnan(squares)
        total += np.where(known, squares, 0.0)
        common += known
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.sqrt(total * (X.shape[1] / common)))
