"""Two-sample tests of distances to landmarks: do the rows of a window come from the distribution of the reference?

A sample is a matrix of the distances of rows to fixed landmarks, (N, m); the window is its last w rows. Two tests look
at it: a G-test of the shares of the landmarks' Voronoi cells, and z-tests, with Bonferroni's correction, of the mean
distance to each landmark and of how much the distances to two landmarks differ on average. The last ones see changes
that keep all mean distances, such as a new correlation. Asymptotic p-values are too small for heavy tails and small
windows, so a permutation test confirms those that matter: it is exact for every window, dimension and metric.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, chdtri, ndtr, ndtri, xlogy

from driftmap.utils import Array, Ids

FEWEST_EXPECTED = 5.0
"""Cells with fewer expected rows in the window are pooled."""
PARTNERS = 4
"""Landmarks with which each landmark is paired, at most."""
PERMUTED_AT_ONCE = 500
ENOUGH_EXTREME = 20
"""A p-value is known well enough after this many windows that are as extreme as the given one."""


class PValues(NamedTuple):
    """Asymptotic p-values."""

    shares: float
    """Of the G-test."""
    means: float
    """Of the z-tests, after Bonferroni's correction."""

    @property
    def combined(self) -> float:
        """Twice the smaller one (Bonferroni), at most 1."""
        return min(1.0, 2.0 * min(self))


def pooled(cells: Ids, n_cells: int, share: float) -> Ids:
    """Return the cells after pooling those in which the window expects fewer than 5 rows; ``share``: of the window.

    The pooled cells are one cell. If even that expects too few, it joins the smallest of the others.

    >>> pooled(np.array([0] * 20 + [1] * 8 + [2] * 3 + [3] * 30), 4, 0.5)[[0, 20, 28, 31]]
    array([0, 2, 2, 1])
    """
    expected = np.bincount(cells, minlength=n_cells) * share
    is_small = expected < FEWEST_EXPECTED
    numbers = np.cumsum(~is_small) - 1
    n_large, rest = int((~is_small).sum()), expected[is_small].sum()
    if n_large and rest < FEWEST_EXPECTED:
        smallest = np.argmin(np.where(is_small, np.inf, expected))
        numbers[is_small] = numbers[smallest]
    else:
        numbers[is_small] = n_large
    return numbers[cells]


def standardized(distances: Array) -> Array:
    """Return columns with mean 0 and deviation 1; those of a constant column are 0."""
    largest = distances.max(axis=0)
    centred = distances / np.where(largest > 0, largest, 1.0)  # squares of large distances overflow
    varies = np.ptp(centred, axis=0) > 0
    centred -= centred.mean(axis=0)
    return np.asarray(np.where(varies, centred / np.where(varies, centred.std(axis=0), 1.0), 0.0))


