"""Rows of numbers placed by squared Euclidean distances to landmarks: matrix products, without roots."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from driftmap import _core
from driftmap.embedding.procrustes import move
from driftmap.utils import Array

PLACED_ROWS = 512
"""Rows placed at a time, so that what is made of them stays in the cache."""


class SquaredRows(NamedTuple):
    """Places rows x by ``squared[j] = |x - centre|^2 + (x - centre) @ matrix[:, j] + offsets[j]``."""

    place_squared: Callable[[Array], Array]
    """Places of points, given their squared distances to the landmarks, (n, m), which it may overwrite.

    Rounding makes some of them a little negative.
    """
    centre: Array
    """(d,)"""
    matrix: Array
    """(d, m)"""
    offsets: Array
    """(m,)"""
    rotation: Array
    """(k, k)"""
    translation: Array
    """(k,)"""

    def moved(self, rotation: Array, translation: Array) -> SquaredRows:
        """The same on a map that is turned and shifted."""
        return self._replace(rotation=self.rotation @ rotation, translation=self.translation @ rotation + translation)

    def place(self, X: Array) -> Array:
        """Positions of rows, each by itself."""
        return in_blocks(self._place, X)

    def _place(self, X: Array) -> Array:
        centred = X - self.centre
        # not a matrix product: its rounding would depend on the number of rows in the call
        squared = _core.affine(X, self.matrix, self.offsets, self.centre)
        squared += (centred * centred).sum(axis=1)[:, None]
        return move(self.place_squared(squared), self.rotation, self.translation)


def rows_by_squares(place_squared: Callable[[Array], Array], landmarks: Array, n_components: int) -> SquaredRows:
    """What places rows by their squared distances to these landmarks, (m, d)."""
    centre = landmarks.mean(axis=0)
    centred = landmarks - centre
    return SquaredRows(
        place_squared,
        centre,
        np.ascontiguousarray(-2.0 * centred.T),
        (centred**2).sum(axis=1),
        np.eye(n_components),
        np.zeros(n_components),
    )


def in_blocks(place: Callable[[Array], Array], points: Array) -> Array:
    """Places of points, given as rows of whatever ``place`` takes; each by itself."""
    if len(points) <= PLACED_ROWS:
        return place(points)
    return np.concatenate([place(points[i : i + PLACED_ROWS]) for i in range(0, len(points), PLACED_ROWS)])
