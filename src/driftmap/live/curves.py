"""The curves of the live view: samples over time, thinned so that their extremes stay."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from driftmap.utils import Array

CURVES = ("time", "rows", "radius", "stress", "novelty", "rate", "drift")
"""Curves; "drift" is the negative decimal logarithm of the last p-value, and NaN without a monitor."""
MOST_SAMPLES = 600
"""Samples of a curve, at most."""


class Curves:
    """Samples in a bounded table. When it is full, each four samples become two: the extremes of every curve, in order.

    From then on, twice as many samples are collected before two are kept. The latest sample is always there as it is.
    """

    def __init__(self) -> None:
        self._kept: list[Array] = []
        self._recent: list[Array] = []  # at most two that stand for all but the last, and the last
        self._n_recent = 0
        self._stride = 2

    def __len__(self) -> int:
        return len(self._kept) + len(self._recent)

    def add(self, sample: Mapping[str, float]) -> None:
        """Append a sample."""
        self._recent = [*_merged(self._recent), np.array([sample[name] for name in CURVES])]
        self._n_recent += 1
        if self._n_recent < self._stride:
            return
        self._kept += _merged(self._recent)
        self._recent, self._n_recent = [], 0
        if len(self._kept) >= MOST_SAMPLES - 8:
            self._kept = extremes(np.reshape(self._kept, (-1, 4, len(CURVES))))
            self._stride *= 2

    def replace(self, table: Array) -> None:
        """Take the samples, one a row, of a recording."""
        self._kept, self._recent, self._n_recent = list(table), [], 0

    def table(self) -> Array:
        """Return the samples, one a row, oldest first."""
        return np.array([*self._kept, *self._recent]).reshape(-1, len(CURVES))


def extremes(groups: Array) -> list[Array]:
    """Return two samples for each group: the smallest and the largest value of every curve, in their order of time.

    Values that are not finite are left out where others exist.

    >>> extremes(np.array([[[0.0, 5.0], [1.0, 9.0], [2.0, 1.0], [3.0, 5.0]]]))
    [array([0., 9.]), array([3., 1.])]
    """
    low, high = np.fmin.reduce(groups, axis=1), np.fmax.reduce(groups, axis=1)
    rises = (groups == low[:, None]).argmax(axis=1) <= (groups == high[:, None]).argmax(axis=1)
    pairs = np.stack([np.where(rises, low, high), np.where(rises, high, low)], axis=1)
    return list(pairs.reshape(-1, groups.shape[2]))


def _merged(samples: list[Array]) -> list[Array]:
    """Return at most two samples that stand for these."""
    return samples if len(samples) < 3 else extremes(np.array([samples]))
