"""Measure the limits of maps fitted to landmarks only: python -m benchmarks.landmarks_only [--quick]

The table has sigma of all points of the paper's streams, placed by their distances to m landmarks: with
``n_anchors=None``, after 100,000 sweeps, with the best fit of several random starts, with other weights of the
landmarks, and with 128 anchors, whose mutual distances are derived from those to the landmarks. Set ``DRIFTMAP_DATA``
to a folder with the paper's data.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from benchmarks.slack import paper_streams
from benchmarks.timing import Limit, command
from driftmap import DriftMap, OnlineLandmarks
from driftmap.embedding import LandmarkStress
from driftmap.quality import stress_estimate

SWEEPS = {"tol": 1e-12, "max_iter": 100_000, "max_warm_iter": 100_000}


def run(quick: bool) -> list[Limit]:
    """Print the table."""
    names = ("n_anchors=None", "100,000 sweeps", "random starts", "equal weights", "roots of masses", "128 anchors")
    print(f"| stream | k | {' | '.join(names)} |\n{'|---' * 8}|")
    rng = np.random.default_rng(0)
    for name, X, m in paper_streams():
        selector = OnlineLandmarks(m).fit(X)
        ids, masses = selector.landmark_indices_, selector.landmark_mass_.astype(float)
        sample = X[:: max(1, len(X) // 2000)]
        between, queries = cdist(X[ids], X[ids]), cdist(sample, X[ids])
        for k in (2, 3):
            starts = [rng.standard_normal((m, k)) * between.mean() for _ in range(5 if quick else 60)]
            fits = [
                LandmarkStress(k).fit(between, masses),
                LandmarkStress(k, **SWEEPS).fit(between, masses),
                min(
                    (LandmarkStress(k, **SWEEPS).fit(between, masses, start=start) for start in starts),
                    key=lambda fit: fit.stress_,
                ),
                LandmarkStress(k).fit(between),
                LandmarkStress(k).fit(between, np.sqrt(masses)),
            ]
            maps = [fit.place(queries) for fit in fits] + [DriftMap(k, n_landmarks=m).fit(X).transform(sample)]
            cells = [f"{stress_estimate(sample, places).value:.4f}" for places in maps]
            print(f"| {name} | {k} | {' | '.join(cells)} |", flush=True)
    return []


if __name__ == "__main__":
    command(__doc__, run)
