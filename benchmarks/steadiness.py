"""Measure how far points move between frames, and the cost of steadiness: python -m benchmarks.steadiness [--quick]

The frame is requested after every arrival of the paper's streams. The table has the displacement of the median and the
worst stored point per frame, relative to the diameter of the map, and sigma of the last map. Set ``DRIFTMAP_DATA`` to a
folder with the paper's data.
"""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.slack import paper_streams
from benchmarks.timing import Limit, command
from driftmap import DriftMap
from driftmap.embedding import LandmarkStress
from driftmap.quality import stress_estimate

WEIGHTS = (0.0, 0.01, 0.03, 0.1, 0.3)


def run(quick: bool) -> list[Limit]:
    """Print the table."""
    print("| stream | steadiness | median point: median, p90, largest | worst point: median, p90, largest | sigma |")
    print("|---|---|---|---|---|")
    for name, X, m in paper_streams():
        for steadiness in WEIGHTS[:: 2 if quick else 1]:
            mapper = DriftMap(n_landmarks=m, embedding=LandmarkStress(2, steadiness=steadiness)).fit(X[: 2 * m])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for x in X[2 * m :]:
                    mapper.partial_fit(x[None]).frame_  # noqa: B018
            moved = np.array([change.displacement for change in mapper.frames_])
            cells = [", ".join(f"{np.quantile(column, q):.3f}" for q in (0.5, 0.9, 1.0)) for column in moved.T]
            sample = X[:: max(1, len(X) // 1500)]
            sigma = stress_estimate(sample, mapper.transform(sample)).value
            print(f"| {name} | {steadiness:g} | {cells[0]} | {cells[1]} | {sigma:.4f} |", flush=True)
    return []


if __name__ == "__main__":
    command(__doc__, run)