def contrasts(columns: Array) -> Array:
    """Return the absolute differences of each column and the next ones, cyclically; each pair once.

    >>> contrasts(np.array([[1.0, 2.0, 4.0], [5.0, 5.0, 0.0]]))
    array([[3., 1., 2.],
           [5., 0., 5.]])
    """
    m = columns.shape[1]
    pairs = [np.abs(columns - np.roll(columns, k, axis=1)) for k in range(1, min(PARTNERS, (m - 1) // 2) + 1)]
    return np.concatenate([np.empty((len(columns), 0)), *pairs], axis=1)


def g_statistics(counts: Array, totals: Array, sizes: Array) -> Array:
    """Return G of the counts of cells in windows, (B, k), where both samples have these totals; sizes of windows, (B,).

    >>> g_statistics(np.array([[10.0, 10.0], [20.0, 0.0]]), np.array([50.0, 50.0]), np.array([20.0, 20.0])).round(2)
    array([ 0.  , 32.78])
    """
    n = totals.sum()
    shares = (sizes / n)[:, None]
    others = totals - counts
    return 2.0 * np.asarray(
        (xlogy(counts, counts) + xlogy(others, others)).sum(axis=1)
        - (xlogy(counts, totals * shares) + xlogy(others, totals * (1.0 - shares))).sum(axis=1)
    )


def mean_scores(sums: Array, sizes: Array, n: int) -> Array:
    """Return z-scores of sums of standardised columns over windows of these sizes, drawn from n rows; (B, m)."""
    return sums / np.sqrt(sizes * (n - sizes) / (n - 1))[:, None]


@dataclass(frozen=True, eq=False)
class Sample:
    """A sample, prepared for the tests; its last ``window`` rows are compared with the others."""

    columns: Array
    """Standardised distances and their contrasts, (N, c)."""
    members: Array
    """Whether each row is in each pooled cell, (N, k), as numbers."""
    window: int

    @classmethod
    def of(cls, reference: Array, recent: Array) -> Sample:
        """Prepare the distances of the rows of a reference and of a window."""
        distances = np.concatenate([reference, recent])
        cells = pooled(distances.argmin(axis=1), distances.shape[1], len(recent) / len(distances))
        columns = standardized(distances)
        both = np.concatenate([columns, standardized(contrasts(columns))], axis=1)
        return cls(both, np.eye(int(cells.max()) + 1)[cells], len(recent))

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the G-test; 0 if one cell is left, and it decides nothing."""
        return self.members.shape[1] - 1

    @property
    def n_tests(self) -> int:
        """The number of z-tests: of columns that vary."""
        return int(self.columns.any(axis=0).sum())

    def statistics(self, counts: Array, sums: Array, sizes: Array) -> tuple[Array, Array]:
        """Return G and the z-scores of windows with these counts of cells and sums of columns."""
        g = g_statistics(counts, self.members.sum(axis=0), sizes)
        return g, mean_scores(sums, sizes, len(self.columns))

    def of_window(self) -> tuple[float, Array]:
        """Return G and the z-scores of the window itself."""
        counts, sums = (part[-self.window :].sum(axis=0)[None] for part in (self.members, self.columns))
        g, z = self.statistics(counts, sums, np.array([float(self.window)]))
        return float(g[0]), z[0]

    def p_values(self) -> PValues:
        """Return the asymptotic p-values of the window."""
        g, z = self.of_window()
        shares = float(chdtrc(self.freedom, max(g, 0.0))) if self.freedom else 1.0
        return PValues(shares, min(1.0, 2.0 * self.n_tests * float(ndtr(-np.abs(z).max()))))


def exceedances(sample: Sample, found: PValues, n_windows: int, seed: int) -> Iterator[NDArray[np.bool_]]:
    """Yield for windows drawn without replacement from all rows whether they are at least as extreme as the given one.

    As extreme: the smaller p-value of the two tests is at most that of ``found``.
    """
    least = min(found)
    g_limit = chdtri(sample.freedom, least) * (1 - 1e-9) if sample.freedom else np.inf
    z_limit = -ndtri(least / (2 * sample.n_tests)) * (1 - 1e-9) if sample.n_tests else np.inf
    rng, (n, m) = np.random.default_rng(seed), sample.columns.shape
    both = np.concatenate([sample.columns, sample.members], axis=1)
    for start in range(0, n_windows, PERMUTED_AT_ONCE):
        is_drawn = np.zeros((min(n_windows - start, PERMUTED_AT_ONCE), n))
        for row in is_drawn:
            row[rng.permutation(n)[: sample.window]] = 1.0
        drawn = is_drawn @ both
        g, z = sample.statistics(drawn[:, m:], drawn[:, :m], np.full(len(drawn), float(sample.window)))
        yield (g >= g_limit) | (np.abs(z) >= z_limit).any(axis=1)


def is_confirmed(sample: Sample, found: PValues, alpha: float, seed: int) -> bool:
    """Return whether a permutation test rejects with level ``alpha`` that window and reference have one distribution.

    Of 1 / alpha windows, the given one and drawn ones, the given one must be the most extreme: a share alpha of
    exchangeable windows is.
    """
    return not any(part.any() for part in exceedances(sample, found, int(np.ceil(1 / alpha)) - 1, seed))


def permutation_p_value(sample: Sample, n_windows: int, seed: int) -> float:
    """Return the p-value of a permutation test; with few differences, fewer windows decide (Besag and Clifford, 1991).

    >>> rows = np.random.default_rng(0).random((90, 5))
    >>> permutation_p_value(Sample.of(rows[:60], rows[60:]), 999, 0) > 0.05
    True
    >>> permutation_p_value(Sample.of(rows[:60], rows[60:] + 1.0), 999, 0)
    0.001
    """
    drawn = extreme = 0
    for part in exceedances(sample, sample.p_values(), n_windows, seed):
        stops = np.flatnonzero(extreme + np.cumsum(part) == ENOUGH_EXTREME)
        if len(stops):
            return ENOUGH_EXTREME / (drawn + int(stops[0]) + 1)
        drawn, extreme = drawn + len(part), extreme + int(part.sum())
    return (extreme + 1) / (drawn + 1)


def most_likely_start(sample: Sample, found: PValues) -> int:
    """Return how many of the last rows most likely come from another distribution, at most the window.

    The split of the sample with the largest statistic: that of the test with the smaller p-value and, of the z-tests,
    that of the column whose mean has changed most.
    """
    w = sample.window
    sizes = np.arange(1.0, w + 1)
    counts, sums = (np.cumsum(part[: -w - 1 : -1], axis=0) for part in (sample.members, sample.columns))
    g, z = sample.statistics(counts, sums, sizes)
    values = g if found.shares < found.means else np.abs(z[:, np.abs(z[-1]).argmax()])
    fewest = max(1, w // 20)  # a few rows have large statistics by chance
    return fewest + int(np.argmax(values[fewest - 1 :]))
