"""A stream of 10^8 points: memory after 10^6 and after all of them, and the rate. ``python -m benchmarks.soak``

The stream drifts for ever: points are spread around a few centres that walk about slowly within a box, so landmarks are
replaced again and again. Resident memory is what the operating system says.
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
    """Bytes of memory that this process occupies."""
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * 4096


def batches(n: int, d: int, seed: int = 0):
    """The stream, batch by batch, always in the same memory."""
    rng = np.random.default_rng(seed)
    centres, batch = rng.uniform(-5, 5, (CENTRES, d)), np.empty((BATCH, d))
    for _ in range(n // BATCH):
        centres = np.clip(centres + 0.05 * rng.standard_normal(centres.shape), -5, 5)
        rng.standard_normal(out=batch)
        batch += centres[rng.integers(0, CENTRES, BATCH)]
        yield batch


def main() -> None:
    """Run it and print what happened."""
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
