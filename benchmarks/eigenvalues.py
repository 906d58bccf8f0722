"""What the largest eigenvalues alone cost in fidelity: python -m benchmarks.eigenvalues

The contacts of the hospital, with a decay of 0.01 (``DRIFTMAP_DATA`` names their folder, see
``driftmap.datasets.load_hospital``).
Distances between spectra of the K largest eigenvalues are compared with those between whole spectra: their normalised
stress, and that of a map with 100 landmarks that is learnt from them. Pairs are sampled, 200,000 of them.
"""

from __future__ import annotations

import argparse

from driftmap import DriftMap
from driftmap.datasets import load_hospital
from driftmap.networks import laplacian_spectra
from driftmap.quality import stress_estimate

DECAY, PAIRS = 0.01, 200_000
COUNTS = (1, 2, 5, 10, 20, 40)


def run() -> None:
    """Print the table."""
    whole = laplacian_spectra(load_hospital().contacts, DECAY, n_jobs=-1)[1]
    n = whole.shape[1]
    print("| eigenvalues | stress of the distances | stress of the map |\n|---|---|---|")
    for count in (*COUNTS, n):
        largest = whole[:, n - count :].copy()
        places = DriftMap(n_components=min(2, count), n_landmarks=100).fit_transform(largest)
        of_distances, of_map = (stress_estimate(whole, found, n_pairs=PAIRS).value for found in (largest, places))
        print(f"| {count} | {of_distances:.4f} | {of_map:.4f} |", flush=True)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    run()
