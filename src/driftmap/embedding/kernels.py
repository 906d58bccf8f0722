"""Maps by Gaussian kernels with the landmarks: a position is a linear function of the point's kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftmap import _core
from driftmap.embedding.base import check_to_landmarks
from driftmap.embedding.procrustes import move
from driftmap.embedding.row_placement import in_blocks
from driftmap.utils import Array

LARGEST_EXPONENT = 1e300
"""Exponents of farther points are set to this; larger ones would overflow."""


class KernelMap(NamedTuple):
    """Places points at ``kernels @ columns + offsets``, the kernel with landmark j being ``exp(-rates[j] d_j^2)``.

    If it is ``normalised``, the last of the columns is for what the others are divided by, so that only ratios of
    kernels count; there are no offsets then.
    """

    rates: Array
    """(m,)"""
    columns: Array
    """(m, k), or (m, k + 1) if normalised"""
    offsets: Array
    """(k,), or (k + 1,)"""
    normalised: bool

    def place(self, distances: Array) -> Array:
        """Return the places of points, given their distances to the landmarks, (n, m); each is independent."""
        farthest = np.sqrt(LARGEST_EXPONENT / max(self.rates.max(), 1.0))
        return in_blocks(lambda d: self.from_exponents(np.minimum(d, farthest) ** 2 * -self.rates), distances)

    def from_exponents(self, exponents: Array) -> Array:
        """Return the places of points, given the exponents of their kernels, (n, m), which are overwritten."""
        if self.normalised:  # relative to the largest kernel of a point, so that not all of them vanish
            exponents -= exponents.max(axis=1)[:, None]
        kernels = np.exp(exponents, out=exponents)
        # not a matrix product: its rounding would depend on the number of rows in the call
        sums = _core.affine(kernels, self.columns, self.offsets, np.zeros(len(self.columns)))
        return sums[:, :-1] / sums[:, -1:] if self.normalised else sums

    def for_rows(self, landmarks: Array) -> KernelRows:
        """Return an object that places rows of numbers by their Euclidean distances to these landmarks, (m, d)."""
        k = self.columns.shape[1] - self.normalised
        centre = landmarks.mean(axis=0)
        centred = landmarks - centre
        # only ratios count, so a common term of all exponents can be omitted
        rates = self.rates - self.rates.min() if self.normalised else self.rates
        matrix, offsets = 2.0 * (centred.T * self.rates), -((centred**2).sum(axis=1) * self.rates)
        return KernelRows(self, centre, matrix, offsets, rates if rates.any() else None, np.eye(k), np.zeros(k))


class KernelRows(NamedTuple):
    """Places rows x by exponents ``(x - centre) @ matrix + offsets - |x - centre|^2 rates``."""

    kernels: KernelMap
    centre: Array
    """(d,)"""
    matrix: Array
    """(d, m)"""
    offsets: Array
    """(m,)"""
    rates: Array | None
    """(m,); None: they are 0"""
    rotation: Array
    """(k, k)"""
    translation: Array
    """(k,)"""

    def moved(self, rotation: Array, translation: Array) -> KernelRows:
        """Return the same function on a map that is rotated and shifted."""
        return self._replace(rotation=self.rotation @ rotation, translation=self.translation @ rotation + translation)

    def place(self, X: Array) -> Array:
        """Return the positions of rows, each independent of the others."""
        return in_blocks(self._place, X)

    def _place(self, X: Array) -> Array:
        exponents = _core.affine(X, self.matrix, self.offsets, self.centre)
        if self.rates is not None:
            centred = X - self.centre
            squares = np.minimum((centred * centred).sum(axis=1), LARGEST_EXPONENT / max(self.rates.max(), 1.0))
            exponents -= squares[:, None] * self.rates
        return move(self.kernels.from_exponents(exponents), self.rotation, self.translation)


class PlacedByKernels:
    """An embedding that places points by a map of kernels, which ``fit`` computes."""

    coordinates_: Array
    _map: KernelMap

    def place(self, distances: Array) -> Array:
        """Place points from their (n, m) distances to the landmarks; rows are independent of each other."""
        return self._map.place(check_to_landmarks(distances, len(self.coordinates_)))

    def for_rows(self, landmarks: Array) -> KernelRows:
        """Return an object that places rows of numbers as :meth:`place` places their distances to these landmarks, (m,
        d).
        """
        return self._map.for_rows(landmarks)
