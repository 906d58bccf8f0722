"""Compare scores of single rows: reach, isolation, and the distance to the nearest earlier row.

``python -m benchmarks.isolation [--quick]`` prints the ROC AUC of each, median of four streams: of outliers; of rows
between a dense and a sparse cluster; of the first rows of a cluster that appears inside the range of the others; and of
the first 30 rows of a class that appears halfway, in recorded sets (folder ``DRIFTMAP_DATA``). Rows are scored before
they are learnt. Then it prints what isolation costs.
"""

from __future__ import annotations

import os
import sys
import time

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.drift import CLASSES, recorded
from driftmap.map import StreamMap

N, FIRST, N_FIRST = 1500, 200, 30
"""Rows of a stream; rows that are not judged at its start; rows of a class that are new."""


def generated(kind: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of a stream, and which of them are novel."""
    rng = np.random.default_rng(seed)
    if kind == "two densities":
        is_dense = rng.random((N, 1)) < 0.5
        X = np.where(is_dense, 0.2 * rng.standard_normal((N, 4)), 6 + 3 * rng.standard_normal((N, 4)))
        new = FIRST + np.flatnonzero(rng.random(N - FIRST) < 0.01)
        X[new] = 1.5 * np.sign(rng.standard_normal((len(new), 4)))
    else:
        centres = 6 * rng.standard_normal((6, 8))
        which = rng.integers(6, size=N)
        X = centres[which] + np.array([0.5, 0.8, 1.0, 1.3, 0.6, 0.9])[which, None] * rng.standard_normal((N, 8))
        if kind == "outliers":
            new = FIRST + np.flatnonzero(rng.random(N - FIRST) < 0.01)
            X[new] = 10 * rng.standard_normal((len(new), 8))
        else:
            late = N // 2 + np.flatnonzero(rng.random(N // 2) < 0.1)
            X[late] = X[: N // 2].mean(axis=0) + rng.standard_normal((len(late), 8))
            return X, first_of(np.isin(np.arange(N), late))
    return X, np.isin(np.arange(N), new)


def new_class(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of a recorded set, one of whose rarer classes is missing in the first half."""
    X, ranks = recorded(name, seed)
    is_new = ranks == CLASSES[name] - 1 - seed % (CLASSES[name] // 2)
    old = np.flatnonzero(~is_new)
    half = len(old) // 2
    late = np.random.default_rng(seed).permutation(np.concatenate([old[half:], np.flatnonzero(is_new)]))
    order = np.concatenate([old[:half], late])
    return X[order], first_of(is_new[order])


def first_of(is_new: np.ndarray) -> np.ndarray:
    """Return 1 for the first new rows, NaN for later ones, which are no longer new, and 0 for the others."""
    labels = is_new.astype(float)
    labels[np.flatnonzero(is_new)[N_FIRST:]] = np.nan
    return labels


def auc(kind: str, seed: int) -> dict[str, float]:
    """Return the ROC AUC of each score."""
    X, labels = new_class(kind, seed) if kind in CLASSES else generated(kind, seed)
    found = StreamMap(n_landmarks=50, embedding="lmds").learn(X, isolation=True)
    squares = (X**2).sum(axis=1)
    distances = np.sqrt(np.maximum(squares[:, None] + squares - 2 * X @ X.T, 0))
    nearest = np.where(np.tri(len(X), k=-1, dtype=bool), distances, np.inf).min(axis=1)
    judged = (np.arange(len(X)) >= min(FIRST, np.flatnonzero(labels == 1)[0])) & ~np.isnan(labels)
    scores = {"reach": found.reach, "isolation": found.isolation, "nearest row": nearest}
    return {name: float(roc_auc_score(labels[judged], score[judged])) for name, score in scores.items()}


def main() -> None:
    """Print the tables."""
    seeds = range(1 if "--quick" in sys.argv else 4)
    sets = [*CLASSES] if "DRIFTMAP_DATA" in os.environ else []
    print("| stream | reach | isolation | nearest row |\n|---|---|---|---|")
    for kind in ["outliers", "two densities", "new cluster inside", *sets]:
        found = [auc(kind, seed) for seed in seeds]
        cells = [f"{np.median([one[name] for one in found]):.2f}" for name in ("reach", "isolation", "nearest row")]
        print(f"| {kind} | {' | '.join(cells)} |", flush=True)
    rng = np.random.default_rng(0)
    for d in (8, 64):
        mapper, X = StreamMap(embedding="lmds"), rng.standard_normal((14_000, d))
        mapper.learn(X[:12_000])
        mapper.learn(X[12_000:12_001], isolation=True)
        times = []
        for rows, is_scored in ((X[12_001:13_001], False), (X[13_001:], True)):
            start = time.process_time()
            mapper.learn(rows, isolation=is_scored)
            times.append(1e6 * (time.process_time() - start) / len(rows))
        print(f"{d} features, 10,000 stored points: {times[0]:.0f} us a row, {times[1]:.0f} us with isolation")


if __name__ == "__main__":
    main()
