"""Detectors of change that are compared with DriftMonitor: each returns the rows of a stream after which it alarms."""

from __future__ import annotations

import numpy as np
from river import anomaly, drift, preprocessing

from driftmap import DriftMap
from driftmap.map.drift import DriftMonitor
from driftmap.map.novelty import NoveltyDetector, RecentReaches
from driftmap.map.two_sample import PERMUTED_AT_ONCE

COMPONENTS, FITTED = 8, 200
"""Detectors of single numbers see this many principal components, of the first rows."""
ALPHA, MOST_REFERENCE = 1e-4, 1000


def by_monitor(X: np.ndarray, window: int) -> list[int]:
    """Return the alarms of a monitor, with a map that learns the stream."""
    mapper = DriftMap(n_landmarks=50, embedding="lmds")
    return [found.arrival for found in mapper.update(X, monitor=DriftMonitor(window)).drifts]


def components(X: np.ndarray) -> np.ndarray:
    """Return the principal components of the first rows, if there are more features than components."""
    if X.shape[1] <= COMPONENTS:
        return X
    mean = X[:FITTED].mean(axis=0)
    return (X - mean) @ np.linalg.svd(X[:FITTED] - mean, full_matrices=False)[2][:COMPONENTS].T


def of_each_feature(make):
    """Return a method that watches each component with a detector of river, and alarms if any of them does."""

    def method(X: np.ndarray, window: int) -> list[int]:
        rows = components(X)
        detectors, alarms = [make() for _ in range(rows.shape[1])], []
        for i, row in enumerate(rows.tolist()):
            for detector, value in zip(detectors, row, strict=True):
                detector.update(value)
            if any(detector.drift_detected for detector in detectors):
                alarms.append(i)
                detectors = [make() for _ in detectors]
        return alarms

    return method


def by_trees(X: np.ndarray, window: int) -> list[int]:
    """Return the alerts of half-space trees: scores among the highest 1 in 1,000 of the last 2,000."""
    model = preprocessing.MinMaxScaler() | anomaly.HalfSpaceTrees(n_trees=25, height=10, window_size=250, seed=0)
    scores = np.zeros(len(X))
    for i, row in enumerate(components(X).tolist()):
        x = dict(enumerate(row))
        scores[i] = model.score_one(x) if i else 0.0
        model.learn_one(x)
    return NoveltyDetector(0.999).update(scores, RecentReaches().add(scores))


def by_mmd(X: np.ndarray, window: int) -> list[int]:
    """Return the alarms of maximum mean discrepancy (Gretton and others, 2012) on the plan of the monitor.

    A Gaussian kernel with the median distance as width, and a permutation test with level 1e-4 every quarter window.
    """
    start, alarms, rng = 0, [], np.random.default_rng(0)
    for stop in range(window // 4, len(X) + 1, window // 4):
        reference = X[start : stop - window] if stop > window else X[:0]
        if len(reference) < window:
            continue
        kept = np.sort(rng.permutation(len(reference))[:MOST_REFERENCE])
        if mmd_differs(reference[kept], X[stop - window : stop], rng):
            alarms.append(stop - 1)
            start = stop
    return alarms


def mmd_differs(reference: np.ndarray, recent: np.ndarray, rng: np.random.Generator) -> bool:
    """Return whether of 1 / alpha windows drawn from both samples the given one differs most from the others."""
    rows = np.concatenate([reference, recent])
    norms = (rows**2).sum(axis=1)
    squares = np.maximum(norms[:, None] + norms - 2 * rows @ rows.T, 0.0)
    kernel = np.exp(-squares / (np.median(squares[squares > 0]) if squares.any() else 1.0))
    n, w = len(rows), len(recent)
    totals = kernel.sum(axis=1)

    def discrepancy(drawn: np.ndarray) -> np.ndarray:
        within, across = ((drawn @ kernel) * drawn).sum(axis=1), drawn @ totals
        others = totals.sum() - 2 * across + within
        return within / w**2 + others / (n - w) ** 2 - 2 * (across - within) / (w * (n - w))

    given, missing, size = np.zeros((1, n)), round(1 / ALPHA) - 1, 20
    given[0, n - w :] = 1.0
    observed = discrepancy(given)[0]
    while missing > 0:
        is_drawn = np.zeros((min(missing, size), n))
        for row in is_drawn:
            row[rng.permutation(n)[:w]] = 1.0
        if (discrepancy(is_drawn) >= observed).any():
            return False
        missing, size = missing - len(is_drawn), PERMUTED_AT_ONCE
    return True


METHODS = {
    "DriftMonitor": by_monitor,
    "ADWIN": of_each_feature(drift.ADWIN),
    "KSWIN": of_each_feature(lambda: drift.KSWIN(seed=0)),
    "PageHinkley": of_each_feature(drift.PageHinkley),
    "HalfSpaceTrees": by_trees,
    "MMD": by_mmd,
    "always": lambda X, window: [*range(window // 4 - 1, len(X), window // 4)],
    "never": lambda X, window: [],
}
