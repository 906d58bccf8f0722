"""Compare covering radii of one pass with an offline method: python -m benchmarks.cover

The offline method is farthest-first traversal of all data. The paper's data are read from DRIFTMAP_DATA or downloaded.
"""

import numpy as np

from driftmap.datasets import load_hospital, load_stocks, s_curve_stream
from driftmap.landmarks import FarthestFirstLandmarks, OnlineLandmarks


def generated() -> dict[str, np.ndarray]:
    """Return ten streams: drifting blobs, random walks, bursts, outliers, a spiral, a cube."""
    rng, n = np.random.default_rng(0), 5000
    normal = rng.standard_normal
    which = rng.integers(0, 8, n)
    centres, ways = 4 * normal((8, 5)), 3 * normal((8, 5))
    streams = {"drifting blobs, d=5": centres[which] + np.linspace(0, 1, n)[:, None] * ways[which] + normal((n, 5)) / 2}
    streams |= {f"random walk, d={d}": np.cumsum(normal((n, d)), axis=0) for d in (2, 5, 10, 20, 50)}
    bursts = 0.2 * normal((n, 4))
    for start in rng.integers(0, n, 20):
        bursts[start : start + 30] += 10 * normal(4)
    t = np.linspace(0, 60, n)[:, None]
    return streams | {
        "bursts, d=4": bursts,
        "outliers, d=6": normal((n, 6)) * np.where(rng.random(n) < 0.01, 20, 1)[:, None],
        "expanding spiral, d=3": np.hstack([t * np.cos(t), t * np.sin(t), 0.1 * normal((n, 1))]),
        "uniform cube, d=3": rng.random((n, 3)),
    }


def main() -> None:
    """Print the tables."""
    cases = [
        ("S-curve", s_curve_stream(), 100),
        ("SPY", load_stocks().normalized, 10),
        ("Hospital", load_hospital().spectra(), 20),
    ]
    cases += [(name, X, m) for m in (20, 100) for name, X in generated().items()]
    print("| data, m | paper's rule | tight | offline farthest-first | tight / offline |\n|---|---|---|---|---|")
    for name, X, m in cases:
        paper, tight, offline = (
            selector.fit(X).covering_radius_
            for selector in (OnlineLandmarks(m, rule="paper"), OnlineLandmarks(m), FarthestFirstLandmarks(m))
        )
        print(f"| {name}, {m} | {paper:.3f} | {tight:.3f} | {offline:.3f} | {tight / offline:.3f} |")


if __name__ == "__main__":
    main()
