"""Covering radii of one pass against an offline method: python -m benchmarks.cover

Set DRIFTMAP_DATA to a folder with the paper's data; without it they are downloaded.
"""

from driftmap.datasets import load_hospital, load_stocks, s_curve_stream
from driftmap.landmarks import FarthestFirstLandmarks, OnlineLandmarks


def main() -> None:
    """Print the table."""
    streams = (
        ("S-curve", s_curve_stream(), 100),
        ("SPY", load_stocks().normalized, 10),
        ("Hospital", load_hospital().spectra(), 20),
    )
    print("| data, m | paper's rule | tight | offline farthest-first |\n|---|---|---|---|")
    for name, X, m in streams:
        selectors = (OnlineLandmarks(m, rule="paper"), OnlineLandmarks(m), FarthestFirstLandmarks(m))
        radii = " | ".join(f"{selector.fit(X).covering_radius_:.3f}" for selector in selectors)
        print(f"| {name}, {m} | {radii} |")


if __name__ == "__main__":
    main()
