"""Measure memory after 10^6 and 10^8 points of a stream, and the rate: ``python -m benchmarks.soak``

The stream drifts continually: points are spread around a few centres that move slowly within a box, so that landmarks
keep being replaced. Memory is the resident memory that the operating system reports.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from driftmap.landmarks import OnlineLandmarks

BATCH = 100_000
CENTRES = 10


def resident() -> int:
    """Return the resident memory of this process in bytes."""
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * 4096


def batches(n: int, d: int):
    """Yield the stream in batches, which reuse the same array."""
    rng = np.random.default_rng(0)
    centres, batch = rng.uniform(-5, 5, (CENTRES, d)), np.empty((BATCH, d))
    for _ in range(n // BATCH):
        centres = np.clip(centres + 0.05 * rng.standard_normal(centres.shape), -5, 5)
        rng.standard_normal(out=batch)
        batch += centres[rng.integers(0, CENTRES, BATCH)]
        yield batch


def main() -> None:
    """Learn the stream and print the measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=float, default=1e8)
    parser.add_argument("--dimension", type=int, default=8)
    parser.add_argument("--landmarks", type=int, default=50)
    args = parser.parse_args()
    landmarks = OnlineLandmarks(args.landmarks)
    early, spent = 0, 0.0
    for batch in batches(int(args.points), args.dimension):
        start = time.perf_counter()
        landmarks.partial_fit(batch)
        spent += time.perf_counter() - start
        seen = landmarks.n_samples_seen_
        if seen == 1_000_000:
            early = resident()
        if seen % 10_000_000 == 0 or seen == 1_000_000:
            print(
                f"{seen:>11,} points  {resident() / 2**20:7.2f} MB  {seen / spent / 1e6:5.2f} M points/s  "
                f"{landmarks.n_replacements_:>7,} replacements  radius {landmarks.radius_:.3f}  "
                f"resolution {landmarks.resolution_:.3f}  stored {len(landmarks.stored_indices_):,}",
                flush=True,
            )
    late = resident()
    print(f"memory after 10^6 points and at the end differs by {abs(late - early) / early:.2%}")
    print(f"masses add up to {landmarks.landmark_mass_.sum():,} of {landmarks.n_samples_seen_:,} points")


if __name__ == "__main__":
    main()
