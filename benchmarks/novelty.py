"""Compare novelty scores of arrivals with other detectors: ``python -m benchmarks.novelty [--quick]``.

Every method scores a row before it learns it. All use the same rule for alerts: a row is novel if its score is in the
highest 1 in 1,000 of the last 2,000 scores, and the first novel row after 10 others raises an alert. Methods that
cannot learn single rows are fitted again every 250 rows, to the last 1,000.

- abrupt: from row 4,000 on, rows come from another region;
- gradual: rows move there during 1,000 rows;
- recurring: rows come from there for 500 rows, and again from row 5,500 on, when the region is known;
- outlier: only row 4,000 comes from there.

Delay: rows from the change to the first alert, median of all seeds; missed: seeds without an alert in the 1,000 rows
after the change (for the outlier, in its row). False alarms: alerts per 1,000 rows between row 2,000 and the change.
Returns: alerts in the first 500 rows of a known region. Time: CPU time per 1,000 rows.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from river import anomaly, preprocessing
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor

from driftmap import DriftMap
from driftmap.map.novelty import NoveltyDetector, RecentReaches

N, D, CHANGE, START = 6500, 8, 4000, 2000
AGAIN, SPELL = 5500, 500
"""First row of the second spell of the recurring stream, and the length of each spell."""
DEADLINE = 1000
WINDOW, EVERY = 1000, 250
QUANTILE = 0.999
KINDS = ("abrupt", "gradual", "recurring", "outlier")


def normal(rng: np.random.Generator) -> np.ndarray:
    """Return four clusters of different widths."""
    centres = 6 * rng.standard_normal((4, D))
    which = rng.integers(4, size=N)
    return centres[which] + np.array([0.5, 0.8, 1.0, 1.3])[which, None] * rng.standard_normal((N, D))


def stream(kind: str, seed: int) -> np.ndarray:
    """Return the rows of a stream."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    X, place = normal(rng), 6 * rng.standard_normal(D)
    new = place + 0.8 * rng.standard_normal((N, D))
    if kind == "abrupt":
        X[CHANGE:] = new[CHANGE:]
    elif kind == "gradual":
        share = np.clip((np.arange(N) - CHANGE) / DEADLINE, 0, 1)[:, None]
        X += share * (place - X.mean(axis=0))
    elif kind == "recurring":
        for first in (CHANGE, AGAIN):
            X[first : first + SPELL] = new[first : first + SPELL]
    else:
        X[CHANGE] = new[CHANGE]
    return X


def by_driftmap(X: np.ndarray, window: int | None = None) -> np.ndarray:
    """Return the reach of each row."""
    return DriftMap(n_landmarks=100, embedding="lmds", window=window).update(X).reach


def by_trees(X: np.ndarray) -> np.ndarray:
    """Return scores of half-space trees, on features scaled to [0, 1] as river recommends."""
    model = preprocessing.MinMaxScaler() | anomaly.HalfSpaceTrees(n_trees=25, height=10, window_size=250, seed=0)
    scores = np.empty(len(X))
    for i, row in enumerate(X.tolist()):
        x = dict(enumerate(row))
        scores[i] = model.score_one(x) if i else 0.0
        model.learn_one(x)
    return scores


def refitted(make: Callable[[], IsolationForest | LocalOutlierFactor]) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that scores with a scikit-learn method, fitted periodically to the last rows."""

    def score(X: np.ndarray) -> np.ndarray:
        scores = np.zeros(len(X))
        for first in range(EVERY, len(X), EVERY):
            model = make().fit(X[max(0, first - WINDOW) : first])
            scores[first : first + EVERY] = -model.score_samples(X[first : first + EVERY])
        return scores

    return score


METHODS = {
    "Driftmap": by_driftmap,
    "Driftmap, window=2000": lambda X: by_driftmap(X, 2000),
    "river, HalfSpaceTrees": by_trees,
    "scikit-learn, IsolationForest": refitted(lambda: IsolationForest(random_state=0)),
    "scikit-learn, LocalOutlierFactor": refitted(lambda: LocalOutlierFactor(novelty=True)),
}


def alerts(scores: np.ndarray) -> np.ndarray:
    """Return the rows that raise alerts."""
    quantiles = RecentReaches().add(scores)
    return np.array(NoveltyDetector(QUANTILE).update(scores, quantiles), dtype=np.int64)


def main() -> None:
    """Print the table."""
    seeds = range(2 if "--quick" in sys.argv else 6)
    print(f"{len(seeds)} streams of each kind, {N:,} rows of {D} numbers\n")
    print(
        f"| method | {' | '.join(f'{kind}: delay, missed' for kind in KINDS)} | false alarms | returns "
        "| ms per 1,000 rows |"
    )
    print("|---|" + "---|" * (len(KINDS) + 3))
    for name, method in METHODS.items():
        cells, false, returns, seconds = [], 0, 0, 0.0
        for kind in KINDS:
            delays = []
            for seed in seeds:
                X = stream(kind, seed)
                start = time.process_time()
                found = alerts(method(X))
                seconds += time.process_time() - start
                false += int(((found >= START) & (found < CHANGE)).sum())
                late = found[found >= CHANGE]
                delay = int(late[0]) - CHANGE if len(late) else DEADLINE
                delays.append(delay if delay < (1 if kind == "outlier" else DEADLINE) else np.inf)
                if kind == "recurring":
                    returns += int(((found >= AGAIN) & (found < AGAIN + SPELL)).sum())
            median, missed = np.median(delays), sum(delay == np.inf for delay in delays)
            cells.append(f"{f'{median:,.0f}' if median < np.inf else '-'}, {missed}")
        streams = len(KINDS) * len(seeds)
        per_thousand = 1000 * false / (streams * (CHANGE - START))
        print(
            f"| {name} | {' | '.join(cells)} | {per_thousand:.2f} | {returns / len(seeds):.1f} | "
            f"{1e6 * seconds / (streams * N):,.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
